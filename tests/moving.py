"""Moving a fleet's memory through a file, for tests, as `fleet-memory export` and `import` do."""

import hashlib
import json
from functools import partial
from pathlib import Path

from anyio import to_thread

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.transfer.files import (
    export_text,
    parsed_file,
    read_bytes,
    require_room,
    write_whole,
)
from fleet_memory.jobs.transfer.merging import Merged, import_memory
from fleet_memory.jobs.transfer.reading import exported_memory
from fleet_memory.rules.lifecycle.stamping import without_marks
from fleet_memory.schemas.programs import Program


async def export_to(fleet: Fleet, file: Path, *, force: bool = False) -> int:
    """Write the fleet to a file and return how many documents it has."""
    await to_thread.run_sync(partial(require_room, file, force=force))
    text, count = await export_text(fleet)
    await to_thread.run_sync(write_whole, file, text)
    return count


async def bring(
    fleet: Fleet, file: Path, *, overwrite: bool = False, with_policy: bool = False
) -> Merged:
    """Merge a file into the fleet."""
    memory = exported_memory(parsed_file(await to_thread.run_sync(read_bytes, file)), fleet.now())
    return await import_memory(fleet, memory, overwrite=overwrite, with_policy=with_policy)


def sealed(*documents: object, fleet: str = "default") -> str:
    """Return a file with these documents, with a footer that matches them."""
    lines = [
        document if isinstance(document, str) else json.dumps(document) for document in documents
    ]
    footer = {
        "documents": len(lines),
        "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    }
    return (
        "\n".join(
            [json.dumps({"format": "fleet-memory/1", "fleet": fleet}), *lines, json.dumps(footer)]
        )
        + "\n"
    )


def known_to_agents(program: Program) -> object:
    """Return the part of a program that agents wrote and read, without the marks of its store."""
    lessons = {id_: without_marks(pattern) for id_, pattern in program.patterns.items()}
    state = (
        program.context_summary,
        program.config,
        program.baselines,
        program.decay,
        program.missing,
    )
    return lessons, dict(program.notes), state, program.last_update
