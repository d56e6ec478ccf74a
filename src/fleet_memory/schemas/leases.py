"""A lease as the store keeps it."""

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value


class LeaseClaim(Value):
    """Who may do a job until when. `fence` grows with every taking, `beat` with every commit under the lease."""

    owner: str
    until: Timestamp
    fence: int
    beat: int = 0
