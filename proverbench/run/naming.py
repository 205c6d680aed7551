"""What the folder of a new run is called."""

import os
from pathlib import Path

from proverbench.run.disk import fitting_name
from proverbench.run.journal import now

_LONGEST_MODEL = 80
"""Bytes of a model's name in the name of a folder."""


def new_run_path(parent: Path, task: str, model: str, judge: str | None = None) -> Path:
    """A safe, unique folder name: ``runs/TASK-MODEL-DATE``, with a number behind it where that one exists.

    Args:
        parent: Where it goes.
        task: Which benchmark.
        model: Whom the run is about.
        judge: Of proofs that were there already, who judges them: ``TASK-MODEL-by-JUDGE-DATE``.
    """
    by = "" if judge is None else f"-by-{_safe_name(judge)}"
    stem = f"{task}-{_safe_name(model)}{by}-{now()[:10]}"
    path, n = parent / stem, 1
    while os.path.lexists(path):
        n += 1
        path = parent / f"{stem}-{n}"
    return path


def _safe_name(model: str) -> str:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._") else "-" for c in model.rsplit("/", 1)[-1])
    return fitting_name(safe.strip("-.") or "model", _LONGEST_MODEL)
