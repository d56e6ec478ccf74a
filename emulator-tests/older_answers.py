"""How an answer of today differs from that of the version before, and which differences have a
reason.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from fleet_memory.schemas.programs import DecayConfig

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
Record: TypeAlias = "dict[str, Any]"
Kind: TypeAlias = Literal["lost", "empty lost", "new", "other"]

DECIMALS: Final = 2  # of the numbers that a model computes: processors differ in the third
COMPUTED: Final = frozenset({"similarity", "contrast"})
UNJUDGED: Final = (
    frozenset(  # entries that numbers merged: `verify` now, at once where the entry itself is read
        {
            "pattern/reviews/keep-each-pull-request-under-400",
            "pattern/task-claiming/before-claiming-task-make-sure-status",
        }
    )
)
SCALES: Final[tuple[tuple[Kind, str], ...]] = (
    ("other", "score"),
    ("other", "explain/semantic"),
    ("other", "explain/words"),
    ("new", "explain/identifiers"),
)
REASONS: Final[Mapping[tuple[Kind, str], str]] = {
    ("lost", "* calibratedConfidence"): "calibration is no more",
    ("lost", "* */calibratedConfidence"): "calibration is no more",
    ("other", "* freshness/reason"): "it says who is to act",
    ("new", "* freshness/toJudge"): "pairs are new",
    ("other", "check schemaVersion"): "a file is converted when it is opened",
    ("other", "check file"): "each test has a file or project of its own",
    ("new", "check documents/maintenance"): "an import leaves a note",
    ("new", "check programs"): "those of the fleet that stored something",
    ("new", "check sqlite"): "the version of SQLite",
    ("other", "check project"): "each test has a file or project of its own",
    ("other", "memory_health freshness/*"): "a program's freshness is of its own lessons",
    ("new", "memory_health toJudge"): "pairs are new",
    ("new", "health --program toJudge"): "pairs are new",
    ("other", "health --program freshness/*"): "a program's freshness is of its own lessons",
    ("other", "health --program advice*"): "advice is worded otherwise",
    ("other", "memory_health advice*"): "advice is worded otherwise",
    ("other", "health advice*"): "advice is worded otherwise, and begins with contested entries",
    (
        "other",
        "fleet_health advice*",
    ): "advice is worded otherwise, and begins with contested entries",
    ("new", "health contested"): "the contested entries are listed",
    ("new", "fleet_health contested"): "the contested entries are listed",
    ("empty lost", "health omitted"): "absent where nothing is left out",
    ("empty lost", "fleet_health omitted"): "absent where nothing is left out",
    ("new", "gsp_bootstrap* domains"): "a boot names the fleet's domains",
    ("other", "gsp_bootstrap* protocol"): "it has the sentences alone that a boot needs",
    ("empty lost", "gsp_bootstrap* changes/*"): "absent where it is empty",
    ("empty lost", "gsp_bootstrap* program/*"): "absent where it is empty",
    ("new", "gsp_bootstrap* knowledge/*/own"): "own entries are marked",
    ("new", "gsp_bootstrap* knowledge/*/evidence"): "own entries come with their evidence",
    **{
        ("lost", f"gsp_bootstrap {part}/*/{name}"): "figures come at depth full alone"
        for part in ("knowledge", "constitution")
        for name in ("confidence", "contributorCount", "lastConfirmed")
        if (part, name) != ("constitution", "contributorCount")
    },
    (
        "empty lost",
        "gsp_bootstrap constitution/*/contributorCount",
    ): "figures come at depth full alone",
    ("lost", "gsp_bootstrap patterns/*/strength"): "figures come at depth full alone",
    ("lost", "get_program_state programId"): "the caller named it",
    **{
        ("empty lost", f"get_program_state {name}"): "absent where it is empty"
        for name in ("config", "baselines", "contextSummary", "notes", "version")
    },
    (
        "new",
        "gsp_read words",
    ): "an entry's words are listed; `contradictions` are compared with them",
    ("new", "gsp_read doubts"): "why an entry wants checking",
    ("new", "recall_memory knowledge/*/own"): "own entries are marked",
    ("new", "recall_memory note"): "it says that nothing fits well",
    **{
        (kind, f"{tool} {part}/*/{name}"): "scores have fixed scales"
        for tool, part in (
            ("gsp_search", "knowledge"),
            ("recall_memory", "knowledge"),
            ("recall_memory", "patterns"),
        )
        for kind, name in SCALES
    },
}


class Difference(NamedTuple):
    """A place in an answer, items of lists as "*", e.g. "lost" at "knowledge/*/status"; both
    values.
    """

    kind: Kind
    place: str
    now: Json
    then: Json


def differences(answer: Json, record: Record, then: Json) -> list[Difference]:
    """Return the differences of an answer to a recorded question that no reason explains."""
    now, before = with_contradictions(answer), expected(record, then)
    if source(record).startswith("gsp_bootstrap"):
        now, before = (
            in_order_of_keys(cast("Record", now)),
            in_order_of_keys(cast("Record", before)),
        )
    found = _between(now, before)
    return [one for one in found if not _has_reason(source(record), one)]


def expected(record: Record, then: Json) -> Json:
    """Return the earlier answer to a recorded question, in the form that answers have now."""
    if not isinstance(then, dict):
        return then
    if then.get("key") in UNJUDGED:
        then = then | {"status": "verify"}
    then = cast("Record", lean(then))
    if source(record).startswith("gsp_bootstrap"):
        return without_first_changes(then)
    return without_defaults(then) if source(record) == "get_program_state" else then


def in_order_of_keys(boot: Record) -> Record:
    """Return a boot with its entries in the order of their keys: now those that an own lesson
    covers come first.
    """
    if "knowledge" not in boot:
        return boot
    return boot | {"knowledge": sorted(boot["knowledge"], key=lambda entry: str(entry.get("key")))}


def source(record: Record) -> str:
    """Return the name of the question in `REASONS`: a tool or command, with the depth of a boot
    that is full.
    """
    if "command" in record:
        return " ".join(word for word in record["command"][:3] if word != "--json")
    return f"{record['tool']}{' full' if record['arguments'].get('depth') == 'full' else ''}"


def _has_reason(of: str, difference: Difference) -> bool:
    return any(
        kind == difference.kind and fnmatchcase(f"{of} {difference.place}", pattern)
        for kind, pattern in REASONS
    )


def _between(now: Json, then: Json, place: tuple[str, ...] = ()) -> Iterator[Difference]:
    at = "/".join(place)
    if isinstance(now, dict) and isinstance(then, dict):
        for name in sorted({*now, *then}):
            inner = (*place, name)
            if name not in now:
                kind: Kind = (
                    "empty lost" if then[name] in ([], {}, "") or _is_zero(then[name]) else "lost"
                )
                yield Difference(kind, "/".join(inner), None, then[name])
            elif name not in then:
                yield Difference("new", "/".join(inner), now[name], None)
            else:
                yield from _between(now[name], then[name], inner)
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for one, other in zip(now, then, strict=True):
            yield from _between(one, other, (*place, "*"))
    elif not _equal(now, then, at.rpartition("/")[2]):
        yield Difference("other", at, now, then)


def _is_zero(value: Json) -> bool:
    return value == 0 and value is not False


def _equal(now: Json, then: Json, name: str) -> bool:
    if name in COMPUTED and isinstance(now, float) and isinstance(then, float):
        return abs(now - then) <= 10**-DECIMALS
    return type(now) is type(then) and now == then


def with_contradictions(answer: Json) -> Json:
    """Return an entry that is read with `contradictions` as before, made of its words."""
    if not isinstance(answer, dict) or not isinstance(words := answer.get("words"), list):
        return answer
    against = [
        word for word in words if isinstance(word, dict) and word["outcome"] == "contradicted"
    ]
    implied = {"outcome", "waits"}
    return answer | {
        "contradictions": [{k: v for k, v in word.items() if k not in implied} for word in against]
    }


def without_first_changes(boot: Record) -> Record:
    """Return a boot without the changes of a first one: there it listed all shown entries as added,
    now it does not.
    """
    shown = {entry["key"] for part in ("constitution", "knowledge") for entry in boot[part]}
    changes = boot.get("changes", {})
    is_first = (
        shown <= set(changes.get("added", ()))
        and not changes.get("updated")
        and not changes.get("retired")
    )
    return boot | {"changes": {}} if is_first else boot


def without_defaults(state: Record) -> Record:
    """Return a state without rules of decay that are the default, and without `pinned` of notes
    that are not.
    """
    notes = [
        {name: value for name, value in note.items() if name != "pinned" or value is True}
        for note in state["notes"]
    ]
    shown = state | {"notes": notes}
    return {
        name: value
        for name, value in shown.items()
        if (name, value) != ("decayConfig", DecayConfig().wire())
    }


def lean(value: Json) -> Json:
    """Return an answer with its lessons and entries as they are shown now: docs/recall.md, "The
    shape of a hit".
    """
    if isinstance(value, list):
        return [lean(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "ageDays" in value:
        return lean_pattern(value)
    if "contributorCount" in value:
        return lean_entry(value)
    shown = {name: lean(inner) for name, inner in value.items()}
    return (
        shown | {"forecast": without_repeats(value["forecast"])} if "forecast" in value else shown
    )


def without_repeats(forecast: Any) -> Json:  # noqa: ANN401 - JSON that was recorded
    """Return the horizons of a forecast that add something to the one before; figures of 0 are
    absent.
    """
    kept: list[Json] = []
    before: Record = {"stale": 0, "verify": 0}
    for horizon in forecast:
        figures = {name: horizon[name] for name in before}
        if figures != before:
            kept.append({"days": horizon["days"], **figures})
        before = figures
    return kept


def lean_pattern(lesson: Record) -> Record:
    """Return a lesson without the figures and dates that its others imply; `explain` shows all."""
    shown = rounded(lesson) | {"ageDays": int(lesson["ageDays"])}
    if "explain" in shown:
        return shown
    implied = {"strength"} if shown["strength"] == shown["confidence"] else set()
    implied |= {"promotedToStore"} if "knowledgeKey" in shown else set()
    implied |= {
        name
        for name in ("evidence", "stale", "ageDays", "reinforcements", "promotedToStore")
        if not shown[name]
    }
    dates = {"discoveredAt", "lastReinforced"}
    return {name: value for name, value in shown.items() if name not in implied | dates}


def lean_entry(entry: Record) -> Record:
    """Return an entry without the figures that its others imply; `explain` shows all."""
    shown = rounded(entry)
    if "explain" in shown:
        return shown
    implied = {"status", "lastConfirmed"} if shown["status"] == "fresh" else set()
    implied |= {"evidenceCount"} if shown["evidenceCount"] == shown["contributorCount"] else set()
    implied |= {"domain"} if shown["key"].startswith(f"pattern/{shown['domain']}/") else set()
    return {name: value for name, value in shown.items() if name not in implied}


def rounded(hit: Record) -> Record:
    """Return a lesson or entry with the digits that are shown now."""
    return {
        name: round(value, DECIMALS) if name in ("confidence", "strength") else value
        for name, value in hit.items()
    }
