"""Who may have a lease. The clock only schedules: what protects is that a commit names the claim it was made under."""

from datetime import datetime, timedelta

from fleet_memory.schemas.leases import Claim


def claimed(held: Claim | None, *, owner: str, now: datetime, ttl_s: float) -> Claim | None:
    """Return the claim that `owner` may make, or None while another owner's has not expired.

    A claim is over at its `until`. An owner may always claim anew; its earlier claim is then void.
    """
    if held is not None and held.owner != owner and now < held.until:
        return None
    return Claim(owner=owner, until=now + timedelta(seconds=ttl_s), fence=held.fence + 1 if held else 1)
