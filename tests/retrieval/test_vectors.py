import asyncio
from pathlib import Path

import numpy as np
import pytest

from proverbench.errors import ConfigError, JournalError
from proverbench.retrieval import vectors
from proverbench.retrieval.render import TextTemplate
from proverbench.retrieval.vectors import StoppedError, embed_all, normalised, store_path
from tests.retrieval.support import HashEmbedder

TEXTS = [f"text {i}" for i in range(10)]


async def test_vectors_are_computed_once_and_mapped_read_only(tmp_path: Path) -> None:
    first = HashEmbedder()
    one = await embed_all(first, TEXTS, cache=tmp_path, is_query=False)
    assert first.asked == TEXTS
    assert np.linalg.norm(one.block(0, 10), axis=1) == pytest.approx(1)
    assert isinstance(one.mapped, np.memmap)
    assert not one.mapped.flags.writeable
    second = HashEmbedder()
    two = await embed_all(second, TEXTS, cache=tmp_path, is_query=False)
    assert second.asked == []
    assert (two.block(0, 10) == one.block(0, 10)).all()


async def test_a_killed_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        await embed_all(HashEmbedder(fail_at=3), TEXTS, cache=tmp_path, is_query=False)
    rest = HashEmbedder()
    resumed = await embed_all(rest, TEXTS, cache=tmp_path, is_query=False)
    assert rest.asked == TEXTS[8:]
    unbroken = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path / "other", is_query=False)
    assert (resumed.block(0, 10) == unbroken.block(0, 10)).all()


async def test_a_torn_write_is_written_again(tmp_path: Path) -> None:
    await embed_all(HashEmbedder(), TEXTS[:4], cache=tmp_path, is_query=False)
    folder = store_path(tmp_path, HashEmbedder(), is_query=False, precision="float32")
    with (folder / "vectors.bin").open("ab") as file:
        file.write(b"torn")
    with (folder / "keys.bin").open("ab") as file:
        file.write(b"torn")
    found = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, is_query=False)
    clean = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path / "other", is_query=False)
    assert (found.block(0, 10) == clean.block(0, 10)).all()


async def test_a_new_revision_of_a_corpus_costs_only_what_changed(tmp_path: Path) -> None:
    await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, is_query=False)
    changed = ["new", *TEXTS[5:], TEXTS[0], "new"]
    embedder = HashEmbedder()
    view = await embed_all(embedder, changed, cache=tmp_path, is_query=False)
    assert embedder.asked == ["new"]
    clean = await embed_all(HashEmbedder(), changed, cache=tmp_path / "other", is_query=False)
    assert (view.block(0, 8) == clean.block(0, 8)).all()
    assert (view.block(2, 4) == clean.take(np.array([2, 3]))).all()


async def test_nothing_that_decides_the_vectors_can_be_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = HashEmbedder()
    places = {
        store_path(tmp_path, plain, is_query=False, precision="float32"),
        store_path(tmp_path, plain, is_query=True, precision="float32"),
        store_path(tmp_path, plain, is_query=False, precision="float16"),
        store_path(tmp_path, HashEmbedder(TextTemplate.prefix()), is_query=False, precision="float32"),
    }
    queries = store_path(tmp_path, plain, is_query=True, precision="float32")
    monkeypatch.setattr(vectors, "RENDERER_SHA256", "edited" * 10)
    places.add(store_path(tmp_path, plain, is_query=False, precision="float32"))
    monkeypatch.setattr(plain, "identity", lambda: {"embedder": "another"})
    places.add(store_path(tmp_path, plain, is_query=False, precision="float32"))
    assert len(places) == 6
    assert queries in places, "queries are not rendered, so the renderer does not move them"


async def test_two_that_fill_one_store_do_the_work_once(tmp_path: Path) -> None:
    embedders = [HashEmbedder(), HashEmbedder()]
    await asyncio.gather(*(embed_all(one, TEXTS, cache=tmp_path, is_query=False) for one in embedders))
    assert sorted(embedders[0].asked + embedders[1].asked) == sorted(TEXTS)


async def test_a_stop_is_heard_between_batches_and_keeps_them(tmp_path: Path) -> None:
    first = HashEmbedder()
    with pytest.raises(StoppedError):
        await embed_all(first, TEXTS, cache=tmp_path, is_query=False, stopping=lambda: len(first.asked) >= 4)
    rest = HashEmbedder()
    await embed_all(rest, TEXTS, cache=tmp_path, is_query=False)
    assert rest.asked == TEXTS[4:]


async def test_half_precision_takes_half_the_room(tmp_path: Path) -> None:
    found = await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, is_query=False, precision="float16")
    assert found.mapped.dtype == np.float16
    folder = store_path(tmp_path, HashEmbedder(), is_query=False, precision="float16")
    assert (folder / "vectors.bin").stat().st_size == 10 * 16 * 2


async def test_a_damaged_store_is_refused_by_name(tmp_path: Path) -> None:
    await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, is_query=False)
    folder = store_path(tmp_path, HashEmbedder(), is_query=False, precision="float32")
    (folder / "vectors.bin").write_bytes(b"short")
    with pytest.raises(JournalError, match="damaged; delete the folder"):
        await embed_all(HashEmbedder(), TEXTS, cache=tmp_path, is_query=False)


async def test_no_texts_need_no_model(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    assert len(await embed_all(embedder, [], cache=tmp_path, is_query=True)) == 0


def test_a_zero_vector_stays_zero_and_nan_is_refused() -> None:
    assert normalised(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]
    with pytest.raises(ConfigError, match="not finite"):
        normalised(np.array([[np.nan, 1.0]]))
