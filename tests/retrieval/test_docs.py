"""The documentation names what the code has, and its worked example is right."""

import re
from pathlib import Path

import pytest

from proverbench.retrieval.benchmarks import TASKS
from proverbench.retrieval.cli import main
from proverbench.retrieval.metrics import CURVES, ROUTED, SCALARS, score_queries
from proverbench.retrieval.settings import Settings
from proverbench.retrieval.strings import NO_STRINGS
from proverbench.retrieval.systems.build import KINDS
from tests.support import ROOT

METRICS = (ROOT / "docs/retrieval-metrics.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs/retrieval.md").read_text(encoding="utf-8")


def first_cells(text: str, heading: str) -> set[str]:
    """The code in the first cells of the first table after a heading."""
    table = text.split(f"## {heading}\n", 1)[1].split("\n\n## ", 1)[0]
    rows = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_metric_is_defined_once() -> None:
    assert first_cells(METRICS, "One query") == {*(f"{curve}@k" for curve in (*CURVES, *ROUTED)), *SCALARS, "pr11"}


def test_every_task_system_and_command_is_described() -> None:
    assert first_cells(GUIDE, "Tasks and files") >= set(TASKS)
    assert first_cells(GUIDE, "Systems") >= set(KINDS)
    assert first_cells(GUIDE, "Commands") == {
        "run",
        "score",
        "report",
        "compare",
        "systems",
        "data fetch",
        "data validate",
    }
    assert set(main.commands) == {"run", "score", "report", "compare", "systems", "data"}


def test_the_worked_example() -> None:
    scores = score_queries([[1, 4, None]])
    at_five = {name: scores.curves[name][0, 4] for name in CURVES}
    assert at_five == pytest.approx({"R": 2 / 3, "P": 2 / 5, "nDCG": 0.6714, "Covered": 0}, abs=5e-5)
    assert (scores.scalars["MRR"][0], scores.scalars["MAP"][0]) == (1, 0.5)
    assert scores.pr11[0].tolist() == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0, 0, 0, 0]


def test_the_config_of_the_guide_is_accepted(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    path = tmp_path / "c.toml"
    path.write_text(example, encoding="utf-8")
    settings = Settings.load(path)
    assert settings.embedders["qwen"].template(NO_STRINGS).for_document("d") == "d"
    assert settings.rerankers["judge"].depth == 20
    assert settings.engines["leanexplore"].results == 200
