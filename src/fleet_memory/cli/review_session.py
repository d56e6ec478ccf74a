"""A person judges the pairs that wait: what `fleet-memory review` does. Nothing is written before the last answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, cast

from fleet_memory.server.in_process import Answer, called
from fleet_memory.settings import Settings

HELP: Final = "s same, d different, k skip, u undo, q stop here"
LAST: Final = "\nThat was the last pair. Enter sends your answers, u takes the last one back"
_SAME: Final = {"s": True, "d": False}

OfferedPair = dict[str, object]


class Judgement(NamedTuple):
    """One pair, and whether it is the same; None for a skipped one."""

    pair_id: str
    same: bool | None


def read_judgements(
    pairs: Sequence[OfferedPair], answers: Iterable[str], say: Callable[[str], None]
) -> list[Judgement]:
    """Return what a person answered, pair by pair; `u` takes the last answer back, `q` stops."""
    made: list[Judgement] = []
    given = iter(answers)
    while True:
        finished = len(made) == len(pairs)
        say(LAST if finished else _shown(pairs[len(made)], len(made) + 1, len(pairs)))
        key = next(given, "q").strip().lower()[:1]
        if key == "u":
            made = made[:-1]
        elif key == "q" or finished:
            return made
        elif key in ("s", "d", "k"):
            made.append(Judgement(str(pairs[len(made)]["pairId"]), _SAME.get(key)))
        else:
            say(HELP)


async def offered(settings: Settings) -> Answer:
    """Consolidate, and return the answer with the pairs that wait."""
    return await called(settings, "pattern_consolidate", {})


async def sent(settings: Settings, made: Sequence[Judgement]) -> Answer:
    """Send the verdicts, and return the answer with what they led to."""
    verdicts = [{"pairId": one.pair_id, "same": one.same} for one in made if one.same is not None]
    return await called(settings, "pattern_consolidate", {"verdicts": verdicts})


def waiting(answer: Answer) -> list[OfferedPair]:
    """Return the pairs of an answer, those for review first."""
    return [
        *cast("list[OfferedPair]", answer.content["review"]),
        *cast("list[OfferedPair]", answer.content["contested"]),
    ]


def _shown(pair: OfferedPair, number: int, count: int) -> str:
    a, b = cast("OfferedPair", pair["a"]), cast("OfferedPair", pair["b"])
    objection = f"\n  but: {pair['objection']}" if "objection" in pair else ""
    return (
        f"\n{number} of {count}, alike {pair['similarity']}{objection}\n"
        f"  {a['programId']} ({a['domain']}): {a['pattern']}\n"
        f"  {b['programId']} ({b['domain']}): {b['pattern']}\n{HELP}"
    )
