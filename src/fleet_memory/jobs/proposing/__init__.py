"""The maintainer's run: it reads what changed, joins equal words, proposes pairs, and stamps what it considered.

It runs under the maintainer's lease. Killed anywhere it leaves whole promotions and whole pairs, and the programs that
it did not stamp wait for the next run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.jobs.proposing.considering import stamp_considered
from fleet_memory.jobs.proposing.joining import Joined, join_equal_words, publish_candidates
from fleet_memory.jobs.proposing.memory import KnownLesson, ProposingMemory
from fleet_memory.jobs.proposing.reading import FleetView, read_fleet
from fleet_memory.repositories.last_run import LastRun
from fleet_memory.rules.consensus.choosing import chosen
from fleet_memory.rules.consensus.proposing import proposals
from fleet_memory.rules.consensus.renewing import EntryText, Standing, renewed
from fleet_memory.rules.guard import objection
from fleet_memory.rules.text.keys import pair_id
from fleet_memory.schemas.comparison import ComparableLesson, Proposal
from fleet_memory.schemas.pairs import Pair, Side
from fleet_memory.schemas.policy import Policy
