"""What the organiser's commands do."""

import json
import shlex
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from proverbench.cli.streams import echo, echo_json, say
from proverbench.compression.bodies.checks import checked, isolation_of
from proverbench.compression.bundle import Track, read_bundle
from proverbench.compression.collecting import (
    Apart,
    Collected,
    collect_runs,
    ranked_tasks,
    read_ranking_file,
    read_task_set,
)
from proverbench.compression.commands import EXIT_INVALID, EXIT_VALID
from proverbench.compression.presenting import render_apart, render_ranking, render_verification
from proverbench.compression.ranking import Ranking, rank_tracks
from proverbench.compression.receipts import (
    build_parts,
    bundle_mismatches,
    load_key,
    make_key,
    make_receipt,
    read_receipt,
    receipt_problems,
)
from proverbench.compression.reporting import View, best_views, render_report, view_check
from proverbench.compression.tasks import Task
from proverbench.compression.verifying import judge_task, may_sign, verify_bundle
from proverbench.errors import DataError


def verify_file(
    file: Path,
    task_folders: tuple[Path, ...],
    task_sets: tuple[Path, ...],
    key: Path | None,
    output: Path | None,
    bundle_file: Path | None,
    trust: str | None,
    as_json: bool,
    unsafe: bool,
) -> None:
    """Check a bundle again, in isolation, and write a receipt; or check a receipt (.json)."""
    if file.suffix == ".json":
        _verify_receipt(file, bundle_file, trust, as_json)
        return
    if key is not None and not key.is_file():
        raise DataError(f"--key {key}: no such file; make one: compressionbench keygen {shlex.quote(str(key))}")
    places = [*task_folders, *task_sets]
    tasks = read_task_set(places) if places else {}
    bundle = read_bundle(file)
    against = None if key is None else may_sign(judge_task(bundle, list(tasks.values()))[1], isolation_of(unsafe))
    if against is not None:
        raise DataError(against)
    outcome = verify_bundle(
        bundle,
        trusted=tasks.values(),
        build_folder=_build_folder(places, bundle.task.sha256),
        isolation=isolation_of(unsafe),
    )
    # The key is opened only now, when every process of every stage is gone.
    private = None if key is None else load_key(key)
    receipt = make_receipt(build_parts(bundle, outcome, outcome["verifier"]), outcome["verified_at"], private)
    folder = output or file.parent
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"receipt-{bundle.sha256[:16]}.json"
    path.write_text(json.dumps(receipt.as_json(), indent=1) + "\n", encoding="utf-8")
    if as_json:
        echo_json({**receipt.as_json(), "verdict": receipt.parts["verdict"]["verdict"], "receipt": str(path)})
    else:
        echo(render_verification(receipt, path))
    click.get_current_context().exit(EXIT_VALID if receipt.valid else EXIT_INVALID)


def _build_folder(places: list[Path], sha256: str) -> Path | None:
    """Where a trusted task of that hash was fetched."""
    for place in places:
        for folder in (place, *sorted(path.parent for path in place.glob("*/task.toml"))):
            if (folder / "build").is_dir() and sha256 in read_task_set([folder]):
                return folder / "build"
    return None


def _verify_receipt(file: Path, bundle_file: Path | None, trust: str | None, as_json: bool) -> None:
    receipt = read_receipt(file)
    problems = receipt_problems(receipt, trusted=trust)
    beside = file.parent / f"submission-{receipt.parts['submission']['sha256'][:16]}.tar.gz"
    about = bundle_file or (beside if beside.is_file() else None)
    if about is not None:
        bundle = read_bundle(about)
        problems += [*bundle.problems, *bundle_mismatches(receipt, bundle)]
    if problems:
        raise DataError.of(f"{file}: {problem}" for problem in problems)
    if as_json:
        found = {**receipt.as_json(), "verdict": receipt.parts["verdict"]["verdict"], "bundle": about and str(about)}
        echo_json(found)
    else:
        echo(render_verification(receipt, file))
        echo(f"bundle    {about or 'not here; only the receipt was checked'}")
    click.get_current_context().exit(EXIT_VALID if receipt.valid else EXIT_INVALID)


def make_key_file(file: Path) -> None:
    """Make an Ed25519 key to sign receipts with."""
    echo(f"public key {make_key(file)}")


def rank_receipts(
    paths: tuple[Path, ...],
    task_folders: tuple[Path, ...],
    task_sets: tuple[Path, ...],
    trust: tuple[str, ...],
    ranking_file: Path | None,
    until: datetime | None,
    as_json: bool,
) -> None:
    """Rank agents by the receipts in PATHS (files, or folders with receipt-*.json), a table for each track."""
    collected, tasks = _collected(paths, (*task_folders, *task_sets), trust, ranking_file, until)
    tables = rank_tracks(collected.runs, tasks) if tasks and collected.runs else {}
    if as_json:
        echo_json(
            {
                "standings": _rows(tables["open"]) if tables else [],
                "tracks": {track: _rows(table) for track, table in tables.items()},
                "tasks": [asdict(task) for task in tasks],
                "apart": [asdict(item) for item in collected.apart],
            }
        )
    else:
        for track, table in tables.items():
            echo(f"track {track}\n{render_ranking(table)}\n")
        if collected.apart:
            say(render_apart(collected.apart))
    if not tables:
        say("refused: no receipt has a place; make some with: compressionbench verify BUNDLE --tasks TASKS --key KEY")
        click.get_current_context().exit(EXIT_INVALID)


def _rows(table: Any) -> list[dict[str, Any]]:
    return [asdict(line) for line in table.standings]


def _collected(
    paths: tuple[Path, ...],
    places: tuple[Path, ...],
    trust: tuple[str, ...],
    ranking_file: Path | None,
    until: datetime | None = None,
) -> tuple[Collected, list[Any]]:
    if ranking_file is not None:
        found = read_ranking_file(ranking_file)
        places = (*places, *(ranking_file.parent / name for name in found.tasks))
        trust, until = (*trust, *found.trust), until or found.until
    tasks: dict[str, Task] = read_task_set(places) if places else {}
    if not tasks or not trust:
        say("no places: that needs --tasks FOLDER (which tasks count) and --trust HEX (who vouches)")
    return collect_runs(paths, tasks=tasks, trusted=set(trust), until=until), ranked_tasks(tasks)


def write_report(
    paths: tuple[Path, ...],
    output: Path,
    task_folders: tuple[Path, ...],
    task_sets: tuple[Path, ...],
    trust: tuple[str, ...],
    ranking_file: Path | None,
    unsafe: bool,
) -> None:
    """One page with the ranking, the rules, and a viewer that shows, node by node, where a count goes."""
    own = [path for path in paths if (path / "task.toml").is_file()]
    others = tuple(path for path in paths if path not in own)
    views: list[View] = []
    tables: dict[Track, Ranking] = {}
    apart: list[Apart] = []
    if others:
        collected, tasks = _collected(others, (*task_folders, *task_sets), trust, ranking_file)
        apart = list(collected.apart)
        tables = rank_tracks(collected.runs, tasks) if tasks and collected.runs else {}
        views, missing = best_views(collected.runs, others, {task.sha256: task.name for task in tasks})
        for problem in missing:
            say(f"not shown: {problem}")
    views += [view_check(checked(path, None, unsafe=unsafe), f"{path.name} as it is in {path}") for path in own]
    if not tables and not views and not apart:
        raise DataError("nothing to report: wanted receipts or task folders")
    output.write_text(render_report(tables, apart, views), encoding="utf-8")
    echo(f"page      {output}")
