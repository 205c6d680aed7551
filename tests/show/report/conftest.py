"""Reports to open in a browser."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from proverbench.show.report.build import open_runs
from proverbench.show.report.write import write_report
from tests.support import SHARED, run_process

DATA = Path(__file__).parent / "data"


def make_page(folder: Path, *runs: Path, **options: Any) -> Path:
    """Write the page of some runs."""
    with open_runs(runs, **{name: value for name, value in options.items() if name == "published"}) as report:
        largest = {name: value for name, value in options.items() if name == "largest"}
        return write_report(report, folder / "report.html", **largest)


@pytest.fixture(scope="session")
def prover_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a ProverBench run."""
    return make_page(tmp_path_factory.mktemp("prover"), DATA / "prover")


@pytest.fixture(scope="session")
def judge_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a VerifierBench run."""
    return make_page(tmp_path_factory.mktemp("judge"), DATA / "judge")


@pytest.fixture(scope="session")
def imported_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of runs of the published evaluator: with meta levels, and one that was interrupted."""
    runs = SHARED / "data" / "published-run"
    folder = tmp_path_factory.mktemp("imported")
    for name in ("verifier-meta", "prover-interrupted"):
        data = ("--data", runs / f"{name}.data.jsonl")
        ended = run_process(
            "data", "import", "--format", "published", runs / name, *data, "--output", folder / name, cwd=folder
        )
        assert ended.code == 0, ended.err
    return make_page(folder, folder / "verifier-meta", folder / "prover-interrupted")


@pytest.fixture(scope="session")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a mixture: the same proofs under two names, another task, and the published table."""
    folder = tmp_path_factory.mktemp("mixed")
    shutil.copytree(DATA / "judge", folder / "another judge")
    return make_page(folder, DATA / "judge", folder / "another judge", DATA / "prover", published="advancedmathbench")
