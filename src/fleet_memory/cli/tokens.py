"""`fleet-memory token`: create, list and revoke the tokens of agents that connect over HTTP."""

import argparse
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, get_args

import anyio

from fleet_memory.cli.arguments import Actions, argument, flag
from fleet_memory.cli.memory import in_memory
from fleet_memory.cli.printing import Output, complain, print_json, require_stdout, say
from fleet_memory.cli.reading import SINCE
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import (
    NewToken,
    create_token,
    list_tokens,
    revoke_token,
    revoke_tokens_of,
    work_of_token,
)
from fleet_memory.rules.tokens import is_live, lifetime
from fleet_memory.schemas.programs import Role, TokenRecord
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import (
    CURATION,
    EVERY_TOOLSET,
    TOOLSETS,
    Settings,
    is_name,
    parsed_toolsets,
)

_ROW: Final = (
    "tokenId programId role toolsets state expiresAt createdAt lastUsedOn revokedAt revokedBy"
)
_COLUMNS: Final = {"tokens": _ROW, "token": _ROW}


def run_create(given: argparse.Namespace, settings: Settings) -> int:
    """Print the token alone on stdout, for a variable of a shell, and all else on stderr."""
    require_stdout()  # the token is shown here once, and is nowhere else
    role: Role = given.role or "agent"
    order = NewToken(
        given.program, role, given.expires, _toolsets(given.toolsets, role), given.also
    )

    async def work(fleet: Fleet) -> tuple[str, TokenRecord]:
        return await create_token(fleet, order)

    token, record = anyio.run(with_fleet, settings, work)
    row = _row(record, record.created_at)
    if given.json:
        print_json({"token": token, **row})
        return 0
    complain("\n".join(Output({"token": [row]}, _COLUMNS).lines()))
    complain("it is shown once, here:")
    say(token)
    return 0


async def listed(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return the tokens of a program, or of all."""
    rows = [_row(record, fleet.now()) for record in await list_tokens(fleet, given.program)]
    return Output({"tokens": rows}, _COLUMNS)


async def revoke(fleet: Fleet, given: argparse.Namespace) -> Output:
    """End a token, or all live ones of a program; 1 when there was nothing to revoke."""
    begun = fleet.now()
    if (given.token is None) == (given.program is None):
        raise InvalidArgumentError(
            "token revoke: give the token's ID or --program PROGRAM; `token list` shows both"
        )
    if given.token is not None:
        records: Sequence[TokenRecord] = [await revoke_token(fleet, given.token)]
    else:
        records = await revoke_tokens_of(fleet, given.program)
    was = any(each.revoked_at and each.revoked_at < begun for each in records)
    note = "It was revoked before." if was else "Every server refuses it within 5 seconds."
    content = {"revoked": [_row(record, begun) for record in records]}
    notes = [note] if records else ()
    return Output(content, {"revoked": _ROW}, notes, code=0 if records else EXIT_NO)


async def worked(fleet: Fleet, given: argparse.Namespace) -> Output:
    """Return what a token's calls wrote, and what its program was shown; 1 for nothing."""
    rows = [each.wire() for each in await work_of_token(fleet, given.token, given.since)]
    return Output({"work": rows}, {"work": "at what programId id"}, code=0 if rows else EXIT_NO)


def _program(text: str) -> str:
    if not is_name(text):
        raise argparse.ArgumentTypeError("must be 1-100 letters, digits and . _ : / -")
    return text


def _row(record: TokenRecord, now: datetime) -> dict[str, object]:
    """Return a token as JSON, without the hash of its secret."""
    known = {name: value for name, value in record.wire().items() if name != "secretHash"}
    state = "revoked" if record.revoked_at else "live" if is_live(record, now) else "expired"
    return {**known, "state": state}


def _lifetime(text: str) -> timedelta:
    try:
        return lifetime(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def _toolsets(text: str | None, role: Role) -> tuple[str, ...] | None:
    """Return the toolsets that a token allows; None for all, those of later versions too."""
    if text is None or text.strip() == EVERY_TOOLSET:
        return None
    try:
        return parsed_toolsets(text, curation=role == "admin")
    except ValueError as problem:
        known = (*TOOLSETS, CURATION) if role == "admin" else TOOLSETS
        raise InvalidArgumentError(
            f"--toolsets: {problem}; known are {', '.join(known)}"
        ) from problem


ACTIONS: Final[Actions] = {
    "token create": (
        run_create,
        argument("--program", "PROGRAM", "whose token it is", type=_program, required=True),
        argument(
            "--role", None, "whom it makes of its bearer (default agent)", choices=get_args(Role)
        ),
        argument("--expires", "LIFETIME", "e.g. 90d or 12h (default: never)", type=_lifetime),
        argument("--toolsets", "LIST", "of the server's toolsets these alone, e.g. core,session"),
        flag("--also", "though the program has a live token"),
    ),
    "token list": (
        in_memory(listed),
        argument("--program", "PROGRAM", "its tokens", type=_program),
    ),
    "token work": (
        in_memory(worked),
        argument("token", "ID", "the token's id, as `token list` shows it"),
        SINCE,
    ),
    "token revoke": (
        in_memory(revoke),
        argument("token", "ID", "the token's id, or a token that leaked", nargs="?"),
        argument("--program", "PROGRAM", "all of a program", type=_program),
    ),
}
