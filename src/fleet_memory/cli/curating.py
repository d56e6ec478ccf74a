"""Change the memory: `entry`, `lesson`, `review`, `seed`, `policy` and `purge`."""

import argparse
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, get_args

import anyio

from fleet_memory.cli.arguments import (
    DRY_RUN,
    KEY,
    LESSON,
    WHY,
    YES,
    Actions,
    Run,
    argument,
    flag,
    lesson_named,
    limit,
)
from fleet_memory.cli.memory import in_memory, with_memory
from fleet_memory.cli.printing import Output, limited, stdin_text, with_consent
from fleet_memory.clients.hooks import note_showings
from fleet_memory.clients.identity import user_state
from fleet_memory.clients.moments import forget_texts
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import (
    Curated,
    DecidedLesson,
    allow_lesson,
    edit_lesson,
    judge_pair,
    read_seeds,
    reinstate_entry,
    retire_entry,
    reword_entry,
    seed_rules,
    split_entry,
    withdraw_lesson,
)
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.erasing import Erased, Wanted, erase, preview_erasure
from fleet_memory.jobs.looking import existing_program, waiting_pairs
from fleet_memory.jobs.policy import apply_policy, policy_rows, set_policy
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.rules.curating import Seeding
from fleet_memory.rules.text.keys import KEY_PREFIXES
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.patterns import TextChange
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings


def decide(work: Callable[..., Awaitable[Curated | DecidedLesson]], *names: str) -> Run:
    """Return the command of a decision about an entry or a lesson, e.g. `decide(retire_entry,
    "why")`; it exits with 1 when it was so before.
    """

    def run(given: argparse.Namespace, settings: Settings) -> Output:
        is_entry = hasattr(given, "key")
        about = [given.key] if is_entry else lesson_named(given.name, None)
        words = [getattr(given, name) for name in names]
        decided = with_memory(settings, lambda fleet: work(fleet, *about, *words))
        return Output(decided._asdict(), code=0 if decided.changed else EXIT_NO)

    return run


def run_forget(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Move a lesson, or a program with all that it holds, to the archive."""
    if not given.all:
        if given.dry_run or given.yes:
            raise InvalidArgumentError(
                "--yes, --dry-run: they go with --all; of one lesson nothing is asked, and `lesson "
                "restore` brings it back"
            )
        return decide(withdraw_lesson, "why")(given, settings)

    def delete(*, dry_run: bool = False) -> Output:
        work = partial(delete_program, program_id=given.name, why=given.why, dry_run=dry_run)
        deleted = with_memory(settings, work)
        return Output(
            {
                "dryRun": dry_run,
                "programId": deleted.program_id,
                "archivedPatterns": deleted.patterns,
                "archivedNotes": deleted.notes,
                "revokedTokens": deleted.tokens,
            }
        )

    return with_consent(given, delete(dry_run=True), "Move all this to the archive?", delete)


async def restore(fleet: Fleet, given: argparse.Namespace) -> Output:
    """List the archive of a program, also of a deleted one, or bring an item back; 1 when there is
    no room for it.
    """
    program, item = fleet.caller.program_id or "", given.name
    if item is not None:
        program, item = lesson_named(item, program)
        row = await restore_archived(fleet, program, item)
        return Output({"programId": program, **row}, code=0 if row["restored"] else EXIT_NO)
    if not program:
        raise InvalidArgumentError("--program: required; whose archive is it?")
    archive = await list_archive(fleet, program)
    if not archive:
        await existing_program(fleet, program)
    return Output({"programId": program, "archive": archive})


async def review_pairs(fleet: Fleet, given: argparse.Namespace) -> Output:
    """List the pairs that wait, those for people first, or carry out a person's verdict and publish
    what follows.
    """
    if given.pair is None:
        pairs = await waiting_pairs(fleet)
        listed = [waiting.wire() for waiting in pairs[: given.limit]]
        pending = 0 if pairs else await fleet.programs.count_pending()
        notes = [_PENDING.format(count=pending)] if pending else []
        return Output({"pairs": listed}, _PAIRS, notes, {"pairs": len(pairs) - len(listed)})
    if given.verdict is None:
        raise InvalidArgumentError("review: give a verdict too, e.g. `review PAIR same`")
    words = {"pairId": given.pair, "verdict": given.verdict, "reason": given.reason}
    try:
        verdict = NewVerdict.model_validate(words)
    except InvalidValueError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidArgumentError(f"{problem['loc'][0]}: {problem['msg']}") from error
    judged = await judge_pair(fleet, verdict)
    await publish_now(fleet)
    change = judged.change
    entry = {"key": change.entry.key, "entryState": change.after} if change else {}
    return Output({"pairId": judged.pair_id, "state": judged.state, **entry})


_PENDING: Final = "{count} lessons wait for the next run: fleet-memory maintain"
_PAIRS: Final = {"pairs": "pairId waitsFor differs steering | a b"}


def run_seed(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Show the changes, ask, and set the rules."""
    seeding = partial(seed_rules, wanted=read_seeds(Path(given.file)), prune=given.prune)
    preview = partial(seeding, dry_run=True)
    if given.dry_run:
        plan = with_memory(settings, preview)
    else:
        plan = anyio.run(with_fleet, settings, preview)
    if not (plan.written or plan.retired):
        return _planned(plan, dry_run=given.dry_run)

    def seed() -> Output:
        note = "Every agent reads it at its next boot."
        return _planned(anyio.run(with_fleet, settings, seeding), dry_run=False)._replace(
            notes=[note]
        )

    return with_consent(given, _planned(plan, dry_run=True), "Write this?", seed)


def _planned(plan: Seeding, *, dry_run: bool) -> Output:
    texts = [
        {"key": key, "text": rule.text, "was": plan.earlier.get(key)}
        for key, rule in sorted(plan.written.items())
    ]
    return Output({"dryRun": dry_run, **plan.keys(), "texts": texts}, {"texts": "key text | was"})


async def show_policy(fleet: Fleet, _given: argparse.Namespace) -> Output:
    """Return every rule, its default and its meaning."""
    policy = (await fleet.policies.read_versioned()).value
    rows = [row._asdict() for row in policy_rows(policy, fleet.toolsets)]
    return Output({"policy": rows}, {"policy": "name value default allowed | meaning"})


_FROM_NOW_ON: Final = (
    "It holds for entries published from now on; `fleet-memory policy set --apply` takes back "
    "those below it."
)
_OF_PUBLISHING: Final = ("threshold ", "origins ")  # changes of these affect publication


def run_policy_set(given: argparse.Namespace, settings: Settings) -> Output:
    """Set rules; with --apply take back the entries that they would not publish."""
    if not (given.words or given.apply):
        raise InvalidArgumentError("policy set: NAME VALUE or --apply is missing, e.g. threshold 3")

    async def work(fleet: Fleet) -> Output:
        changes = await set_policy(fleet, given.words)
        if given.apply:
            taken = (await apply_policy(fleet)).items()
            rows = [{"key": key, "votes": count} for key, count in taken]
            return Output({"changed": changes, "takenBack": rows})
        concerned = any(change.startswith(_OF_PUBLISHING) for change in changes)
        return Output({"changed": changes}, notes=[_FROM_NOW_ON] if concerned else ())

    return anyio.run(with_fleet, settings, work)


_NOT_SCRUBBED: Final = (
    "Another process keeps the memory file in use, so that what was erased may still lie in "
    "its free space: stop the servers that use it and run this again."
)


def run_purge(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Show what goes, ask, erase it, and say what is left; 1 when something is, or nothing was
    there to erase.
    """
    wanted = _wanted(given)
    preview = with_memory(settings, lambda fleet: preview_erasure(fleet, wanted))

    def purge() -> Output:
        state = user_state()
        forget_texts(state.folder)  # so that no hook shows a lesson of it from now on, and
        anyio.run(note_showings, settings, state)  # none notes one that is erased
        erased = with_memory(settings, lambda fleet: erase(fleet, wanted))
        if given.program is not None:
            state.forget_program(given.program)
        forget_texts(state.folder)  # of a session that began meanwhile
        return _erased(erased, given, dry_run=False)

    question = "Erase this for good? Nothing brings it back."
    return with_consent(given, _erased(preview, given, dry_run=True), question, purge)


def _wanted(given: argparse.Namespace) -> Wanted:
    """Return the wish. Raises InvalidArgumentError unless there is one, of a program if it is a
    lesson.
    """
    # from stdin it is in no shell's history
    text = stdin_text("--text").strip() if given.text == "-" else given.text
    if sum(each is not None for each in (given.name, text, given.program)) != 1:
        raise InvalidArgumentError(
            "KEY|PROGRAM/ID, --text, --program: give one of them, e.g. --text hunter2"
        )
    if given.name is None:
        return Wanted(text, given.program, why=given.why)
    if given.name.startswith(KEY_PREFIXES):
        return Wanted(entry=given.name, why=given.why)
    program, pattern = lesson_named(given.name, None)
    return Wanted(program=program, pattern=pattern, why=given.why)


def _erased(erased: Erased, given: argparse.Namespace, *, dry_run: bool) -> Output:
    content = {
        "dryRun": dry_run,
        "erased": +erased.gone,
        "changed": +erased.changed,
        **({} if dry_run else {"scrubbed": erased.is_scrubbed}),
        "left": erased.left,
        "otherSpellings": erased.alike,
        **({"texts": sorted(erased.texts)} if given.show else {}),
    }
    notes = [] if erased.is_scrubbed else [_NOT_SCRUBBED]
    if erased.is_empty:
        notes.append("Nothing in this memory holds it.")
        if "/" in str(given.program):
            notes.append(f"One lesson: fleet-memory purge {given.program}")
    return limited(content)._replace(notes=notes, code=EXIT_NO if notes or erased.left else 0)


_TEXT: Final = argument("text", "TEXT", "the new text")
_VERDICT: Final = (
    "same: who follows one text does what the other asks; contradict: nobody can follow both; "
    "different: anything else; unsure: leave it open"
)
_CHANGE: Final = "reworded: the same insight, keeps its votes; corrected: the old text was wrong"
ACTIONS: Final[Actions] = {
    "entry retire": (decide(retire_entry, "why"), KEY, WHY),
    "entry reinstate": (decide(reinstate_entry, "why"), KEY, WHY),
    "entry reword": (decide(reword_entry, "text", "why"), KEY, _TEXT, WHY),
    "entry split": (
        decide(split_entry, "program", "pattern", "why"),
        KEY,
        argument("--program", "PROGRAM", "whose contribution it is", required=True),
        argument("--pattern", "ID", "which of its lessons, where it contributes several"),
        WHY,
    ),
    "lesson edit": (
        decide(edit_lesson, "text", "change", "why"),
        LESSON,
        _TEXT,
        argument("--change", None, _CHANGE, choices=get_args(TextChange), required=True),
        WHY,
    ),
    "lesson forget": (
        run_forget,
        argument("name", "PROGRAM/ID", "a lesson; with --all a program"),
        flag("--all", "all lessons and notes of a program; what it contributed stays"),
        WHY,
        YES,
        DRY_RUN,
    ),
    "lesson restore": (
        in_memory(restore),
        argument("name", "PROGRAM/ID", "an item's id; without it the archive is listed", nargs="?"),
    ),
    "lesson allow": (decide(allow_lesson, "why"), LESSON, WHY),
    "review": (
        in_memory(review_pairs),
        argument("pair", "PAIR", "judge this one, by its id", nargs="?"),
        argument("verdict", None, _VERDICT, nargs="?", choices=get_args(Verdict)),
        argument("--reason", "TEXT", "why, kept with the verdict", default=""),
        limit("how many pairs are listed"),
    ),
    "seed": (
        run_seed,
        argument("file", "FILE", "rules as TOML, or as JSON by its suffix"),
        flag("--prune", "retire rules that the file does not have"),
        YES,
        DRY_RUN,
    ),
    "policy show": (in_memory(show_policy),),
    "policy set": (
        run_policy_set,
        argument("words", "NAME VALUE", "e.g. threshold 3; `policy show` has the names", nargs="*"),
        flag("--apply", "also take back the entries that the policy would not publish"),
    ),
    "purge": (
        run_purge,
        argument("name", "KEY|PROGRAM/ID", "an entry and lessons in its words, or one", nargs="?"),
        argument("--text", "SUBSTRING", "texts with it, in any case and spacing; - reads stdin"),
        argument("--program", "PROGRAM", "its whole memory, and what it gave to shared knowledge"),
        argument("--why", "TEXT", "the reason, kept in the log", default=""),
        flag("--show", "show the texts of lessons that go, too"),
        YES,
        DRY_RUN,
    ),
}
