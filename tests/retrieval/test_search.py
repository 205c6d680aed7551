import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.retrieval.search import exact_top_k, top_k_of
from proverbench.retrieval.vectors import VectorView, in_memory, normalised


@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(1, 45))
def test_the_k_best_are_those_of_a_full_sort_with_ties_by_row(scores: list[int], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    assert top_k_of(np.array(scores, dtype=np.float32), k).tolist() == expected


def brute(queries: np.ndarray, documents: np.ndarray, k: int) -> list[list[int]]:
    products = np.einsum("qd,nd->qn", queries.astype(np.float64), documents.astype(np.float64))
    return [sorted(range(len(documents)), key=lambda row: (-row_scores[row], row))[:k] for row_scores in products]


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 300),
    st.integers(1, 50),
    st.sampled_from([64, 1000, 1 << 20]),
    st.sampled_from(["float32", "float16"]),
)
def test_blocks_change_nothing(
    seed: int, n_queries: int, n_documents: int, k: int, block_bytes: int, precision: str
) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    queries = normalised(rng.normal(size=(n_queries, 8)))
    # Few distinct documents, so that many tie.
    distinct = normalised(rng.normal(size=(max(1, n_documents // 4), 8))).astype(precision)
    documents = distinct[rng.integers(0, len(distinct), size=n_documents)]
    rows, scores = exact_top_k(queries, in_memory(documents), k, block_bytes=block_bytes)
    assert rows.tolist() == brute(queries, documents, k)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_equal_documents_tie_by_row_wherever_they_stand() -> None:
    """BLAS may round the last columns of a block otherwise than the first; the order must not show it."""
    rng = np.random.Generator(np.random.PCG64(7))
    one = normalised(rng.normal(size=(1, 384)))
    documents = np.repeat(one, 1003, axis=0)
    queries = normalised(rng.normal(size=(3, 384)))
    rows, _ = exact_top_k(queries, in_memory(documents), 200, block_bytes=3 * 4 * 97)
    assert rows.tolist() == [list(range(200))] * 3


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
def test_near_ties_are_told_apart_exactly_wherever_they_stand(share: float) -> None:
    """Documents that differ in their last bit: single precision cannot order them, whatever machine computes it."""
    rng = np.random.Generator(np.random.PCG64(11))
    documents = normalised(rng.normal(size=(4000, 384)))
    near = rng.random(len(documents)) < share
    documents[near] = documents[near][0]
    where = rng.integers(0, 384, size=len(documents))
    chosen = np.flatnonzero(near)
    documents[chosen, where[near]] = np.nextafter(documents[chosen, where[near]], np.float32(2))
    queries = np.concatenate([documents[near][:1], normalised(rng.normal(size=(2, 384)))])
    rows, _ = exact_top_k(queries, in_memory(documents), 20, block_bytes=3 * 4 * 97)
    assert rows.tolist() == brute(queries, documents, 20)


def test_memory_stays_bounded_where_everything_ties() -> None:
    documents = np.repeat(normalised(np.ones((1, 64))), 60_000, axis=0)
    tracemalloc.start()
    rows, _ = exact_top_k(np.zeros((1, 64), dtype=np.float32), in_memory(documents), 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.tolist() == [list(range(10))]
    assert peak < documents.nbytes


def test_a_view_of_scattered_rows_is_searched_in_its_own_order() -> None:
    store = normalised(np.eye(5, 4) + 0.1)
    view = VectorView(store, np.array([3, 0, 3, 1]))
    rows, _ = exact_top_k(store[3:4], view, 4)
    assert rows[0, :2].tolist() == [0, 2], "row 3 of the store stands at 0 and 2 of the view"


@pytest.mark.parametrize(("n_queries", "n_documents"), [(0, 5), (3, 0)])
def test_nothing_to_find(n_queries: int, n_documents: int) -> None:
    rows, scores = exact_top_k(np.zeros((n_queries, 4)), in_memory(np.zeros((n_documents, 4), dtype=np.float32)), 10)
    assert rows.shape == scores.shape == (n_queries, min(10, n_documents))


def test_faiss_agrees() -> None:
    faiss = pytest.importorskip("faiss")
    rng = np.random.Generator(np.random.PCG64(3))
    documents, queries = normalised(rng.normal(size=(2000, 32))), normalised(rng.normal(size=(20, 32)))
    index = faiss.IndexFlatIP(32)
    index.add(documents)
    _, theirs = index.search(queries, 50)
    ours, _ = exact_top_k(queries, in_memory(documents), 50)
    assert ours.tolist() == theirs.tolist()
