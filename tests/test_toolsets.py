"""Documents that a toolset owns, and parts of other distributions."""

from dataclasses import replace
from pathlib import Path

import pytest

from fleet_memory import extensions
from fleet_memory.extensions import StoreLocation, location
from fleet_memory.fleet import Collection, Fleet, Toolset
from fleet_memory.importing import read_foreign
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.jobs.transfer.files import COLLECTIONS
from fleet_memory.rules.erasing import DocumentFields as Fields
from fleet_memory.rules.erasing import Erasure, fields_after
from fleet_memory.server.composition import open_embedder, open_store
from fleet_memory.settings import load, parsed_toolsets
from fleet_memory.stores import ABSENT, Query, Ref, Write
from tests.matrix import BY_NAME

LINE: Fields = {"programId": "basher", "text": "The vault is at Elm Street"}
OTHER: Fields = {
    "programId": "iso",
    "lines": [LINE, {"programId": "iso", "text": "see Elm street"}],
}


@pytest.fixture
def kept(fleet: Fleet) -> Fleet:
    """A fleet with a toolset that owns documents."""
    toolset = Toolset("lines", (), collections=(Collection("lines"),))
    return replace(fleet, toolsets=(toolset,), served=("lines",))


async def keep(fleet: Fleet, **documents: Fields) -> None:
    refs = {name: Ref(fleet.paths.collection("lines"), name) for name in documents}
    await fleet.store.commit(*(Write(refs[name], documents[name], ABSENT) for name in documents))


async def lines(fleet: Fleet) -> dict[str, object]:
    found = await fleet.store.find(Query(fleet.paths.collection("lines")))
    return {document.ref.id: document.fields for document in found}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (Wanted(program="basher"), {"b": {**OTHER, "lines": [OTHER["lines"][1]]}}),
        (
            Wanted(text="elm street"),
            {
                "a": {**LINE, "text": "(erased)"},
                "b": {
                    **OTHER,
                    "lines": [
                        {**LINE, "text": "(erased)"},
                        {"programId": "iso", "text": "(erased)"},
                    ],
                },
            },
        ),
    ],
    ids=["program", "text"],
)
async def test_a_purge_takes_a_program_and_a_text_out_of_documents_of_a_toolset(
    kept: Fleet, wanted: Wanted, left: object
) -> None:
    await keep(kept, a=LINE, b=OTHER)
    erased = await erase(kept, wanted)
    assert (erased.left, await lines(kept)) == ((), left)


def test_a_program_that_is_called_like_an_erased_text_keeps_its_name() -> None:
    fields = {"programId": "elm", "words": ["the elm", 3, None]}
    assert fields_after(fields, Erasure(needle="elm")) == {
        "programId": "elm",
        "words": ["(erased)", 3, None],
    }


def test_no_collection_of_a_toolset_is_another_ones() -> None:
    owned = [each.name for toolset in BY_NAME.values() for each in toolset.collections]
    known = {*COLLECTIONS, "snapshots", "tokens", "leases", "maintenance", "policy"}
    assert len(set(owned) | known) == len(owned) + len(known)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that adds a part of each kind."""
    groups = [f"[fleet_memory.{kind}]\ntoy = toy_parts:{kind}" for kind in extensions.OWN]
    folder = tmp_path / "toy-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("\n".join(groups))
    parts = "".join(f"def {kind}(*given): return given\n" for kind in extensions.OWN)
    (tmp_path / "toy_parts.py").write_text(parts)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("added")
def test_parts_of_other_distributions_are_found_by_their_entry_points() -> None:
    for kind in extensions.OWN:
        assert extensions.names(kind)[-1] == "toy"
    assert parsed_toolsets("core,toy") == ("core", "toy")
    assert parsed_toolsets("all") == (
        "core",
        "session",
        "state",
        "knowledge",
        "work",
        "journal",
        "toy",
    )
    settings = load({"embedder": "toy:large", "embedder_url": "http://toy"}, {})
    assert open_embedder(settings) == ("large", "http://toy", "")  # type: ignore[comparison-overlap] # a toy
    place = location("toy://host/memory")
    assert place == StoreLocation("toy", ("toy://host/memory",))
    assert open_store(place) == ("toy://host/memory",)  # type: ignore[comparison-overlap] # a toy
    assert read_foreign("toy", Path("file")).parts == [Path("file")]  # type: ignore[comparison-overlap] # a toy
    assert str(place) == "toy://host/memory"
