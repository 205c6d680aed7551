"""Saved runs and studies of a folder, a row each; what cannot be read is a row too."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proverbench.benchmark import benchmark_of
from proverbench.errors import ProverBenchError
from proverbench.run.disk import CALLS
from proverbench.run.lock import writer
from proverbench.run.manifest import MANIFEST
from proverbench.run.study import cells_of, is_study
from proverbench.show.matrix import scored_run

_DEEPEST = 3


def listing(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of the runs in a folder and in the folders of it, in alphabetical order; a study's runs follow each other.

    Yields:
        ``run``, ``study`` (its folder, or None), ``what``, ``models`` (role → model), ``at`` (UTC time of the last
        change), ``state`` (``yes``, ``no``, ``going``), ``complete``, ``done``, ``wanted``, ``rows``, ``samples``,
        ``repeats``, ``metric``, ``value``, ``cost_usd``, ``run_id``, ``fault`` (why it cannot be read, or None).
    """
    yield from _in(folder, _DEEPEST)


def _in(folder: Path, deep: int) -> Iterator[dict[str, Any]]:
    if (folder / MANIFEST).is_file():
        yield _row(folder, None)
    elif is_study(folder):
        yield from (_row(cell.path, folder) for cell in cells_of(folder))
    elif deep:
        try:
            inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        except OSError as exc:
            yield _fault(folder, None, str(exc.strerror))
            return
        for path in inside:
            yield from _in(path, deep - 1)


def _row(path: Path, study: Path | None) -> dict[str, Any]:
    try:
        run = scored_run(path)
        at = max(file.stat().st_mtime for name in (MANIFEST, CALLS) if (file := path / name).exists())
        going = writer(path) is not None
    except (ProverBenchError, OSError, ValueError, KeyError) as exc:
        return _fault(path, study, str(exc))
    identity, extent = run.manifest.identity, run.manifest.extent
    done, wanted = run.done
    complete = run.summary.complete
    return {
        "run": str(path),
        "study": None if study is None else str(study),
        "what": benchmark_of(identity.task).name,
        "models": {role: asked.model for role, asked in identity.roles.items()},
        "at": datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "state": "going" if going else "yes" if complete else f"no, {done}/{wanted}",
        "complete": complete,
        "done": done,
        "wanted": wanted,
        "rows": extent.rows,
        "samples": extent.samples,
        "repeats": extent.verifier_repeats,
        "metric": run.metric,
        "value": run.value,
        "cost_usd": run.cost_usd,
        "run_id": run.manifest.run_id,
        "fault": None,
    }


def _fault(path: Path, study: Path | None, said: str) -> dict[str, Any]:
    return {"run": str(path), "study": None if study is None else str(study), "complete": False, "fault": said}
