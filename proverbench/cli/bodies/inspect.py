"""What `proverbench inspect` does."""

import json
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.cli import run_pages
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.matrix import show_study
from proverbench.cli.pages import cut, one_line, page, printable, width
from proverbench.cli.streams import echo_json, say
from proverbench.errors import ConfigError
from proverbench.inputs.published import is_published, load_published
from proverbench.records import AttemptLine, CallLine, FinalLine, SessionLine
from proverbench.run.derive import build_record
from proverbench.run.folder import RunFolder
from proverbench.run.lock import writer
from proverbench.run.session import Session
from proverbench.run.study import RUNS, is_study
from proverbench.show.browsing import Entry, Filters, find_call, find_proof, overview, reading

_EVERY_S = 1.0


def inspect(
    run: Path | None,
    proof: str | None,
    call_key: str | None,
    follow: bool,
    data: Path | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Show a run, a proof or a call."""
    run, proof, given = _sorted_out(run, proof, given)
    if is_study(run):
        _show_study(run, proof, asks=follow or call_key is not None or any(given.values()), as_json=as_json)
        return EXIT_COMPLETE
    with _opened(run, data) as folder:
        if follow:
            _follow(folder, run, as_json=as_json)
        elif call_key is not None:
            _show_call(folder, call_key, as_json=as_json)
        else:
            _show(folder, run, proof, Filters(**given), as_json=as_json)
    return EXIT_COMPLETE


def _show_study(study: Path, proof: str | None, *, asks: bool, as_json: bool) -> None:
    """The matrix of a study; proofs are looked at in one of its runs."""
    if proof is not None or asks:
        raise ConfigError(
            f"{study} is a study: `proverbench inspect {shlex.quote(str(study))}` shows its matrix; "
            "filters, proofs and calls are those "
            f"of one of its runs, in {study / RUNS}"
        )
    show_study(study, as_json=as_json)


def _sorted_out(run: Path | None, proof: str | None, given: dict[str, Any]) -> tuple[Path, str | None, dict[str, Any]]:
    """Undo what optional values swallow: in ``--disagree runs/NAME`` the folder is no kind of disagreement."""
    for name, otherwise in (("disagree", "any"), ("invalid", "")):
        value = given[name]
        if run is None and value and value != otherwise and Path(value).is_dir():
            run, given = Path(value), {**given, name: otherwise}
        elif name == "disagree" and value not in (None, "any", "judges", "human") and proof is None and run is not None:
            if not Path(value).is_dir():
                break
            run, proof, given = Path(value), str(run), {**given, name: otherwise}
    if given["disagree"] not in (None, "any", "judges", "human"):
        raise ConfigError(f"--disagree {given['disagree']}: give judges, human, or nothing for either")
    if run is None:
        raise ConfigError("which run? Give its folder: proverbench inspect runs/NAME")
    return run, proof, given


@contextmanager
def _opened(path: Path, data: Path | None) -> Iterator[RunFolder]:
    """The run; one of the published evaluator is read into a scratch folder, its own stays untouched."""
    if not is_published(path):
        if data is not None:
            raise ConfigError("--data is for folders of the published evaluator; this run has its rows")
        folder = RunFolder(path)
        try:
            yield folder
        finally:
            folder.close()
        return
    published = load_published(path, data=data, unknown_rows=True)
    for note in published.notes:
        say(f"note: {note}")
    with tempfile.TemporaryDirectory(prefix="proverbench-") as scratch:
        Session.create(Path(scratch), published.draft).release()
        folder = RunFolder(Path(scratch))
        folder.path = path
        try:
            yield folder
        finally:
            folder.close()


def _state(folder: RunFolder, complete: bool) -> str:
    busy = writer(folder.path)
    if busy is not None:
        return f"going on in {busy}; watch it with --follow"
    if complete:
        return "complete"
    tool = benchmark_of(folder.manifest.identity.task).command
    imported = "imported" in folder.manifest.operation
    return (
        "incomplete"
        if imported
        else f"incomplete; go on with: {tool} --resume {printable(shlex.quote(str(folder.path)))}"
    )


def _show(folder: RunFolder, path: Path, proof: str | None, filters: Filters, *, as_json: bool) -> None:
    repeats = folder.sources.plan.repeats
    if proof is not None:
        numbers = find_proof(folder, proof)
        entries = [Entry.of(n, build_record(folder.sources, n), repeats) for n in numbers]
        if len(entries) == 1:
            _show_proof(folder, path, entries[0], as_json=as_json)
            return
        found, chosen = None, filters.select(entries)
    else:
        found = overview(folder, texts=as_json)
        filters.refuse_unknown(found.entries)
        chosen = filters.select(found.entries)
    if as_json:
        answer: dict[str, Any] = {"run": str(path)}
        if found is not None:
            answer |= _overview_json(folder, found)
        echo_json({**answer, "proofs": [entry.as_json() for entry in chosen]})
        return
    parts = []
    if found is not None and not filters:
        parts.append(run_pages.first_page(folder, found, _state(folder, found.summary.complete), width()))
    parts.append(_table(folder, path, chosen, len(found.entries) if found else len(chosen)))
    page("\n\n".join(parts))


def _table(folder: RunFolder, path: Path, chosen: list[Any], of: int) -> str:
    labelled = benchmark_of(folder.manifest.identity.task).labelled
    lines = [f"{len(chosen)} of {of} proofs" + ("" if chosen else ": nothing matches")]
    if not chosen:
        return lines[0]
    lines = [run_pages.table(chosen, folder.sources.plan.repeats, width(), labelled=labelled), "", lines[0]]
    lines.append(run_pages.legend(folder.sources.reader.protocol))
    most = max(chosen, key=lambda entry: entry.disagreement.rank())
    if most.disagreement.is_any("any"):
        words = run_pages.disagreement_words(most.disagreement, most.record)
        lines.append(f"Judges disagree most on number {most.number}:")
        lines.append(f"  {words}.")
        lines.append(
            f"Read it, or any other by its number or id: proverbench inspect "
            f"{printable(shlex.quote(str(path)))} {most.number}"
        )
    else:
        lines.append(run_pages.hints(path, None))
    return "\n".join(lines)


def _show_proof(folder: RunFolder, path: Path, entry: Any, *, as_json: bool) -> None:
    if as_json:
        row = folder.sources.plan.row(entry.number)
        echo_json({"run": str(path), **entry.as_json(), "row": msgspec.to_builtins(row)})
        return
    page(run_pages.proof_page(folder, entry, width()) + "\n\n" + run_pages.hints(path, entry))


def _show_call(folder: RunFolder, key: str, *, as_json: bool) -> None:
    call = find_call(folder, key)
    if as_json:
        echo_json(call.as_json())
    else:
        page(run_pages.call_page(call, width()))


def _overview_json(folder: RunFolder, found: Any) -> dict[str, Any]:
    return {
        "manifest": msgspec.to_builtins(folder.manifest),
        "summary": msgspec.to_builtins(found.summary),
        "missing": {
            "proofs": found.missing.proofs,
            "calls": found.missing.by_role,
            "last_failures": found.missing.errors,
        },
    }


def _follow(folder: RunFolder, path: Path, *, as_json: bool) -> None:
    """Show every answer as it comes, until nobody writes the run any more; then the scores."""
    if not as_json:
        click.echo("\n".join(run_pages.head(folder, _state(folder, folder.summary().complete))) + "\n")
    sources = folder.sources
    at, lines_before = sources.ledger.end, sources.ledger.n_lines
    while True:
        going = writer(path) is not None  # asked before reading, so that nothing comes between
        sources.refresh()
        for offset, line in sources.calls.lines(at, lines_before=lines_before):
            if offset >= sources.ledger.end:
                break
            _tell(folder, line, as_json=as_json)
        at, lines_before = sources.ledger.end, sources.ledger.n_lines
        if not going:
            break
        sys.stdout.flush()
        time.sleep(_EVERY_S)
    if not as_json:
        found = overview(folder)
        click.echo("\n" + run_pages.first_page(folder, found, _state(folder, found.summary.complete), width()))


def _tell(folder: RunFolder, line: Any, *, as_json: bool) -> None:
    if as_json:
        answer = msgspec.to_builtins(line) | {"type": line.__struct_config__.tag}
        if isinstance(line, CallLine):
            answer["reading"] = reading(folder, line)
        click.echo(json.dumps(answer, ensure_ascii=True))
        return
    if isinstance(line, CallLine):
        text = f"{line.key.text}  {reading(folder, line)}"
    elif isinstance(line, AttemptLine):
        text = f"{line.role}/{line.id}/{line.sample}/{line.repeat}  {line.what}: {line.error} {line.message}"
    elif isinstance(line, SessionLine):
        text = "a session starts" if line.event == "start" else f"the session stops: {line.reason}"
    elif isinstance(line, FinalLine):
        text = f"{len(line.keys)} unanswered calls closed as zero"
    else:
        text = f"batch {line.batch}: {line.event}"
    click.echo(cut(one_line(f"{line.at[11:19]}  {text}"), width()))
