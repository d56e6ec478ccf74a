"""`fleet-memory token`: create, list and revoke the tokens of agents that connect over HTTP."""

import argparse
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, get_args

import anyio

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import (
    complain,
    print_answer,
    print_json,
    require_stdout,
    say,
)
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import (
    NewToken,
    create_token,
    list_tokens,
    revoke_token,
    revoke_tokens_of,
)
from fleet_memory.rules.text import counted
from fleet_memory.rules.tokens import is_live, lifetime
from fleet_memory.schemas.tokens import Role, TokenRecord
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import (
    CURATION,
    EVERY_TOOLSET,
    TOOLSETS,
    Settings,
    is_name,
    parsed_toolsets,
)

_OF_CREATE: Final = ("role", "expires", "toolsets", "also")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments; --program is whose token it is here, not the caller."""
    parser.add_argument("action", choices=("create", "list", "revoke"), help="what to do")
    parser.add_argument(
        "token", metavar="ID", nargs="?", help="with revoke: the token's id, or a token that leaked"
    )
    parser.add_argument(
        "--program",
        metavar="PROGRAM",
        help="whose token; with list and revoke all of the program's",
    )
    parser.add_argument(
        "--role",
        choices=get_args(Role),
        help="with create: whom it makes of its bearer (default agent)",
    )
    parser.add_argument(
        "--expires",
        metavar="LIFETIME",
        type=_lifetime,
        help="with create: e.g. 90d or 12h (default: never)",
    )
    parser.add_argument(
        "--toolsets",
        metavar="LIST",
        help="with create: of the server's toolsets these alone, e.g. core,session",
    )
    parser.add_argument(
        "--also",
        action="store_true",
        default=None,
        help="with create: though the program has a live token",
    )


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Create, list or revoke; the answer is no when there was nothing to revoke."""
    if given.program is not None and not is_name(given.program):
        raise InvalidArgumentError(
            "--program: must be 1-100 letters, digits and . _ : / - with no leading dot"
        )
    if given.action != "create":
        for name in _OF_CREATE:
            if getattr(given, name) is not None:
                raise InvalidArgumentError(f"--{name}: counts with create alone")
    if given.action != "revoke" and given.token is not None:
        raise InvalidArgumentError(
            f"token {given.action}: takes no ID; --program names the program"
        )
    return {"create": _create, "list": _list, "revoke": _revoke}[given.action](given, settings)


def _create(given: argparse.Namespace, settings: Settings) -> int:
    """Print the token alone on stdout, for a variable of a shell, and all else on stderr."""
    if given.program is None:
        raise InvalidArgumentError("token create: --program is missing, e.g. --program basher")
    require_stdout()  # the token is shown here once, and is nowhere else
    role: Role = given.role or "agent"
    order = NewToken(
        given.program, role, given.expires, _toolsets(given.toolsets, role), bool(given.also)
    )

    async def work(fleet: Fleet) -> tuple[str, TokenRecord]:
        return await create_token(fleet, order)

    token, record = anyio.run(with_fleet, settings, work)
    if given.json:
        print_json({"token": token, **_wire(record, record.created_at)})
        return 0
    complain(f"token {_line(record, record.created_at)}; it is shown once, here:")
    say(token)
    return 0


def _list(given: argparse.Namespace, settings: Settings) -> int:
    async def work(fleet: Fleet) -> tuple[list[TokenRecord], datetime]:
        return await list_tokens(fleet, given.program), fleet.now()

    records, now = with_memory(settings, work)
    none = "no tokens; `fleet-memory token create --program NAME` makes one"
    text = "\n".join(_line(record, now) for record in records) or none
    print_answer({"tokens": [_wire(record, now) for record in records]}, text, as_json=given.json)
    return 0


def _revoke(given: argparse.Namespace, settings: Settings) -> int:
    if (given.token is None) == (given.program is None):
        raise InvalidArgumentError(
            "token revoke: give the token's ID or --program PROGRAM; `token list` shows both"
        )

    async def work(fleet: Fleet) -> tuple[Sequence[TokenRecord], datetime]:
        begun = fleet.now()
        if given.token is not None:
            return [await revoke_token(fleet, given.token)], begun
        return await revoke_tokens_of(fleet, given.program), begun

    records, begun = with_memory(settings, work)
    lines = [
        f"revoked: {counted(len(records), 'token')}",
        *(_line(record, begun) for record in records),
    ]
    if (
        records and records[0].revoked_at and records[0].revoked_at < begun
    ):  # only one that is named by its id
        lines[0] = (
            f"nothing changed: revoked before, on {records[0].revoked_at.date()} by "
            f"{records[0].revoked_by}"
        )
    elif records:
        lines.append("Every server refuses it within 5 seconds.")
    print_answer(
        {"revoked": [_wire(record, begun) for record in records]},
        "\n".join(lines),
        as_json=given.json,
    )
    return 0 if records else EXIT_NO


def _line(record: TokenRecord, now: datetime) -> str:
    """Return a token in one line, e.g. "k3x9… basher agent, live, created 2026-03-07, never
    used".
    """
    state = _state(record, now)
    ends = f" until {record.expires_at.date()}" if record.expires_at and state == "live" else ""
    used = f"last used {record.last_used_on}" if record.last_used_on else "never used"
    only = f", only {','.join(record.toolsets)}" if record.toolsets else ""
    return (
        f"{record.token_id} {record.program_id} {record.role}{only}, {state}{ends}, "
        f"created {record.created_at.date()}, {used}"
    )


def _wire(record: TokenRecord, now: datetime) -> dict[str, object]:
    """Return a token as JSON, without the hash of its secret."""
    known = {name: value for name, value in record.wire().items() if name != "secretHash"}
    return {**known, "state": _state(record, now)}


def _state(record: TokenRecord, now: datetime) -> str:
    if record.revoked_at is not None:
        return "revoked"
    return "live" if is_live(record, now) else "expired"


def _lifetime(text: str) -> timedelta:
    try:
        return lifetime(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def _toolsets(text: str | None, role: Role) -> tuple[str, ...] | None:
    """Return the toolsets that a token allows; None for all, those of later versions too."""
    if text is None or text.strip() == EVERY_TOOLSET:
        return None
    if role != "admin" and CURATION in [part.strip() for part in text.split(",")]:
        raise InvalidArgumentError(
            f"--toolsets: {CURATION} is for admins alone: leave it out, or pass --role admin"
        )
    try:
        return parsed_toolsets(text, curation=role == "admin")
    except ValueError as problem:
        known = (*TOOLSETS, CURATION) if role == "admin" else TOOLSETS
        raise InvalidArgumentError(
            f"--toolsets: {problem}; known are {', '.join(known)}"
        ) from problem
