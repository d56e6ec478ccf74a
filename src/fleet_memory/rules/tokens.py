"""How a token is spelt, e.g. "fm_k3x9…_q7…" for fm_ID_SECRET, and whether it admits its bearer."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.schemas.programs import TokenRecord

TOKEN_PREFIX: Final = "fm_"  # noqa: S105 a spelling, no secret
ID_BYTES: Final = 10  # random bytes of an id; chosen: their 16 letters are still read out
ID_CHARS: Final = 16  # letters of a token's id
SECRET_BYTES: Final = 32  # bytes; 256 bits, as many as SHA-256 keeps apart
MAX_LIFETIME_DAYS: Final = 3_650  # days; chosen

_ID: Final = r"[a-z2-7]{16}"
_SHAPE: Final = re.compile(rf"fm_({_ID})_([a-z2-7]{{52}})")
_LIFETIME: Final = re.compile(r"([1-9][0-9]{0,5})([dh])")


class TokenParts(NamedTuple):
    """The two parts of a token: the id that the store knows it by, and the secret that the store
    has only a hash of.
    """

    token_id: str
    secret: str

    @property
    def token(self) -> str:
        """The token as its bearer sends it."""
        return f"{TOKEN_PREFIX}{self.token_id}_{self.secret}"


def parsed_token(text: str) -> TokenParts | None:
    """Return the parts of a token; None for a text that is not spelt like one."""
    match = _SHAPE.fullmatch(text)
    return TokenParts(*match.groups()) if match else None


def is_token_id(text: str) -> bool:
    """Whether a text is spelt like the id of a token, e.g. "k3x9qpd2mabcdefg", or of a principal
    (`principal_id`). An id opens nothing.
    """
    return re.fullmatch(rf"{_ID}|jwt-[0-9a-f]{{16}}", text) is not None


def principal_id(issuer: str, claims: Mapping[str, object], program_id: str) -> str:
    """Return an id of the principal of an issuer's token, e.g. "jwt-3f1c9a…": the same for all
    tokens of its `sub`.
    """
    subject = f"{issuer} {claims.get('sub', program_id)}"
    return f"jwt-{hashlib.sha256(subject.encode(errors='surrogatepass')).hexdigest()[:16]}"


def made_token(id_bytes: bytes, secret_bytes: bytes) -> TokenParts:
    """Return a token of random bytes: `ID_BYTES` for its id and `SECRET_BYTES` for its secret."""
    return TokenParts(_spelt(id_bytes), _spelt(secret_bytes))


def secret_hash(secret: str) -> str:
    """Return the hash of a secret as the store keeps it: SHA-256 in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_live(record: TokenRecord, now: datetime) -> bool:
    """Whether a token is neither revoked nor expired."""
    return record.revoked_at is None and (record.expires_at is None or now < record.expires_at)


def bearer_refusal(record: TokenRecord, secret: str, now: datetime) -> str | None:
    """Return why a token admits no bearer of this secret: "wrong secret", "revoked" or "expired";
    None if it does.

    The comparison takes as long for every wrong secret.
    """
    if not hmac.compare_digest(record.secret_hash, secret_hash(secret)):
        return "wrong secret"
    if is_live(record, now):
        return None
    return "revoked" if record.revoked_at else "expired"


def revoked(record: TokenRecord, at: datetime, by: str) -> TokenRecord:
    """Return a token after its revocation; the same object when it was revoked before."""
    return record if record.revoked_at else replace(record, revoked_at=at, revoked_by=by)


def token_words(record: TokenRecord, *more: str) -> str:
    """Return the words of a line in the ledger about a token, e.g. "for basher as agent until
    2026-06-05".
    """
    return " ".join((f"for {record.program_id} as {record.role}", *more))


def lifetime(text: str) -> timedelta:
    """Return a lifetime, e.g. "90d" or "12h". Raises ValueError for another text, and for more than
    ten years.
    """
    match = _LIFETIME.fullmatch(text)
    if match is None:
        raise ValueError("write days or hours, e.g. 90d or 12h")
    number = int(match[1])
    life = timedelta(days=number) if match[2] == "d" else timedelta(hours=number)
    if life > timedelta(days=MAX_LIFETIME_DAYS):
        raise ValueError(f"at most {MAX_LIFETIME_DAYS}d")
    return life


def _spelt(content: bytes) -> str:
    return base64.b32encode(content).decode().rstrip("=").lower()
