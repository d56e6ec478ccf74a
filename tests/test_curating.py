"""People's changes of shared knowledge: they set rules, retire, reinstate and reword; theirs is the
last word.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from anyio import to_thread

from fleet_memory.errors import (
    EmbedderUnavailableError,
    ForbiddenError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    OutcomeUnknownError,
    StoreUnavailableError,
)
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import (
    Curated,
    read_seeds,
    reinstate_entry,
    retire_entry,
    reword_entry,
    seed_rules,
    split_entry,
)
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.publishing import MAINTAINER_LEASE
from fleet_memory.rules.curating import Seeding
from fleet_memory.rules.entries import entry_state, settled, with_word
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.knowledge import Entry, EntryState, Seed, Word
from fleet_memory.schemas.pairs import PairState
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Caller
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Write
from fleet_memory.tools.core.judging import pattern_consolidate
from tests.fleets import NOW, at, documents, interrupted, lease_to_another, on, writing
from tests.shared import KEY, LOOK, change_entry, learnt, published_keys, shared_entry
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

RULE, ASK_FIRST = "constitution/never-commit-secrets-42e3b2", "constitution/ask-first"
SEEDS = """
[[entry]]
text = "Never commit secrets"
domain = "security"
why = "Two incidents in 2025"

[[entry]]
key = "ask-first"
text = "Ask a person before you delete data"
domain = "safety"
confidence = 0.95
"""
DOCUMENTED = (Path(__file__).parent.parent / "docs" / "knowledge.md").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules.toml"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


def seeds(file: Path, text: str = SEEDS) -> dict[str, Seed]:
    file.write_text(text, encoding="utf-8")
    return read_seeds(file)


async def seed(fleet: Fleet, file: Path, text: str = SEEDS, *, prune: bool = False) -> Seeding:
    return await seed_rules(fleet, await to_thread.run_sync(seeds, file, text), prune=prune)


async def ledger(fleet: Fleet, key: str) -> list[tuple[str, str, str]]:
    lines = await fleet.knowledge.ledger.newest(await fleet.knowledge.found(key), 20)
    return [(line.event, line.by, line.why) for line in lines]


async def say(fleet: Fleet, program: str, outcome: Outcome, *, key: str = KEY) -> Entry:
    """Let a program report with evidence whether an entry is true."""
    word = Word(program_id=program, outcome=outcome, at=fleet.now(), evidence="seen")

    def told(entry: Entry) -> Entry:
        return settled(entry, with_word(entry, word), Policy(), fleet.now())

    return await change_entry(fleet, key, told, by=program)


async def state(fleet: Fleet, key: str = KEY) -> EntryState:
    return entry_state(await fleet.knowledge.found(key), fleet.now())


async def test_every_agent_boots_with_the_rules_of_the_house(fleet: Fleet, file: Path) -> None:
    plan = await seed(fleet, file)
    assert plan.keys()["added"] == [ASK_FIRST, RULE]
    rows = {
        row.key: (row.tier, row.confidence) for row in (await fleet.knowledge.snapshots.read()).rows
    }
    assert rows == {RULE: ("constitutional", 1.0), ASK_FIRST: ("constitutional", 0.95)}
    assert (await fleet.knowledge.found(RULE)).description == "Two incidents in 2025"
    assert await ledger(fleet, RULE) == [("seeded", "operator", "Two incidents in 2025")]


async def test_seeding_the_same_file_again_changes_nothing(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    before = await documents(fleet)
    plan = await seed(fleet, file)
    assert (plan.written, len(plan.unchanged)) == ({}, 2)
    assert await documents(fleet) == before


async def test_a_changed_rule_is_changed_and_a_missing_one_stays_unless_pruned(
    fleet: Fleet, file: Path
) -> None:
    await seed(fleet, file)
    less = (
        '[[entry]]\nkey = "never-commit-secrets-42e3b2"\ntext = "Never ever commit '
        'secrets"\ndomain = "security"\n'
    )
    plan = await seed(fleet, file, less)
    assert (plan.keys()["changed"], plan.kept) == ([RULE], [ASK_FIRST])
    assert await published_keys(fleet) == [ASK_FIRST, RULE]
    await seed(fleet, file, less, prune=True)
    assert await published_keys(fleet) == [RULE]
    assert (await fleet.knowledge.found(RULE)).value.pattern == "Never ever commit secrets"
    await seed(fleet, file)
    assert await published_keys(fleet) == [ASK_FIRST, RULE]
    assert [event for event, _, _ in await ledger(fleet, ASK_FIRST)] == [
        "seeded",
        "retired",
        "seeded",
    ]


async def test_a_dry_run_writes_nothing(fleet: Fleet, file: Path) -> None:
    wanted = await to_thread.run_sync(seeds, file)
    assert len((await seed_rules(fleet, wanted, prune=False, dry_run=True)).written) == 2
    assert await documents(fleet) == []


async def test_rules_in_other_scripts_and_rules_that_begin_alike_have_keys_of_their_own(
    fleet: Fleet, file: Path
) -> None:
    texts = (
        "提交前先跑测试",
        "不要在星期五部署",
        *(f"Ask the owner before you restart service {name}" for name in "AB"),
    )
    for text in texts:
        await seed(fleet, file, f'[[entry]]\ntext = "{text}"\ndomain = "rules"\n')
    rows = (await fleet.knowledge.snapshots.read()).rows
    assert {row.pattern for row in rows} == set(texts)


def test_json_works_as_well(tmp_path: Path) -> None:
    text = json.dumps({"entry": [{"text": "Never commit secrets", "domain": "security"}]})
    assert list(seeds(tmp_path / "rules.json", text)) == [RULE]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[[entry]]\ntext = 'x'\n", "entry.0.domain"),
        ("[[entry]]\ntext = 'x'\ndomain = 'a b'\n", "entry.0.domain"),
        ("[[entry]]\ntext = 'x'\ndomain = 'a'\nconfidence = 2.0\n", "entry.0.confidence"),
        ("[[entry]]\ntext = 'x'\ndomain = 'a'\ntier = 'mine'\n", "entry.0.tier"),
        (SEEDS + SEEDS, "entry.2.key"),
        ("entry = [", "rules.toml: "),
        ("", "entry"),
    ],
)
def test_a_wrong_file_is_refused_and_the_place_named(file: Path, text: str, place: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(place)):
        seeds(file, text)


def test_a_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(
        InvalidArgumentError, match=r"FILE: rules\.toml: 'utf-8' codec can't decode byte 0xff"
    ):
        read_seeds(file)


def test_a_file_that_is_not_there_or_a_folder_is_refused_for_that(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"FILE: gone\.toml cannot be read"):
        read_seeds(tmp_path / "gone.toml")
    with pytest.raises(InvalidArgumentError, match=f"FILE: {tmp_path.name} cannot be read: "):
        read_seeds(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "[" * 100_000), ("a.toml", "entry = " + "[" * 100_000)]
)
def test_a_file_that_is_nested_without_end_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"FILE: {name} is nested too deeply"):
        seeds(tmp_path / name, text)


@pytest.mark.parametrize("name", ["a.toml", "A.JSON"])
def test_a_byte_order_mark_and_a_suffix_in_capitals_are_accepted(tmp_path: Path, name: str) -> None:
    rule = {"entry": [{"text": "Never commit secrets", "domain": "security"}]}
    text = json.dumps(rule) if name.endswith("JSON") else SEEDS
    assert RULE in seeds(tmp_path / name, f"\ufeff{text}")


def test_the_documented_seed_file_is_right(file: Path) -> None:
    (text,) = re.findall(r"```toml\n(.+?)```", DOCUMENTED, re.DOTALL)
    assert len(seeds(file, text)) == text.count("[[entry]]")


async def test_agents_contest_a_rule_but_never_retire_it(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    for program in ("iso", "sark", "ram"):
        await say(fleet, program, "contradicted", key=RULE)
    assert await state(fleet, RULE) == "contested"


async def test_a_person_retires_an_entry_and_reinstates_it(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    assert await retire_entry(fleet, KEY, "The queue is gone") == Curated(
        KEY, "retired", changed=True
    )
    assert await published_keys(fleet) == []
    assert await retire_entry(fleet, KEY, "again") == Curated(KEY, "retired", changed=False)
    assert await reinstate_entry(fleet, KEY, "The queue is back") == Curated(
        KEY, "fresh", changed=True
    )
    assert await reinstate_entry(fleet, KEY, "again") == Curated(KEY, "fresh", changed=False)
    assert await published_keys(fleet) == [KEY]
    assert (await ledger(fleet, KEY))[1:] == [
        ("retired", "operator", "The queue is gone"),
        ("reinstated", "operator", "The queue is back"),
    ]


async def test_a_reinstated_entry_is_confirmed_and_without_contradictions(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    for program in ("ram", "clu"):
        retired = await say(fleet, program, "contradicted")
    assert retired.retired_at == NOW
    later = at(fleet, NOW + timedelta(days=400))
    assert (await reinstate_entry(later, KEY, "It holds")).state == "fresh"
    entry = await later.knowledge.found(KEY)
    assert (len(entry.words), entry.last_confirmed) == (2, later.now())
    again = at(fleet, NOW + timedelta(days=401))
    for program in ("ram", "clu"):
        await say(again, program, "contradicted")
    assert await state(again) == "retired"  # agents that see it false again are heard again


async def test_a_reworded_entry_keeps_its_key_and_votes_and_loses_contradictions_of_the_old_text(
    fleet: Fleet,
) -> None:
    before = await shared_entry(fleet, "basher", "iso")
    await say(fleet, "ram", "contradicted")
    text = "Look whether a task is free right before you claim it"
    assert await reword_entry(fleet, KEY, text, "shorter") == Curated(KEY, "fresh", changed=True)
    entry = await fleet.knowledge.found(KEY)
    assert entry.value == replace(before.value, pattern=text)
    assert (entry.provenance, len(entry.words)) == (before.provenance, 1)
    assert (entry.embedder, bool(entry.vector)) == (Lexical().name, True)
    assert [row.pattern for row in (await fleet.knowledge.snapshots.read()).rows] == [text]
    assert (await ledger(fleet, KEY))[-1] == ("reworded", "operator", "shorter")
    assert (await reword_entry(fleet, KEY, text, "again")).changed is False


async def test_a_lesson_that_waits_with_the_old_text_is_compared_with_the_new_one(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    lesson = await learnt(fleet, "sark", f"{LOOK}, each time")

    async def states(*texts: str) -> list[PairState | None]:
        ids = [pair_id(lesson.words, text_hash(text)) for text in texts]
        return [each.pair.state if each.pair else None for each in await fleet.pairs.read(*ids)]

    old, new = (f"Look whether a task is free {when} you claim it" for when in ("as", "before"))
    await reword_entry(fleet, KEY, old, "shorter")
    await pattern_consolidate(fleet, no_progress)
    assert await states(old) == ["open"]
    await reword_entry(fleet, KEY, new, "clearer")
    await pattern_consolidate(fleet, no_progress)
    assert await states(old, new) == ["gone", "open"]


async def test_the_words_of_another_entry_are_refused_with_its_key(
    fleet: Fleet, file: Path
) -> None:
    await shared_entry(fleet, "basher", "iso")
    await seed(fleet, file)
    await retire_entry(fleet, RULE, "We have a vault")
    before = await documents(fleet)
    for key, text in (
        (ASK_FIRST, "Ask a person before you delete data"),
        (RULE, "never commit secrets."),
    ):
        with pytest.raises(InvalidArgumentError, match=f"TEXT: the entry {key} has these words"):
            await reword_entry(fleet, KEY, text, "shorter")
    assert await documents(fleet) == before


@pytest.mark.parametrize("text", ["", " ", "x" * 1001, "a\x00b"])
async def test_a_text_that_no_lesson_may_have_is_refused(fleet: Fleet, text: str) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match="TEXT: must"):
        await reword_entry(fleet, KEY, text, "why")
    assert await documents(fleet) == before


@pytest.mark.parametrize("why", ["", " ", "\x1b[2J", "bell\x07", "x" * 1001])
async def test_a_reason_is_a_text_as_well(fleet: Fleet, why: str) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)
    for work in (
        retire_entry(fleet, KEY, why),
        reinstate_entry(fleet, KEY, why),
        reword_entry(fleet, KEY, "Claim twice", why),
        split_entry(fleet, KEY, "iso", None, why),
    ):
        with pytest.raises(InvalidArgumentError, match="--why: must"):
            await work
    assert await documents(fleet) == before


async def test_a_rule_of_a_file_is_reworded_in_the_file(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    with pytest.raises(InvalidArgumentError, match="fleet-memory seed FILE"):
        await reword_entry(fleet, RULE, "Commit no secrets", "shorter")


async def test_an_unknown_key_is_refused_with_the_close_ones(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    for work in (
        retire_entry(fleet, RULE[:-1], "typo"),
        reinstate_entry(fleet, RULE[:-1], "typo"),
        reword_entry(fleet, RULE[:-1], "Commit no secrets", "typo"),
        split_entry(fleet, RULE[:-1], "iso", None, "typo"),
    ):
        with pytest.raises(KnowledgeNotFoundError, match=f"Close keys are {RULE}"):
            await work


async def test_a_bound_caller_does_none_of_this(fleet: Fleet, file: Path) -> None:
    await shared_entry(fleet, "basher", "iso")
    before = await documents(fleet)
    bound = replace(fleet, caller=Caller("sark"))
    for work in (
        seed(bound, file),
        retire_entry(bound, KEY, "no"),
        reinstate_entry(bound, KEY, "no"),
        reword_entry(bound, KEY, "Claim twice", "no"),
        split_entry(bound, KEY, "iso", None, "no"),
        delete_program(bound, "iso"),
    ):
        with pytest.raises(ForbiddenError, match="only an operator may do this"):
            await work
    assert await documents(fleet) == before


async def test_a_retirement_needs_no_lease_and_is_published_by_the_run_that_has_it(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    meanwhile = interrupted(
        fleet, writing("gsp"), lambda: lease_to_another(fleet, MAINTAINER_LEASE)
    )
    later = at(meanwhile, NOW + timedelta(minutes=2))  # when the lease of that run has ended
    assert (await retire_entry(later, KEY, "gone")).changed
    assert await published_keys(fleet) == []


async def test_a_rule_that_is_contested_while_it_retires_is_retired_all_the_same(
    fleet: Fleet, file: Path
) -> None:
    await seed(fleet, file)
    meanwhile = interrupted(
        fleet, writing("gsp"), lambda: say(fleet, "iso", "contradicted", key=RULE)
    )
    assert (await retire_entry(meanwhile, RULE, "We have a vault")).changed
    entry = await fleet.knowledge.found(RULE)
    assert (entry.retired_at, [word.program_id for word in entry.words]) == (NOW, ["iso"])


async def cut_off() -> None:
    raise StoreUnavailableError("The connection was cut.")


async def test_a_retirement_whose_publication_failed_is_published_by_the_same_call_again(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    with pytest.raises(StoreUnavailableError):
        await retire_entry(interrupted(fleet, writing("snapshots"), cut_off), KEY, "gone")
    assert await published_keys(fleet) == [KEY]
    later = at(fleet, NOW + timedelta(minutes=3))
    assert await retire_entry(later, KEY, "gone") == Curated(KEY, "retired", changed=False)
    assert await published_keys(fleet) == []


async def test_rules_whose_publication_failed_are_published_by_the_same_call_again(
    fleet: Fleet, file: Path
) -> None:
    with pytest.raises(StoreUnavailableError):
        await seed(interrupted(fleet, writing("snapshots"), cut_off), file)
    assert await published_keys(fleet) == []
    assert (await seed(at(fleet, NOW + timedelta(minutes=3)), file)).written == {}
    assert len(await published_keys(fleet)) == 2


class LosesAnswers(ForwardingStore):
    """A store that applies the first write of an entry and loses the answer."""

    lost = False

    async def commit(self, *writes: Write) -> datetime:
        at = await super().commit(*writes)
        if not self.lost and writing("gsp")(writes):
            self.lost = True
            raise OutcomeUnknownError("The answer was lost.")
        return at


async def test_a_lost_answer_is_settled_so_that_nothing_is_in_the_ledger_twice(
    fleet: Fleet,
) -> None:
    await shared_entry(fleet, "basher", "iso")
    lossy = on(fleet, LosesAnswers(fleet.knowledge.store))
    assert await retire_entry(lossy, KEY, "gone") == Curated(KEY, "retired", changed=True)
    assert [event for event, _, _ in await ledger(fleet, KEY)] == ["promoted", "retired"]


async def test_a_text_is_set_while_the_embedder_is_out_and_gets_its_vector_later(
    fleet: Fleet, file: Path
) -> None:
    out = replace(fleet, embedder=Unreachable())
    await seed(out, file)
    await shared_entry(fleet, "basher", "iso")
    await reword_entry(out, KEY, f"{LOOK}, always", "clearer")
    assert [(await fleet.knowledge.found(key)).vector for key in (RULE, KEY)] == ["", ""]


class Unreachable(Lexical):
    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailableError(f"no vector for {len(texts)} texts")
