"""all-MiniLM-L6-v2 as int8 ONNX: works offline, from files inside the package.

English only; a text is cut after its 256th token. How the files were made: scripts/build_minilm.py.
"""

import hashlib
import os
import platform
import sys
import sysconfig
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from anyio import CapacityLimiter, to_thread
from numpy.typing import NDArray

from fleet_memory.errors import EmbedderError
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import Profile
from fleet_memory.similarity import NO_BUILD
from fleet_memory.similarity.lexical import Fallback

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FOLDER = Path(__file__).with_name("model")
_DIMENSIONS: Final = 384  # numbers in a vector
# tokens of a text that are read; the published tokenizer cuts at 128. Source: the model card
MAX_TEXT_TOKENS: Final = 256
# texts per turn in the worker thread, about 20 ms: a question never waits behind a thousand lessons
_TEXTS_PER_TURN: Final = 16
REMEMBERED: Final = 512  # texts with cached vectors, about 1 MB; chosen: those of a few minutes
MISSING: Final = (
    "The libraries that run the embedding model are not installed. Install them beside "
    "fleet-memory (`pip install onnxruntime tokenizers`), or set FLEET_MEMORY_EMBEDDER=lexical to "
    "accept the comparison by letters."
)


class _Session(Protocol):
    """The one method of onnxruntime.InferenceSession used here; the package ships no types."""

    def run(self, outputs: list[str], inputs: dict[str, NDArray[np.int64]]) -> list[Vectors]: ...


class MiniLM:
    """See `Embedder`. Loads at the first text; texts that it remembers cost nothing."""

    name = "minilm-l6-v2/int8/1"
    profile = Profile()
    degraded = ""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._is_there = False
        self._turn = CapacityLimiter(1)
        self._engine: tuple[Tokenizer, _Session] | None = None
        self._vector = lru_cache(REMEMBERED)(self._embedded)

    async def check(self) -> None:
        """See `Embedder.check`. Its files are whole and its libraries are there; the first check
        takes 0.05 s.
        """
        if not self._is_there:
            await to_thread.run_sync(_check_parts, self._folder, limiter=self._turn)
            self._is_there = True

    async def ready(self) -> None:
        """See `Embedder.ready`. Embeds one text: a model may load and still fail at its first
        run.
        """
        await self.vectors(["Does it load?"])

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        rows: list[Vectors] = []
        for start in range(0, len(texts), _TEXTS_PER_TURN):
            some = texts[start : start + _TEXTS_PER_TURN]
            rows += await to_thread.run_sync(self._rows, some, limiter=self._turn)
        return np.array(rows, np.float32).reshape(len(texts), _DIMENSIONS)

    def _rows(self, texts: Sequence[str]) -> list[Vectors]:
        return list(map(self._vector, texts))

    def _embedded(self, text: str) -> Vectors:
        """Embed one text: in a batch int8 takes one scale for all, so neighbours change a vector.
        Called in the worker thread only.
        """
        if self._engine is None:
            self._engine = _loaded(self._folder)
        tokens, session = self._engine
        ids = np.array([tokens.encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        try:
            vectors = session.run(["embedding"], inputs)[0]
        except _failures() as failure:
            raise EmbedderError(
                "The embedding model failed.", operator_detail=str(failure)
            ) from failure
        vector: Vectors = vectors[0].copy()  # a view would keep the working memory of the run
        return vector


def _loaded(folder: Path) -> tuple["Tokenizer", _Session]:
    """Load the tokenizer and the model, in 0.1 s.

    Raises EmbedderError when a file is missing or damaged, or a library does not load.
    """
    try:
        check_files(folder)
        # read at the import: no device id, no file in HOME, nothing sent
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        from onnxruntime import (  # noqa: PLC0415 40 MB that many servers never need
            GraphOptimizationLevel,
            InferenceSession,
            SessionOptions,
            disable_telemetry_events,
        )
        from tokenizers import Tokenizer  # noqa: PLC0415 the same
    except (ImportError, OSError, ValueError) as failure:
        raise _unloadable(failure) from failure
    disable_telemetry_events()  # for Windows, where the variable is not read
    options = SessionOptions()
    # twenty servers share one machine
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # the level above lays out convolutions, of which there are none, for 8 MB more
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    try:
        session = InferenceSession(
            folder / "minilm-int8.onnx", options, providers=["CPUExecutionProvider"]
        )
    except _failures() as failure:
        raise _unloadable(failure) from failure
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens.no_padding()  # the published file pads every text to 128 tokens
    tokens.enable_truncation(MAX_TEXT_TOKENS)
    return tokens, session


def _check_parts(folder: Path) -> None:
    """Look for what `_loaded` needs without importing it. Raises EmbedderError as it does."""
    try:
        check_files(folder)
        for library in ("onnxruntime", "tokenizers"):
            if find_spec(library) is None:
                raise ModuleNotFoundError(f"No module named '{library}'")
    except (ImportError, OSError, ValueError) as failure:
        raise _unloadable(failure) from failure


def check_files(folder: Path) -> None:
    """Raise ValueError when a file's checksum differs from the build's: the libraries' own errors
    have no usable type.
    """
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        expected, name = line.split()
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                raise ValueError(f"{name} is damaged")


def _failures() -> tuple[type[Exception], ...]:
    """Return the error classes of onnxruntime, which share no base."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415 as lazy as the library

    return (
        state.Fail,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NotImplemented,
        state.RuntimeException,
    )


def _unloadable(failure: Exception) -> EmbedderError:
    detail = f"{type(failure).__name__}: {failure}"
    if isinstance(failure, ModuleNotFoundError):
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


def machine_has_builds() -> bool:
    """Whether the libraries of the embedding model have builds for this machine and Python."""
    is_musl = "musl" in str(sysconfig.get_config_var("SOABI"))
    return not is_musl and has_builds(
        sys.implementation.name, sys.version_info[:2], sys.platform, platform.machine()
    )


def has_builds(implementation: str, version: tuple[int, int], system: str, machine: str) -> bool:
    """Whether a Python on a machine has builds, as the marker in pyproject.toml says it, e.g.
    `has_builds("cpython", (3, 13), "linux", "x86_64")`.
    """
    machines = {"linux": "x86_64 aarch64", "darwin": "arm64", "win32": "AMD64 ARM64"}
    is_old_mac = system == "darwin" and version < (3, 14)  # on Intel too
    is_known = machine in machines.get(system, "").split() or is_old_mac
    return implementation == "cpython" and version < (3, 15) and is_known


def open_minilm(_model: str, _url: str, _key: str) -> Fallback:
    """Return the engine of the embedder `minilm`: letters are compared if the model cannot load."""
    return Fallback(MiniLM())
