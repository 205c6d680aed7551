"""What ``proverbench label`` does."""

import getpass
import re
import shlex
from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.label import CHOOSE
from proverbench.cli.streams import say
from proverbench.errors import UserInputError
from proverbench.people.book import LabelBook
from proverbench.people.draw import is_judged
from proverbench.people.sheet import drawn_of, rows
from proverbench.run.disk import fitting_name
from proverbench.run.saved import open_runs
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
    annotator: str | None,
    output: Path | None,
    port: int,
) -> int:
    """Label a random draw of a ProverBench RUN's proofs in the browser; calls nothing, changes nothing in the run."""
    name = annotator if annotator is not None else _login()
    (opened,) = open_runs([run], split="all")
    path = output or Path(f"{_safe(opened.path.resolve().name)}-labels-{_safe(name)}.jsonl")
    fresh = not path.exists() or path.stat().st_size == 0
    wanted = _wanted(opened.folder, choose) if fresh else None
    drawn = drawn_of(opened.folder, choose=wanted, simple=simple, equal=equal and fresh, seed=seed)
    book = LabelBook(path, list(rows(opened.folder, drawn, annotator=name)), name)
    if choose is not None and choose != len(book.rows):
        count = len(book.rows)
        book.close()
        raise UserInputError(f"{path} holds a draw of {count}, not of {choose}; leave --choose out, or give another -o")
    followed = Followed([run])
    try:
        server = make_label_server(followed, port, book, opened.arrays)
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
            _say_how_far(book, run)
            book.close()
    return EXIT_COMPLETE


def _wanted(folder: Any, choose: int | None) -> int:
    return choose if choose is not None else min(CHOOSE, sum(map(is_judged, folder.records())))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise UserInputError("--annotator: your login has no name; give one") from None


def _safe(name: str) -> str:
    return fitting_name(re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run", _LONGEST_NAME)


def _say_how_far(book: LabelBook, run: Path) -> None:
    states = book.states().values()
    done = sum(state["labelled"] or state["undecided"] for state in states)
    run_is, labels_are = shlex.quote(str(run)), shlex.quote(str(book.path))
    say(f"\n{done} of {len(states)} labelled in {book.path}; proverbench correct {run_is} --labels {labels_are}")
