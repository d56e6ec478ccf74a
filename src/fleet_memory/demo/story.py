"""The three weeks and their consequences: the lessons are scripted, every outcome is a tool's
answer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.demo import weeks
from fleet_memory.demo.stage import Stage
from fleet_memory.demo.telling import Teller, Texts
from fleet_memory.demo.weeks import CHECK, ECHO, FLEET, FRESH, WEEKS
from fleet_memory.fleet import no_progress
from fleet_memory.jobs.maintenance import Maintained, maintain_fleet
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import JudgedAnswer, ToJudge
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.knowledge import EntryAnswer, gsp_read
from fleet_memory.tools.session.commit_session import commit_session

MEDIAN: Final = 0.89  # of 0.92, 0.84 and 0.89; Source: the article's own entry
_STATUS_IN_WORDS: Final = {
    "fresh": "still trusted",
    "verify": 'marked "verify", to be checked before use',
}


class Claim(NamedTuple):
    """A statement of the story, with the expected and the answered values."""

    statement: str
    expected: object
    answered: object

    @property
    def holds(self) -> bool:
        """Whether the answer is the expected one."""
        return self.expected == self.answered


class _JudgedPair(NamedTuple):
    """A pair that an agent was asked about, its verdict, and the server's answer."""

    pair: ToJudge
    verdict: NewVerdict
    answer: JudgedAnswer


async def play_story(stage: Stage, teller: Teller) -> list[Claim]:
    """Play the whole story and return its claims. Raises FleetMemoryError when a tool refuses."""
    teller.say(
        "You run several AI agents. Each starts every session knowing nothing of the last, and "
        "repeats mistakes that "
        "the others made before. Fleet Memory is where they write down what they learn. Here "
        "are some months of such a "
        "fleet, replayed in a throw-away memory. Their lessons are scripted; every outcome is "
        "a tool's real answer."
    )
    texts: Texts = {}
    return [
        *await _three_weeks(stage, teller, texts),
        *await _second_look(stage, teller),
        *await _consolidation(stage, teller, texts),
        *await _newcomer(stage, teller),
        *await _later(stage, teller),
    ]


async def _three_weeks(stage: Stage, teller: Teller, texts: Texts) -> list[Claim]:
    teller.chapter("Three agents learn, and none sees the others' notes")
    statuses = set()
    for lesson in WEEKS:
        async with stage.session(lesson.at, lesson.program) as fleet:
            answer = await store_memory(fleet, lesson.program, lesson.sent())
        teller.say(f"On {_day(lesson.at)} {lesson.program} {lesson.evidence}, and stores:")
        teller.quote(lesson.text)
        texts[lesson.program, answer.pattern_id] = lesson.text
        statuses.add(answer.status)
    return [Claim("every lesson is new to its agent", {"created"}, statuses)]


async def _second_look(stage: Stage, teller: Teller) -> list[Claim]:
    teller.chapter("A lesson outlives its session")
    teller.say(
        f"On {_day(weeks.SECOND_LOOK)} basher begins a new session and recalls its lessons on "
        "claiming tasks:"
    )
    async with stage.session(weeks.SECOND_LOOK, "basher") as fleet:
        recalled = (await recall_memory(fleet, "basher", domain=CHECK.domain, scope="own")).patterns
        for pattern in recalled:
            teller.quote(
                pattern.pattern, f"{pattern.age_days or 0} days old, {_sure(pattern.confidence)}"
            )
            answer = await reinforce_memory(
                fleet, "basher", pattern.id, evidence=weeks.APPLIED, confidence=weeks.SURER
            )
            teller.say(f'It reports: "{weeks.APPLIED}". Now it is {_sure(answer.confidence)}.')
    return [
        Claim(
            "a new session recalls the lesson",
            [CHECK.text],
            [pattern.pattern for pattern in recalled],
        )
    ]


async def _consolidation(stage: Stage, teller: Teller, texts: Texts) -> list[Claim]:
    teller.chapter("Numbers propose pairs, and the agents decide")
    teller.say(
        f"On {_day(weeks.CONSOLIDATION)} the server compares the lessons of all three. Lessons "
        "that are alike need "
        "not mean the same, so the next boot of each agent brings pairs with a lesson of its "
        "own, and the agent judges "
        "them when it commits its session:"
    )
    judged: list[_JudgedPair] = []
    for number in range(weeks.SESSIONS_OF_EACH):
        for program in FLEET:
            judged += await _judging_session(stage, teller, program, f"session {number}")
    async with stage.session(weeks.CONSOLIDATION) as fleet:
        known = (await recall_memory(fleet, FLEET[0], scope="shared", explain=True)).knowledge
        read = [await gsp_read(fleet, entry.key) for entry in known]
        again = await maintain_fleet(fleet, no_progress)
    teller.chapter("What several agents learnt independently becomes knowledge")
    for entry in read:
        teller.say(f"{len(entry.contributors)} agents learnt the same, each in its own words:")
        teller.agreed(entry, texts)
        teller.say("Every agent will read one sentence for all of them when it starts:")
        teller.quote(entry.pattern, _sure(entry.confidence))
    return [*_entry_claims(read, judged), *_judging_claims(judged, again)]


async def _judging_session(
    stage: Stage, teller: Teller, program: str, name: str
) -> list[_JudgedPair]:
    """Boot an agent, and commit its session with a verdict for each pair that the boot asks
    about.
    """
    async with stage.session(weeks.CONSOLIDATION) as fleet:
        await maintain_fleet(fleet, no_progress)
    async with stage.session(weeks.CONSOLIDATION, program) as fleet:
        asked = (await gsp_bootstrap(fleet, program)).to_judge or ()
        verdicts = tuple(_verdict(pair) for pair in asked)
        answer = await commit_session(fleet, program, request_id=name, verdicts=verdicts)
    for pair, verdict in zip(asked, verdicts, strict=True):
        teller.judged(program, pair, verdict.verdict)
    return [_JudgedPair(*parts) for parts in zip(asked, verdicts, answer.judged or (), strict=True)]


def _verdict(pair: ToJudge) -> NewVerdict:
    return NewVerdict.model_validate(
        {
            "pairId": pair.pair_id,
            "verdict": weeks.verdict_about(pair.a.pattern, pair.b.pattern),
            "reason": weeks.JUDGEMENT,
        }
    )


def _entry_claims(read: Sequence[EntryAnswer], judged: Sequence[_JudgedPair]) -> list[Claim]:
    by_domain = {entry.domain: entry for entry in read}
    claiming, builders = by_domain.get(CHECK.domain), by_domain.get(FRESH.domain)
    published = {
        judged_pair.answer.key
        for judged_pair in judged
        if judged_pair.answer.status in ("verify", "fresh")
    }
    return [
        Claim("two lessons became knowledge", {CHECK.domain, FRESH.domain}, set(by_domain)),
        Claim("one has three contributors", FLEET, claiming and claiming.contributors),
        Claim("its confidence is their median", MEDIAN, claiming and claiming.confidence),
        Claim("the other has two", ("basher", "iso"), builders and builders.contributors),
        Claim("both were published by verdicts", {entry.key for entry in read}, published),
        Claim(
            "both sides have judged, so both are fresh",
            ["fresh", "fresh"],
            [entry.status for entry in read],
        ),
    ]


def _judging_claims(judged: Sequence[_JudgedPair], again: Maintained) -> list[Claim]:
    contradicted = {
        frozenset((judged_pair.pair.a.domain, judged_pair.pair.b.domain))
        for judged_pair in judged
        if judged_pair.verdict.verdict == "contradict"
    }
    return [
        Claim("one topic contradicts itself", {frozenset({weeks.ROTATION})}, contradicted),
        Claim("comparing again changes nothing", ((), ()), (again.promoted, again.updated)),
    ]


async def _newcomer(stage: Stage, teller: Teller) -> list[Claim]:
    name = ECHO.program
    async with stage.session(ECHO.at, name) as fleet:
        boot = await gsp_bootstrap(
            fleet, name, depth="full", task="claim the next task from the queue"
        )
        stored = await store_memory(fleet, name, ECHO.sent())
    async with stage.session(weeks.NEXT_CONSOLIDATION) as fleet:
        await maintain_fleet(fleet, no_progress)
    async with stage.session(weeks.NEXT_CONSOLIDATION, name) as fleet:
        asked = (await gsp_bootstrap(fleet, name)).to_judge or ()
        answer = await commit_session(
            fleet, name, request_id="echo", verdicts=tuple(map(_verdict, asked))
        )
    async with stage.session(weeks.NEXT_CONSOLIDATION) as fleet:
        entries = (await recall_memory(fleet, name, scope="shared", explain=True)).knowledge
    teller.chapter("A fourth agent starts, and knows it already")
    teller.say(
        f"On {_day(ECHO.at)} {name} begins, and has never worked here. Before its first task "
        "it reads:"
    )
    for entry in boot.knowledge:
        teller.quote(entry.pattern, "from " + ", ".join(entry.contributors or ()))
    teller.say("It stores the same in its own words:")
    teller.quote(ECHO.text)
    counts = {entry.domain: entry.contributor_count for entry in entries}
    teller.say(
        f"On {_day(weeks.NEXT_CONSOLIDATION)} it calls both the same. The entry still has "
        f"{counts.get(CHECK.domain)} "
        f"contributors: {name} read the lesson first, so it did not learn it independently."
    )
    return [
        Claim(
            "the newcomer reads the lesson first",
            [CHECK.text],
            [entry.pattern for entry in boot.knowledge[:1]],
        ),
        Claim("it is a lesson of its own", "created", stored.status),
        Claim(
            "it is asked about its lesson once",
            ["same"],
            [judged.state for judged in answer.judged or ()],
        ),
        Claim("its copy has no vote", len(FLEET), counts.get(CHECK.domain)),
    ]


async def _later(stage: Stage, teller: Teller) -> list[Claim]:
    async with stage.session(weeks.USED_AGAIN, "basher") as fleet:
        for pattern in (
            await recall_memory(fleet, "basher", domain=FRESH.domain, scope="own")
        ).patterns:
            await reinforce_memory(fleet, "basher", pattern.id)
    async with stage.session(weeks.HUNDRED_DAYS_LATER) as fleet:
        health = [await memory_health(fleet, program) for program in FLEET]
    teller.chapter("Lessons that nobody uses fade")
    faded = [
        f"{program.program_id} {program.stale_patterns} of {program.total_patterns}"
        for program in health
    ]
    teller.say(
        f"By {_day(weeks.HUNDRED_DAYS_LATER)} only basher has used a lesson again. "
        f"Lessons that faded: {', '.join(faded)}."
    )
    statuses = [
        await _shared_status(stage, teller, at)
        for at in (weeks.HUNDRED_DAYS_LATER, weeks.TWO_HUNDRED_DAYS_LATER)
    ]
    return [
        Claim("unused lessons fade", [1, 3, 2], [program.stale_patterns for program in health]),
        Claim(
            "knowledge stays, then asks to be checked", [["fresh"] * 2, ["verify"] * 2], statuses
        ),
    ]


async def _shared_status(stage: Stage, teller: Teller, at: datetime) -> list[str]:
    async with stage.session(at) as fleet:
        entries = (await recall_memory(fleet, ECHO.program, scope="shared")).knowledge
    teller.say(f"What the fleet knows on {_day(at)}:")
    statuses = [entry.status or "fresh" for entry in entries]
    for entry, status in zip(entries, statuses, strict=True):
        teller.quote(entry.pattern, _STATUS_IN_WORDS.get(status, status))
    return [str(status) for status in statuses]


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B}"


def _sure(confidence: float) -> str:
    return f"{confidence:.0%} sure"
