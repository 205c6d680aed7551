"""The organiser's commands: verify, keygen, rank, report."""

import json
import shlex
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proverbench.cli.streams import echo, echo_json, say
from proverbench.compression.commands import (
    EXIT_INVALID,
    EXIT_VALID,
    FOLDER,
    JSON_OPTION,
    UNSAFE_OPTION,
    Command,
    checked,
    isolation_of,
)
from proverbench.errors import DataError

if TYPE_CHECKING:
    from proverbench.compression.bundle import Track
    from proverbench.compression.collecting import Apart, Collected
    from proverbench.compression.ranking import Ranking
    from proverbench.compression.reporting import View
    from proverbench.compression.tasks import Task

_TASKS_OPTION = click.option(
    "--tasks", "task_sets", multiple=True, type=FOLDER, help="The organiser's tasks: a folder that holds their folders."
)
_TASK_OPTION = click.option(
    "--task", "task_folders", multiple=True, type=FOLDER, help="One task as the organiser has it; repeat for more."
)
_TRUST_OPTION = click.option(
    "--trust", metavar="HEX", multiple=True, help="The public key of someone who vouches; repeat for more."
)
_RANKING_OPTION = click.option(
    "--ranking", "ranking_file", type=FOLDER, help="A ranking.toml with `tasks`, `trust` and `until`."
)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@_TASK_OPTION
@_TASKS_OPTION
@click.option("--key", type=FOLDER, help="Ed25519 private key (PEM) to sign the receipt with.")
@click.option("--output", type=FOLDER, help="Folder for the receipt. [default: beside the bundle]")
@click.option("--bundle", "bundle_file", type=FOLDER, help="With a receipt: the bundle it should be about.")
@click.option("--trust", metavar="HEX", help="With a receipt: the public key that must have signed it.")
@JSON_OPTION
@UNSAFE_OPTION
def verify(
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
    from proverbench.compression.bundle import read_bundle
    from proverbench.compression.collecting import read_task_set
    from proverbench.compression.presenting import render_verification
    from proverbench.compression.receipts import build_parts, load_key, make_receipt
    from proverbench.compression.verifying import judge_task, may_sign, verify_bundle

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
    from proverbench.compression.collecting import read_task_set

    for place in places:
        for folder in (place, *sorted(path.parent for path in place.glob("*/task.toml"))):
            if (folder / "build").is_dir() and sha256 in read_task_set([folder]):
                return folder / "build"
    return None


def _verify_receipt(file: Path, bundle_file: Path | None, trust: str | None, as_json: bool) -> None:
    from proverbench.compression.bundle import read_bundle
    from proverbench.compression.presenting import render_verification
    from proverbench.compression.receipts import bundle_mismatches, read_receipt, receipt_problems

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


@click.command(cls=Command)
@click.argument("file", type=FOLDER)
def keygen(file: Path) -> None:
    """Make an Ed25519 key to sign receipts with."""
    from proverbench.compression.receipts import make_key

    echo(f"public key {make_key(file)}")


@click.command(cls=Command, name="rank")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_TASK_OPTION
@_TASKS_OPTION
@_TRUST_OPTION
@_RANKING_OPTION
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]),
    help="Receipts made later have no place.",
)
@JSON_OPTION
def rank_command(
    paths: tuple[Path, ...],
    task_folders: tuple[Path, ...],
    task_sets: tuple[Path, ...],
    trust: tuple[str, ...],
    ranking_file: Path | None,
    until: datetime | None,
    as_json: bool,
) -> None:
    """Rank agents by the receipts in PATHS (files, or folders with receipt-*.json), a table for each track.

    Places need to know which tasks count (--tasks) and who vouches (--trust). What is unsigned, signed by others, or
    about other tasks stands apart, with the reason.
    """
    from proverbench.compression.presenting import render_apart, render_ranking
    from proverbench.compression.ranking import rank_tracks

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
) -> "tuple[Collected, list[Any]]":
    from proverbench.compression.collecting import collect_runs, ranked_tasks, read_ranking_file, read_task_set

    if ranking_file is not None:
        found = read_ranking_file(ranking_file)
        places = (*places, *(ranking_file.parent / name for name in found.tasks))
        trust, until = (*trust, *found.trust), until or found.until
    tasks: dict[str, Task] = read_task_set(places) if places else {}
    if not tasks or not trust:
        say("no places: that needs --tasks FOLDER (which tasks count) and --trust HEX (who vouches)")
    return collect_runs(paths, tasks=tasks, trusted=set(trust), until=until), ranked_tasks(tasks)


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", "-o", type=FOLDER, default=Path("compression.html"), show_default=True, help="The page.")
@_TASK_OPTION
@_TASKS_OPTION
@_TRUST_OPTION
@_RANKING_OPTION
@UNSAFE_OPTION
def report(
    paths: tuple[Path, ...],
    output: Path,
    task_folders: tuple[Path, ...],
    task_sets: tuple[Path, ...],
    trust: tuple[str, ...],
    ranking_file: Path | None,
    unsafe: bool,
) -> None:
    """One page with the ranking, the rules, and a viewer that shows, node by node, where a count goes.

    PATHS are receipts, folders with receipts and bundles, or task folders, whose versions are checked now.
    """
    from proverbench.compression.ranking import rank_tracks
    from proverbench.compression.reporting import best_views, render_report, view_check

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
