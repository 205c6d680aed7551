"""A run to label."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proverbench.people.book import LabelBook
from proverbench.people.sheet import drawn_of, rows
from proverbench.run.folder import RunFolder

RUN = Path(__file__).parents[1] / "show" / "report" / "data" / "prover"


@pytest.fixture
def folder() -> RunFolder:
    """The folder of a ProverBench run."""
    return RunFolder(RUN)


@pytest.fixture
def new_book(tmp_path: Path, folder: RunFolder) -> Callable[..., LabelBook]:
    """``new_book(annotator, choose, path)``: a labels file, opened."""

    def make(annotator: str = "ann", choose: int = 6, path: Path | None = None) -> LabelBook:
        drawn = drawn_of(folder, choose=choose)
        return LabelBook(path or tmp_path / "labels.jsonl", list(rows(folder, drawn, annotator=annotator)), annotator)

    return make
