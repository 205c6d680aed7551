"""The table of the benchmarks, and that nothing else asks which of them a run belongs to."""

import re
from pathlib import Path

import pytest

import proverbench
from proverbench.benchmark import BENCHMARKS, benchmark_of
from proverbench.records import Problem, Proof

SOURCES = sorted(Path(proverbench.__file__).parent.rglob("*.py"))


def test_the_table():
    prover, verifier = BENCHMARKS["prover"], BENCHMARKS["verifier"]
    assert (prover.name, prover.command, prover.repeats) == ("ProverBench", "proverbench run", 8)
    assert (verifier.name, verifier.command, verifier.repeats) == ("VerifierBench", "verifierbench", 1)
    assert (prover.reference_shown, verifier.reference_shown) == (True, False)
    assert (prover.samples, verifier.samples) == (True, False)
    assert (prover.labelled, verifier.labelled) == (False, True)
    assert (prover.row, verifier.row) == (Problem, Proof)
    assert all(benchmark_of(task).task == task for task in BENCHMARKS)


@pytest.mark.parametrize(
    ("task", "meta", "given", "roles"),
    [
        ("prover", False, False, ("policy", "verifier")),
        ("prover", False, True, ("verifier",)),
        ("prover", True, False, ("policy", "verifier")),
        ("verifier", False, False, ("verifier",)),
        ("verifier", True, False, ("verifier", "meta")),
    ],
)
def test_roles_that_are_asked(task, meta, given, roles):
    assert benchmark_of(task).asked(meta=meta, given=given) == roles


def test_nothing_else_asks_which_benchmark_it_is():
    asks = re.compile(r"""task(\(\))?["\]]*\s*(==|!=|in)\s*[({]?\s*"(prover|verifier)"|tasks\s*==""")
    found = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if asks.search(line)
    ]
    assert found == []
