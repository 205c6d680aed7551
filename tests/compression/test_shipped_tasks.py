"""The tasks that we ship: valid as they are, and worth compressing."""

import runpy
from pathlib import Path

import pytest

from proverbench.compression.checking import check_sources
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.tasks import load_task, shipped_tasks

DATA = Path(__file__).resolve().parents[2] / "data" / "compression"


@pytest.mark.parametrize("name", sorted(shipped_tasks()))
def test_the_originals_are_valid_and_cost_what_the_task_says(kernel: LeanKernel, name: str) -> None:
    task = load_task(shipped_tasks()[name])
    check = check_sources(task, task.original, kernel)
    assert (check.verdict, check.problems, check.count) == ("valid", (), task.spec.original_count)
    for page, start in (
        (DATA / "README.md", f"| {name} "),
        (DATA.parents[1] / "docs" / "compression.md", f"| `{name}` "),
    ):
        row = next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(start))
        assert row.endswith(f" {check.count:,} |")


def test_the_tactics_file_is_what_its_generator_writes() -> None:
    made = runpy.run_path(str(DATA / "make_tactics.py"))["tactics_file"]()
    assert (DATA / "tactics" / "background" / "Tactics.lean").read_text(encoding="utf-8") == made


def test_tactic_proofs_can_be_compressed(kernel: LeanKernel) -> None:
    """`rw` leaves large terms; the same proof by the terms themselves is valid and smaller."""
    task = load_task(shipped_tasks()["tactics"])
    assert len(task.spec.targets) >= 10
    old = "  rw [mul_comm, mul_add, mul_comm c a, mul_comm c b]"
    new = (
        "  exact Eq.trans (mul_comm _ _) (Eq.trans (mul_add _ _ _) (Eq.trans "
        "(congrArg (fun x => x + c * b) (mul_comm _ _)) (congrArg (fun x => a * c + x) (mul_comm _ _))))"
    )
    text = task.original["Naturals.lean"].decode()
    assert old in text
    check = check_sources(task, {"Naturals.lean": text.replace(old, new).encode()}, kernel)
    assert (check.verdict, check.count) == ("valid", 16_388)
