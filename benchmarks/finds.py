"""How long finds of SQLite take among 1,000 documents of 20 fields: the best of seven, in ms.

    python benchmarks/finds.py

Another version is measured with its sources in PYTHONPATH.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio

from fleet_memory.stores import ABSENT, Json, Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore

HOME: Final = "fleets/f/pairs"
QUERIES: Final = {
    "all": Query(HOME),
    "the half": Query(HOME, {"odd": True}),
    "20 of the half": Query(HOME, {"odd": True}, limit=20),
    "one of a hundred": Query(HOME, {"rare": True}),
    "the last 20": Query(HOME, order="-at", limit=20),
}


def fields(number: int) -> dict[str, Json]:
    """Return the fields of a document, as large as those of a pair."""
    texts: dict[str, Json] = {f"text{n}": f"{n} of {number} {'x' * 30}" for n in range(14)}
    side: Json = {f"part{n}": "y" * 40 for n in range(4)}
    marks: dict[str, Json] = {"odd": number % 2 == 1, "rare": number % 100 == 0, "at": number}
    return {**texts, **marks, "tags": ["a", "b"], "side": side}


async def main() -> None:
    """Print a row a query."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        for start in range(0, 1_000, 50):
            refs = [Ref(HOME, f"d{number:04}") for number in range(start, start + 50)]
            writes = [Write(ref, fields(int(ref.id[1:])), ABSENT) for ref in refs]
            await store.commit(*writes)
        for name, query in QUERIES.items():
            taken = []
            for _ in range(7):
                begun = time.process_time()
                found = len(await store.find(query))
                taken.append(time.process_time() - begun)
            print(f"{name:18}{found:6}{1_000 * min(taken):8.2f}")
        await store.close()


if __name__ == "__main__":
    anyio.run(main)
