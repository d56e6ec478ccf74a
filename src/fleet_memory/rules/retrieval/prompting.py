"""Which lessons fit a person's prompt so well that its agent should read them unasked: by rare
words in common.

Source of every number: docs/decisions/lessons-for-a-prompt.md, measured on prompts and lessons by
other hands.
"""

from collections.abc import Sequence
from typing import Final

from fleet_memory.moment import KINDS_OF_WORK, Words, best_places, fits, index_of

MAX_FITTING: Final = 3
MIN_FIT: Final = 2.2  # rare words in common, a word of one lesson alone counts 1
MIN_WORDS: Final = 2  # of a prompt, none of them a kind of work


def is_worth_reading(prompt: str) -> bool:
    """Whether a prompt has enough words for any lesson to fit: neither "go on" nor a command of the
    client.
    """
    return (
        not prompt.lstrip().startswith(("/", "<"))
        and len(Words(prompt).stems - KINDS_OF_WORK) >= MIN_WORDS
    )


def fitting_places(prompt: str, texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that fit a prompt well, best first, `MAX_FITTING` at most."""
    fit = fits(index_of((text, "") for text in texts), len(texts), Words(prompt))
    return best_places(fit, MIN_FIT)[:MAX_FITTING]
