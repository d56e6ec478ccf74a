"""An OAuth issuer on this machine, for tests: a real HTTP server with metadata, real keys and
signed tokens.
"""

import base64
import hashlib
import hmac
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.serving import serving

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SHORT_RSA = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 to see it refused
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def public_json(key: Key, kid: str, **more: str) -> dict[str, Any]:
    """Return the public half of a key as an issuer publishes it."""
    match key:
        case rsa.RSAPrivateKey():
            made = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case ec.EllipticCurvePrivateKey():
            made = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case _:
            made = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {name: value for name, value in made.items() if name != "key_ops"} | {"kid": kid} | more


def public_pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


class Issuer:
    """The value of `issuing`. `documents` are its answers by path; `asked` the paths of all
    requests.

    `before_answer` is called before each answer.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/realm"
        self.asked: list[str] = []
        self.is_down = False
        self.before_answer: Callable[[], None] = lambda: None
        self.script: deque[tuple[int, bytes]] = deque()
        self.documents: dict[str, object] = {
            "/realm/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
            },
        }
        self.publish(public_json(RSA, "r1"), public_json(EC, "e1"), public_json(ED, "d1"))

    def publish(self, *keys: Mapping[str, object]) -> None:
        self.documents["/realm/keys"] = {"keys": list(keys)}

    def claims(self, audience: object, **more: object) -> dict[str, object]:
        """Return sound claims for an audience; a claim of None is left out."""
        now = int(time.time())
        sound = {"iss": self.url, "aud": audience, "sub": "basher", "iat": now, "exp": now + 600}
        return {name: value for name, value in (sound | more).items() if value is not None}


def signed(
    claims: dict[str, object], key: Key = RSA, kid: str | None = "r1", **header: object
) -> str:
    """Return a token of these claims; `alg` is RS256 unless the header names another."""
    algorithm = str(header.pop("alg", "RS256"))
    return jwt.encode(claims, key, algorithm, headers=({"kid": kid} if kid else {}) | header)


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def signed_by_hand(
    header: dict[str, object], claims: dict[str, object], secret: bytes = b""
) -> str:
    start = f"{encoded(header)}.{encoded(claims)}"
    mac = hmac.digest(secret, start.encode(), hashlib.sha256) if secret else b""
    return f"{start}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


@contextmanager
def issuing() -> Iterator[Issuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            issuer.before_answer()
            document = issuer.documents.get(self.path)
            status, body = (404, b"") if document is None else (200, json.dumps(document).encode())
            if issuer.is_down:
                status, body = 503, b"down"
            elif issuer.script:
                status, body = issuer.script.popleft()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Location", f"{issuer.url}/keys")
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base class's name

    with serving(Handler) as port:
        issuer = Issuer(port)
        yield issuer
