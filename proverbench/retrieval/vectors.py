"""Embedding vectors, computed once: content-addressed, resumable, memory-mapped.

A store's path is ``MODEL-HASH/renderer-HASH/template-HASH/documents.float32/``: an edit of the model, the document
renderer or the text template leads to another folder, so vectors can never be mixed. Within a store each vector stands
under the hash of its text, so a new revision of a corpus costs only the documents that changed.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from proverbench.errors import ConfigError, JournalError
from proverbench.retrieval.render import RENDERER_SHA256, TextTemplate
from proverbench.run.journal import disk, try_lock, write_whole

Vectors = NDArray[np.floating]
Precision = Literal["float32", "float16"]


class StoppedError(Exception):
    """The user asked to stop before all texts had vectors; those that were computed are kept."""


class Embedder(Protocol):
    """A model that turns texts into vectors. Implement this to add a kind."""

    name: str
    template: TextTemplate
    licence: str
    """Of the model, as its makers state it; empty if unknown."""
    batch_size: int

    def identity(self) -> dict[str, Any]:
        """What decides the vectors besides template and text: model, weights' hash, server, dimensions."""
        ...

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Return a vector for each text, shape (n, dim), not necessarily normalised. Applies the template.

        Raises:
            EndpointError: If the model cannot be reached.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


def normalised(vectors: Vectors) -> NDArray[np.float32]:
    """Return float32 vectors of length 1; a zero vector stays zero, and so is never nearest by accident.

    Raises:
        ConfigError: If a number is not finite.
    """
    vectors64 = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(vectors64).all():
        raise ConfigError("the embedding model returned a number that is not finite")
    lengths = np.linalg.norm(vectors64, axis=1, keepdims=True)
    return (vectors64 / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class VectorView:
    """The vectors of a list of texts, read from a memory-mapped store.

    Where the texts stand in the store in their own order, as after a first run, a block is a plain slice of the map.
    """

    mapped: Vectors
    """The whole store, shape (rows of the store, dim)."""
    rows: NDArray[np.int64]
    """Row of each text in the store."""

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, stop: int) -> Vectors:
        """Return the vectors of texts ``start`` to ``stop``, as they are stored."""
        rows = self.rows[start:stop]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            found: Vectors = self.mapped[rows[0] : rows[-1] + 1]
            return found
        return self.take(np.arange(start, min(stop, len(self.rows))))

    def take(self, texts: NDArray[np.int64]) -> Vectors:
        """Return the vectors of the texts with these numbers."""
        found: Vectors = self.mapped[self.rows[texts]]
        return found


def in_memory(vectors: Vectors) -> VectorView:
    """Return a view of vectors that are no store."""
    return VectorView(vectors, np.arange(len(vectors)))


def store_path(cache: Path, embedder: Embedder, *, is_query: bool, precision: Precision) -> Path:
    """Return the folder in which the embedder's vectors of queries or documents belong."""
    identity = json.dumps(embedder.identity(), sort_keys=True).encode()
    slug = re.sub(r"[^A-Za-z0-9.-]+", "-", embedder.name).strip("-.")[:60] or "model"
    model = f"{slug}-{hashlib.sha256(identity).hexdigest()[:16]}"
    template = f"template-{embedder.template.sha256()[:16]}"
    # Queries are not rendered: their text goes out as the benchmark has it.
    renderer = [] if is_query else [f"renderer-{RENDERER_SHA256[:16]}"]
    return cache.joinpath(
        "vectors", model, *renderer, template, f"{'queries' if is_query else 'documents'}.{precision}"
    )


async def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    cache: Path,
    is_query: bool,
    precision: Precision = "float32",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    stopping: Callable[[], bool] = lambda: False,
) -> VectorView:
    """Return the L2-normalised vectors of ``texts``, computing only those that the cache lacks.

    Work is saved batch by batch; a killed process resumes where it stopped.

    Raises:
        EndpointError: If the model cannot be reached; what was computed is kept.
        JournalError: If the cache cannot be written or is damaged.
        StoppedError: If ``stopping`` says so between two batches.
    """
    folder = store_path(cache, embedder, is_query=is_query, precision=precision)
    with disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    async with _locked(folder, stopping):
        store = _Store(folder, precision)
        keys = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
        missing = list({key: text for key, text in zip(keys, texts, strict=True) if key not in store.row_of}.items())
        for start in range(0, len(missing), embedder.batch_size):
            if stopping():
                raise StoppedError
            batch = missing[start : start + embedder.batch_size]
            vectors = normalised(await embedder.embed([text for _, text in batch], is_query=is_query))
            store.append([key for key, _ in batch], vectors)
            on_progress(min(start + len(batch), len(missing)), len(missing))
        return VectorView(store.open(), np.array([store.row_of[key] for key in keys], dtype=np.int64))


@contextlib.asynccontextmanager
async def _locked(folder: Path, stopping: Callable[[], bool]) -> AsyncIterator[None]:
    """Let one process fill a store; another waits and then finds it filled."""
    with disk(folder / "lock"):
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not try_lock(fd):
            # Not a blocking lock: Ctrl-C must be heard while another process embeds for hours.
            if stopping():
                raise StoppedError
            await asyncio.sleep(_POLL_S)
        yield
    finally:
        os.close(fd)


_KEY_BYTES = 32
_POLL_S = 0.2


class _Store:
    """``vectors.bin``, a row a text, and ``keys.bin``, the SHA-256 of each text.

    A row counts once its key is written, which happens after the row is on disk: a torn write is written again.
    """

    def __init__(self, folder: Path, precision: Precision) -> None:
        self._folder = folder
        self._vectors = folder / "vectors.bin"
        self._keys = folder / "keys.bin"
        self._meta = folder / "store.json"
        self._precision = precision
        self._dim = self._read_dim()
        keys = self._keys.read_bytes() if self._keys.exists() else b""
        n_rows = len(keys) // _KEY_BYTES
        self.row_of = {keys[row * _KEY_BYTES : (row + 1) * _KEY_BYTES]: row for row in range(n_rows)}
        held = self._vectors.stat().st_size if self._vectors.exists() else 0
        if len(self.row_of) < n_rows or held < n_rows * self._row_bytes or (n_rows and not self._dim):
            raise JournalError(f"{folder}: this store of vectors is damaged; delete the folder to compute them anew")

    def _read_dim(self) -> int:
        if not self._meta.exists():
            return 0
        try:
            return int(json.loads(self._meta.read_bytes())["dim"])
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise JournalError(f"{self._meta}: damaged ({exc}); delete {self._folder} to compute it anew") from exc

    @property
    def _row_bytes(self) -> int:
        return self._dim * np.dtype(self._precision).itemsize

    def append(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Add a batch."""
        if len(vectors) != len(keys):
            raise ConfigError(f"the embedding model returned {len(vectors)} vectors for {len(keys)} texts")
        if not self._dim:
            self._dim = vectors.shape[1]
            write_whole(self._meta, json.dumps({"dim": self._dim, "precision": self._precision}).encode())
        if vectors.shape[1] != self._dim:
            raise ConfigError(f"the embedding model returned {vectors.shape[1]} dimensions, {self._dim} before")
        first = len(self.row_of)
        data = np.ascontiguousarray(vectors, dtype=self._precision).tobytes()
        _write_at(self._vectors, data, first * self._row_bytes)
        _write_at(self._keys, b"".join(keys), first * _KEY_BYTES)
        self.row_of.update((key, first + i) for i, key in enumerate(keys))

    def open(self) -> Vectors:
        """Map the store into memory, read-only."""
        shape = (len(self.row_of), self._dim)
        if not all(shape):
            return np.zeros(shape, dtype=self._precision)
        mapped: Vectors = np.memmap(self._vectors, dtype=self._precision, mode="r", shape=shape)
        return mapped


def _write_at(path: Path, data: bytes, offset: int) -> None:
    """Write and sync ``data``, cutting off whatever a torn write left behind it."""
    with disk(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(fd, offset)
            while data:
                written = os.pwrite(fd, data, offset)
                data, offset = data[written:], offset + written
            os.fsync(fd)
        finally:
            os.close(fd)
