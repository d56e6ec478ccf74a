"""Twenty processes judge at once while maintenance runs: no verdict is refused for it, and none is
lost.
"""

from collections import Counter
from pathlib import Path

import anyio
import pytest
from agents import opened
from changes import at, maintain
from fleets import fleet_on
from invariants import broken, read_documents
from judged_pairs import LEARNT, NOW, PROGRAMS, all_pairs, name, open_all, pairs_of
from talking import Child, child

from fleet_memory.rules.entries import entry_state
from fleet_memory.rules.text.keys import pair_id, text_hash
from tests.bounds import HANG_S

pytestmark = [pytest.mark.anyio, pytest.mark.kills]


async def test_twenty_judges_at_once_are_all_heard_while_maintenance_runs(
    store_address: str, tmp_path: Path
) -> None:
    ready: list[int] = []
    said: list[str] = []
    runs: list[str] = []
    start = anyio.Event()

    async def judge(program: int) -> None:
        async with child("judge.py", store_address, "default", str(program)) as judging:
            ready.append(program)
            if len(ready) == PROGRAMS:
                start.set()
            await start.wait()
            await judging.send()
            said.extend([await judging.line() for _ in pairs_of(program)])

    async def keep_maintaining(maintainer: Child) -> None:
        await start.wait()
        while len(said) < 4 * PROGRAMS:
            runs.append(await maintainer.ask())

    with anyio.fail_after(HANG_S):
        async with opened(store_address) as store:
            fleet = fleet_on(store, NOW)
            await open_all(at(fleet, LEARNT))
            async with (
                child(
                    "maintain.py", store_address, "default", str(tmp_path / "leases")
                ) as maintainer,
                anyio.create_task_group() as everybody,
            ):
                everybody.start_soon(keep_maintaining, maintainer)
                for program in range(PROGRAMS):
                    everybody.start_soon(judge, program)
            await maintain(
                at(fleet, NOW.replace(hour=NOW.hour + 1))
            )  # the lease of the maintainer has expired
            assert Counter(said) == {"open": 2 * PROGRAMS, "same": 2 * PROGRAMS}
            assert {one for one in runs if one.startswith("done ")} == set(), (
                "a run skipped a document"
            )
            assert "done" in runs
            assert await broken(fleet) == []
            documents = await read_documents(fleet)
            pairs = {pair.pair_id: pair for _, pair in documents.pairs}
            for judged in all_pairs():
                pair = pairs[pair_id(text_hash(judged.text), text_hash(judged.other))]
                voices = sorted((one.program_id, one.verdict) for one in pair.judgements)
                assert voices == sorted(
                    (name(one), "same") for one in (judged.owner, judged.teller)
                )
            entries = {entry.value.pattern: entry for entry in documents.entries.values()}
            assert {text: entry_state(one, NOW) for text, one in entries.items()} == {
                judged.text: "fresh" for judged in all_pairs()
            }
            assert [len(one.provenance) for one in entries.values()] == [3] * PROGRAMS
            assert len((await fleet.knowledge.snapshots.read()).rows) == PROGRAMS
