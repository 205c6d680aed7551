"""What ``proverbench data`` does: to fetch, validate and show data files."""

import difflib
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from proverbench.cli.common import EXIT_BAD_INPUT, EXIT_COMPLETE
from proverbench.cli.data_shown import described
from proverbench.cli.pages import cut, page, printable, section
from proverbench.cli.streams import echo, echo_json
from proverbench.errors import DataError
from proverbench.inputs.data import Dataset, describe, load_problems, load_proofs, looks_like_proofs
from proverbench.inputs.fetch import PINNED, PinnedFile
from proverbench.inputs.fetch import fetch as fetch_file
from proverbench.inputs.prompt_set import FOLDER, REVISION, fetch_prompts
from proverbench.records import Problem, Proof


def _load(path: Path, kind: str) -> Dataset[Any]:
    proofs = looks_like_proofs(path) if kind == "auto" else kind == "proofs"
    return load_proofs(path) if proofs else load_problems(path)


def validate_files(files: tuple[Path, ...], kind: str, as_json: bool) -> int:
    """Check files by every rule, and say what they hold."""
    told: list[dict[str, Any]] = []
    for path in files:
        try:
            dataset = _load(path, kind)
        except DataError as exc:
            told.append({"file": str(path), "valid": False, "faults": str(exc).split("\n")})
        else:
            rows_are = "proofs" if isinstance(dataset.rows[0], Proof) else "problems"
            told.append({"file": str(path), "valid": True, "kind": rows_are, **describe(dataset)})
    if as_json:
        echo_json(told)
    else:
        for found in told:
            if found["valid"]:
                click.echo(described(found))
        for fault in (fault for found in told if not found["valid"] for fault in found["faults"]):
            click.echo(printable(fault), err=True)
    faulty = [found for found in told if not found["valid"]]
    if faulty:
        n_faults = sum(len(found["faults"]) for found in faulty)
        where = faulty[0]["file"] if len(faulty) == 1 else f"{len(faulty)} of {len(told)} files"
        click.echo(f"{n_faults} {'fault' if n_faults == 1 else 'faults'} in {where}", err=True)
    return EXIT_BAD_INPUT if faulty else EXIT_COMPLETE


def show_rows(file: Path, row: str | None, kind: str, as_json: bool) -> None:
    """Show one row, by its id or its index from 0; without ROW, list the rows."""
    dataset = _load(file, kind)
    chosen = dataset.rows if row is None else _find(dataset, row)
    if as_json:
        for item in chosen:
            click.echo(msgspec.json.encode(item).decode())
    elif row is not None and len(chosen) == 1:
        page(_shown(chosen[0], dataset))
    else:
        numbers = {id(item): number for number, item in enumerate(dataset.rows)}
        page("\n".join(_listed(numbers[id(item)], item) for item in chosen))


def _find(dataset: Dataset[Any], wanted: str) -> list[Problem]:
    """Rows of that proof id, else that problem id, else that index."""
    for name in ("proof_id", "problem_id"):
        found = [row for row in dataset.rows if getattr(row, name, None) == wanted]
        if found:
            return found
    if wanted.isdecimal() and int(wanted) < len(dataset.rows):
        return [dataset.rows[int(wanted)]]
    ids = dict.fromkeys(row.proof_id if isinstance(row, Proof) else row.problem_id for row in dataset.rows)
    near = difflib.get_close_matches(wanted, ids, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    last = len(dataset.rows) - 1
    raise DataError(f"{dataset.path}: has no row {wanted!r}: no such id, and indices are 0 to {last}{guess}")


def _listed(number: int, row: Problem) -> str:
    """A row in one line of at most 80 characters."""
    name = row.proof_id if isinstance(row, Proof) else row.problem_id
    label = f"{_label(row):<12} " if isinstance(row, Proof) else ""
    head = f"{number:>4}  {cut(printable(name), 28):<28} {cut(printable(row.domain or '-'), 8):<8} {label}"
    return head + cut(printable(" ".join(row.problem.split())), 80 - len(head))


def _label(proof: Proof) -> str:
    if proof.is_correct:
        return "correct"
    if proof.first_error_step is None:
        return "incorrect"
    sort = "fatal" if proof.annotation.first_fatal_error_step == proof.first_error_step else "recov."
    return f"{sort} {proof.first_error_step}/{len(proof.steps)}"


def _shown(row: Problem, dataset: Dataset[Any]) -> str:
    """A whole row for people, 80 columns wide."""
    line = next(line for line, item in zip(dataset.lines, dataset.rows, strict=True) if item is row)
    facts = {
        "problem": row.problem_id,
        "proof": row.proof_id if isinstance(row, Proof) else "",
        "written by": (row.policy or "") if isinstance(row, Proof) else "",
        "domain": row.domain or "(none)",
        "subject": row.subject,
        "source": row.source_id,
        "from": f"{dataset.path}:{line}",
    }
    parts = ["\n".join(f"{name:<10} {printable(value)}" for name, value in facts.items() if value)]
    parts.append(section("Problem", row.problem))
    if isinstance(row, Proof):
        parts += [_step(row.annotation.first_fatal_error_step, row, n) for n in range(len(row.steps))]
        parts.append(section("Label", _label_text(row)))
        for title, text in (
            ("Reviewer's comment", row.annotation.reviewer_comment),
            ("Reason of the first error", row.annotation.first_error_reason),
            ("Remark", row.annotation.remark),
        ):
            parts += [section(title, text)] if text.strip() else []
    parts += [section("Reference answer", row.reference_answer)] if row.reference_answer.strip() else []
    parts.append(section("Reference solution", row.reference_solution.strip() or "(none)"))
    return "\n\n".join(parts)


def _step(fatal: int | None, row: Proof, n: int) -> str:
    mark = ""
    if n == fatal:
        mark = "  ✗ fatal error"
    elif n in row.annotation.recoverable_error_steps:
        mark = "  ✗ recoverable error"
    return section(f"Step {n}{mark}", row.steps[n])


def _label_text(row: Proof) -> str:
    if row.is_correct:
        return "correct: no error found"
    annotation = row.annotation
    if row.first_error_step is None:
        return "incorrect; the step is not known, the proof was judged as a whole"
    return (
        f"incorrect, first error at step {row.first_error_step}; first fatal error "
        f"{annotation.first_fatal_error_step}, recoverable {annotation.recoverable_error_steps}"
    )


def fetch_published(what: str, source: str | None, output: Path | None) -> None:
    """Get the published AdvancedMathBench files, at their pinned revision: both, or the one that is named."""
    if what == "prompts":
        _fetch_prompts(output, source)
        return
    output = output or Path("data/advancedmathbench")
    for name in PINNED if what == "all" else (what,):
        path, fetched = _fetch_shown(PINNED[name], output, source)
        found = describe(_load(path, "auto"))
        echo(f"{path}: {found['rows']} rows, {'fetched' if fetched else 'there already'}, SHA-256 as pinned")


def _fetch_prompts(output: Path | None, source: str | None) -> None:
    for prompt in fetch_prompts(output or FOLDER, source=source):
        known = "recorded now: no hash is published" if prompt.first else "as at the first fetch"
        echo(f"{prompt.path}: {prompt.role}, revision {REVISION}, SHA-256 {prompt.sha256} ({known})")
    echo("use them with: --prompts " + ("published" if output in (None, FOLDER) else shlex.quote(str(output))))


def _fetch_shown(file: PinnedFile, output: Path, source: str | None) -> tuple[Path, bool]:
    """Fetch with a progress bar; the hub's library shows its own."""
    if source is None:
        return fetch_file(file, output)
    with click.progressbar(length=1, label=f"{file.name:<13}", file=sys.stderr, show_pos=True) as bar:

        def moved(have: int, total: int | None) -> None:
            bar.length = total or have
            bar.pos = 0
            bar.update(have)

        return fetch_file(file, output, source=source, progress=moved)
