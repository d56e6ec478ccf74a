"""Taking one contribution out of an entry: a person closes the pair, and the two texts stay
apart.
"""

from datetime import datetime

from fleet_memory.rules.consensus.judging import with_judgement
from fleet_memory.rules.knowledge.entries import oldest_contributor
from fleet_memory.schemas.knowledge import Contribution, Entry
from fleet_memory.schemas.pairs import Judgement, Pair, Side


def parted(
    known: Pair | None, pair_id: str, entry: Entry, line: Contribution, at: datetime, why: str
) -> Pair:
    """Return the pair of an entry's text and a contribution's, closed as `different` by a person.

    `known` is that pair as it is, None where there is no verdict: equal words, or a merge of an
    older memory.
    """
    pair = known or Pair(
        pair_id=pair_id,
        a=Side(
            program_id=oldest_contributor(entry),
            key=entry.key,
            domain=entry.value.domain,
            text=entry.value.pattern,
        ),
        b=Side(
            program_id=line.program_id,
            pattern_id=line.pattern_id,
            domain=entry.value.domain,
            text=line.pattern,
            evidence=line.evidence,
        ),
        cosine=line.similarity,
        opened_at=at,
    )
    return with_judgement(pair, Judgement(verdict="different", at=at, reason=why))
