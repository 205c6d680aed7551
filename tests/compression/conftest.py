"""What the tests of compressionbench share."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from proverbench.compression.authoring import Order, make_task
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Allowance
from proverbench.compression.tasks import Task
from tests.compression.toy import make_toy

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "lean"


@pytest.fixture(scope="session")
def lean_data(kernel: LeanKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our small library, what Lean makes of it, and damaged copies of that (toy.py)."""
    folder = tmp_path_factory.mktemp("toy")
    make_toy(folder, kernel)
    return folder


@pytest.fixture(scope="session")
def shared_lean() -> Path:
    """Kernel terms that others exported, where they are at hand."""
    return SHARED


@pytest.fixture(scope="session")
def found_by_others(shared_lean: Path) -> dict[str, Any]:
    """Verdicts, counts and charges of a library with the same terms, as others found them."""
    found: dict[str, Any] = json.loads((shared_lean / "toy.expected.json").read_text())
    return found


@pytest.fixture(scope="session")
def kernel() -> LeanKernel:
    """Lean's kernel. In CI a missing one fails the test, for a check that is skipped there checks nothing."""
    library = find_library()
    if library is None:
        message = "no Lean kernel: pip install 'proverbench[lean]'"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return LeanKernel(library, Allowance(time_s=3600))


@pytest.fixture(scope="session")
def toy_sources(lean_data: Path) -> dict[str, bytes]:
    """The toy file, as a project."""
    return {"Toy.lean": (lean_data / "toy.lean").read_bytes()}


@pytest.fixture(scope="session")
def toy_task(toy_sources: dict[str, bytes], kernel: LeanKernel) -> Task:
    """A task made of the toy file: 254 nodes, of which 48 can be saved by an obvious change."""
    return make_task(toy_sources, Order("toy", ["zero_add_by_helper"], background=["Eq", "congrArg"]), kernel)


@pytest.fixture(scope="session")
def shorter(toy_sources: dict[str, bytes]) -> dict[str, bytes]:
    """The toy file with the shorter proof."""
    old, new = b"(fun k ih => succ_congr _ k ih)", b"(fun _ ih => congrArg MyNat.succ ih)"
    assert old in toy_sources["Toy.lean"]
    return {"Toy.lean": toy_sources["Toy.lean"].replace(old, new)}


@pytest.fixture(scope="session")
def zero_add_task(toy_sources: dict[str, bytes], kernel: LeanKernel) -> Task:
    """A task made of the toy file with another target."""
    return make_task(toy_sources, Order("toy", ["zero_add"], background=["Eq", "congrArg"]), kernel)
