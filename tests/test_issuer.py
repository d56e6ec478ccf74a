"""The tokens of an issuer: a real one on this machine, with real keys, and every token that must
not pass.
"""

import base64
import json
import threading
from collections.abc import Callable, Iterator

import anyio
import jwt
import pytest
from anyio import wait_all_tasks_blocked

from fleet_memory.errors import IssuerUnavailableError
from fleet_memory.rules.tokens import principal_id
from fleet_memory.schemas.programs import ClaimedBearer
from fleet_memory.server.http.access import CallerToken
from fleet_memory.server.http.issuer import LEEWAY_S, MAX_JWT_CHARS, IssuerTokens, bearer_of
from fleet_memory.settings import load
from tests.bounds import HANG_S
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


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


def verifier(issuer: Issuer, audience: str | None = None) -> IssuerTokens:
    flags = {"issuer": issuer.url, "audience": audience}
    return IssuerTokens(load(flags, {}), issuer.url, ENDPOINT)


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
    keys = public_json(RSA, "r1", alg="PS512"), public_json(EC, "e1"), public_json(ED, "d1")
    issuer.publish(*keys)
    token = jwt.encode(issuer.claims(ENDPOINT), key, alg, headers={"kid": kid})  # type: ignore[arg-type]  # one of these keys
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
    "no key": lambda issuer: signed(issuer.claims(ENDPOINT), kid=None),
    "a key of another algorithm": lambda issuer: signed(issuer.claims(ENDPOINT), alg="PS256"),
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
        {"kty": "oct", "kid": "s1", "k": "c2VjcmV0"},
        {"kid": "s1"},
    ],
    ids=[
        "short",
        "for encryption",
        "of another algorithm",
        "a secret",
        "no kind",
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


async def test_the_keys_are_fetched_once_for_all_who_wait(issuer: Issuer) -> None:
    verify = verifier(issuer).verify_token
    token = signed(issuer.claims(ENDPOINT))
    async with anyio.create_task_group() as calls:
        for _ in range(20):
            calls.start_soon(verify, token)
    assert issuer.asked == [METADATA, KEYS]


async def test_a_silent_issuer_is_waited_for_once_by_all(issuer: Issuer) -> None:
    verify, token = verifier(issuer).verify_token, signed(issuer.claims(ENDPOINT))
    refused, waiting = list[IssuerUnavailableError](), threading.Event()
    issuer.is_down = True
    issuer.before_answer = lambda: (waiting.wait(HANG_S), None)[1]

    async def call() -> None:
        with pytest.raises(IssuerUnavailableError) as refusal:
            await verify(token)
        refused.append(refusal.value)

    async with anyio.create_task_group() as calls:
        for _ in range(20):
            calls.start_soon(call)
        await wait_all_tasks_blocked()
        waiting.set()
    assert len(refused) == 20
    assert issuer.asked == [METADATA, OAUTH_METADATA]


async def test_unknown_keys_do_not_have_the_issuer_asked_each_time(issuer: Issuer) -> None:
    verify = verifier(issuer).verify_token
    for number in range(20):
        assert await verify(signed(issuer.claims(ENDPOINT), OTHER_RSA, f"x{number}")) is None
    assert issuer.asked == [METADATA, KEYS]


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
    verify, token = verifier(issuer).verify_token, signed(issuer.claims(ENDPOINT))
    issuer.is_down = True
    with pytest.raises(IssuerUnavailableError):
        await verify(token)
    issuer.is_down = False
    assert await verify(token) == caller(issuer, token)
    issuer.is_down = True
    assert await verify(token) == caller(issuer, token)  # by the keys that are known


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


@pytest.mark.parametrize(
    "answer",
    [(302, b""), (200, b"{"), (200, b"[]"), (200, b'{"keys": 7}'), (200, b'{"keys": []}')],
    ids=["a redirect", "broken", "a list", "no list", "none"],
)
async def test_an_answer_that_is_no_keys_gives_none(
    issuer: Issuer, answer: tuple[int, bytes]
) -> None:
    issuer.script += [(200, json.dumps(issuer.documents[METADATA]).encode()), answer]
    with pytest.raises(IssuerUnavailableError):
        await verifier(issuer).verify_token(signed(issuer.claims(ENDPOINT)))
    assert issuer.asked == [METADATA, KEYS]


async def test_oauth_metadata_is_found_too(issuer: Issuer) -> None:
    token = signed(issuer.claims(ENDPOINT))
    issuer.documents[OAUTH_METADATA] = issuer.documents.pop(METADATA)
    assert await verifier(issuer).verify_token(token) == caller(issuer, token)


def test_claims_are_one_text_or_a_list_of_one() -> None:
    claims: dict[str, object] = {"azp": "team/basher"}
    assert bearer_of(claims, "azp", "role") == ClaimedBearer(program_id="team/basher")
    for roles in (["judge"], "judge"):
        found = bearer_of({"sub": "a", "roles": roles}, "sub", "roles")
        assert found == ClaimedBearer(program_id="a", role="judge")
    assert bearer_of({"sub": "a", "roles": []}, "sub", "roles") == ClaimedBearer(program_id="a")
    for wrong in (None, "", "Admin", ["admin", "x"], {"admin": True}, 1, True, [["admin"]]):
        with pytest.raises(ValueError, match=r"role"):
            bearer_of({"sub": "a", "roles": wrong}, "sub", "roles")
    names: list[object] = [None, "", 7, "a b", "a" * 101, ["a", "b"], {}, "Operator"]
    for name in names:
        with pytest.raises(ValueError, match=r"programId|operator"):
            bearer_of({"sub": name}, "sub", "role")
