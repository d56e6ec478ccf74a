"""all-MiniLM-L6-v2 as int8 ONNX: works offline, from files inside the package.

English only; a text is cut after its 256th token. How the files were made: scripts/build_minilm.py.
"""

import hashlib
import logging
import os
import platform
import sysconfig
import time
import weakref
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity.builds import NO_BUILD, machine_has_builds
from fleet_memory.worker_thread import WorkerThread

if TYPE_CHECKING:
    from onnxruntime import RunOptions
    from tokenizers import Tokenizer

FOLDER = Path(__file__).with_name("model")
_LIBRARIES = ("onnxruntime", "tokenizers")
_DIMENSIONS = 384  # numbers in a vector
_HAS_PREAD = hasattr(os, "pread")  # Windows has none
# tokens of a text that are read; the published tokenizer cuts at 128. Source: the model card
MAX_TEXT_TOKENS = 256
# texts per turn in the worker thread, about 30 ms: a question never waits behind a thousand lessons
_TEXTS_PER_TURN = 16
# of a text whose working memory is returned after it: 9 MB at 256 tokens, for a sixth more time.
# Chosen
_LONG_TEXT_TOKENS = 128
REMEMBERED = 512  # texts with cached vectors, about 1 MB; chosen: those of a few minutes
MISSING = (
    "The libraries that run the embedding model are not installed. Install them beside "
    "fleet-memory "
    "(`pip install onnxruntime tokenizers`), or set FLEET_MEMORY_EMBEDDER=lexical to accept "
    "the comparison by letters."
)

_logger = logging.getLogger(__name__)


class _Session(Protocol):
    """The one method of onnxruntime.InferenceSession used here; the package ships no types."""

    def run(
        self, outputs: list[str], inputs: dict[str, NDArray[np.uint8]], options: "RunOptions | None"
    ) -> list[Vectors]: ...


class _WordRows:
    """The embedding of words, one row of int8 for each id, read from its file as texts need them.

    Each word looked up in a mapped file would map 64 kB of it: 9 MB after a thousand lessons. The
    file stays open, so that an installation that replaces it meanwhile changes no vector.
    """

    def __init__(self, file: Path) -> None:
        self._file = file.open("rb", buffering=0)
        weakref.finalize(self, self._file.close)

    def of(self, ids: Sequence[int]) -> NDArray[np.uint8]:
        """Return the rows of one text as 1 by n by d."""
        return np.frombuffer(b"".join(map(self._row, ids)), np.uint8).reshape(
            1, len(ids), _DIMENSIONS
        )

    def _row(self, id_: int) -> bytes:
        place = id_ * _DIMENSIONS
        if _HAS_PREAD:
            return os.pread(
                self._file.fileno(), _DIMENSIONS, place
            )  # a fork shares no place in the file with this
        self._file.seek(place)
        return self._file.read(_DIMENSIONS)


class _Engine(NamedTuple):
    """The loaded model; a run with the options `returning` leaves little working memory behind."""

    tokens: "Tokenizer"
    words: _WordRows
    session: _Session
    returning: "RunOptions"


class MiniLM:
    """See `Embedder`. Loads at the first text, and again after a release; texts that it remembers
    cost nothing.

    While it cannot load again `degraded` is set and calls raise; no other engine stands in, so that
    vectors never mix.
    """

    name = "minilm-l6-v2/int8/1"
    profile = Profile()

    def __init__(self, folder: Path = FOLDER) -> None:
        self.degraded = ""
        self._folder = folder
        self._was_loaded = False
        self._is_there = False
        self._thread = WorkerThread()
        self._engine: _Engine | None = None
        self._used_at = 0.0  # of the monotonic clock
        self._remembered: dict[bytes, Vectors] = {}

    async def check(self) -> None:
        """See `Embedder.check`. Its files are whole and its libraries are there; the first check
        takes 0.05 s.
        """
        if not self._is_there:
            await self._thread.run(partial(_check_parts, self._folder))
            self._is_there = True

    async def ready(self) -> None:
        """See `Embedder.ready`. Embeds one text: a model may load and still fail at its first
        run.
        """
        await self.vectors(["Does it load?"])

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        rows = {key: row for key in keys if (row := self._remembered.get(key)) is not None}
        missing = [
            (key, text)
            for key, text in dict(zip(keys, texts, strict=True)).items()
            if key not in rows
        ]
        for start in range(0, len(missing), _TEXTS_PER_TURN):
            some = missing[start : start + _TEXTS_PER_TURN]
            vectors = await self._thread.run(partial(self._embedded, [text for _, text in some]))
            rows.update(zip((key for key, _ in some), vectors, strict=True))
        self._remember(rows)
        return np.array([rows[key] for key in keys], np.float32).reshape(len(texts), _DIMENSIONS)

    async def release(self, idle_s: float) -> float:
        """See `Embedder.release`. It frees 16 MB; vectors that it remembers stay."""
        unused_s = time.monotonic() - self._used_at
        if unused_s < idle_s:
            return idle_s - unused_s
        await self._thread.run(self._free)
        return idle_s

    def _free(self) -> None:
        self._engine = None

    def _remember(self, rows: dict[bytes, Vectors]) -> None:
        for key, row in rows.items():
            self._remembered.pop(
                key, None
            )  # a key put back goes to the end: the first is the least recently used
            self._remembered[key] = row
        while len(self._remembered) > REMEMBERED:
            del self._remembered[next(iter(self._remembered))]

    def _load(self) -> _Engine:
        try:
            self._engine = _loaded(self._folder)
        except EmbedderError as failure:
            if self._was_loaded and not self.degraded:
                _logger.warning("%s did not load again: %s", self.name, failure.operator_detail)
                self.degraded = str(failure)
            raise
        self.degraded, self._was_loaded, self._is_there = "", True, True
        return self._engine

    def _embedded(self, texts: Sequence[str]) -> list[Vectors]:
        engine = self._engine or self._load()
        self._used_at = time.monotonic()
        rows = []
        # one text per run: in a batch int8 takes one scale for all, so neighbours change a vector
        for text in texts:
            ids = engine.tokens.encode(text).ids
            try:
                options = engine.returning if len(ids) > _LONG_TEXT_TOKENS else None
                vectors = engine.session.run(
                    ["embedding"], {"words_int8": engine.words.of(ids)}, options
                )[0]
            except _failures() as failure:
                raise EmbedderError(
                    "The embedding model failed.", operator_detail=str(failure)
                ) from failure
            rows.append(
                vectors[0].copy()
            )  # a view keeps 9 MB of the model's working memory, also once it is freed
        return rows


def _loaded(folder: Path) -> _Engine:
    """Return the tokenizer and the model from the files that were built; it takes 0.1 s.

    onnxruntime maps the file of weights: all servers of a machine share those that it does not pack
    for its processor. Raises EmbedderError when a file is missing or damaged, or a library does not
    load on this machine.
    """
    try:
        check_files(folder)
        os.environ["ORT_DISABLE_TELEMETRY"] = (
            "1"  # read at the import: no device id, no file in HOME, nothing sent
        )
        from onnxruntime import (  # noqa: PLC0415 40 MB that many servers never need
            GraphOptimizationLevel,
            InferenceSession,
            RunOptions,
            SessionOptions,
            disable_telemetry_events,
        )
        from tokenizers import Tokenizer  # noqa: PLC0415 the same
    except (ImportError, OSError, ValueError) as failure:
        raise _unloadable(failure) from failure
    disable_telemetry_events()  # for Windows, where the variable is not read
    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = (
        1  # twenty servers share one machine
    )
    options.graph_optimization_level = (
        GraphOptimizationLevel.ORT_ENABLE_BASIC
    )  # more would change vectors
    try:
        session = InferenceSession(
            folder / "minilm.onnx", options, providers=["CPUExecutionProvider"]
        )
        words = _WordRows(folder / "minilm-words.weights")
    except _failures() as failure:
        raise _unloadable(failure) from failure
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens.no_padding()  # the published file pads every text to 128 tokens
    tokens.enable_truncation(MAX_TEXT_TOKENS)
    returning = RunOptions()
    returning.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return _Engine(tokens, words, session, returning)


def _check_parts(folder: Path) -> None:
    """Look for what `_loaded` needs without importing it. Raises EmbedderError as it does."""
    try:
        check_files(folder)
        for library in _LIBRARIES:
            if find_spec(library) is None:
                raise ModuleNotFoundError(f"No module named '{library}'")
    except (ImportError, OSError, ValueError) as failure:
        raise _unloadable(failure) from failure


def check_files(folder: Path) -> None:
    """Raise ValueError when a file is not the one that was built: the libraries' own errors have no
    usable type.
    """
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        expected, name = line.split()
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                raise ValueError(f"{name} is damaged")


def _failures() -> tuple[type[Exception], ...]:
    """Return the error classes of onnxruntime, which share no base, and those of a file that cannot
    be read.
    """
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415 as lazy as the library

    of_model = (
        state.Fail,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NotImplemented,
        state.RuntimeException,
    )
    return *of_model, OSError, ValueError


def _unloadable(failure: Exception) -> EmbedderError:
    detail = f"{type(failure).__name__}: {failure}"
    if isinstance(
        failure, ModuleNotFoundError
    ):  # pyproject.toml asks for them only where they have builds
        if not machine_has_builds():
            return EmbedderError(NO_BUILD)
        version = ".".join(platform.python_version_tuple()[:2])
        return EmbedderError(
            MISSING, operator_detail=f"{detail} (Python {version}, {sysconfig.get_platform()})"
        )
    return EmbedderError(
        "The embedding model could not be loaded. Reinstall fleet-memory, or set "
        "FLEET_MEMORY_EMBEDDER=lexical.",
        operator_detail=detail,
    )
