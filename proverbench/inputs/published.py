"""The published evaluator's run folders → runs of ours (docs/data.md, "Runs of the published evaluator").

Its scores stay what they were: replies are kept and read anew, calls that it never got an answer to are closed as
``--final`` closes them. It keeps prompts instead of templates, no times and no attempts; references and annotations are
in its data file alone.
"""

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.errors import DataError
from proverbench.inputs.data import load_rows
from proverbench.inputs.published_files import (
    WrittenManifest,
    WrittenMark,
    WrittenRecord,
    WrittenResponse,
    WrittenSummary,
)
from proverbench.records import (
    Annotation,
    AttemptLine,
    CallKey,
    CallLine,
    Extent,
    FinalLine,
    Identity,
    Line,
    Problem,
    Proof,
    Role,
    RoleIdentity,
    Row,
    Task,
)
from proverbench.run.journal import now
from proverbench.run.session import Draft
from proverbench.run.texts import storable, storable_value
from proverbench.selection import EVERYTHING, PUBLISHED_DOMAINS
from proverbench.version import __version__

T = TypeVar("T")

_PROMPTS: dict[str, Role] = {"generation": "policy", "verifier": "verifier", "meta": "meta"}
_ROLES: tuple[Role, ...] = ("policy", "verifier", "meta")


@dataclass(frozen=True)
class PublishedRun:
    """A run of the published evaluator, ready to be saved as one of ours."""

    draft: Draft
    scores: Mapping[str, Mapping[str, float | int | None] | None]
    """Split → its metrics as its summary.json has them."""
    notes: list[str] = field(default_factory=list)
    """What a user should know of the import."""


def is_published(path: Path) -> bool:
    """Whether the folder is a run of the published evaluator."""
    if not (path / "manifest.json").is_file():
        return False
    try:
        msgspec.json.decode((path / "manifest.json").read_bytes().removeprefix(BOM_UTF8), type=WrittenMark)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def load_published(path: Path, *, data: Path | None = None, unknown_rows: bool = False) -> PublishedRun:
    """Read a folder of the published evaluator.

    Args:
        path: The folder, of a finished or an interrupted run.
        data: The data file that it was made from; it alone has references, annotations, and rows without a record.
        unknown_rows: Whether rows that are only in the data file may stand there as unknown when it is not given.

    Raises:
        DataError: If a file is damaged, the data file is another one, or rows are unknown and may not be.
    """
    manifest = _read(path / "manifest.json", WrittenManifest)
    summary = _read(path / "summary.json", WrittenSummary) if (path / "summary.json").exists() else WrittenSummary()
    records = _records(path, manifest)
    notes: list[str] = []
    if data is not None:
        rows = _rows_of_data(data, manifest, records, path)
    else:
        rows, notes = _rows_of_records(path, manifest, summary, records, unknown_rows)
    if (path / ".running.lock").exists():
        notes.append("it was killed, or is still going: its .running.lock is there")
    expected = manifest.selected_rows * manifest.settings.samples
    if len(records) < expected:
        notes.append(f"{len(records)} of {expected} proofs were finished; what it had of the others, it did not keep")
    settings = manifest.settings
    draft = Draft(
        identity=Identity(
            task=manifest.task,
            roles={role: _role(manifest.config[role]) for role in _ROLES if role in manifest.config},
            prompt_sha256={
                role: manifest.prompt_sha256[name] for name, role in _PROMPTS.items() if name in manifest.prompt_sha256
            },
            use_reference_solution=settings.use_reference_solution,
            neutralise=False,
            data_sha256=manifest.data_sha256,
        ),
        extent=Extent(
            rows=manifest.selected_rows,
            samples=settings.samples,
            verifier_repeats=settings.verifier_repeats,
            meta=settings.meta,
            domain=None if settings.domain == EVERYTHING else settings.domain,
            limit=settings.limit,
        ),
        operation={
            "tool": f"proverbench {__version__}",
            "imported": {
                "evaluator_version": manifest.evaluator_version,
                "run_id": manifest.run_id,
                "code_sha256": manifest.code_sha256,
                "config": manifest.config,
                "scores": {name: split.metrics for name, split in summary.splits.items()},
            },
        },
        rows=rows,
        templates={},
        lines=_Lines(manifest, rows, records),
    )
    scores = {name: split.metrics for name, split in summary.splits.items()}
    return PublishedRun(draft, scores, notes)


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes().removeprefix(BOM_UTF8), type=kind)
    except OSError as exc:
        raise DataError(f"cannot read {path}: {exc.strerror}") from exc
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise DataError(f"{path}: not such a file of the published evaluator: {exc}") from exc


def _role(section: Mapping[str, Any]) -> RoleIdentity:
    # Both of its backends judge finish reasons as our kind openai does: "stop" alone is valid.
    return RoleIdentity(model=str(section.get("model")), kind="openai", generation=section.get("generation") or {})


def _records(path: Path, manifest: WrittenManifest) -> list[WrittenRecord]:
    """The finished records, in their order; from records/, and from results.jsonl where a file is not there."""
    found: dict[str, WrittenRecord] = {}
    results = path / "results.jsonl"
    if results.exists():
        for number, line in enumerate(results.read_bytes().removeprefix(BOM_UTF8).split(b"\n"), start=1):
            if line.strip():
                try:
                    record = msgspec.json.decode(line, type=WrittenRecord)
                except (msgspec.DecodeError, UnicodeDecodeError) as exc:
                    raise DataError(f"{results}:{number}: not a record of the published evaluator: {exc}") from exc
                found[record.record_key] = record
    for file in sorted((path / "records").glob("*.json")):
        record = _read(file, WrittenRecord)
        if record.record_key != file.stem:
            raise DataError(f"{file}: its record_key is {record.record_key!r}")
        found[record.record_key] = record
    faults = []
    for key, record in sorted(found.items()):
        where = f"{path}: record {key}"
        if not re.fullmatch(r"\d{6,}_\d{3,}", key) or record.row >= manifest.selected_rows:
            faults.append(f"{where}: no record of {manifest.selected_rows} rows has that key")
        if record.run_id != manifest.run_id:
            faults.append(f"{where}: it belongs to another run ({record.run_id[:12]}…, not {manifest.run_id[:12]}…)")
        if not 0 <= record.sample_index < manifest.settings.samples:
            faults.append(f"{where}: sample_index is {record.sample_index}, of {manifest.settings.samples}")
        if benchmark_of(manifest.task).labelled and None in (
            record.proof_id,
            record.is_correct,
            record.first_error_step,
        ):
            faults.append(f"{where}: proof_id, is_correct or first_error_step is missing")
    if faults:
        raise DataError.of(faults)
    return [found[key] for key in sorted(found)]


def _rows_of_data(data: Path, manifest: WrittenManifest, records: Iterable[WrittenRecord], path: Path) -> list[Row]:
    dataset = load_rows(benchmark_of(manifest.task), data)
    if dataset.sha256 != manifest.data_sha256:
        raise DataError(
            f"{data} is not the file that {path} was made from: its SHA-256 is {dataset.sha256[:12]}…, "
            f"the run's manifest says {manifest.data_sha256[:12]}…"
        )
    rows: list[Row] = list(dataset.select(domain=manifest.settings.domain, limit=manifest.settings.limit))
    faults = [
        f"{path}: record {record.record_key} is of {record.proof_id or record.problem_id!r}, "
        f"the data file has another row there"
        for record in records
        if record.row >= len(rows) or _names(rows[record.row]) != (record.problem_id, record.proof_id)
    ]
    if len(rows) != manifest.selected_rows:
        faults.append(f"{path}: it selected {manifest.selected_rows} rows, of {data} there are {len(rows)}")
    if faults:
        raise DataError.of(faults)
    return rows


def _names(row: Row) -> tuple[str, str | None]:
    return row.problem_id, row.proof_id if isinstance(row, Proof) else None


def _rows_of_records(
    path: Path, manifest: WrittenManifest, summary: WrittenSummary, records: Iterable[WrittenRecord], unknown_rows: bool
) -> tuple[list[Row], list[str]]:
    known: dict[int, Row] = {}
    for record in records:
        known.setdefault(record.row, _row_of(manifest, record))
    notes = ["reference solutions are in its data file alone: give it with --data FILE to have them"]
    if benchmark_of(manifest.task).labelled:
        notes = [
            "its records hold the first wrong step alone: it stands as a fatal error, without recoverable errors and "
            "comments; give the data file with --data FILE to have references and annotations"
        ]
    ids = [_names(row) for row in known.values()]
    if len(set(ids)) < len(ids):
        raise DataError(f"{path}: two rows have the same id; they can be told apart only in the data file: --data FILE")
    absent = [row for row in range(manifest.selected_rows) if row not in known]
    if absent and not unknown_rows:
        raise DataError(
            f"{path}: {len(absent)} of {manifest.selected_rows} rows have no record, and stand in the data file alone; "
            "give it with --data FILE"
        )
    domains = _domains_of_absent(summary, known.values(), len(absent))
    for row, domain in zip(absent, domains, strict=True):
        known[row] = _unknown(manifest.task, row, domain)
    return [known[row] for row in range(manifest.selected_rows)], notes


def _row_of(manifest: WrittenManifest, record: WrittenRecord) -> Row:
    common: dict[str, Any] = {
        "problem_id": record.problem_id,
        "problem": record.problem,
        "domain": record.domain,
        "subject": record.subject,
    }
    if not benchmark_of(manifest.task).labelled:
        return Problem(**common)
    first = -1 if record.first_error_step is None else record.first_error_step
    return Proof(
        **common,
        proof_id=record.proof_id or "",
        steps=record.steps,
        annotation=Annotation(first_fatal_error_step=first, recoverable_error_steps=[-1]),
        is_correct=bool(record.is_correct),
        first_error_step=first,
    )


def _domains_of_absent(summary: WrittenSummary, known: Iterable[Row], count: int) -> list[str | None]:
    """Domains of rows that have no record, so that every split has as many rows as its summary says."""
    have = [row.domain for row in known]
    domains: list[str | None] = []
    for name in PUBLISHED_DOMAINS:
        split = summary.splits.get(name)
        domains += [name] * max(0, (split.selected_rows if split else 0) - have.count(name))
    return (domains + [None] * count)[:count]


def _unknown(task: Task, row: int, domain: str | None) -> Row:
    text = "(This row has no record; it stands in the data file alone.)"
    if not benchmark_of(task).labelled:
        return Problem(problem_id=f"unknown row {row}", problem=text, domain=domain)
    return Proof(
        problem_id=f"unknown row {row}",
        proof_id=f"unknown row {row}",
        problem=text,
        domain=domain,
        steps=[text],
        annotation=Annotation(first_fatal_error_step=-1, recoverable_error_steps=[-1]),
        is_correct=True,
        first_error_step=-1,
    )


class _Lines(Iterable[Line]):
    """What calls.jsonl says of the records."""

    def __init__(self, manifest: WrittenManifest, rows: list[Row], records: list[WrittenRecord]) -> None:
        self._manifest = manifest
        self._rows = rows
        self._records = records

    def __iter__(self) -> Iterator[Line]:
        closed: list[str] = []
        for record in self._records:
            for key, response, prompt in self._calls(record):
                if response.error is None:
                    yield _answered(key, response, prompt)
                else:
                    closed.append(key.text)
                    yield _unanswered(key, response.error)
        if closed:
            yield FinalLine(at=now(), keys=closed)

    def _calls(self, record: WrittenRecord) -> Iterator[tuple[CallKey, WrittenResponse, str | None]]:
        item, sample = record.proof_id or record.problem_id, record.sample_index
        if record.policy_response is not None:
            yield CallKey("policy", item, sample), record.policy_response, record.inputs.get("policy_prompt")
        for trial in record.verifier_trials:
            key = CallKey("verifier", item, sample, trial.index)
            yield key, trial.response, record.inputs.get("verifier_prompt")
            if trial.meta is not None and trial.meta.response is not None:
                key = CallKey("meta", item, sample, trial.index)
                yield key, trial.meta.response, trial.meta.prompt


def _answered(key: CallKey, response: WrittenResponse, prompt: str | None) -> CallLine:
    text, text_b64 = storable(response.text)
    reasoning, reasoning_b64 = _reasoning(response.reasoning_content)
    finish_reason = response.finish_reason
    return CallLine(
        role=key.role,
        id=key.id,
        sample=key.sample,
        repeat=key.repeat,
        prompt_sha256="" if prompt is None else hashlib.sha256(prompt.encode()).hexdigest(),
        prompt=prompt,
        text=text,
        text_b64=text_b64,
        reasoning=reasoning,
        reasoning_b64=reasoning_b64,
        finish_reason=None if finish_reason is None else str(finish_reason),
        usage=storable_value(response.usage) if isinstance(response.usage, dict) else None,
    )


def _reasoning(sent: Any) -> tuple[str | None, str | None]:
    """Reasoning as it is stored; what is no text, as JSON. It is kept for people and never parsed."""
    if sent in (None, ""):
        return None, None
    return storable(sent if isinstance(sent, str) else msgspec.json.encode(sent).decode())


def _unanswered(key: CallKey, error: str) -> AttemptLine:
    status = re.fullmatch(r"HTTP_(\d{3})", error)
    return AttemptLine(
        role=key.role,
        id=key.id,
        sample=key.sample,
        repeat=key.repeat,
        error=error.lower(),
        message=f"the published evaluator's {error}",
        status=int(status[1]) if status else None,
    )
