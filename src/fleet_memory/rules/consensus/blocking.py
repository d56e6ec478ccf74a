"""Which domains are compared with each other: agents name the same topic differently."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

Topics: TypeAlias = tuple[tuple[str, ...], ...]

SMALL_FLEET: Final = 2_000  # lessons up to which every domain is compared with every other
COMMON_WORD: Final = 8  # domains that may share a word; a word of more says nothing about the topic
STEM: Final = 5  # letters: "claims", "claiming" and "claim" are one word
_WORD: Final = re.compile(r"[a-z]{3,}")


def topics(counts: Mapping[str, int]) -> Topics:
    """Return the domains that are compared together, sorted; `counts` maps each domain to its lessons.

    Up to 2,000 lessons that is all of them. Beyond, domains belong together when their names share a word that at most
    eight of them use, and so on through chains of such words. It depends on names and counts alone, so that a run that
    looks at a part decides as one that looks at everything.
    """
    if sum(counts.values()) <= SMALL_FLEET:
        return (tuple(sorted(counts)),) if counts else ()
    users: dict[str, list[str]] = {}
    for domain in sorted(counts):
        for word in {word[:STEM] for word in _WORD.findall(domain.lower())}:
            users.setdefault(word, []).append(domain)
    return _joined(counts, (domains for domains in users.values() if len(domains) <= COMMON_WORD))


def _joined(domains: Iterable[str], ties: Iterable[list[str]]) -> Topics:
    home = {domain: {domain} for domain in domains}
    for tied in ties:
        together: set[str] = set().union(*(home[domain] for domain in tied))
        home.update(dict.fromkeys(together, together))
    return tuple(sorted({tuple(sorted(topic)) for topic in home.values()}))
