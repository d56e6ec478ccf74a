"""`fleet-memory backup`: a whole copy of the store while others use it, which brings a service back."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fleet_memory.cli import main
from tests.http_server import http_server
from tests.test_http_tokens import called

LESSON = {"pattern": "Copy while it runs", "domain": "care", "confidence": 0.9, "evidence": ""}


@pytest.fixture(autouse=True)
def store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    path = tmp_path / "memory.db"
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(path))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    stored = json.dumps({"programId": "basher", "pattern": LESSON})
    assert main(["call", "store_memory", stored]) == 0
    assert main(["token", "create", "--program", "basher"]) == 0
    capsys.readouterr()
    return path


def test_a_copy_is_whole_while_another_process_writes_and_keeps_tokens(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        writer.execute("begin immediate")
        writer.execute("delete from docs")
        assert main(["backup", str(copy), "--json"]) == 0
        writer.execute("rollback")
    assert json.loads(capsys.readouterr().out) == {
        "store": str(store),
        "file": str(copy),
        "bytes": copy.stat().st_size,
        "notes": ["Only you can read the file. It is a store: --store FILE."],
    }
    assert copy.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.glob("*.fleet-memory")) == []
    assert main(["doctor", "store", "--store", str(copy), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["intact"], report["documents"]["programs"]) == (True, 1)
    assert report["documents"]["tokens"] == 1
    assert main(["token", "list", "--store", str(copy), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"][0]["state"] == "live"
    with closing(sqlite3.connect(copy)) as read:
        assert read.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_service_comes_back_from_a_copy_made_while_it_ran_with_its_tokens_and_policy(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "create", "--program", "wren"]) == 0
    token = capsys.readouterr().out.strip()
    assert main(["policy", "set", "threshold", "3"]) == 0
    copy = tmp_path / "copy.db"
    with http_server(store) as server:
        assert called(server, f"Bearer {token}").status_code == 200
        assert main(["backup", str(copy)]) == 0
    for file in tmp_path.glob("memory.db*"):  # damaged, with its side files
        file.rename(tmp_path / f"away-{file.name}")
    copy.rename(store)
    with http_server(store) as server:
        assert called(server, f"Bearer {token}").status_code == 200
    capsys.readouterr()
    assert main(["policy", "show", "--json"]) == 0
    rows = {row["name"]: row["value"] for row in json.loads(capsys.readouterr().out)["policy"]}
    assert rows["threshold"] == "3"
    assert main(["list", "lessons", "--json"]) == 0
    assert str(LESSON["pattern"]) in capsys.readouterr().out


def test_a_file_is_replaced_on_request_alone_and_never_the_store_itself(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("another")
    before = store.read_bytes()
    assert main(["backup", str(copy)]) == 2
    assert "exists; give another name" in capsys.readouterr().err
    for name in ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal"):
        assert main(["backup", str(tmp_path / name), "--force"]) == 2
        assert f"{name} is of the store itself" in capsys.readouterr().err
    assert (copy.read_text(), store.read_bytes()) == ("another", before)
    assert main(["backup", str(copy), "--force"]) == 0
    assert copy.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_copy_that_is_open_or_whose_process_was_killed_is_not_replaced(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    assert main(["backup", str(copy)]) == 0
    (tmp_path / f"copy.db{end}").write_text("of the copy before")
    before = copy.read_bytes()
    assert main(["backup", str(copy), "--force"]) == 2
    assert f"copy.db{end} is beside it" in capsys.readouterr().err
    assert copy.read_bytes() == before


def test_a_folder_that_is_not_there_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", str(tmp_path / "no" / "copy.db")]) == 2
    assert "copy.db cannot be written: No such file" in capsys.readouterr().err


def test_a_backup_is_a_file_and_goes_to_no_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["backup", "-"]) == 2
    assert "`export -` writes to stdout" in capsys.readouterr().err
    assert not (tmp_path / "-").exists()
