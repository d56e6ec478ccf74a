"""The facts that follow from others: entries made, lessons joined, entries published, pairs proposed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from tests.law_world import Policy
from tests.plain_entries import Knowledge
from tests.plain_facts import Change, Decided, Fact, Joined, Key, Made, Proposed, agent, normalised
from tests.plain_law import Contribution, originals_and_copies, same_origin
from tests.plain_views import Entry, Lesson


def settle(facts: set[Fact], policy: Policy, now: int, *, in_run: bool) -> None:
    """Add the facts that follow, until none does."""
    # Open: an entry is published the moment that it has earned it; the next run shows it to readers.
    steps: Sequence[Callable[[Knowledge], Iterable[Fact]]] = (
        lambda views: made(views, in_run=in_run),
        lambda views: joined(views, in_run=in_run),
        decided,
    )
    views = Knowledge(facts, policy, now)
    for _ in range(100):
        before = len(facts)
        for step in steps:
            facts |= set(step(views))
            if len(facts) > len(views.facts):
                views = Knowledge(facts, policy, now)
        if len(facts) == before:
            return
    raise AssertionError("facts follow from facts without end")


def made(views: Knowledge, *, in_run: bool) -> list[Fact]:
    """The next entry that comes to be: by a `same`, a word of another program, or in a run equal words."""
    known = {entry.key for entry in views.entries}
    ways = [_by_same(views), _by_words(views), _by_equal_words(views) if in_run else iter(())]
    found = next((one for way in ways for one in way if one.key not in known), None)
    return [found] if found else []


def _by_same(views: Knowledge) -> Iterator[Made]:
    """A `same` of two texts whose lessons are in no entry makes one of the better lesson's text."""
    for pair in sorted(views.same, key=lambda pair: _judged(views, pair)):
        sides = [[one for one in _released(views) if words in one.texts] for words in sorted(pair)]
        for project in _projects(views):
            free = [
                [one for one in side if one.fits(project) and views.is_free(one, project)]
                for side in sides
            ]
            lessons = [one for side in free for one in side]
            if all(free) and any(one.project == project for one in lessons):
                better = min(lessons, key=lambda one: (-one.confidence, _first(one), one.program))
                words = next(words for words in sorted(pair) if words in better.texts)
                text = better.texts[words].words
                yield Made(views.now, Key(words, project), text)


def _judged(views: Knowledge, pair: frozenset[str]) -> tuple[int, list[str]]:
    return max(one.at for one in views.verdicts(pair)), sorted(pair)


def _first(lesson: Lesson) -> int:
    return min(text.at for text in lesson.texts.values())


def _released(views: Knowledge) -> Sequence[Lesson]:
    return [one for one in views.lessons if not views.steers(one)]


def _projects(views: Knowledge) -> Sequence[str | None]:
    return sorted({one.project for one in views.lessons}, key=str)


def _by_words(views: Knowledge) -> Iterator[Made]:
    """The first word of another program about a lesson in no entry makes one of its text."""
    for word in views.words:
        words = normalised(word.words)
        about = [
            one for one in _released(views) if words in one.texts and one.program != word.program
        ]
        in_entry = any(
            not views.is_free(one, project) for one in about for project in (None, one.project)
        )
        if about and not in_entry and not views.is_own(word.program, words):
            oldest = min(about, key=_first)
            yield Made(views.now, Key(words, oldest.project), oldest.texts[words].words)


def _by_equal_words(views: Knowledge) -> Iterator[Made]:
    """Lessons of equal words of two origins make an entry of these words."""
    for project in _projects(views):
        free = [
            one for one in _released(views) if one.fits(project) and views.is_free(one, project)
        ]
        for words in sorted({one.words for one in free}):
            equal = [one for one in free if one.words == words]
            originals, _ = originals_and_copies(
                [Contribution(_first(one), one.texts[words], discovers=True) for one in equal]
            )
            apart = any(not same_origin(a.stored, b.stored) for a, b in combinations(originals, 2))
            if apart and any(one.project == project for one in equal):
                yield Made(
                    views.now, Key(words, project), min(equal, key=_first).texts[words].words
                )


def joined(views: Knowledge, *, in_run: bool) -> list[Fact]:
    """Lessons in no entry join one; what their programs could have read is decided now."""
    joining: list[tuple[Lesson, Entry, str]] = []
    for project in {entry.key.project for entry in views.entries}:
        for lesson in views.lessons:
            entry = views.entry_for(lesson, project)
            words = views.joining_words(lesson, entry) if entry else None
            if entry and words and views.is_free(lesson, project):
                judged = words not in entry.words
                # Equal words join when the entry is made, later ones in a run.
                if judged or in_run or lesson.texts[words].at <= entry.made:
                    joining.append((lesson, entry, words))
    facts: list[Fact] = []
    for lesson, entry, words in joining:
        texts = frozenset(text for one, other, _ in joining if other == entry for text in one.texts)
        because = views.could_have_read(lesson, words, entry, texts)
        facts.append(Joined(views.now, entry.key, lesson.current.lesson, words, because))
    return facts


def decided(views: Knowledge) -> list[Fact]:
    """Entries that are published, withdrawn or retired from now on."""
    facts: list[Fact] = []
    for entry in views.entries:
        if views.should_retire(entry.key):
            facts.append(Decided(views.now, entry.key, "retired"))
        elif views.should_publish(entry.key) and not views.is_published(entry.key):
            threshold = views.policy.threshold
            facts.append(Decided(views.now, entry.key, "published", threshold))
        elif not views.should_publish(entry.key) and views.is_published(entry.key):
            facts.append(Decided(views.now, entry.key, "withdrawn"))
    return facts


def proposed(views: Knowledge, are_near: Callable[[str, str], bool]) -> list[Fact]:
    """Pairs that a run proposes: near lessons of two origins in no entry, and entries with all others."""
    # Open: a lesson in an entry is compared by the entry's text alone.
    sides: list[Lesson | Entry] = [
        *_free_lessons(views),
        *(entry for entry in views.entries if views.is_held(entry)),
    ]
    pairs: list[frozenset[str]] = []
    for a, b in combinations(sides, 2):
        for pair in _pair(views, a, b, are_near):
            if pair not in pairs:
                pairs.append(pair)
    return [Proposed(views.now, pair) for pair in pairs]


def _free_lessons(views: Knowledge) -> Sequence[Lesson]:
    return [one for one in views.lessons if views.is_free(one, one.project)]


def _pair(
    views: Knowledge, a: Lesson | Entry, b: Lesson | Entry, are_near: Callable[[str, str], bool]
) -> Iterator[frozenset[str]]:
    a_words = normalised(a.text if isinstance(a, Entry) else a.current.words)
    b_words = normalised(b.text if isinstance(b, Entry) else b.current.words)
    known = set(views.pairs) | {
        frozenset((normalised(one.old), normalised(one.new))) for one in views.of(Change)
    }
    between = {frozenset((x, y)) for x in _texts(a) for y in _texts(b)}
    if (
        a_words != b_words
        and not between & known
        and are_near(a_words, b_words)
        and _may_meet(views, a, b)
    ):
        yield frozenset((a_words, b_words))


def _texts(side: Lesson | Entry) -> frozenset[str]:
    return side.words if isinstance(side, Entry) else frozenset(side.texts)


def _may_meet(views: Knowledge, a: Lesson | Entry, b: Lesson | Entry) -> bool:
    if isinstance(a, Entry) and isinstance(b, Entry):
        return a.key.project == b.key.project
    if isinstance(a, Lesson) and isinstance(b, Lesson):
        return a.may_meet(b) and agent(a.program) != agent(b.program)
    entry, lesson = (a, b) if isinstance(a, Entry) else (b, a)
    assert isinstance(entry, Entry)
    assert isinstance(lesson, Lesson)
    agents = {agent(one.stored.program) for one in views.contributions(entry)}
    return lesson.fits(entry.key.project) and agents != {agent(lesson.program)}
