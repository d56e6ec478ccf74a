"""Every history of `data/histories.json` comes out on the package as it is written."""

from pathlib import Path

import pytest

from tests.histories import History, read_histories
from tests.real_fleet import mismatches_of_real

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("history", read_histories(), ids=lambda history: history.title)
async def test_the_package_lives_every_history_as_written(history: History, tmp_path: Path) -> None:
    assert await mismatches_of_real(history, tmp_path / "memory.db") == []
