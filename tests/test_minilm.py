import base64
import hashlib
import json
import os
import shutil
import sys
import weakref
from pathlib import Path

import anyio
import numpy as np
import pytest
from anyio.lowlevel import checkpoint
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from tokenizers import Tokenizer

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import FOLDER, MAX_TEXT_TOKENS, REMEMBERED, MiniLM

pytestmark = pytest.mark.anyio

REFERENCE = (
    Path(__file__).parent / "data" / "minilm-fp32.jsonl"
)  # written by scripts/build_minilm.py


@pytest.fixture(scope="module")
def engine() -> Embedder:
    return MiniLM()


@pytest.fixture(scope="module")
def reference() -> tuple[list[str], Vectors]:
    """Texts and the float32 model's vectors of them."""
    lines = [json.loads(line) for line in REFERENCE.read_text().splitlines()]
    vectors = [np.frombuffer(base64.b64decode(line["vector"]), "<f2") for line in lines]
    return [line["text"] for line in lines], np.stack(vectors).astype(np.float32)


async def test_every_vector_is_close_to_that_of_the_unquantised_model(
    engine: Embedder, reference: tuple[list[str], Vectors]
) -> None:
    texts, expected = reference
    cosines = await engine.vectors(texts) @ expected.T
    assert cosines.diagonal().min() >= 0.95
    assert cosines.diagonal().mean() >= 0.985
    assert cosines.argmax(1).tolist() == list(range(len(texts)))


async def test_vectors_are_float32_rows_of_length_one(engine: Embedder) -> None:
    found = await engine.vectors(["Run the tests", "", "long " * 2000, "東京 🚀"])
    assert (found.shape, found.dtype.name) == ((4, 384), "float32")
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


async def test_the_arithmetic_of_the_model_is_that_of_its_file_and_none_that_onnxruntime_makes_of_it(
    engine: Embedder, reference: tuple[list[str], Vectors]
) -> None:
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    session = InferenceSession(FOLDER / "minilm.onnx", options, providers=["CPUExecutionProvider"])
    tokens = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokens.no_padding()
    tokens.enable_truncation(MAX_TEXT_TOKENS)
    texts = reference[0][:20]
    words = np.fromfile(FOLDER / "minilm-words.weights", np.uint8).reshape(
        tokens.get_vocab_size(), -1
    )
    expected = [
        session.run(None, {"words_int8": words[None, tokens.encode(text).ids]})[0][0]
        for text in texts
    ]
    assert np.array_equal(await engine.vectors(texts), expected)


async def test_no_texts_give_no_rows(engine: Embedder) -> None:
    assert (await engine.vectors([])).shape == (0, 384)


async def test_a_vector_does_not_depend_on_the_other_texts_of_its_batch() -> None:
    texts = [f"Retry {n} times, then tell {'the operator ' * n}" for n in range(1, 40)]
    together = await MiniLM().vectors(texts)
    alone = await MiniLM().vectors(texts[-1:])
    assert np.array_equal(together[-1:], alone)


async def test_a_text_given_twice_has_one_vector(engine: Embedder) -> None:
    first, other, again = await engine.vectors(["same", "other", "same"])
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


async def test_changing_a_returned_vector_does_not_change_the_cached_one(engine: Embedder) -> None:
    before = await engine.vectors(["Pin versions"])
    kept = before.copy()
    before[:] = 0
    assert np.array_equal(await engine.vectors(["Pin versions"]), kept)


async def test_it_remembers_the_texts_used_last_and_no_more_than_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert REMEMBERED == 512
    monkeypatch.setattr("fleet_memory.similarity.minilm.REMEMBERED", 3)
    engine = MiniLM()
    await engine.vectors(["a", "b", "c"])
    await engine.vectors(["a"])
    await engine.vectors(["d"])
    kept = [hashlib.sha256(text.encode()).digest() for text in "cad"]
    assert list(engine._remembered) == kept


async def test_a_remembered_vector_does_not_keep_the_memory_of_the_model() -> None:
    engine = MiniLM()
    await engine.vectors(["Pin versions", "Read the log first"])
    assert [row.flags.owndata for row in engine._remembered.values()] == [True, True]


def loaded(engine: MiniLM) -> list[weakref.ref[object]]:
    return [weakref.ref(engine._engine.session)] if engine._engine else []


async def test_a_model_is_released_once_no_text_needed_it_for_so_long() -> None:
    engine = MiniLM()
    before = await engine.vectors(["Pin versions", "Read the log first"])
    assert 0 < await engine.release(60) <= 60
    (session,) = loaded(engine)
    assert await engine.release(0) == 0
    assert (loaded(engine), session()) == ([], None)
    assert np.array_equal(await engine.vectors(["Pin versions"]), before[:1])
    assert loaded(engine) == []  # a text that it remembers needs no model
    engine._remembered.clear()
    assert np.array_equal(await engine.vectors(["Pin versions"]), before[:1])


async def test_a_model_that_was_never_needed_is_released_without_loading_it() -> None:
    engine = MiniLM()
    assert await engine.release(60) == 60
    assert loaded(engine) == []


IN_USE_AND_RELEASED = """
from pathlib import Path
import anyio
from fleet_memory.allocator import map_large_blocks, return_freed_memory, use_one_heap
from fleet_memory.similarity.minilm import MiniLM

use_one_heap()
map_large_blocks()  # as a server does: the end of a thread's own heap would stay

def private_kb():
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0])

def is_mapped():
    return "minilm-int8.weights" in Path("/proc/self/maps").read_text()

async def main():
    engine = MiniLM()
    await engine.vectors(["Does it load?"])
    short = private_kb()
    await engine.vectors(["a text of 256 tokens " * 100])
    print(private_kb() - short)
    for turn in range(2):
        await engine.vectors(["a lesson of some words " * 20 + str((turn, n)) for n in range(8)])
        print(is_mapped(), private_kb())
        await engine.release(0)
        return_freed_memory()
        print(is_mapped(), private_kb())

anyio.run(main)
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems say elsewhere how much memory a process has"
)
async def test_weights_are_mapped_and_the_memory_of_a_released_model_goes_back_to_the_system() -> (
    None
):
    with anyio.fail_after(60):
        answer = await anyio.run_process([sys.executable, "-c", IN_USE_AND_RELEASED])
    grown_kb, *lines = answer.stdout.decode().splitlines()
    assert int(grown_kb) < 5_000  # the working memory of a long text goes back after it
    mapped, private_kb = zip(*map(str.split, lines), strict=True)
    assert mapped == ("True", "False", "True", "False")
    in_use, released, _, released_again = map(int, private_kb)
    assert released < 0.7 * in_use
    assert released_again < released + 5_000


MANY_WORDS = """
import json
from pathlib import Path
import anyio
from fleet_memory.similarity.minilm import FOLDER, MiniLM

def of_files_kb():
    return int(Path("/proc/self/status").read_text().partition("RssFile:")[2].split()[0])

async def main():
    engine = MiniLM()
    await engine.vectors(["a lesson of some words"])
    before = of_files_kb()
    words = list(json.loads((FOLDER / "tokenizer.json").read_text())["model"]["vocab"])[2000::20]
    await engine.vectors([" ".join(words[at : at + 20]) for at in range(0, len(words), 20)])
    print(of_files_kb() - before)

anyio.run(main)
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems say elsewhere how much memory a process has"
)
async def test_new_words_map_no_more_of_the_weights() -> None:
    with anyio.fail_after(60):
        answer = await anyio.run_process([sys.executable, "-c", MANY_WORDS])
    assert int(answer.stdout) < 2_000  # mapped, the embedding of words would take 10,000


@pytest.mark.skipif(sys.platform == "win32", reason="Windows replaces no file that is open")
async def test_vectors_stay_while_another_installation_replaces_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder)
    engine = MiniLM(folder)
    before = await engine.vectors(["Pin versions"])
    engine._remembered.clear()
    (folder / "minilm-words.weights").unlink()
    (folder / "minilm-words.weights").write_bytes(bytes(384 * 30522))
    assert np.array_equal(await engine.vectors(["Pin versions"]), before)


async def test_a_file_that_is_cut_while_the_model_is_loaded_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FOLDER, folder)
    engine = MiniLM(folder)
    await engine.vectors(["Pin versions"])
    os.truncate(folder / "minilm-words.weights", 0)
    with pytest.raises(EmbedderError, match=r"The embedding model failed\."):
        await engine.vectors(["Read the log first"])


async def test_the_event_loop_turns_while_texts_are_embedded(engine: Embedder) -> None:
    turns = 0
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:

            async def embed() -> None:
                await engine.vectors([f"lesson number {n}" for n in range(32)])
                tasks.cancel_scope.cancel()

            tasks.start_soon(embed)
            while not tasks.cancel_scope.cancel_called:
                turns += 1
                await checkpoint()
    assert turns > 20


async def test_a_question_does_not_wait_behind_a_long_list(engine: Embedder) -> None:
    done: list[str] = []

    async def embed(name: str, texts: list[str]) -> None:
        await engine.vectors(texts)
        done.append(name)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(embed, "list", [f"a lesson about {n}" for n in range(80)])
            tasks.start_soon(embed, "question", ["how do I claim a task?"])
    assert done == ["question", "list"]


async def test_a_missing_file_is_an_error_that_names_no_path_to_the_agent(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert "FLEET_MEMORY_EMBEDDER=lexical" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert str(tmp_path) in caught.value.operator_detail


async def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text((FOLDER / "SHA256SUMS").read_text())
    (tmp_path / "minilm.onnx").write_bytes(b"half a model")
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert caught.value.operator_detail == "ValueError: minilm.onnx is damaged"


async def test_a_model_of_another_version_that_has_no_file_of_words_is_an_error(
    tmp_path: Path,
) -> None:
    for name in ("minilm.onnx", "minilm-int8.weights", "tokenizer.json"):
        (tmp_path / name).symlink_to(FOLDER / name)
    sums = (FOLDER / "SHA256SUMS").read_text().splitlines(keepends=True)
    (tmp_path / "SHA256SUMS").write_text(
        "".join(line for line in sums if "minilm-words" not in line)
    )
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert caught.value.operator_detail.startswith("FileNotFoundError")


async def test_a_model_that_this_onnxruntime_cannot_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "minilm.onnx").write_bytes(b"not a model")
    (tmp_path / "SHA256SUMS").write_text(
        f"{hashlib.sha256(b'not a model').hexdigest()}  minilm.onnx\n"
    )
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).vectors(["text"])
    assert caught.value.operator_detail.startswith("InvalidProtobuf")


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
async def test_a_library_that_does_not_import_is_an_error(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbedderError) as caught:
        await MiniLM().vectors(["text"])
    assert library in caught.value.operator_detail


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
async def test_a_check_finds_a_library_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbedderError) as caught:
        await MiniLM().check()
    assert library in caught.value.operator_detail


async def test_a_check_finds_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text((FOLDER / "SHA256SUMS").read_text())
    (tmp_path / "minilm.onnx").write_bytes(b"half a model")
    with pytest.raises(EmbedderError) as caught:
        await MiniLM(tmp_path).check()
    assert caught.value.operator_detail == "ValueError: minilm.onnx is damaged"


def test_it_names_model_quantisation_and_version_and_stands_in_for_nothing(
    engine: Embedder,
) -> None:
    assert (engine.name, engine.profile, engine.degraded) == ("minilm-l6-v2/int8/1", Profile(), "")


def test_the_notice_names_the_hash_of_every_shipped_file() -> None:
    lines = (FOLDER / "SHA256SUMS").read_text().splitlines()
    notice = (FOLDER / "NOTICE").read_text()
    assert [line for line in lines if line not in notice] == []
    assert {line.split()[1] for line in lines} == {
        *("minilm.onnx", "minilm-int8.weights", "minilm-words.weights", "tokenizer.json")
    }
    assert "Apache License" in (FOLDER / "LICENSE").read_text()
