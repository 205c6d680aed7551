"""What ``proverbench label`` does."""

import getpass
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.label import CHOOSE
from proverbench.cli.streams import say
from proverbench.errors import UserInputError
from proverbench.people.book import LabelBook
from proverbench.people.draw import is_judged
from proverbench.people.sheet import drawn_of, rows, scale_of
from proverbench.run.disk import fitting_name
from proverbench.run.saved import open_runs
from proverbench.run.study import cells_of, is_study
from proverbench.show.report.labelling import make_label_server
from proverbench.show.report.serve import Followed

_LONGEST_NAME = 90
"""Bytes of the name of a run, or of an annotator, in the name of a file."""


def label(
    run: Path,
    choose: int | None,
    simple: bool,
    equal: bool,
    seed: int,
    policy: str | None,
    annotator: str | None,
    output: Path | None,
    port: int,
) -> int:
    """Label a random draw of a ProverBench RUN's proofs in the browser; calls nothing, changes nothing in the run."""
    name = annotator if annotator is not None else _login()
    cells = _cells(run, policy)
    opened, *others = open_runs(cells, split="all")
    # No judge's verdicts favour a proof where several judges are to be corrected.
    simple = simple or bool(others)
    whose = opened.path.resolve().name if cells == [run] else f"{run.resolve().name}-{policy or 'proofs'}"
    path = output or Path(f"{_safe(whose)}-labels-{_safe(name)}.jsonl")
    fresh = not path.exists() or path.stat().st_size == 0
    wanted = _wanted(opened.folder, choose) if fresh else None
    drawn = drawn_of(opened.folder, choose=wanted, simple=simple, equal=equal and fresh, seed=seed)
    serves = [other.manifest.run_id for other in others]
    book = LabelBook(path, list(rows(opened.folder, drawn, annotator=name, serves=serves)), name)
    if choose is not None and choose != len(book.rows):
        count = len(book.rows)
        book.close()
        raise UserInputError(f"{path} holds a draw of {count}, not of {choose}; leave --choose out, or give another -o")
    followed = Followed(cells)
    try:
        server = make_label_server(followed, port, book, opened.arrays, scale_of(opened.folder))
    except OSError as exc:
        followed.close()
        book.close()
        raise UserInputError(f"--port {port}: {exc.strerror}; name another, or 0 for a free one") from exc
    with server:
        try:
            click.echo(f"http://127.0.0.1:{server.server_port}/#/label  (labels go to {path}; Ctrl-C ends it)")
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            followed.close()
            _say_how_far(book, cells)
            book.close()
    return EXIT_COMPLETE


def _cells(run: Path, policy: str | None) -> list[Path]:
    """The run, or a study's runs of one policy: one for each judge.

    Raises:
        UserInputError: If it is not said whose proofs are to be labelled, or there are none.
    """
    if not is_study(run):
        if policy is not None:
            raise UserInputError(f"--policy is for a study; {run} is a run")
        return [run]
    cells = [cell for cell in cells_of(run) if cell.policy is not None]
    names = list(dict.fromkeys(str(cell.policy) for cell in cells))
    if policy is None and len(names) != 1:
        raise UserInputError(f"{run} has proofs of {', '.join(names) or 'nobody'}; say with --policy whose to label")
    if policy is not None and policy not in names:
        raise UserInputError(f"--policy {policy}: no such policy in {run}; there are {', '.join(names)}")
    return [cell.path for cell in cells if policy is None or cell.policy == policy]


def _wanted(folder: Any, choose: int | None) -> int:
    return choose if choose is not None else min(CHOOSE, sum(map(is_judged, folder.records())))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise UserInputError("--annotator: your login has no name; give one") from None


def _safe(name: str) -> str:
    return fitting_name(re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run", _LONGEST_NAME)


def _say_how_far(book: LabelBook, runs: Sequence[Path]) -> None:
    states = book.states().values()
    done = sum(state["labelled"] or state["undecided"] for state in states)
    labels_are = shlex.quote(str(book.path))
    commands = [f"proverbench correct {shlex.quote(str(run))} --labels {labels_are}" for run in runs]
    say(f"\n{done} of {len(states)} labelled in {book.path}; " + "\n  ".join(commands))
