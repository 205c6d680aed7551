"""`proverbench label`."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.streams import say
from proverbench.errors import UserInputError
from proverbench.run.disk import fitting_name

if TYPE_CHECKING:
    from proverbench.people.book import LabelBook

CHOOSE = 40
"""Labels of a draw without --choose: from 20 on they make a headline, 40 are an evening's work."""
_LONGEST_NAME = 90
"""Bytes of the name of a run, or of an annotator, in the name of a file."""


@click.command(cls=HandlesErrors, name="label", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--choose", type=click.IntRange(min=1), metavar="N", help=f"How many proofs to draw. [default: {CHOOSE}, or all]"
)
@click.option("--simple", is_flag=True, help="One simple random draw instead of one stratified by what the judge said.")
@click.option("--equal", is_flag=True, help="As many of each stratum, to count the judge's false acceptances.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same proofs.")
@click.option("--annotator", metavar="NAME", help="Who labels; several may label the same draw. [default: your login]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The labels file. [default: RUN-labels-NAME.jsonl here]",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8767, show_default=True, help="Port of localhost; 0: a free one."
)
def command(
    run: Path,
    choose: int | None,
    simple: bool,
    equal: bool,
    seed: int,
    annotator: str | None,
    output: Path | None,
    port: int,
) -> int:
    """Label a random draw of a ProverBench RUN's proofs in the browser; calls nothing, changes nothing in the run.

    One proof at a time, the judge's verdicts hidden until your label is given. Every label is on disk at once; the same
    command again goes on where you were. By keyboard: a no error, 0-9 or a click the first wrong step, f fatal,
    r recoverable, u cannot say, c comment, Enter save and go on, z undo. Ctrl-C ends it.

    \b
    proverbench label runs/NAME --choose 40
    proverbench correct runs/NAME --labels NAME-labels-YOU.jsonl
    """
    from proverbench.people.book import LabelBook
    from proverbench.people.sheet import drawn_of, rows
    from proverbench.run.saved import open_runs
    from proverbench.show.report.labelling import make_label_server
    from proverbench.show.report.serve import Followed

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
    from proverbench.people.draw import is_judged

    return choose if choose is not None else min(CHOOSE, sum(map(is_judged, folder.records())))


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise UserInputError("--annotator: your login has no name; give one") from None


def _safe(name: str) -> str:
    return fitting_name(re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run", _LONGEST_NAME)


def _say_how_far(book: "LabelBook", run: Path) -> None:
    states = book.states().values()
    done = sum(state["labelled"] or state["undecided"] for state in states)
    run_is, labels_are = shlex.quote(str(run)), shlex.quote(str(book.path))
    say(f"\n{done} of {len(states)} labelled in {book.path}; proverbench correct {run_is} --labels {labels_are}")
