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
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from proverbench.concurrency import bounded_map
from proverbench.errors import ConfigError, EndpointError, FatalEndpointError, JournalError
from proverbench.retrieval.render import TextTemplate
from proverbench.run.disk import disk, write_whole
from proverbench.run.lock import try_lock

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
    """Texts of one call."""
    concurrency: int
    """Calls at once."""

    def identity(self) -> dict[str, Any]:
        """What decides the vectors besides template and text: model, weights' hash, server, dimensions."""
        ...

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Return a vector for each text, shape (n, dim), not necessarily normalised. Applies the template.

        A text whose vector cannot be used gets a row that is not finite; the others of its call are good.

        Raises:
            EndpointError: If the model cannot be reached.
        """
        ...

    def notes(self) -> list[str]:
        """Return what people should know, such as tokens and cost."""
        ...

    def forecast(self, missing: "MissingTexts") -> str:
        """Say about how much and how long it will be to embed so many texts."""
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


def normalised(vectors: Vectors) -> NDArray[np.float32]:
    """Return float32 vectors of length 1; a zero vector stays zero, and so is never nearest by accident."""
    vectors64 = np.asarray(vectors, dtype=np.float64)
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
    scale: NDArray[np.float32] | None = None
    """What each row of the store is multiplied by (vectors made elsewhere, brought to length 1); None: 1."""

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, stop: int) -> Vectors:
        """Return the vectors of texts ``start`` to ``stop``, as they are stored, or scaled."""
        rows = self.rows[start:stop]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            found: Vectors = self.mapped[rows[0] : rows[-1] + 1]
            return self._scaled(found, rows)
        return self.take(np.arange(start, min(stop, len(self.rows))))

    def take(self, texts: NDArray[np.int64]) -> Vectors:
        """Return the vectors of the texts with these numbers."""
        rows = self.rows[texts]
        return self._scaled(self.mapped[rows], rows)

    def only(self, texts: NDArray[np.int64]) -> "VectorView":
        """Return the view of some texts, by number."""
        return VectorView(self.mapped, self.rows[texts], self.scale)

    def _scaled(self, found: Vectors, rows: NDArray[np.int64]) -> Vectors:
        if self.scale is None:
            return found
        scaled: Vectors = found.astype(np.float32) * self.scale[rows, None]
        return scaled


def in_memory(vectors: Vectors) -> VectorView:
    """Return a view of vectors that are in no store."""
    return VectorView(vectors, np.arange(len(vectors)))


def store_path(cache: Path, embedder: Embedder, *, renderer_sha256: str, precision: Precision) -> Path:
    """Return the folder in which the embedder's vectors belong: of documents as a renderer made them, or of queries."""
    identity = json.dumps(embedder.identity(), sort_keys=True).encode()
    slug = re.sub(r"[^A-Za-z0-9.-]+", "-", embedder.name).strip("-.")[:60] or "model"
    model = f"{slug}-{hashlib.sha256(identity).hexdigest()[:16]}"
    template = f"template-{embedder.template.sha256()[:16]}"
    # Queries are not rendered: their text goes out as the benchmark has it.
    renderer = [f"renderer-{renderer_sha256[:16]}"] if renderer_sha256 else []
    return cache.joinpath(
        "vectors", model, *renderer, template, f"{'documents' if renderer_sha256 else 'queries'}.{precision}"
    )


class MissingTexts(NamedTuple):
    """What a store lacks, before anything is asked."""

    texts: int
    characters: int


def missing_texts(
    embedder: Embedder, texts: Sequence[str], *, cache: Path, renderer_sha256: str, precision: Precision = "float32"
) -> MissingTexts:
    """Count the distinct texts that the cache has no vectors of; writes nothing."""
    folder = store_path(cache, embedder, renderer_sha256=renderer_sha256, precision=precision)
    known = _Store(folder, precision).row_of if folder.is_dir() else {}
    missing = [text for text in dict.fromkeys(texts) if _key(text) not in known]
    return MissingTexts(len(missing), sum(map(len, missing)))


async def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    cache: Path,
    renderer_sha256: str = "",
    precision: Precision = "float32",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    stopping: Callable[[], bool] = lambda: False,
) -> VectorView:
    """Return the L2-normalised vectors of ``texts``, computing only those that the cache lacks.

    Each call's vectors are saved as it ends, whatever the others do: a killed process has lost what was in flight.
    After a fault nothing new is asked, and what is in flight is still saved.

    Args:
        embedder: The model.
        texts: What to embed.
        cache: Where vectors are kept.
        renderer_sha256: What made the texts of documents; empty for queries, which go out as the benchmark has them.
        precision: Of the stored vectors.
        on_progress: Told how many of how many missing texts are done.
        stopping: Whether to ask nothing new.

    Raises:
        EndpointError: If the model cannot be reached, or a vector cannot be used; what was computed is kept.
        JournalError: If the cache cannot be written or is damaged.
        StoppedError: If ``stopping`` says so before all is asked.
    """
    folder = store_path(cache, embedder, renderer_sha256=renderer_sha256, precision=precision)
    with disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    async with _locked(folder, stopping):
        store = _Store(folder, precision)
        keys = [_key(text) for text in texts]
        missing = list({key: text for key, text in zip(keys, texts, strict=True) if key not in store.row_of}.items())
        filling = _Filling(embedder, store, is_query=not renderer_sha256, stopping=stopping)
        try:
            await filling.fill(missing, on_progress)
        finally:
            await asyncio.to_thread(store.sync)
        return VectorView(store.open(), np.array([store.row_of[key] for key in keys], dtype=np.int64))


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()


_Batch = list[tuple[bytes, str]]


class _Filling:
    """Fills a store: several calls at once, each saved when it ends."""

    def __init__(self, embedder: Embedder, store: "_Store", *, is_query: bool, stopping: Callable[[], bool]) -> None:
        self._embedder = embedder
        self._store = store
        self._is_query = is_query
        self._stopping = stopping
        self._free = asyncio.Semaphore(embedder.concurrency)
        self._fault: Exception | None = None

    async def fill(self, missing: _Batch, on_progress: Callable[[int, int], None]) -> None:
        size = self._embedder.batch_size

        async def batches() -> AsyncGenerator[_Batch, None]:
            for start in range(0, len(missing), size):
                yield missing[start : start + size]

        done = 0
        async with aclosing(bounded_map(batches(), self._embed, acquire=self._acquire)) as results:
            async for n_texts in results:
                done += n_texts
                on_progress(done, len(missing))
        if self._fault is not None:
            raise self._fault
        if done < len(missing):
            raise StoppedError

    async def _acquire(self) -> bool:
        await self._free.acquire()
        if self._fault is None and not self._stopping():
            return True
        self._free.release()
        return False

    async def _embed(self, batch: _Batch) -> int:
        """Embed and save one batch; returns how many texts were saved. A fault is kept, not raised."""
        try:
            vectors = np.asarray(await self._embedder.embed([text for _, text in batch], is_query=self._is_query))
            if vectors.ndim != 2 or len(vectors) != len(batch):
                raise FatalEndpointError(
                    f"embedder {self._embedder.name!r} returned {len(vectors)} vectors for {len(batch)} texts",
                    kind="bad_reply",
                )
            usable = np.asarray(np.isfinite(vectors).all(axis=1))
            if not usable.all():
                self._fault = self._fault or self._unusable(batch, np.flatnonzero(~usable).tolist())
            good = [key for (key, _), ok in zip(batch, usable.tolist(), strict=True) if ok]
            if good:
                self._store.append(good, normalised(vectors[usable]))
            return len(good)
        except (EndpointError, ConfigError, JournalError) as exc:
            self._fault = self._fault or exc
            return 0
        finally:
            self._free.release()

    def _unusable(self, batch: _Batch, bad: Sequence[int]) -> FatalEndpointError:
        shown = "; ".join(repr(batch[at][1][:100]) for at in bad[:3])
        return FatalEndpointError(
            f"embedder {self._embedder.name!r} gave {len(bad)} vectors with a number that is not finite, or of another "
            f"length, for: {shown}; all others are kept",
            kind="bad_vector",
        )


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
_SYNC_EVERY_S = 1.0


class _Store:
    """``vectors.bin``, a row a text, and ``keys.bin``, the SHA-256 of each text.

    A row counts once its key is written, which happens after the row: what a killed process leaves is whole or is
    written again. Every second, and at the end, both are brought to the disk.
    """

    def __init__(self, folder: Path, precision: Precision) -> None:
        self._folder = folder
        self._vectors = folder / "vectors.bin"
        self._keys = folder / "keys.bin"
        self._meta = folder / "store.json"
        self._precision = precision
        self._dim = self._read_dim()
        self._sync_again = 0.0
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
        if time.monotonic() >= self._sync_again:
            self.sync()

    def sync(self) -> None:
        """Bring what was written to the disk, vectors before their keys."""
        for path in (self._vectors, self._keys):
            if path.exists():
                with disk(path):
                    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                    try:
                        os.fsync(fd)
                    finally:
                        os.close(fd)
        self._sync_again = time.monotonic() + _SYNC_EVERY_S

    def open(self) -> Vectors:
        """Map the store into memory, read-only."""
        shape = (len(self.row_of), self._dim)
        if not all(shape):
            return np.zeros(shape, dtype=self._precision)
        mapped: Vectors = np.memmap(self._vectors, dtype=self._precision, mode="r", shape=shape)
        return mapped


def _write_at(path: Path, data: bytes, offset: int) -> None:
    """Write ``data``, cutting off whatever a torn write left behind it."""
    with disk(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(fd, offset)
            while data:
                written = os.pwrite(fd, data, offset)
                data, offset = data[written:], offset + written
        finally:
            os.close(fd)
