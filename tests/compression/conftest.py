"""What the tests of compressionbench share."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from proverbench.compression.kernel import LeanKernel, Limits, find_library

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "lean"


@pytest.fixture
def lean_data() -> Path:
    """The folder of kernel terms with known verdicts and counts."""
    if not SHARED.is_dir():
        pytest.skip("../shared/data/lean is not here")
    return SHARED


@pytest.fixture
def expected(lean_data: Path) -> dict[str, Any]:
    """Known verdicts, counts and charges of the toy files."""
    found: dict[str, Any] = json.loads((lean_data / "toy.expected.json").read_text())
    return found


@pytest.fixture
def kernel() -> LeanKernel:
    """Lean's kernel. In CI a missing one fails the test, for a check that is skipped there checks nothing."""
    library = find_library()
    if library is None:
        message = "no Lean kernel: pip install 'proverbench[lean]'"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return LeanKernel(library, Limits(time_s=120))
