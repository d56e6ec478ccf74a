"""The tokens of an issuer: a real one on this machine, with real keys, and every token that must
not pass.
"""

import base64
import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import anyio
import jwt
import pytest

from fleet_memory.errors import IssuerUnavailableError
from fleet_memory.rules.identity.claims import bearer_of, is_for_resource, principal_id
from fleet_memory.schemas.tokens import ClaimedBearer
from fleet_memory.server.http.access import CallerToken
from fleet_memory.server.http.issuer import LEEWAY_S, MAX_JWT_CHARS, IssuerTokens
from fleet_memory.server.http.signing_keys import (
    FETCH_WITHIN_S,
    FRESH_S,
    MIN_PAUSE_S,
    USABLE_S,
    SigningKeys,
)
from fleet_memory.settings.issuer import IssuerSettings, keys_address
from tests.issuer import (
    EC,
    ED,
    OTHER_RSA,
    RSA,
    SHORT_RSA,
    Issuer,
    encoded,
    issuing,
    public_json,
    public_pem,
    signed,
    signed_by_hand,
)

pytestmark = pytest.mark.anyio

ENDPOINT = "https://mem.example.com/team/mcp"
METADATA, KEYS = "/realm/.well-known/openid-configuration", "/realm/keys"
OAUTH_METADATA = "/.well-known/oauth-authorization-server/realm"


class Seconds:
    """A clock of seconds that a test turns."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def pass_on(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


def settings(
    issuer: Issuer, audience: str | None = None, jwks_url: str | None = None
) -> IssuerSettings:
    return IssuerSettings(issuer.url, audience, jwks_url, "sub", "role")


def verifier(
    issuer: Issuer, elapsed: Seconds | None = None, audience: str | None = None
) -> IssuerTokens:
    chosen = settings(issuer, audience)
    return IssuerTokens(chosen, ENDPOINT, SigningKeys(chosen, elapsed or Seconds()))


def caller(issuer: Issuer, token: str, role: str = "agent", program: str = "basher") -> CallerToken:
    principal = principal_id(issuer.url, {"sub": "basher"}, program)
    return CallerToken.model_validate(
        {
            "token": token,
            "client_id": program,
            "subject": principal,
            "scopes": [],
            "resource": ENDPOINT,
            "claims": {"iss": issuer.url},
            "token_id": principal,
            "program_id": program,
            "role": role,
        }
    )


@pytest.mark.parametrize(
    "audience", [ENDPOINT, f"{ENDPOINT}/", ["https://other.example.com", ENDPOINT]]
)
async def test_a_token_for_this_service_admits_its_program(
    issuer: Issuer, audience: object
) -> None:
    token = signed(issuer.claims(audience))
    assert await verifier(issuer).verify_token(token) == caller(issuer, token)


@pytest.mark.parametrize(
    ("key", "kid", "alg"), [(RSA, "r1", "PS512"), (EC, "e1", "ES256"), (ED, "d1", "EdDSA")]
)
async def test_a_token_may_be_signed_by_any_asymmetric_key(
    issuer: Issuer, key: object, kid: str, alg: str
) -> None:
    token = jwt.encode(issuer.claims(ENDPOINT), key, alg, headers={"kid": kid})  # type: ignore[arg-type]  # one of these keys
    assert await verifier(issuer).verify_token(token) == caller(issuer, token)


async def test_a_token_that_names_no_key_is_checked_with_those_of_its_kind(issuer: Issuer) -> None:
    token = signed(issuer.claims(ENDPOINT), kid=None)
    assert await verifier(issuer).verify_token(token) == caller(issuer, token)


async def test_a_configured_audience_is_the_only_one(issuer: Issuer) -> None:
    verify = verifier(issuer, audience="api://memory").verify_token
    token = signed(issuer.claims("api://memory"))
    assert await verify(token) == caller(issuer, token)
    assert await verify(signed(issuer.claims(ENDPOINT))) is None


async def test_claims_name_the_role(issuer: Issuer) -> None:
    token = signed(issuer.claims(ENDPOINT, role="auditor"))
    assert await verifier(issuer).verify_token(token) == caller(issuer, token, "auditor")


async def test_a_bearer_keeps_its_id_over_its_tokens(issuer: Issuer) -> None:
    verify = verifier(issuer).verify_token
    found = [await verify(signed(issuer.claims(ENDPOINT, jti=jti))) for jti in ("a", "b")]
    assert [one.token_id for one in found if one] == [
        principal_id(issuer.url, {"sub": "basher"}, "basher")
    ] * 2


FORGED: dict[str, Callable[[Issuer], str]] = {
    "nothing": lambda _: "",
    "garbage": lambda _: "garbage",
    "two dots": lambda _: "..",
    "no JSON": lambda _: "e30.e30.e30",
    "a deep header": lambda _: f"{base64.urlsafe_b64encode(b'[' * 10_000).decode()}.e30.e30",
    "not ASCII": lambda _: "é.é.é",
    "very long": lambda issuer: signed(issuer.claims(ENDPOINT, padding="x" * MAX_JWT_CHARS)),
    "alg none": lambda issuer: signed_by_hand(
        {"alg": "none", "kid": "r1"}, issuer.claims(ENDPOINT)
    ),
    "an alg that is a list": lambda issuer: signed_by_hand(
        {"alg": ["RS256"], "kid": "r1"}, issuer.claims(ENDPOINT)
    ),
    "an alg that is an object": lambda issuer: signed_by_hand(
        {"alg": {}, "kid": "r1"}, issuer.claims(ENDPOINT)
    ),
    "no alg": lambda issuer: signed_by_hand({"kid": "r1"}, issuer.claims(ENDPOINT)),
    "HS256 with the public key": lambda issuer: signed_by_hand(
        {"alg": "HS256", "kid": "r1"}, issuer.claims(ENDPOINT), public_pem(RSA)
    ),
    "HS256 with the public key's JSON": lambda issuer: signed_by_hand(
        {"alg": "HS256", "kid": "r1"},
        issuer.claims(ENDPOINT),
        json.dumps(public_json(RSA, "r1")).encode(),
    ),
    "a stranger's key under a known name": lambda issuer: signed(
        issuer.claims(ENDPOINT), OTHER_RSA
    ),
    "a stranger's key in the header": lambda issuer: signed(
        issuer.claims(ENDPOINT), OTHER_RSA, jwk=public_json(OTHER_RSA, "r1")
    ),
    "an unknown key": lambda issuer: signed(issuer.claims(ENDPOINT), OTHER_RSA, "r2"),
    "the key of another kind": lambda issuer: signed(issuer.claims(ENDPOINT), RSA, "e1"),
    "a key that is no text": lambda issuer: signed_by_hand(
        {"alg": "RS256", "kid": 1}, issuer.claims(ENDPOINT)
    ),
    "changed claims": lambda issuer: ".".join(
        part if place != 1 else encoded(issuer.claims(ENDPOINT, role="admin"))
        for place, part in enumerate(signed(issuer.claims(ENDPOINT)).split("."))
    ),
    "no audience": lambda issuer: signed(issuer.claims(None)),
    "an empty audience": lambda issuer: signed(issuer.claims("")),
    "no audiences": lambda issuer: signed(issuer.claims([])),
    "another audience": lambda issuer: signed(issuer.claims("https://other.example.com/mcp")),
    "a part of the audience": lambda issuer: signed(issuer.claims("https://mem.example.com/team")),
    "another resource": lambda issuer: signed(
        issuer.claims(ENDPOINT, resource="https://other.example.com/mcp")
    ),
    "a resource that is no text": lambda issuer: signed(
        issuer.claims(ENDPOINT, resource=None) | {"resource": None}
    ),
    "another issuer": lambda issuer: signed(
        issuer.claims(ENDPOINT, iss="https://other.example.com")
    ),
    "the issuer with a slash": lambda issuer: signed(issuer.claims(ENDPOINT, iss=f"{issuer.url}/")),
    "no issuer": lambda issuer: signed(issuer.claims(ENDPOINT, iss=None)),
    "no end": lambda issuer: signed(issuer.claims(ENDPOINT, exp=None)),
    "an end that is no number": lambda issuer: signed_by_claims(issuer, exp="never"),
    "an endless end": lambda issuer: signed_by_claims(issuer, exp=float("inf")),
    "expired": lambda issuer: signed(at_end(issuer, -LEEWAY_S - 5)),
    "not yet valid": lambda issuer: signed(issuer.claims(ENDPOINT, nbf=end_of(issuer))),
    "of the future": lambda issuer: signed(issuer.claims(ENDPOINT, iat=end_of(issuer))),
    "an unknown role": lambda issuer: signed(issuer.claims(ENDPOINT, role="emperor")),
    "two roles": lambda issuer: signed(issuer.claims(ENDPOINT, role=["agent", "judge"])),
    "no program": lambda issuer: signed(issuer.claims(ENDPOINT, sub=None)),
    "a program that is no name": lambda issuer: signed(issuer.claims(ENDPOINT, sub="../sark")),
    "a logout token": lambda issuer: signed(issuer.claims(ENDPOINT), typ="logout+jwt"),
    "a token bound to a key": lambda issuer: signed(issuer.claims(ENDPOINT, cnf={"jkt": "x"})),
    "a critical extension": lambda issuer: signed_by_hand(
        {"alg": "RS256", "kid": "r1", "crit": ["exp"]}, issuer.claims(ENDPOINT)
    ),
}


def end_of(issuer: Issuer) -> int:
    return int(str(issuer.claims(ENDPOINT)["exp"]))


def at_end(issuer: Issuer, seconds: int) -> dict[str, object]:
    now = int(str(issuer.claims(ENDPOINT)["iat"]))
    return issuer.claims(ENDPOINT, iat=now - 3_600, exp=now + seconds)


def signed_by_claims(issuer: Issuer, **claims: object) -> str:
    """Return a truly signed token whose claims jwt would not encode."""
    start = f"{encoded({'alg': 'RS256', 'kid': 'r1'})}.{encoded(issuer.claims(ENDPOINT, **claims))}"
    mark = jwt.get_algorithm_by_name("RS256").sign(start.encode(), RSA)
    return f"{start}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
async def test_no_other_token_admits_anybody(
    issuer: Issuer, forged: Callable[[Issuer], str]
) -> None:
    token = forged(issuer)
    assert await verifier(issuer).verify_token(token) is None
    sound = signed(issuer.claims(ENDPOINT))
    assert await verifier(issuer).verify_token(sound) == caller(issuer, sound)


@pytest.mark.parametrize(
    "key",
    [
        public_json(SHORT_RSA, "s1"),
        public_json(OTHER_RSA, "s1", use="enc"),
        public_json(OTHER_RSA, "s1", alg="PS256"),
        public_json(OTHER_RSA, "s1") | {"d": "AQAB"},
        {"kty": "oct", "kid": "s1", "k": "c2VjcmV0"},
        {"kty": "RSA", "kid": "s1", "n": 7, "e": []},
        {"kid": "s1"},
        {},
    ],
    ids=[
        "short",
        "for encryption",
        "of another algorithm",
        "with its private half",
        "a secret",
        "broken",
        "no kind",
        "no object",
    ],
)
@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")
async def test_a_key_that_is_not_for_this_is_not_used(
    issuer: Issuer, key: dict[str, object]
) -> None:
    issuer.publish(key, public_json(RSA, "r1"))
    signer = SHORT_RSA if key.get("n") == public_json(SHORT_RSA, "s1")["n"] else OTHER_RSA
    verify = verifier(issuer).verify_token
    assert await verify(signed(issuer.claims(ENDPOINT), signer, "s1")) is None
    assert await verify(signed(issuer.claims(ENDPOINT))) is not None


async def test_a_subject_that_is_no_text_of_unicode_has_an_id_too(issuer: Issuer) -> None:
    chosen = settings(issuer)._replace(program_claim="azp")
    verify = IssuerTokens(chosen, ENDPOINT, SigningKeys(chosen)).verify_token
    ids = [
        await verify(signed(issuer.claims(ENDPOINT, azp="basher", sub=subject)))
        for subject in ("\ud800", "\ud801")
    ]
    assert len({each.token_id for each in ids if each}) == 2


async def test_the_keys_are_fetched_once_for_all_who_wait(issuer: Issuer) -> None:
    verify = verifier(issuer).verify_token
    token = signed(issuer.claims(ENDPOINT))
    async with anyio.create_task_group() as calls:
        for _ in range(20):
            calls.start_soon(verify, token)
    assert issuer.asked == [METADATA, KEYS]


async def test_a_new_key_is_found_and_a_withdrawn_one_forgotten(issuer: Issuer) -> None:
    seconds = Seconds()
    verify = verifier(issuer, seconds).verify_token
    old, new = signed(issuer.claims(ENDPOINT)), signed(issuer.claims(ENDPOINT), OTHER_RSA, "r2")
    assert await verify(old) == caller(issuer, old)
    issuer.publish(public_json(OTHER_RSA, "r2"))
    seconds.now += MIN_PAUSE_S
    assert await verify(new) == caller(issuer, new)
    assert await verify(old) is None


async def test_a_withdrawn_key_is_forgotten_after_ten_minutes(issuer: Issuer) -> None:
    seconds = Seconds()
    verify = verifier(issuer, seconds).verify_token
    token = signed(issuer.claims(ENDPOINT))
    assert await verify(token) is not None
    issuer.publish(public_json(OTHER_RSA, "r2"))
    seconds.now += FRESH_S - 1
    assert await verify(token) is not None
    seconds.now += 1
    assert await verify(token) is None


async def test_unknown_keys_have_the_issuer_asked_at_most_once_in_ten_seconds(
    issuer: Issuer,
) -> None:
    seconds = Seconds()
    verify = verifier(issuer, seconds).verify_token
    for number in range(50):
        assert await verify(signed(issuer.claims(ENDPOINT), OTHER_RSA, f"x{number}")) is None
    assert issuer.asked == [METADATA, KEYS]
    seconds.now += MIN_PAUSE_S
    for number in range(50):
        assert await verify(signed(issuer.claims(ENDPOINT), OTHER_RSA, f"x{number}")) is None
    assert issuer.asked == [METADATA, KEYS] * 2


async def test_an_issuer_that_is_silent_is_asked_once_for_all_who_wait(issuer: Issuer) -> None:
    seconds = Seconds()
    verify = verifier(issuer, seconds).verify_token
    assert await verify(signed(issuer.claims(ENDPOINT))) is not None
    seconds.now += MIN_PAUSE_S
    issuer.is_down = True
    issuer.before_answer = partial(
        seconds.pass_on, FETCH_WITHIN_S
    )  # as long as an attempt may take
    async with anyio.create_task_group() as calls:
        for number in range(5):
            calls.start_soon(
                refusal_of, verify, signed(issuer.claims(ENDPOINT), OTHER_RSA, f"x{number}")
            )
    assert issuer.asked == [METADATA, KEYS, METADATA, OAUTH_METADATA]


async def refusal_of(verify: Callable[[str], Awaitable[object]], token: str) -> None:
    with pytest.raises(IssuerUnavailableError):
        await verify(token)


async def test_a_text_that_no_issuer_signs_causes_no_request(issuer: Issuer) -> None:
    for forged in (
        "nothing",
        "garbage",
        "alg none",
        "HS256 with the public key",
        "very long",
        "a logout token",
    ):
        assert await verifier(issuer).verify_token(FORGED[forged](issuer)) is None
    assert issuer.asked == []


async def test_an_issuer_that_is_down_is_no_refusal(issuer: Issuer) -> None:
    seconds = Seconds()
    verify = verifier(issuer, seconds).verify_token
    token, other = signed(issuer.claims(ENDPOINT)), signed(issuer.claims(ENDPOINT), OTHER_RSA, "r2")
    issuer.is_down = True
    for _ in range(3):
        with pytest.raises(IssuerUnavailableError):
            await verify(token)
    assert len(issuer.asked) == 2  # one attempt, at both of its addresses
    issuer.is_down = False
    seconds.now += MIN_PAUSE_S
    assert await verify(token) == caller(issuer, token)
    issuer.is_down = True
    seconds.now += FRESH_S
    assert await verify(token) == caller(issuer, token)  # by the keys that are known
    with pytest.raises(IssuerUnavailableError):
        await verify(other)
    seconds.now += USABLE_S
    with pytest.raises(IssuerUnavailableError):
        await verify(token)


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://other.example.com", "jwks_uri": "https://other.example.com/keys"},
        {"issuer": "here", "jwks_uri": "http://mem.example.com/keys"},
        {"issuer": "here", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "here"},
        ["here"],
    ],
    ids=["another issuer's", "keys over http", "a file", "no keys", "a list"],
)
async def test_metadata_that_is_not_sound_gives_no_keys(issuer: Issuer, document: object) -> None:
    if isinstance(document, dict) and document["issuer"] == "here":
        document = document | {"issuer": issuer.url}
    issuer.documents[METADATA] = document
    with pytest.raises(IssuerUnavailableError):
        await verifier(issuer).verify_token(signed(issuer.claims(ENDPOINT)))


def test_an_issuer_elsewhere_names_no_keys_on_this_machine() -> None:
    here, elsewhere = "http://127.0.0.1:8080/keys", "https://login.example.com/keys"
    assert keys_address(here, "http://localhost:8080") == here
    assert keys_address(elsewhere, "https://login.example.com") == elsewhere
    with pytest.raises(ValueError, match="no https address"):
        keys_address(here, "https://login.example.com")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8443",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.1",
        "[::]",
        "0",
    ],
)
def test_nor_by_any_name_of_this_machine(host: str) -> None:
    here = f"https://{host}/keys"
    assert keys_address(here, "https://localhost:8443") == here
    with pytest.raises(ValueError, match="is on this machine"):
        keys_address(here, "https://login.example.com")


@pytest.mark.parametrize(
    "host", ["10.0.0.7", "192.168.1.9", "[fd00::1]", "login.internal", "localhost.example.com"]
)
def test_an_issuer_may_have_its_keys_in_a_private_network(host: str) -> None:
    assert (
        keys_address(f"https://{host}/keys", "https://login.example.com") == f"https://{host}/keys"
    )


@pytest.mark.parametrize(
    "answer",
    [
        (302, b""),
        (200, b"[" * 100_000),
        (200, b"{"),
        (200, b'{"keys": 7}'),
        (200, b'"' + b"x" * 1_000_001 + b'"'),
    ],
    ids=["a redirect", "deep", "broken", "no list", "endless"],
)
async def test_an_answer_that_is_no_keys_gives_none(
    issuer: Issuer, answer: tuple[int, bytes]
) -> None:
    keys = SigningKeys(settings(issuer, jwks_url=f"{issuer.url}/keys"), Seconds())
    issuer.script.append(answer)
    with pytest.raises(IssuerUnavailableError):
        await keys.having("r1")
    assert issuer.asked == [KEYS]


async def test_configured_keys_and_oauth_metadata_are_found_too(issuer: Issuer) -> None:
    keys = SigningKeys(settings(issuer, jwks_url=f"{issuer.url}/keys"), Seconds())
    assert [key["kid"] for key in await keys.having("r1")] == ["r1"]
    assert issuer.asked == [KEYS]
    metadata = issuer.documents.pop(METADATA)
    issuer.documents["/.well-known/oauth-authorization-server/realm"] = metadata
    assert [key["kid"] for key in await SigningKeys(settings(issuer), Seconds()).having("r1")] == [
        "r1"
    ]


def test_claims_are_one_text_or_a_list_of_one() -> None:
    assert bearer_of({"azp": "team/basher"}, "azp", "role") == ClaimedBearer(
        program_id="team/basher"
    )
    assert bearer_of({"sub": "a", "roles": ["judge"]}, "sub", "roles") == ClaimedBearer(
        program_id="a", role="judge"
    )
    assert bearer_of({"sub": "a", "roles": []}, "sub", "roles") == ClaimedBearer(program_id="a")
    for roles in (None, "", "Admin", ["admin", "x"], {"admin": True}, 1, True, [["admin"]]):
        assert bearer_of({"sub": "a", "roles": roles}, "sub", "roles") is None
    names: list[object] = [None, "", 7, "a b", "a" * 101, ["a", "b"], {}]
    for name in names:
        assert bearer_of({"sub": name}, "sub", "role") is None


def test_a_token_need_not_name_a_resource_and_may_name_several() -> None:
    assert is_for_resource({}, [ENDPOINT])
    assert is_for_resource({"resource": f"{ENDPOINT}/"}, [ENDPOINT])
    assert is_for_resource({"resource": ["https://other.example.com", ENDPOINT]}, [ENDPOINT])
    assert not is_for_resource({"resource": "https://other.example.com"}, [ENDPOINT])
    assert not is_for_resource({"resource": [7]}, [ENDPOINT])
