"""Which lessons fit a person's prompt so well that its agent should read them unasked: by rare
words in common.

Source of every number: docs/decisions/lessons-for-a-prompt.md, measured on prompts and lessons by
other hands.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from fleet_memory.rules.text.tokens import FRAME_WORDS, stem

MAX_FITTING: Final = 3
MIN_FIT: Final = 2.2  # rare words in common, a word of one lesson alone counts 1
MIN_OF_BEST: Final = 0.7  # of the best lesson's fit
MIN_SHARE: Final = 0.1  # of the prompt's information: a long text has words of everything
MIN_WORDS: Final = 2  # of a prompt, none of them a kind of work
NAME_BONUS: Final = 0.5  # for a name in code in common, e.g. `pool_size`
KIND_OF_WORK_WEIGHT: Final = 0.5
MIN_POOL: Final = 25  # lessons: among few even a common word is rare
MAX_START_CHARS: Final = 2_000  # of a prompt that are read: the request, and
MAX_END_CHARS: Final = 1_000  # the end of pasted text, or the request after it

# Stems of words that name a kind of work or of file and not its subject. Source: docs/hooks.md
KINDS_OF_WORK: Final = frozenset(
    stem(word)
    for word in re.findall(
        r"\w+",
        """
        add app back call case change check class code css error example fail file files find first
        fix function good html js json keep last line lines look make md move name need new next now
        old page put py remove rename run see set show src step test tests thing try ts tsx type use
        value want way work write
        """,
    )
)
_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)  # between the words of a camelCase name
_PATH: Final = re.compile(r"\w[\w./-]*\w")
_BETWEEN: Final = re.compile(r"[./-]")
_NAME: Final = re.compile(
    r"(?=\w*?[a-z][A-Z]|\w+?_\w|\d{3})\w++|[A-Z]{6,}"
)  # poolSize, pool_size, 5433, ECONNRESET


class _Words(NamedTuple):
    """The stems of a text's words, those inside names too, and its names in code in small
    letters.
    """

    stems: frozenset[str]
    names: frozenset[str]


def is_worth_reading(prompt: str) -> bool:
    """Whether a prompt has enough words for any lesson to fit: neither "go on" nor a command of the
    client.
    """
    return (
        not prompt.lstrip().startswith(("/", "<"))
        and len(_words(_read(prompt)).stems - KINDS_OF_WORK) >= MIN_WORDS
    )


def fitting_places(prompt: str, texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that fit a prompt well, best first, `MAX_FITTING` at most."""
    fits = fits_of(prompt, texts)
    least = max(MIN_FIT, MIN_OF_BEST * max(fits.values(), default=0.0))
    best = sorted(fits, key=lambda place: (-fits[place], place))[:MAX_FITTING]
    return [place for place in best if fits[place] >= least]


def fits_of(prompt: str, texts: Sequence[str]) -> dict[int, float]:
    """Return by its place how well each text fits a prompt; none that has less than `MIN_SHARE` of
    its information.

    A text's fit is the sum over the stems that it shares with the prompt of ln((n + 1) / texts with
    the stem) / ln(n + 1), half of that for `KINDS_OF_WORK`, plus `NAME_BONUS` for each name in
    code, plus its share 0..1 of the sum over all stems of the prompt.
    """
    asked, lessons = _words(_read(prompt)), [_words(text) for text in texts]
    holders = Counter(stem for lesson in lessons for stem in lesson.stems & asked.stems)
    pool = max(len(texts), MIN_POOL)
    information = {word: _information(word, holders[word], pool) for word in asked.stems}
    whole = sum(information.values())
    fits = {}
    for place, lesson in enumerate(lessons):
        common = sum(information[word] for word in sorted(lesson.stems & asked.stems))
        if common >= MIN_SHARE * whole > 0:
            fits[place] = common + NAME_BONUS * len(lesson.names & asked.names) + common / whole
    return fits


def _information(word: str, holders: int, pool: int) -> float:
    rarity = math.log((pool + 1) / max(1, holders)) / math.log(pool + 1)
    return rarity * (KIND_OF_WORK_WEIGHT if word in KINDS_OF_WORK else 1.0)


def _read(prompt: str) -> str:
    """Return the parts of a prompt that count."""
    if len(prompt) <= MAX_START_CHARS + MAX_END_CHARS:
        return prompt
    return f"{prompt[:MAX_START_CHARS]}\n{prompt[-MAX_END_CHARS:]}"


def _words(text: str) -> _Words:
    parts = (word.lower() for word in _WORD.findall(_HUMP.sub(" ", text)))
    names = (
        name
        for path in _PATH.findall(text)
        for name in (path, *_BETWEEN.split(path))
        if _NAME.fullmatch(name)
    )
    return _Words(
        frozenset(stem(word) for word in parts if len(word) > 1 and word not in FRAME_WORDS),
        frozenset(name.lower() for name in names),
    )
