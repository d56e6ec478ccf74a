"""What surrounds a lesson's text, its domain and what its author saw, and the mark of a vector made
with it.
"""

from hashlib import blake2b
from typing import Final

MAX_CONTEXT_EVIDENCE_CHARS: Final = 80  # more costs time. Source: docs/recall.md
MIN_CONTEXT_WORDS: Final = 3  # of evidence: "seen" says nothing. Source: docs/recall.md
# begins the evidence of a lesson of another memory: where it was, not what was seen
IMPORTED: Final = "Imported from "
MARK_CHARS: Final = 8  # that a search vector begins with


def context_text(domain: str, evidence: str) -> str:
    """Return the text of a lesson's context; "" where the evidence says nothing.

    E.g. `context_text("deploy", "Two runs wrote one file") == "deploy: Two runs wrote one file"`.
    """
    seen = evidence[:MAX_CONTEXT_EVIDENCE_CHARS].strip()
    if len(seen.split(maxsplit=MIN_CONTEXT_WORDS - 1)) < MIN_CONTEXT_WORDS or seen.startswith(
        IMPORTED
    ):
        return ""
    return f"{domain}: {seen}"


def search_mark(embedder: str, text: str, context: str) -> str:
    """Return the mark of a search vector that this engine made of a lesson's text and context."""
    return blake2b(
        "\0".join((embedder, text, context)).encode(), digest_size=MARK_CHARS // 2
    ).hexdigest()
