"""Callers, their rights, and the tokens of callers over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, NoReturn, TypeAlias

from fleet_memory.errors import ForbiddenError
from fleet_memory.schemas.fields import Name, Timestamp
from fleet_memory.schemas.patterns import Source
from fleet_memory.schemas.value import Value

Role: TypeAlias = Literal["agent", "judge", "auditor", "admin"]
_INSTEAD: Final[Mapping[Role, str]] = {  # of writing, and for an auditor also of judging
    "judge": "a judge, and write no memory. Send verdicts with pattern_consolidate.",
    "auditor": "an auditor, and judge nothing and write nothing. Read with recall_memory.",
}


@dataclass(frozen=True)
class Caller:
    """Who is calling: bound to one program by the server, or unbound (one person's machine;
    arguments are trusted).

    `connection` is an id of the unbound connection, None for a bound caller. `token_id` names the
    token that binds it, and `toolsets` those that the token allows, None for all that the server
    serves. `client`, `session_id` and `model` are as the client names them, None where it does not.
    """

    program_id: str | None = None
    role: Role = "agent"
    token_id: str | None = None
    toolsets: tuple[str, ...] | None = None
    connection: str | None = None
    client: str | None = None
    session_id: str | None = None
    model: str | None = None

    @property
    def source(self) -> Source:
        """Where the lessons of this call come from."""
        return Source(
            connection=self.connection, token=self.token_id, client=self.client, model=self.model
        )

    @property
    def sees_other_programs(self) -> bool:
        """Whether texts of other programs may be shown to this caller."""
        return self.program_id is None or self.role in ("auditor", "admin")

    def may_write(self, program_id: str) -> bool:
        """Whether this caller may write the memory of `program_id`; judges and auditors have
        none.
        """
        return self.role in ("agent", "admin") and self.program_id in (None, program_id)

    def may_judge(self, program_id: str) -> bool:
        """Whether this caller may judge pairs as `program_id`, and is shown those to judge."""
        return self.role != "auditor" and self.program_id in (None, program_id)

    def reads_another(self, program_id: str) -> bool:
        """Whether this caller is bound, and `program_id` is another program."""
        return self.program_id not in (None, program_id)

    def require_write(self, program_id: str) -> None:
        """Raise ForbiddenError unless this caller may write the memory of `program_id`."""
        if not self.may_write(program_id):
            self._refuse(f"write only your own memory, not {program_id}'s", _INSTEAD.get(self.role))

    def require_judging(self, program_id: str) -> None:
        """Raise ForbiddenError unless this caller may judge pairs as `program_id`."""
        if not self.may_judge(program_id):
            instead = _INSTEAD["auditor"] if self.role == "auditor" else None
            self._refuse(f"judge only as yourself, not as {program_id}", instead)

    def require_read(self, program_id: str) -> None:
        """Raise ForbiddenError unless this caller may read the memory of `program_id`."""
        if self.reads_another(program_id) and not self.sees_other_programs:
            self._refuse(f"read only your own memory, not {program_id}'s")

    def require_curation(self) -> None:
        """Raise ForbiddenError unless this caller may set rules and retire entries: people may,
        agents may not.
        """
        if self.program_id is not None and self.role != "admin":
            raise ForbiddenError(
                f"You are {self.program_id}, and only an operator may do this, without --program "
                "and FLEET_MEMORY_PROGRAM, or with a token of the role admin. Report what you "
                "saw with reinforce_memory."
            )

    def _refuse(self, limit: str, instead: str | None = None) -> NoReturn:
        again = f"and may {limit}. Call again with programId {self.program_id!r}."
        bound = "," if instead else ""
        raise ForbiddenError(f"You are {self.program_id or 'a reader'}{bound} {instead or again}")


UNBOUND: Final = Caller()


class TokenRecord(Value):
    """One token: the program that it binds, its role, and the toolsets that it allows, None for
    all.

    `secret_hash` is the SHA-256 of its secret in hex. The secret has 256 random bits, too many to
    try: a salt or a slow hash would add nothing. `expires_at` is None for a token that does not
    expire. `last_used_on` is the day of its last use, None before the first.
    """

    token_id: str
    program_id: str
    role: Role
    toolsets: tuple[str, ...] | None = None
    secret_hash: str
    created_at: Timestamp
    created_by: str
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None
    revoked_by: str | None = None
    last_used_on: date | None = None


class ClaimedBearer(Value):
    """The bearer of an issuer's token, by its claims."""

    program_id: Name
    role: Role = "agent"
