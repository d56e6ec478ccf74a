"""Settings: flags over environment over defaults; docs/configuration.md is generated from the table
below.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

import platformdirs

from fleet_memory.errors import SettingsError
from fleet_memory.extensions import (
    ADDRESS_FORMS,
    OWN,
    StoreLocation,
    file_location,
    location,
    names,
    quoted,
)

_T = TypeVar("_T")
_ROW: Final = "setting"

EVERY_TOOLSET: Final = "all"
CURATION: Final = (
    "curation"  # the toolset of admins, which no setting names: the role of a token opens it
)
TOOLSETS: Final = tuple(name for name in OWN["toolsets"] if name != CURATION)
EMBEDDERS: Final = ("minilm", "lexical", "openai:MODEL")
KEY_VARIABLE: Final = (
    "FLEET_MEMORY_EMBEDDER_KEY"  # no setting: it has no flag, because everyone sees command lines
)
JUDGE_KEY_VARIABLE: Final = "FLEET_MEMORY_JUDGE_KEY"  # the same
SESSION_VARIABLE: Final = (
    "CLAUDE_CODE_SESSION_ID"  # no setting: the client sets it for the servers that it starts
)
PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"  # the same: where Claude Code was started
OPENAI_URL: Final = "https://api.openai.com/v1"
LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")

_NAME = re.compile(
    r"(?!\.)(?!.*\.\.)[A-Za-z0-9._:/-]{1,100}"
)  # schemas.fields.Name; pydantic loads too slowly
OFF: Final = "off"
MIN_MAINTENANCE_MINUTES: Final = 0.01
MAX_MAINTENANCE_MINUTES: Final = 1440.0

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*/?", re.IGNORECASE)
MAX_RATE: Final = 1_000_000  # calls; far more than one process answers in a minute
_MINUTE_S: Final = 60.0
_PRINTABLE = re.compile(r"[\x21-\x7e]{1,200}")


class Rate(NamedTuple):
    """Calls a minute, and calls at once."""

    calls: int
    at_once: int

    @classmethod
    def parsed(cls, text: str) -> "Rate":
        """Return a rate, e.g. "600/16" for 600 calls a minute and 16 at once. Raises ValueError."""
        if not re.fullmatch(r"[0-9]{1,7}/[0-9]{1,7}", text):
            raise ValueError(f"{text[:40]!r} is no rate")
        rate = cls(*map(int, text.split("/")))
        if not all(1 <= number <= MAX_RATE for number in rate):
            raise ValueError(f"{text!r} is out of range")
        return rate

    def wait_s(self, free_at: float, now: float) -> float:
        """Return the seconds until the next call is allowed, 0 for now.

        `free_at` is the time when all calls so far are paid for, each with a minute's share: a
        token that asked for nothing lately may ask for a minute's calls at once, and then for one
        each share. This is the generic cell rate algorithm (ITU-T I.371).
        """
        return max(0.0, free_at + self._share_s - _MINUTE_S - now)

    def paid(self, free_at: float, now: float) -> float:
        """Return `free_at` after a call that is made now."""
        return max(free_at, now) + self._share_s

    @property
    def _share_s(self) -> float:
        return _MINUTE_S / self.calls


class Setting(NamedTuple):
    """One row of the table. `default` is written as a user would write it, "" for nothing."""

    name: str
    default: str
    allowed: str
    help: str
    parse: Callable[[str], object]

    def read(self, flags: Mapping[str, str | None], environment: Mapping[str, str]) -> object:
        """Return the value; None for one that is not given and has no default. Raises
        SettingsError, which names flag or variable.
        """
        source, text = self.flag, flags.get(self.name)
        if text is None:
            source, text = self.variable, environment.get(self.variable) or self.default
            if not text:
                return None
        try:
            return self.parse(text)
        except ValueError as problem:
            raise SettingsError(f"{source}: {problem}. Allowed: {self.allowed}.") from problem

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"FLEET_MEMORY_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The command line flag."""
        return "--" + self.name.replace("_", "-")


def one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    """Return the parser of one of these words."""

    def check(text: str) -> str:
        if text not in known:
            raise ValueError(f"{quoted(text)} is unknown")
        return text

    return check


def embedder_name(text: str) -> str:
    """Return the name of an engine, e.g. "minilm" or "openai:text-embedding-3-small"."""
    kind, _, model = text.partition(":")
    if kind in OWN["embedders"]:
        is_known = bool(_MODEL.fullmatch(model)) if kind == "openai" else kind == text
    else:
        is_known = kind in names("embedders")
    if not is_known:
        raise ValueError(f"{quoted(text)} is unknown")
    return text


def http_parts(text: str) -> SplitResult:
    """Return the parts of an http or https address: a plain host, perhaps a port and a path, e.g.
    "https://mem.example.com/team".

    Raises ValueError, which repeats no text that may hold a password or a key, however it is spelt.
    """
    if "@" in text.partition("//")[2].partition("/")[0]:
        raise ValueError("holds a user or a password; a key has a variable of its own")
    if _ADDRESS.fullmatch(text):
        with suppress(ValueError):  # of the host or the port, which it repeats
            parts = urlsplit(text)
            if parts.hostname and parts.port != 0:
                return parts
    raise ValueError(
        f"{'it' if any(sign in text for sign in '@?#') else quoted(text)} is no address"
    )


def address(text: str) -> str:
    """Return an http or https address as it is written. Raises as `http_parts`."""
    http_parts(text)
    return text


def seconds_of_minutes(text: str) -> float:
    """Return the seconds of as many minutes, 0.0 for `OFF`."""
    if text.lower() == OFF:
        return 0.0
    try:
        minutes = float(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is no number") from error
    if not MIN_MAINTENANCE_MINUTES <= minutes <= MAX_MAINTENANCE_MINUTES:
        raise ValueError(f"{quoted(text)} is out of range")
    return minutes * 60


def instant(text: str) -> datetime:
    """Return an instant in UTC, e.g. of "2026-03-07T12:00:00Z"."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{quoted(text)} is no instant") from error
    raise ValueError(f"{quoted(text)} has no zone")


def is_loopback(host: str) -> bool:
    """Whether a host, e.g. "::1" or "localhost", is this machine and no other can reach it."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def issuer_address(text: str) -> str:
    """Return the address of an issuer or of its keys. Raises ValueError; plain http could be
    forged.
    """
    parts = http_parts(text)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError(f"{quoted(text)} is no https address")
    return text


def claim_name(text: str) -> str:
    """Return the name of a claim or of an audience. Raises ValueError."""
    if not _PRINTABLE.fullmatch(text):
        raise ValueError(f"{quoted(text)} is no name")
    return text


def is_name(text: str) -> bool:
    """Whether a text may name a program or a session."""
    return _NAME.fullmatch(text) is not None


def default_path() -> Path:
    """Return the memory file of this user. Raises SettingsError where there is no home
    directory.
    """
    try:
        return platformdirs.user_data_path("fleet-memory", appauthor=False) / "memory.db"
    except RuntimeError as error:
        raise SettingsError(
            "HOME: this user has no home directory for a memory; name one with --store or "
            "FLEET_MEMORY_STORE."
        ) from error


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{quoted(text)} is no name")
    return text


def _folder(text: str) -> Path | None:
    """Return a client's project folder. None where the client has no project open: it passes its
    variable as it is, e.g. "${workspaceFolder}", or the home folder.
    """
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 Path.home() raises without a home
    # as paths: editors write the home folder of Windows as c:\Users, Windows as C:\Users
    is_project = text and not text.startswith("${") and Path(text) != home
    return Path(text) if is_project else None


def _program(text: str) -> str:
    if text.casefold() == "operator":  # rules.pairs.PERSON
        raise ValueError(f"{quoted(text)} is how the ledger names a person")
    return _name(text)


def parsed_toolsets(text: str, *, curation: bool = False) -> tuple[str, ...]:
    """Return the toolsets of a comma list, all for "all", with `curation` that of admins too.
    Raises ValueError, which names one that is not known.
    """
    named = [part.strip() for part in text.split(",")]
    known = tuple(OWN["toolsets"])
    if not set(named) <= set(known):  # "all" too
        known = names("toolsets")
    known = known if curation else tuple(name for name in known if name != CURATION)
    if named == [EVERY_TOOLSET]:
        return known
    return tuple(dict.fromkeys(map(one_of(known), named)))


_Form: TypeAlias = tuple[str, Callable[[str], _T]]
"""What is allowed, in words, and its parser, which raises ValueError."""

_NAMES: Final = "1-100 letters, digits and . _ : / - with no leading dot and no '..'"
_ADDRESSES: Final = (
    "an http or https address without a user, a query or a fragment, e.g. "
    "https://mem.example.com/team",
    address,
)
_ISSUERS: Final = (
    "an https address, exactly as the issuer spells it; http on this machine alone",
    issuer_address,
)
_WORDS: Final = ("a text without spaces", claim_name)


def _row(form: _Form[_T], meaning: str, default: str = "", name: str = "") -> _T:
    """Return a field of `Settings` that is read from a flag or a variable; None for "" where
    nothing is given.
    """
    made: Field[_T] = field(metadata={_ROW: Setting(name, default, form[0], meaning, form[1])})
    return cast("_T", made)


@dataclass(frozen=True)
class Settings:
    """The settings of a server, read by `load`. `now` is the start of its clock, None for the real
    time.

    `judge_key` is "" for none: OpenAI's own address is not asked then. `maintenance_s` are the
    seconds between two runs of maintenance, 0 for none. `maintain` lets this process propose pairs
    in a fleet of any size. `session_id` is the session of the client that started the server, None
    where it names none. `named_store` is None for the user's own. `public_url` is the address of
    `serve --http` for clients, None for the one that it binds. `prompt_lessons` lets a hook answer
    a person's prompt with lessons that fit it. `rate` is None for no limit. `issuer` signs tokens
    in addition to the fleet's own; its other fields count with it alone.
    """

    named_store: StoreLocation | None = _row(
        (" or ".join(ADDRESS_FORMS.values()), location),
        "Where the memory lives. Without it: memory.db in the platform's data directory, "
        "on Linux ~/.local/share/fleet-memory/memory.db.",
        name="store",
    )
    fleet: str = _row(
        (_NAMES, _name),
        "The fleet whose memory this is. Fleets in one store see nothing of each other.",
        default="default",
    )
    program: str | None = _row(
        (_NAMES, _program),
        "The program of the server, or of a command: a server writes its memory and no other. "
        "Without it the server trusts the programId of each call.",
    )
    folder: Path | None = _row(
        ("a folder", _folder),
        "The folder of the client's project. It names the program of a call that names none, where "
        "the server is bound to none. Without it: CLAUDE_PROJECT_DIR, else the client's roots.",
    )
    toolsets: tuple[str, ...] = _row(
        (f"a comma list of: {', '.join(TOOLSETS)}; or {EVERY_TOOLSET}", parsed_toolsets),
        "Which groups of tools to offer.",
        default="core",
    )
    embedder: str = _row(
        (
            f"one of: {', '.join(EMBEDDERS)} (a server on this machine too, by "
            "FLEET_MEMORY_EMBEDDER_URL)",
            embedder_name,
        ),
        "The engine that compares lessons. minilm works offline; lexical needs no model and "
        "compares letters; openai:MODEL sends every lesson to an endpoint.",
        default="minilm",
    )
    embedder_url: str = _row(
        _ADDRESSES,
        "Where openai:MODEL asks: any endpoint that speaks OpenAI's embeddings interface below "
        "this address.",
        default=OPENAI_URL,
    )
    judge_url: str = _row(
        _ADDRESSES,
        "Where the model asks that the fleet's policy names as `judgeModel`: any endpoint that "
        "speaks OpenAI's chat completions interface below this address. OpenAI's own is asked "
        "only with FLEET_MEMORY_JUDGE_KEY.",
        default=OPENAI_URL,
    )
    now: datetime | None = _row(
        ("an ISO 8601 instant with a zone, e.g. 2026-03-07T12:00:00Z", instant),
        "Starts the server's clock at this instant, from where it ticks. For replays and demos.",
    )
    maintenance_s: float = _row(
        (
            f"minutes, {MIN_MAINTENANCE_MINUTES:g} to {MAX_MAINTENANCE_MINUTES:g}, or {OFF}",
            seconds_of_minutes,
        ),
        "How often a server that is in use proposes pairs and publishes, by "
        "itself. Of many servers on "
        "one memory one does it. Where FLEET_MEMORY_NOW is set, none does unless this is set too.",
        default="15",
        name="maintenance",
    )
    public_url: str | None = _row(
        _ADDRESSES,
        "The address under which clients reach `serve --http` through a proxy, of the server "
        "or of its endpoint. The "
        "endpoint's address follows from it, and requests to its host are answered.",
    )
    prompt_lessons: bool = _row(
        (f"on or {OFF}", lambda text: one_of(("on", OFF))(text.lower()) != OFF),
        "Whether the hook UserPromptSubmit adds up to three lessons that fit a person's prompt "
        "well.",
        default="on",
    )
    log_level: str = _row(
        (f"one of: {', '.join(LOG_LEVELS)}", lambda text: one_of(LOG_LEVELS)(text.upper())),
        "How much goes to the log, which is stderr.",
        default="WARNING",
    )
    log_format: str = _row(
        (f"one of: {', '.join(LOG_FORMATS)}", lambda text: one_of(LOG_FORMATS)(text.lower())),
        "How the log is written. json is one object a line, and one for each request whatever "
        "the log level; it has no text of a call, no token and no message of an exception.",
        default="text",
    )
    rate: Rate | None = _row(
        (
            f"CALLS/CALLS: calls a minute and calls at once, each 1 to {MAX_RATE:,}; or {OFF}",
            lambda text: None if text.lower() == OFF else Rate.parsed(text),
        ),
        "The limit of each token in one server process: three replicas allow three times as "
        "much. A call, of a tool or a prompt, beyond it is refused with `rate_limited` and the "
        "seconds to wait. Without tokens there is no limit.",
        default="600/16",
    )
    issuer: str | None = _row(
        _ISSUERS,
        "The OAuth issuer whose signed tokens (JWTs) `serve --http` takes in addition to the "
        "fleet's own. Clients are told where it is.",
    )
    audience: str | None = _row(
        _WORDS,
        "The name of this service in the issuer's tokens (`aud`). Without it: the address of the "
        "endpoint, as clients send it as `resource`.",
    )
    jwks_url: str | None = _row(
        _ISSUERS,
        "Where the issuer's public keys are. Without it the issuer's own metadata says where.",
    )
    program_claim: str = _row(
        _WORDS,
        "The claim of the issuer's tokens that names the program of their bearer.",
        default="sub",
    )
    role_claim: str = _row(
        _WORDS,
        "The claim that names the role of their bearer: agent, judge, auditor or admin. "
        "Without it: an agent.",
        default="role",
    )
    maintain: bool = False
    embedder_key: str = field(default="", repr=False)
    judge_key: str = field(default="", repr=False)
    session_id: str | None = None

    @property
    def store(self) -> StoreLocation:
        """Where the memory lives. Raises SettingsError if none is named and this user has no home
        directory.
        """
        return self.named_store or file_location(default_path())


SETTINGS: Final[Sequence[Setting]] = tuple(
    row._replace(name=row.name or each.name)
    for each in fields(Settings)
    if (row := each.metadata.get(_ROW))
)


def load(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Return the settings; `flags` is keyed by setting name. Raises SettingsError, which names flag
    or variable.

    An empty variable counts as unset. An empty flag does not: `--program "$PROGRAM"` must not
    unbind in silence.
    """
    read = {row.name: row.read(flags, environment) for row in SETTINGS}
    if read["issuer"] is None and (read["audience"] or read["jwks_url"]):
        raise SettingsError(
            "FLEET_MEMORY_AUDIENCE and FLEET_MEMORY_JWKS_URL count with FLEET_MEMORY_ISSUER alone."
        )
    is_given = flags.get("maintenance") is not None or environment.get("FLEET_MEMORY_MAINTENANCE")
    if read["now"] and not is_given:
        read["maintenance"] = 0.0  # a replay maintains only on request
    read["folder"] = read["folder"] or _folder(environment.get(PROJECT_VARIABLE, ""))
    session = environment.get(SESSION_VARIABLE, "")
    values: dict[str, Any] = {  # Any: of the fields' types, as `_row` has them checked
        each.name: read[row.name or each.name]
        for each in fields(Settings)
        if (row := each.metadata.get(_ROW))
    }
    return Settings(
        **values,
        embedder_key=_key(values["embedder"], values["embedder_url"], environment),
        judge_key=_checked_key(JUDGE_KEY_VARIABLE, environment.get(JUDGE_KEY_VARIABLE, "").strip()),
        session_id=session if is_name(session) else None,
    )


def _key(embedder: str, url: str, environment: Mapping[str, str]) -> str:
    """Return the key of an endpoint, from the environment alone: other users see command lines."""
    if not embedder.startswith("openai:"):
        return ""
    key = environment.get(KEY_VARIABLE, "").strip()
    if (
        url == OPENAI_URL
    ):  # only there: OpenAI's own key is not for everyone who speaks its interface
        key = key or environment.get("OPENAI_API_KEY", "").strip()
        if not key:
            raise SettingsError(
                f"{KEY_VARIABLE}: needed by {embedder}; OPENAI_API_KEY is unset too."
            )
    return _checked_key(KEY_VARIABLE, key)


def _checked_key(variable: str, key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"{variable}: holds characters that no key has.")
    return key
