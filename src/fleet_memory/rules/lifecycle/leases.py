"""Who may have a lease. The clock only schedules: what protects is that a commit names the claim it was made under."""

from datetime import datetime, timedelta

from fleet_memory.schemas.leases import LeaseClaim


def claimed(current: LeaseClaim | None, *, owner: str, now: datetime, ttl_s: float) -> LeaseClaim | None:
    """Return the claim that `owner` may make, or None while another owner's has not expired.

    A claim is over at its `until`. An owner may always claim anew; its earlier claim is then void.
    """
    if current is not None and current.owner != owner and now < current.until:
        return None
    return LeaseClaim(owner=owner, until=now + timedelta(seconds=ttl_s), fence=current.fence + 1 if current else 1)
