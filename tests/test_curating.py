"""What people do to shared knowledge: set rules from a file, retire entries, delete programs."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from anyio import to_thread

from fleet_memory.errors import (
    ConflictError,
    EmbedderUnavailableError,
    ForbiddenError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    LeaseLostError,
    StoreUnavailableError,
)
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.curation import Retired, SeedingPlan, plan_seeding, read_seeds, retire_entry, seed_rules
from fleet_memory.jobs.deletion import Deleted, delete_program, preview_deletion
from fleet_memory.jobs.fenced_writer import CONSOLIDATION_LEASE
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.answers.consolidation import ConsolidateAnswer
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.seeds import Seed
from fleet_memory.schemas.state import ContextSummary
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.tools.add_note import add_note
from fleet_memory.tools.get_context_history import get_context_history
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.gsp_read import gsp_read
from fleet_memory.tools.gsp_search import gsp_search
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from fleet_memory.tools.recall_memory import recall_memory
from fleet_memory.tools.reinforce_memory import reinforce_memory
from fleet_memory.tools.store_memory import store_memory
from fleet_memory.tools.update_program_state import update_program_state
from tests.fleets import documents, interrupted, lease_to_another, writing

pytestmark = pytest.mark.anyio

DOCUMENTED = (Path(__file__).parent.parent / "docs" / "knowledge.md").read_text(encoding="utf-8")
CLAIM = "Check that a task is still free before you claim it"
KEY = knowledge_key("tasks", CLAIM)
RULE = "constitution/never-commit-secrets"
ASK_FIRST = "constitution/ask-first"
HANDOFF = ContextSummary.model_validate({"handoffNotes": "go on"})
SEEDS = """\
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules.toml"


def seeds(file: Path, text: str = SEEDS) -> dict[str, Seed]:
    file.write_text(text, encoding="utf-8")
    return read_seeds(file)


async def seed(fleet: Fleet, file: Path, text: str = SEEDS, *, prune: bool = False) -> SeedingPlan:
    return await seed_rules(fleet, await to_thread.run_sync(seeds, file, text), prune=prune)


async def learn(fleet: Fleet, *programs: str, text: str = CLAIM, domain: str = "tasks") -> None:
    for program in programs:
        lesson = NewPattern(pattern=text, domain=domain, confidence=0.8, evidence="seen")
        await store_memory(fleet, program, lesson)


async def consolidate(fleet: Fleet) -> ConsolidateAnswer:
    return await pattern_consolidate(fleet, no_progress)


async def constitution(fleet: Fleet) -> tuple[KnowledgeAnswer, ...]:
    return (await gsp_bootstrap(fleet, "basher")).constitution


async def test_every_agent_boots_with_the_rules_of_the_house(fleet: Fleet, file: Path) -> None:
    plan = await seed(fleet, file)
    assert sorted(plan.added) == [ASK_FIRST, RULE]
    rules = await constitution(fleet)
    assert [(rule.key, rule.confidence) for rule in rules] == [(RULE, 1.0), (ASK_FIRST, 0.95)]
    entry = await gsp_read(fleet, RULE)
    assert (entry.tier, entry.description) == ("constitutional", "Two incidents in 2025")
    assert [(line.event, line.by) for line in entry.ledger] == [("seeded", "operator")]


async def test_seeding_the_same_file_again_changes_nothing(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    version = (await gsp_search(fleet)).knowledge_version
    plan = await seed(fleet, file)
    assert (plan.added, plan.changed, len(plan.unchanged)) == ({}, {}, 2)
    assert (await gsp_search(fleet)).knowledge_version == version


async def test_a_changed_rule_is_changed_and_a_missing_one_stays_unless_pruned(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    less = '[[entry]]\nkey = "never-commit-secrets"\ntext = "Never ever commit secrets"\ndomain = "security"\n'
    plan = await seed(fleet, file, less)
    assert (list(plan.changed), list(plan.missing)) == ([RULE], [ASK_FIRST])
    assert len(await constitution(fleet)) == 2
    await seed(fleet, file, less, prune=True)
    assert [rule.pattern for rule in await constitution(fleet)] == ["Never ever commit secrets"]
    await seed(fleet, file)
    assert len(await constitution(fleet)) == 2


async def test_a_plan_writes_nothing(fleet: Fleet, file: Path) -> None:
    assert len((await plan_seeding(fleet, await to_thread.run_sync(seeds, file))).added) == 2
    assert (await gsp_search(fleet)).total == 0


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


def test_the_documented_seed_file_is_right(file: Path) -> None:
    (text,) = re.findall(r"```toml\n(.+?)```", DOCUMENTED, re.DOTALL)
    assert len(seeds(file, text)) == text.count("[[entry]]")


async def test_agents_contest_a_rule_but_never_retire_it(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    for program in ("iso", "sark", "ram"):
        await reinforce_memory(fleet, program, RULE, outcome="contradicted")
    (rule,) = (await gsp_search(fleet, status="contested")).knowledge
    assert rule.key == RULE


async def test_a_lesson_that_repeats_a_rule_confirms_it_and_changes_nothing_of_it(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    await learn(fleet, "iso", "sark", text="never commit secrets!", domain="security")
    answer = await consolidate(fleet)
    assert (answer.promoted, answer.updated, answer.echoes) == ((), (), 2)
    entry = await gsp_read(fleet, RULE)
    assert (entry.confidence, entry.contributors, entry.description) == (1.0, (), "Two incidents in 2025")


async def test_a_person_retires_an_entry_and_brings_it_back(fleet: Fleet) -> None:
    await learn(fleet, "iso", "sark")
    await consolidate(fleet)
    assert await retire_entry(fleet, KEY, "The queue is gone") == Retired(KEY, "retired", changed=True)
    assert (await gsp_bootstrap(fleet, "basher")).knowledge == ()
    assert await retire_entry(fleet, KEY, "again") == Retired(KEY, "retired", changed=False)
    assert await retire_entry(fleet, KEY, "The queue is back", undo=True) == Retired(KEY, "active", changed=True)
    assert len((await gsp_bootstrap(fleet, "basher")).knowledge) == 1
    history = [(line.event, line.by, line.why) for line in (await gsp_read(fleet, KEY)).ledger[1:]]
    assert history == [("retired", "operator", "The queue is gone"), ("returned", "operator", "The queue is back")]


async def test_a_retired_entry_returns_with_new_evidence_only(fleet: Fleet) -> None:
    await learn(fleet, "iso", "sark")
    await consolidate(fleet)
    await retire_entry(fleet, KEY, "wrong")
    assert (await consolidate(fleet)).promoted == ()
    await learn(fleet, "ram")
    assert (await consolidate(fleet)).promoted == ()
    await learn(fleet, "quorra")
    (back,) = (await consolidate(fleet)).promoted
    assert (back.key, back.contributors) == (KEY, ("iso", "quorra", "ram", "sark"))
    assert (await gsp_read(fleet, KEY)).status == "fresh"


async def test_an_unknown_key_is_refused_with_the_close_ones(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    with pytest.raises(KnowledgeNotFoundError, match=f"Close keys are {RULE}"):
        await retire_entry(fleet, RULE[:-1], "typo")


async def test_a_bound_caller_does_none_of_this(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    await learn(fleet, "iso")
    bound = replace(fleet, caller=Caller("sark"))
    with pytest.raises(ForbiddenError, match="role admin"):
        await seed(bound, file, SEEDS.replace("Never", "Never ever"))
    with pytest.raises(ForbiddenError, match="role admin"):
        await retire_entry(bound, RULE, "no")
    with pytest.raises(ForbiddenError, match="role admin"):
        await delete_program(bound, "iso")
    assert (await gsp_read(fleet, RULE)).version == 1


async def test_a_deleted_program_leaves_its_contribution_and_its_archive(fleet: Fleet) -> None:
    await learn(fleet, "iso", "sark")
    await learn(fleet, "iso", text="Rotate the log files once a day", domain="logs")
    await add_note(fleet, "iso", "Port 8081 is taken")
    await update_program_state(fleet, "iso", context_summary=HANDOFF)
    await consolidate(fleet)
    deleted = Deleted("iso", patterns=2, notes=1, entries=(KEY,))
    assert await preview_deletion(fleet, "iso") == deleted
    assert await delete_program(fleet, "iso") == deleted
    entry = await gsp_read(fleet, KEY)
    assert entry.contributors == ("iso", "sark")
    assert [line.program_deleted for line in entry.provenance] == [True, None]
    assert (await recall_memory(fleet, "iso")).exists is False
    assert (await get_context_history(fleet, "iso")).summaries == ()
    archive = [(row["reason"], row.get("noteId", "lesson")) for row in await list_archive(fleet, "iso")]
    assert sorted(archive, key=str) == [("deleted", "lesson"), ("deleted", "lesson"), ("deleted", "n1")]


async def test_what_a_deleted_program_had_waiting_is_no_witness_any_more(fleet: Fleet) -> None:
    await learn(fleet, "iso")
    await consolidate(fleet)
    await delete_program(fleet, "iso")
    await learn(fleet, "sark")
    answer = await consolidate(fleet)
    assert (answer.promoted, answer.review, answer.waiting) == ((), (), 1)
    await learn(fleet, "ram")
    assert [entry.contributors for entry in (await consolidate(fleet)).promoted] == [("ram", "sark")]


async def test_a_name_that_nobody_has_is_refused(fleet: Fleet) -> None:
    await learn(fleet, "basher")
    with pytest.raises(InvalidArgumentError, match="close names: basher"):
        await delete_program(fleet, "bashr")


async def test_while_a_consolidation_runs_nothing_is_set_or_retired(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    await lease_to_another(fleet, CONSOLIDATION_LEASE)
    before = await documents(fleet)
    with pytest.raises(ConflictError, match="Another change of this fleet's shared knowledge is running"):
        await seed(fleet, file, SEEDS.replace("Never", "Never ever"))
    with pytest.raises(ConflictError, match="Another change of this fleet's shared knowledge is running"):
        await retire_entry(fleet, RULE, "no")
    assert await documents(fleet) == before


async def test_a_rule_that_is_contested_while_it_retires_is_retired_all_the_same(fleet: Fleet, file: Path) -> None:
    await seed(fleet, file)
    meanwhile = interrupted(fleet, writing("gsp"), lambda: reinforce_memory(fleet, "iso", RULE, outcome="contradicted"))
    assert (await retire_entry(meanwhile, RULE, "We have a vault")).changed
    entry = await fleet.knowledge.found(RULE)
    assert (entry.status, [line.program_id for line in entry.contradictions]) == ("retired", ["iso"])


async def cut_off() -> None:
    raise StoreUnavailableError("The connection was cut.")


async def test_a_retirement_whose_publication_failed_is_published_by_the_same_call_again(
    fleet: Fleet, file: Path
) -> None:
    await seed(fleet, file)
    with pytest.raises(StoreUnavailableError):
        await retire_entry(interrupted(fleet, writing("snapshots"), cut_off), RULE, "We have a vault")
    assert len(await constitution(fleet)) == 2
    assert await retire_entry(fleet, RULE, "We have a vault") == Retired(RULE, "retired", changed=False)
    assert [rule.key for rule in await constitution(fleet)] == [ASK_FIRST]


async def test_rules_whose_publication_failed_are_published_by_the_same_call_again(fleet: Fleet, file: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        await seed(interrupted(fleet, writing("snapshots"), cut_off), file)
    assert await constitution(fleet) == ()
    assert (await seed(fleet, file)).added == {}
    assert len(await constitution(fleet)) == 2


async def test_a_run_that_loses_its_lease_sets_no_rule(fleet: Fleet, file: Path) -> None:
    overtaken = interrupted(
        fleet, writing("gsp"), lambda: lease_to_another(fleet, CONSOLIDATION_LEASE, timedelta(hours=1))
    )
    with pytest.raises(LeaseLostError, match="taken over"):
        await seed(overtaken, file)
    assert await documents(fleet) == []


async def test_a_rule_is_set_while_the_embedder_is_out_and_gets_its_vector_later(fleet: Fleet, file: Path) -> None:
    await seed(replace(fleet, embedder=Unreachable()), file)
    assert (await fleet.knowledge.found(RULE)).vector == ""
    await learn(fleet, "iso", text="never commit secrets!", domain="security")
    assert (await consolidate(fleet)).echoes == 1


class Unreachable(Lexical):
    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailableError(f"no vector for {len(texts)} texts")


def test_a_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgumentError, match=r"FILE: rules\.toml cannot be read as UTF-8 text"):
        read_seeds(file)
