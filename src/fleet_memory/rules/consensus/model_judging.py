"""How a configured model judges: which pairs, by which answers, and which texts steer it. Source:
docs/judge-model.md.

Both orders of a pair must agree. A text that also gets their verdict with an unrelated lesson
steers its judge.
"""

from dataclasses import replace
from typing import Final

from fleet_memory.rules.consensus.judging import is_for_people, ruling
from fleet_memory.schemas.pairs import MODEL_NAME, Pair, Verdict

# Invented lessons, about machines and work as lessons are. They are odd on purpose: no fleet learns
# one of them, and none is about another's subject. A text cannot name the one that it meets,
# because that is drawn.
CONTROL_LESSONS: Final = (
    "The label printer in the mail room feeds two blanks after its tray was shut twice",
    "Ask the night porter for the badge reader's serial number before the elevator inspection",
    "The telescope's dome motor stalls below four degrees, so warm its gearbox with the blue lamp",
    "Rehang the archive room's dehumidifier hose whenever the cellar pump was serviced",
    "The payroll kiosk reads a holiday in Liechtenstein as a Sunday unless its region is set "
    "by hand",
    "Count the ferry's spare life jackets from the stern, because the locker plan is mirrored",
    "The beehive scale in plot nine reports grams on odd days after a thunderstorm",
    "Tune the chapel organ's reed stops last, because the heating bends their pitch until noon",
)

FOUND_BY_MODEL: Final = "the judge model gave it one verdict with any text"


def awaits_model(pair: Pair) -> bool:
    """Whether a configured model may still judge a pair: it is open, the model has not, and it is
    not for people.
    """
    if pair.state != "open" or pair.by_person or is_for_people(pair):
        return False
    return all(judgement.program_id != MODEL_NAME for judgement in pair.judgements)


def verdict_of_both(first: Verdict, second: Verdict) -> Verdict:
    """Return the verdict of both orders, `unsure` when they differ."""
    return first if first == second else "unsure"


def needs_control(verdict: Verdict) -> bool:
    """Whether a verdict changes knowledge, so that each text is also compared with an unrelated
    lesson.
    """
    return verdict in ("same", "contradict")


def with_steering(pair: Pair) -> Pair:
    """Return the pair for people alone, because the model found that a text steers its judge."""
    steered = replace(pair, steering=pair.steering or FOUND_BY_MODEL)
    return replace(steered, state=ruling(steered).state)
