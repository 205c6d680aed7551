"""Reading, checking and counting an export of a million terms: seconds, and bounded memory.

Run it with ``python benchmarks/bench_compression.py [TERMS]``. What it prints are times, and ratios to reading the same
file's lines as JSON and nothing else, which other machines can compare. It fails when the memory of a term exceeds its
bound, or when time does not grow with the number of terms alone (a tenth of the terms must cost about a tenth).
"""

import io
import json
import random
import resource
import subprocess
import sys
import time

import msgspec

from proverbench.compression.charges import charge
from proverbench.compression.counting import count_terms
from proverbench.compression.export import APP, BVAR
from proverbench.compression.export_building import Builder
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.structure import check_structure

BYTES_A_TERM = 700
"""Bound on the growth of the process for each term, tables, ids, counts and all.

Times are of the processor, so that a busy neighbour does not count.
"""


def make(terms: int) -> bytes:
    """An export of ``terms`` terms in theorems of a hundred each, which use one another and share subterms."""
    chance = random.Random(9)
    out = io.StringIO()

    def line(content: object) -> None:
        out.write(json.dumps(content, separators=(",", ":")) + "\n")

    line({"meta": {"exporter": {"name": "bench", "version": "1"}, "format": {"version": "3.1.0"}, "lean": {}}})
    line({"in": 1, "str": {"pre": 0, "str": "t"}})
    line({"ie": 0, "sort": 0})
    line({"ie": 1, "bvar": 0})
    line({"axiom": {"name": 1, "levelParams": [], "type": 0, "isUnsafe": False}})
    ids, names = 2, 1
    while ids < terms:
        start = ids
        line({"ie": ids, "const": {"name": chance.randint(1, names), "us": []}})
        ids += 1
        for _ in range(97):
            line(
                {
                    "ie": ids,
                    "app": {"fn": chance.randint(start, ids - 1), "arg": chance.randint(max(start, ids - 5), ids - 1)},
                }
            )
            ids += 1
        line({"ie": ids, "lam": {"name": 1, "type": 0, "body": chance.choice([1, ids - 1]), "binderInfo": "default"}})
        line({"ie": ids + 1, "app": {"fn": ids - 1, "arg": ids}})
        names += 1
        line({"in": names, "num": {"pre": 1, "i": names}})
        line({"thm": {"name": names, "levelParams": [], "type": 0, "value": ids + 1, "all": [names]}})
        ids += 2
    return out.getvalue().encode()


def rss_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(terms: int) -> dict[str, float]:
    data = make(terms)
    started = time.process_time()
    for raw in io.BytesIO(data):
        msgspec.json.decode(raw)
    plain = time.process_time() - started
    before = rss_kb()
    started = time.process_time()
    export = read_export_lines(io.BytesIO(data), source="bench")
    read = time.process_time() - started
    started = time.process_time()
    assert check_structure(export) == []
    checked = time.process_time() - started
    started = time.process_time()
    targets = [export.name_text(item.name) for item in export.declarations[-50:]]
    total = charge(export, targets, []).count
    counted = time.process_time() - started
    started = time.process_time()
    count_terms(export, [item.value for item in export.declarations[1:]])  # type: ignore[union-attr]
    everything = time.process_time() - started
    return {
        "terms": len(export),
        "plain JSON, s": plain,
        "read, s": read,
        "structure, s": checked,
        "charge of 50 targets, s": counted,
        "count of all, s": everything,
        "bytes a term": 1024 * (rss_kb() - before) / len(export),
        "digits of N": len(str(total)),
    }


def doublings(depth: int) -> float:
    builder = Builder()
    term = builder.term(BVAR, a=0)
    for _ in range(depth):
        term = builder.term(APP, a=term, b=term)
    started = time.process_time()
    assert count_terms(builder.export, [term])[term] == 2 ** (depth + 1) - 1
    return time.process_time() - started


def main() -> None:
    if len(sys.argv) > 2:
        print(json.dumps(measure(int(sys.argv[1]))))
        return
    terms = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    results = []
    for size in (terms // 10, terms):
        # A process each, as the largest memory that a process had never goes down again.
        done = subprocess.run([sys.executable, __file__, str(size), "child"], capture_output=True, check=True)
        results.append(json.loads(done.stdout))
    small, large = results
    for name, value in large.items():
        print(f"{name:26} {value:12,.2f}   a tenth: {small[name]:12,.2f}")
    work = sum(large[name] for name in ("read, s", "structure, s", "charge of 50 targets, s", "count of all, s"))
    print(f"{'all work / plain JSON':26} {work / large['plain JSON, s']:12,.2f}")
    print(f"{'2^60 nodes, ms':26} {1000 * doublings(60):12,.2f}")
    less = sum(small[name] for name in ("read, s", "structure, s", "charge of 50 targets, s", "count of all, s"))
    print(f"{'growth (10 is linear)':26} {work / less:12,.2f}")
    assert large["bytes a term"] < BYTES_A_TERM, "memory a term"
    assert work / less < 20, "time grows faster than the number of terms"


if __name__ == "__main__":
    main()
