"""Settings: flags over environment over defaults. `settings.toml` beside this module has their
names, defaults and meanings; docs/configuration.md is made of it.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

import platformdirs

from fleet_memory.errors import SettingsError
from fleet_memory.extensions import OWN, StoreLocation, file_location, location, names, quoted

EVERY_TOOLSET: Final = "all"
CURATION: Final = "curation"  # the toolset of admins, which no setting names: their role opens it
TOOLSETS: Final = tuple(name for name in OWN["toolsets"] if name != CURATION)
# Variables that are no settings: a key has no flag, because everyone sees command lines, and a
# client sets the others for the servers that it starts
KEY_VARIABLE: Final = "FLEET_MEMORY_EMBEDDER_KEY"
JUDGE_KEY_VARIABLE: Final = "FLEET_MEMORY_JUDGE_KEY"
SESSION_VARIABLE: Final = "CLAUDE_CODE_SESSION_ID"
PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"  # where Claude Code was started
OPENAI_URL: Final = "https://api.openai.com/v1"
OFF: Final = "off"
MAX_RATE: Final = 999_999  # calls; far more than one process answers in a minute

# schemas.fields.Name; pydantic loads too slowly
_NAME = re.compile(r"(?!\.)(?!.*\.\.)[A-Za-z0-9._:/-]{1,100}")
_EMBEDDER = re.compile(r"minilm|lexical|openai:[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")  # ours
_ADDRESS = re.compile(
    r"(?i)https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?(/[a-z0-9._~-]+)*/?"
)
_RATE = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


class Rate(NamedTuple):
    """Calls a minute, and calls at once."""

    calls: int
    at_once: int


def _one_of(*known: str) -> Callable[[str], str]:
    """Return the parser of one of these words, in any case."""
    by_word = {word.lower(): word for word in known}

    def parsed(text: str) -> str:
        if text.lower() not in by_word:
            raise ValueError(f"{quoted(text)} is unknown")
        return by_word[text.lower()]

    return parsed


def is_name(text: str) -> bool:
    """Whether a text may name a program or a session."""
    return _NAME.fullmatch(text) is not None


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"{quoted(text)} is no name")
    return text


def _program(text: str) -> str:
    if text.casefold() == "operator":  # rules.pairs.PERSON
        raise ValueError(f"{quoted(text)} is how the ledger names a person")
    return _name(text)


def _folder(text: str) -> Path | None:
    """Return a client's project folder. None where the client has no project open: it passes its
    variable as it is, e.g. "${workspaceFolder}", or the home folder.
    """
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 Path.home() raises without a home
    # as paths: editors write the home folder of Windows as c:\Users, Windows as C:\Users
    is_project = text and not text.startswith("${") and Path(text) != home
    return Path(text) if is_project else None


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
    return tuple(dict.fromkeys(map(_one_of(*known), named)))


def _embedder(text: str) -> str:
    """Return the name of an engine, e.g. "minilm" or "openai:text-embedding-3-small"."""
    kind = text.partition(":")[0]
    is_ours = kind in OWN["embedders"]
    if not (_EMBEDDER.fullmatch(text) if is_ours else kind in names("embedders")):
        raise ValueError(f"{quoted(text)} is unknown")
    return text


def http_parts(text: str) -> SplitResult:
    """Return the parts of an http or https address: a plain host, perhaps a port and a path, e.g.
    "https://mem.example.com/team".

    Raises ValueError, which repeats no text that may hold a password or a key, however it is spelt.
    """
    if "@" in text.partition("//")[2].partition("/")[0]:
        raise ValueError("holds a user or a password; a key has a variable of its own")
    if not _ADDRESS.fullmatch(text):
        shown = "it" if any(sign in text for sign in "@?#") else quoted(text)
        raise ValueError(f"{shown} is no address")
    return urlsplit(text)


def issuer_address(text: str) -> str:
    """Return the address of an issuer or of its keys. Raises ValueError; plain http could be
    forged.
    """
    parts = http_parts(text)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError(f"{quoted(text)} is no https address")
    return text


def is_loopback(host: str) -> bool:
    """Whether a host, e.g. "::1" or "localhost", is this machine and no other can reach it."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _instant(text: str) -> datetime:
    """Return an instant in UTC, e.g. of "2026-03-07T12:00:00Z"."""
    with suppress(ValueError, OverflowError):
        if (moment := datetime.fromisoformat(text)).tzinfo:
            return moment.astimezone(UTC)
    raise ValueError(f"{quoted(text)} is no instant with a zone")


def _minutes(text: str) -> float:
    """Return the seconds of as many minutes, 0.0 for `OFF`."""
    if text.lower() == OFF:
        return 0.0
    with suppress(ValueError):
        if 0.01 <= (minutes := float(text)) <= 1440:
            return minutes * 60
    raise ValueError(f"{quoted(text)} is no such number")


def _rate(text: str) -> Rate | None:
    """Return a rate, e.g. "600/16" for 600 calls a minute and 16 at once; None for `OFF`."""
    if text.lower() == OFF:
        return None
    if not (found := _RATE.fullmatch(text)):
        raise ValueError(f"{quoted(text)} is no rate")
    return Rate(int(found[1]), int(found[2]))


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {  # by `kind`; each raises ValueError
    "store": location,
    "name": _name,
    "program": _program,
    "folder": _folder,
    "toolsets": parsed_toolsets,
    "embedder": _embedder,
    "address": lambda text: http_parts(text).geturl(),
    "issuer": issuer_address,
    "text": str,
    "instant": _instant,
    "minutes": _minutes,
    "rate": _rate,
    "switch": lambda text: _one_of("on", OFF)(text) != OFF,
    "level": _one_of("DEBUG", "INFO", "WARNING", "ERROR"),
    "format": _one_of("text", "json"),
}


class Setting(NamedTuple):
    """One row of the table. `default` is written as a user would write it, "" for nothing; `http`
    marks what counts for `serve --http` alone.
    """

    name: str
    kind: str
    allowed: str
    help: str
    default: str = ""
    http: bool = False

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
            return _PARSERS[self.kind](text)
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


_TABLE: Final = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
SETTINGS: Final = [Setting(name, **row) for name, row in tomllib.loads(_TABLE).items()]


@dataclass(frozen=True)
class Settings:
    """The settings of a server, read by `load`. `now` is the start of its clock, None for the real
    time.

    `judge_key` is "" for none: OpenAI's own address is not asked then. `maintenance_s` are the
    seconds between two runs of maintenance, 0 for none. `maintain` lets this process propose pairs
    in a fleet of any size. `session_id` is the session of the client that started the server, None
    where it names none. `public_url` is the address of `serve --http` for clients, None for the one
    that it binds. `prompt_lessons` lets a hook answer a person's prompt with lessons that fit it.
    `rate` is None for no limit. `issuer` signs tokens in addition to the fleet's own; its other
    fields count with it alone.
    """

    store: StoreLocation
    fleet: str
    program: str | None
    folder: Path | None
    toolsets: tuple[str, ...]
    embedder: str
    embedder_url: str
    judge_url: str
    now: datetime | None
    maintenance_s: float
    public_url: str | None
    prompt_lessons: bool
    log_level: str
    log_format: str
    rate: Rate | None
    issuer: str | None
    audience: str | None
    program_claim: str
    role_claim: str
    maintain: bool = False
    embedder_key: str = field(default="", repr=False)
    judge_key: str = field(default="", repr=False)
    session_id: str | None = None


def load(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Return the settings; `flags` is keyed by setting name. Raises SettingsError, which names flag
    or variable.

    An empty variable counts as unset. An empty flag does not: `--program "$PROGRAM"` must not
    unbind in silence.
    """
    read: dict[str, Any] = {  # Any: of the fields' types, as their parsers return them
        setting.name: setting.read(flags, environment) for setting in SETTINGS
    }
    maintenance_s = read.pop("maintenance")
    if read["now"] and not (
        flags.get("maintenance") or environment.get("FLEET_MEMORY_MAINTENANCE")
    ):
        maintenance_s = 0.0  # a replay maintains only on request
    read["store"] = read["store"] or file_location(default_path())
    read["folder"] = read["folder"] or _folder(environment.get(PROJECT_VARIABLE, ""))
    session = environment.get(SESSION_VARIABLE, "")
    embedder_key = ""
    if read["embedder"].startswith("openai:"):
        embedder_key = _key(KEY_VARIABLE, environment)
        if read["embedder_url"] == OPENAI_URL and not embedder_key:
            # not for everyone who speaks OpenAI's interface
            embedder_key = _key("OPENAI_API_KEY", environment)
            if not embedder_key:
                needed = f"needed by {read['embedder']}; OPENAI_API_KEY is unset too."
                raise SettingsError(f"{KEY_VARIABLE}: {needed}")
    return Settings(
        **read,
        maintenance_s=maintenance_s,
        embedder_key=embedder_key,
        judge_key=_key(JUDGE_KEY_VARIABLE, environment),
        session_id=session if is_name(session) else None,
    )


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


def _key(variable: str, environment: Mapping[str, str]) -> str:
    key = environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"{variable}: holds characters that no key has.")
    return key
