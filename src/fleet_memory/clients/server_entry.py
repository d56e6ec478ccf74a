"""The server's entry among a client's servers."""

import json
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.clients import jsonc, toml
from fleet_memory.clients.changes import naming, read_text
from fleet_memory.clients.clients import NAME, Client, known_clients
from fleet_memory.clients.parts import Before, value_at
from fleet_memory.errors import InvalidArgumentError

_REMOTE: Final = frozenset(
    {"url", "httpUrl", "serverUrl"}
)  # the address in an entry: of most, of Gemini, of Windsurf
_OF_START: Final = frozenset({"type", "command", "args", "env", "environment", "envFile", "cwd"})
_OWN: Final = ("type", "command", "args", *sorted(_REMOTE), "headers", "bearer_token_env_var")


@dataclass(frozen=True)
class ServerEntry:
    """The entry that makes a client start the server, or call it at an address; a `Part`."""

    client: Client
    entry: Mapping[str, object]
    project: Path | None

    @property
    def file(self) -> Path:
        """The client's file of the user or of the project."""
        return self.client.file(self.project)

    @property
    def add(self) -> Sequence[str]:
        """The client's command that adds the entry to the user's file."""
        return (
            [*self.client.add, json.dumps(self.entry)]
            if self.client.add and not self.project
            else ()
        )

    @property
    def remove(self) -> Sequence[str]:
        """The client's command that removes it from there."""
        return () if self.project else self.client.remove

    def put(self, text: str) -> str:
        """Set the entry's own keys; one with an address loses the keys that start a process, and
        other addresses.
        """
        entry = value_at(self._read(text), self._path)
        if _is_remote(entry) and not _is_remote(self.entry):
            raise InvalidArgumentError(
                f"{NAME} is a remote server there; nothing was changed. Take it out first to "
                "have one of this machine"
            )
        if not isinstance(entry, dict):
            return self._put(text, self._path, self.entry)
        for key in self._dropped(entry):
            text = self._cut(text, (*self._path, key))
        return self._put_keys(text, {**self.entry, **self._headers(entry)})

    def is_in(self, text: str) -> bool:
        """Whether there is an entry of our name; for a local server's one with an address is
        another's.
        """
        entry = value_at(self._read(text), self._path)
        return entry is not None and (_is_remote(self.entry) or not _is_remote(entry))

    def before(self, text: str) -> Before:
        """Return the entry's own keys as they are, and those that would go."""
        document = self._read(text)
        count = sum(
            value_at(document, self._path[: depth + 1]) is not None
            for depth in range(len(self._path))
        )
        entry = value_at(document, self._path)
        if not isinstance(entry, dict):
            return Before(count)
        own = {key: entry[key] for key in _OWN if key in entry}
        return Before(
            count, own, {key: entry[key] for key in self._dropped(entry) if key not in own}
        )

    def taken_out(self, text: str, before: Before) -> str:
        """Restore an entry that was there, else cut it, and the object around it if that was made
        for it.
        """
        if before.values is None:
            text = self._cut(text, self._path)
            is_empty = before.keys < 1 and self._read(text).get(self.client.key) == {}
            return self._cut(text, self._path[:1]) if is_empty and not self._is_toml else text
        for key in (key for key in _OWN if key not in before.values):
            text = self._cut(text, (*self._path, key))
        return self._put_keys(text, before.values)

    @property
    def _path(self) -> tuple[str, str]:
        return self.client.key, NAME

    def _dropped(self, entry: Mapping[str, object]) -> list[str]:
        """Return the keys of an entry that make no sense with an address, in the order of the
        file.
        """
        gone = (_OF_START | _REMOTE) - self.entry.keys() if _is_remote(self.entry) else frozenset()
        return [key for key in entry if key in gone]

    def _headers(self, entry: Mapping[str, object]) -> dict[str, object]:
        """Return the entry's headers with the owner's others; none where the entry sets none."""
        ours, theirs = self.entry.get("headers"), entry.get("headers")
        return (
            {"headers": {**theirs, **ours}}
            if isinstance(ours, dict) and isinstance(theirs, dict)
            else {}
        )

    @property
    def _is_toml(self) -> bool:
        return self.file.suffix == ".toml"

    def _read(self, text: str) -> dict[str, object]:
        return toml.read_document(text) if self._is_toml else jsonc.read_object(text)

    def _put(self, text: str, path: Sequence[str], entry: Mapping[str, object]) -> str:
        return toml.put_table(text, path, entry) if self._is_toml else jsonc.put(text, path, entry)

    def _put_keys(self, text: str, values: Mapping[str, object]) -> str:
        if self._is_toml:
            return toml.put_table(text, self._path, values)
        for key, value in values.items():
            text = jsonc.put(text, (*self._path, key), value)
        return text

    def _cut(self, text: str, path: Sequence[str]) -> str:
        return toml.cut_value(text, path) if self._is_toml else jsonc.cut(text, path)


def _is_remote(entry: object) -> bool:
    return isinstance(entry, Mapping) and "command" not in entry and not _REMOTE.isdisjoint(entry)


class StartedServer(NamedTuple):
    """How a client starts the server: command and arguments, none for a remote one, and variables
    for it.

    `url` is a remote one's address.
    """

    words: Sequence[str]
    variables: Mapping[str, str]
    url: str = ""

    def flag(self, flag: str) -> str | None:
        """Return the value of a flag in the words, e.g. "basher" of "--program basher" and
        "--program=basher".
        """
        joined = (word.partition("=") for word in self.words)
        return (
            dict(pairwise(self.words)) | {name: value for name, sign, value in joined if sign}
        ).get(flag)

    def words_without(self, flags: Container[str]) -> list[str]:
        """Return the words of `serve` that are none of these flags and no value of one, e.g.
        "--maintain".
        """
        words = iter(self.words[self.words.index("serve") + 1 :] if "serve" in self.words else ())
        remaining = list[str]()
        for word in words:
            if word in flags:
                next(words, None)
            elif word.partition("=")[0] not in flags:
                remaining.append(word)
        return remaining

    def setting(self, flag: str) -> str | None:
        """Return the setting of a flag: the flag's value, else the variable's."""
        variable = f"FLEET_MEMORY_{flag.removeprefix('--').replace('-', '_').upper()}"
        return self.flag(flag) or self.variables.get(variable) or None

    @property
    def program(self) -> str | None:
        """The program that it is bound to."""
        return self.setting("--program")


def server_in(client: Client, file: Path) -> StartedServer | None:
    """Return how a client's file starts the server, None where it does not. Raises
    InvalidArgumentError.
    """
    text = read_text(file)
    read = toml.read_document if client.user.suffix == ".toml" else jsonc.read_object
    with naming(file):
        entry = value_at(read(text), (client.key, NAME))
    if not isinstance(entry, dict):
        return None
    command, args, variables = (
        entry.get("command"),
        entry.get("args"),
        entry.get("environment", entry.get("env")),
    )
    if _is_remote(entry):
        return StartedServer(
            [], {}, next(str(entry[key]) for key in sorted(_REMOTE) if key in entry)
        )
    words = (
        command
        if isinstance(command, list)
        else [command, *(args if isinstance(args, list) else ())]
    )
    named = variables if isinstance(variables, dict) else {}
    return StartedServer(
        [str(word) for word in words], {str(name): str(value) for name, value in named.items()}
    )


def servers_here(folder: Path) -> dict[str, StartedServer]:
    """Return how each client starts the server, of all that do, e.g. {"cursor": …}; unreadable
    files have none.
    """
    servers = dict[str, StartedServer]()
    for name, client in known_clients().items():
        for file in client.files(folder):
            with suppress(InvalidArgumentError):  # `doctor` names it
                server = server_in(client, file)
                servers |= {name: server} if server else {}
    return servers
