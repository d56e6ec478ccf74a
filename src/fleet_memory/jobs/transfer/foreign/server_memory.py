"""The memory of `@modelcontextprotocol/server-memory`: each line is an entity with its
observations, or a relation.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.schemas.foreign import ForeignMemory, ForeignText, LeftOut


class _Found(NamedTuple):
    texts: Sequence[ForeignText]
    left_out: Sequence[LeftOut]


def read_server_memory(file: Path) -> ForeignMemory:
    """Return a file's observations, and its relations and damaged lines as left out.

    It has no times: the observations are as old as the file. Raises InvalidArgumentError for one
    without any entity.
    """
    try:
        lines = file.read_bytes().decode("utf-8-sig", errors="replace").split("\n")
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read: {error.strerror}") from error
    texts, left_out, entities = list[ForeignText](), list[LeftOut](), 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match _object(line):
            case {
                "type": "entity",
                "name": str(name),
                "observations": list(observations),
            } as entity:
                entities += 1
                kind = str(entity.get("entityType") or "")
                observed = _observations(name, kind, observations, changed)
                texts += observed.texts
                left_out += observed.left_out
            case {
                "type": "relation",
                "from": str(begin),
                "to": str(end),
                "relationType": str(relation),
            }:
                left_out.append(LeftOut("relation", f"line {number}", f"{begin} {relation} {end}"))
            case _:
                left_out.append(LeftOut("damaged", f"line {number}", "no entity or relation"))
    if not entities:
        raise InvalidArgumentError(
            f"FILE: {file.name} has no entity; is it a memory of server-memory?"
        )
    return ForeignMemory("server-memory", texts, left_out)


def _observations(name: str, kind: str, observations: list[object], changed: datetime) -> _Found:
    context = f"observation of {name} ({kind})" if kind else f"observation of {name}"
    texts, left_out = list[ForeignText](), list[LeftOut]()
    for number, observation in enumerate(observations, 1):
        place = f"{name}, observation {number}"
        if isinstance(observation, str):
            texts.append(
                ForeignText(
                    place,
                    observation,
                    context,
                    (name, kind),
                    (kind,),
                    created=changed,
                    changed=changed,
                )
            )
        else:
            left_out.append(LeftOut("damaged", place, "not a text"))
    if not observations:
        left_out.append(LeftOut("no statement", name, "has no observation"))
    return _Found(texts, left_out)


def _object(line: str) -> Mapping[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
