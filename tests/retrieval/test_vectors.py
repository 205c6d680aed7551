import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from proverbench.errors import FatalEndpointError, JournalError
from proverbench.retrieval.render import TextTemplate
from proverbench.retrieval.vectors import StoppedError, Vectors, embed_all, normalised, store_path
from tests.retrieval.support import HashEmbedder

RENDERER = "5" * 64
TEXTS = [f"text {i}" for i in range(10)]


async def test_vectors_are_computed_once_and_mapped_read_only(tmp_path: Path) -> None:
    first = HashEmbedder()
    one = await embed_all(first, TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    assert first.asked == TEXTS
    assert np.linalg.norm(one.block(0, 10), axis=1) == pytest.approx(1)
    assert isinstance(one.mapped, np.memmap)
    assert not one.mapped.flags.writeable
    second = HashEmbedder()
    two = await embed_all(second, TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    assert second.asked == []
    assert (two.block(0, 10) == one.block(0, 10)).all()


async def test_a_killed_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        await embed_all(HashEmbedder(fail_at=3), TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    rest = HashEmbedder()
    resumed = await embed_all(rest, TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    assert rest.asked == TEXTS[8:]
    unbroken = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path / "other", renderer_sha256=RENDERER)
    assert (resumed.block(0, 10) == unbroken.block(0, 10)).all()


async def test_a_torn_write_is_written_again(tmp_path: Path) -> None:
    await embed_all(HashEmbedder(), TEXTS[:4], cache=tmp_path, renderer_sha256=RENDERER)
    folder = store_path(tmp_path, HashEmbedder(), renderer_sha256=RENDERER, precision="float32")
    with (folder / "vectors.bin").open("ab") as file:
        file.write(b"torn")
    with (folder / "keys.bin").open("ab") as file:
        file.write(b"torn")
    found = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    clean = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path / "other", renderer_sha256=RENDERER)
    assert (found.block(0, 10) == clean.block(0, 10)).all()


async def test_a_new_revision_of_a_corpus_costs_only_what_changed(tmp_path: Path) -> None:
    await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    changed = ["new", *TEXTS[5:], TEXTS[0], "new"]
    embedder = HashEmbedder()
    view = await embed_all(embedder, changed, cache=tmp_path, renderer_sha256=RENDERER)
    assert embedder.asked == ["new"]
    clean = await embed_all(HashEmbedder(), changed, cache=tmp_path / "other", renderer_sha256=RENDERER)
    assert (view.block(0, 8) == clean.block(0, 8)).all()
    assert (view.block(2, 4) == clean.take(np.array([2, 3]))).all()


async def test_nothing_that_decides_the_vectors_can_be_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = HashEmbedder()
    places = {
        store_path(tmp_path, plain, renderer_sha256=RENDERER, precision="float32"),
        store_path(tmp_path, plain, renderer_sha256="", precision="float32"),
        store_path(tmp_path, plain, renderer_sha256=RENDERER, precision="float16"),
        store_path(tmp_path, HashEmbedder(TextTemplate.prefix()), renderer_sha256=RENDERER, precision="float32"),
        store_path(tmp_path, plain, renderer_sha256="edited" * 10, precision="float32"),
    }
    monkeypatch.setattr(plain, "identity", lambda: {"embedder": "another"})
    places.add(store_path(tmp_path, plain, renderer_sha256=RENDERER, precision="float32"))
    assert len(places) == 6


async def test_two_that_fill_one_store_do_the_work_once(tmp_path: Path) -> None:
    embedders = [HashEmbedder(), HashEmbedder()]
    await asyncio.gather(*(embed_all(one, TEXTS, cache=tmp_path, renderer_sha256=RENDERER) for one in embedders))
    assert sorted(embedders[0].asked + embedders[1].asked) == sorted(TEXTS)


async def test_a_stop_is_heard_between_batches_and_keeps_them(tmp_path: Path) -> None:
    first = HashEmbedder()
    with pytest.raises(StoppedError):
        await embed_all(first, TEXTS, cache=tmp_path, renderer_sha256=RENDERER, stopping=lambda: len(first.asked) >= 4)
    rest = HashEmbedder()
    await embed_all(rest, TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    assert rest.asked == TEXTS[4:]


async def test_half_precision_takes_half_the_room(tmp_path: Path) -> None:
    found = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, renderer_sha256=RENDERER, precision="float16")
    assert found.mapped.dtype == np.float16
    folder = store_path(tmp_path, HashEmbedder(), renderer_sha256=RENDERER, precision="float16")
    assert (folder / "vectors.bin").stat().st_size == 10 * 16 * 2


async def test_a_damaged_store_is_refused_by_name(tmp_path: Path) -> None:
    await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    folder = store_path(tmp_path, HashEmbedder(), renderer_sha256=RENDERER, precision="float32")
    (folder / "vectors.bin").write_bytes(b"short")
    with pytest.raises(JournalError, match="damaged; delete the folder"):
        await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, renderer_sha256=RENDERER)


async def test_no_texts_need_no_model(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    assert len(await embed_all(embedder, [], cache=tmp_path)) == 0


def test_a_zero_vector_stays_zero() -> None:
    assert normalised(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]


class OneBad(HashEmbedder):
    """An embedder that gives one text a vector that is not finite."""

    concurrency = 3

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        vectors = await super().embed(texts, is_query=is_query)
        return np.array([v * (np.nan if text == "text 5" else 1) for text, v in zip(texts, vectors, strict=True)])


async def test_one_bad_vector_is_named_and_loses_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(FatalEndpointError, match=r"embedder 'hash' gave 1 vectors.*'text 5'"):
        await embed_all(OneBad(), TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    rest = HashEmbedder()
    await embed_all(rest, TEXTS, cache=tmp_path, renderer_sha256=RENDERER)
    assert rest.asked == ["text 5"]


class Counted(HashEmbedder):
    """An embedder that takes a time of its own for each call, and knows how many calls are under way."""

    concurrency = 8

    def __init__(self, free: asyncio.Semaphore) -> None:
        super().__init__(batch_size=1)
        self._free = free
        self.busy: list[int] = []
        self._now = 0

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self._now += 1
        await self._free.acquire()
        self.busy.append(self._now)
        self._now -= 1
        return await super().embed(texts, is_query=is_query)


async def test_no_call_waits_for_another_to_end(tmp_path: Path) -> None:
    free = asyncio.Semaphore(0)
    embedder = Counted(free)
    filling = asyncio.create_task(embed_all(embedder, [f"t{i}" for i in range(64)], cache=tmp_path))
    while not filling.done():
        for _ in range(20):
            await asyncio.sleep(0)
        free.release()  # one call ends, the seven others go on
    await filling
    assert sum(embedder.busy[:56]) / 56 >= 7.5, "a slot that is free is filled at once"
