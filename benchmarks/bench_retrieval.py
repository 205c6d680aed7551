"""Exact dense search: its time as a ratio to the bare matrix product and to faiss's flat index, in one run.

python benchmarks/bench_retrieval.py [--documents 400000] [--queries 1000] [--dim 384] [--k 200] [--repeats 3]
                                     [--precision float32] [--no-faiss]

The vectors are written to a temporary file and mapped, as a store is. Prints one JSON object: seconds and processor
seconds, the best of the repeats, interleaved so that a busy machine slows all alike. The ratios are of processor
seconds; on an idle machine those of seconds say the same.
"""

import argparse
import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from proverbench.retrieval.search import documents_at_once, exact_top_k
from proverbench.retrieval.vectors import in_memory

PART = 10_000
"""Documents that are made at once."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=400_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--k", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--precision", choices=("float32", "float16"), default="float32")
    parser.add_argument("--no-faiss", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.Generator(np.random.PCG64(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.npy"
        write_rows(path, rng, arguments)
        measure(np.load(path, mmap_mode="r"), unit_rows(rng, arguments.queries, arguments.dim), arguments)


def measure(documents: np.ndarray, queries: np.ndarray, arguments: argparse.Namespace) -> None:
    view = in_memory(documents)
    found: dict[str, np.ndarray] = {}

    def search() -> None:
        found["ours"], _ = exact_top_k(queries, view, arguments.k)

    contestants: dict[str, Callable[[], None]] = {"product": lambda: product(queries, documents), "search": search}
    tracemalloc.start()
    search()
    search_memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if not arguments.no_faiss and (index := faiss_index(documents)) is not None:

        def faiss_search() -> None:
            _, found["faiss"] = index.search(queries, arguments.k)

        contestants["faiss"] = faiss_search
    times = {name: float("inf") for name in contestants}
    cpu = dict(times)
    for _ in range(arguments.repeats):
        for name, contestant in contestants.items():
            took = seconds(contestant)
            times[name], cpu[name] = min(times[name], took[0]), min(cpu[name], took[1])
    flops = 2.0 * arguments.documents * arguments.queries * arguments.dim
    result = {
        "documents": arguments.documents,
        "queries": arguments.queries,
        "dim": arguments.dim,
        "precision": arguments.precision,
        "k": arguments.k,
        "seconds": {name: round(value, 3) for name, value in times.items()},
        "processor_seconds": {name: round(value, 3) for name, value in cpu.items()},
        "product_gflops": round(flops / times["product"] / 1e9, 1),
        "search_over_product": round(cpu["search"] / cpu["product"], 2),
        "peak_memory_beside_vectors_mb": round(search_memory / 1e6),
    }
    if "faiss" in times:
        result["search_over_faiss"] = round(cpu["search"] / cpu["faiss"], 2)
        same = [len(set(a) & set(b)) for a, b in zip(found["ours"].tolist(), found["faiss"].tolist(), strict=True)]
        result["found_that_faiss_found"] = round(sum(same) / (len(same) * arguments.k), 6)
    json.dump(result, sys.stdout, indent=1)
    print()


def write_rows(path: Path, rng: np.random.Generator, arguments: argparse.Namespace) -> None:
    """Write the documents part by part, so that only the file is as large as they are."""
    shape = (arguments.documents, arguments.dim)
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=arguments.precision, shape=shape)
    for start in range(0, len(mapped), PART):
        part = mapped[start : start + PART]
        part[:] = unit_rows(rng, len(part), arguments.dim)
    mapped.flush()


def unit_rows(rng: np.random.Generator, rows: int, dim: int) -> np.ndarray:
    vectors = rng.standard_normal((rows, dim), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def product(queries: np.ndarray, documents: np.ndarray) -> None:
    """The limit: every inner product, in the same blocks, and nothing done with them."""
    block = documents_at_once(*queries.shape)
    out = np.empty((len(queries), block), dtype=np.float32)
    for start in range(0, len(documents), block):
        part = np.asarray(documents[start : start + block], dtype=np.float32)
        np.matmul(queries, part.T, out=out[:, : len(part)] if len(part) == block else None)


def faiss_index(documents: np.ndarray):  # faiss has no types
    try:
        import faiss
    except ImportError:
        print("faiss is not installed; without it there is no second ratio", file=sys.stderr)
        return None
    index = faiss.IndexFlatIP(documents.shape[1])
    for start in range(0, len(documents), PART):
        index.add(np.asarray(documents[start : start + PART], dtype=np.float32))
    return index


def seconds(call: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and processor seconds of all threads."""
    began, cpu_began = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began, time.process_time() - cpu_began


if __name__ == "__main__":
    main()
