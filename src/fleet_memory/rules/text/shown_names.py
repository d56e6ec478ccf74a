"""How an answer shows a name that its reader made up: never one that is a credential."""

import re
from typing import Final

from fleet_memory.rules.text.credentials import credential_in

_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,30}")
_REPEATED: Final = re.compile(
    r"[^\s'\"]{10,}"
)  # the parts of a call that messages repeat: ids, keys, names in quotes


def is_shown(word: str) -> bool:
    """Whether a refusal may repeat it: one word of at most 30 characters that is no credential."""
    return bool(_WORD.fullmatch(word)) and credential_in(word) is None


def shown(name: str) -> str:
    """Return a name that somebody made up as a refusal shows it: one word of at most 30 characters,
    else "…".
    """
    return name if is_shown(name) else "…"


def without_credentials(message: str) -> str:
    """Return a message with "…" in place of each word that is a credential, e.g. an id that there
    is not.
    """
    return _REPEATED.sub(lambda word: "…" if credential_in(word[0]) else word[0], message)
