"""Which pairs a program is asked about, and that it was shown them."""

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.rewrites import rewrite_pair_id
from fleet_memory.rules.consensus.judging import is_asked, sides_of
from fleet_memory.rules.consensus.showing import with_shown
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.answers.common import ToJudge
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.policy import Policy
from fleet_memory.views.consolidation import rewrite_to_judge, to_judge_answer


async def pairs_to_judge(fleet: Fleet, program_id: str | None, limit: int, policy: Policy) -> list[ToJudge]:
    """Return the pairs that a program should judge, its own rewrites first, and remember that it was shown them.

    None without a program. Where people judge, its own rewrites alone. Billed 1 read, 2 queries, and 1 write when a
    text is shown to it for the first time.
    """
    if program_id is None or not limit:
        return []
    program = await fleet.programs.read(program_id)
    if not program.exists:
        return []
    open_rewrites = [one for one in program.patterns.values() if one.rewrite and not one.rewrite.judged_same]
    own = [rewrite_to_judge(one, rewrite_pair_id(one) or "") for one in open_rewrites][:limit]
    found = [] if policy.judging == "people" else await fleet.pairs.asked_of(program_id)
    known = {one.pair_id for one in own}
    asked = [one.pair for one in found if one.pair and is_asked(one.pair, program_id)]
    pairs = [pair for pair in asked if pair.pair_id not in known][: limit - len(own)]
    if pairs:
        await _remember(fleet, program_id, pairs)
    return [*own, *(to_judge_answer(pair, program_id, program.patterns) for pair in pairs)]


async def _remember(fleet: Fleet, program_id: str, pairs: list[Pair]) -> None:
    now = fleet.now()
    texts = {text_hash(sides_of(pair, program_id)[1].text): now for pair in pairs}
    await fleet.programs.update(program_id, lambda program: ProgramChange(with_shown(program, texts)), now)
