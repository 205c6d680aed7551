"""Runs to a report: plain data for the page and for Markdown. Chooses what to show; computes no metric of its own."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import UnsetType

from proverbench.benchmark import BENCHMARKS, benchmark_of
from proverbench.errors import PromptError, RunMismatchError
from proverbench.inputs.data import splits
from proverbench.metrics.agreement import human_agreement, repeat_agreement, step_confusion
from proverbench.metrics.arrays import UNLOCATED, JudgmentArrays
from proverbench.metrics.breakdown import breakdown
from proverbench.metrics.comparison import compare_runs
from proverbench.metrics.rates import exact_sums
from proverbench.metrics.registry import headlines, headlines_first, metrics_of
from proverbench.metrics.shown import LITTLE_EVIDENCE, shown_interval
from proverbench.metrics.voting import Cost, best_threshold, pass_at_k, voting_curve
from proverbench.protocols.basic_v1 import decode_field, error_items
from proverbench.records import CallKey, CallLine, Judgment, Manifest, Problem, ProofRecord, Row, Summary, Task
from proverbench.run.boards import Entry
from proverbench.run.comparability import (
    ASPECTS,
    Side,
    common_headlines,
    comparable,
    differences,
    doubts,
    of_weight,
)
from proverbench.run.folder import RunFolder, timing
from proverbench.run.journal import exact_text
from proverbench.run.remarks import remarks
from proverbench.run.saved import call_cost, names_of
from proverbench.show.report.beside import boards_head
from proverbench.unseen import unseen
from proverbench.version import SCORED_BY

ACCEPTS, MISSING, INVALID_FROM = -1, -2, -10
"""Marks of a judgment in the index of proofs: accepts; not there yet; ``INVALID_FROM - n`` is invalid for reason n.
From 0 on, a mark is the step at which the proof is rejected."""

CHUNK_CHARACTERS = 600_000
"""About how much text is unpacked at once when a proof is looked at."""


_COLUMNS = (
    "task",
    "key",
    "problem",
    "sample",
    "domain",
    "subject",
    "policy",
    "label",
    "steps",
    "chunk",
    "place",
    "runs",
)
"""What a row of the index of proofs holds."""


@dataclass(slots=True)
class _Item:
    """One proof, and which runs judged it."""

    task: str
    key: str
    id: str
    """Names its calls: proof id in VerifierBench, problem id in ProverBench."""
    problem: int
    sample: int
    domain: str
    subject: str
    policy: str
    label: int | None
    steps: int
    size: int
    runs: list[list[Any]] = field(default_factory=list)
    """For each run that has it: number of the run, why there is no proof (or None), marks."""


@dataclass(slots=True)
class _Run:
    name: str
    folder: RunFolder
    summary: Summary
    arrays: JudgmentArrays
    missing: dict[str, int]
    answered: dict[str, int]
    cost: Cost | None

    @property
    def entry(self) -> Entry:
        """The run as one of several that stand side by side."""
        return Entry(self.folder.manifest, self.summary, self.folder.rows(), self.arrays)


class Report:
    """What a page or a summary shows of one or more runs.

    Args:
        runs: Name and folder of each, in the order to show them; names differ.
        published: Whether to show the published results beside them.

    Attributes:
        head: Everything but the texts of proofs and judgments, as JSON-ready data (docs/report.md).
        n_chunks: How many pieces the texts come in.
    """

    def __init__(self, runs: Sequence[tuple[str, RunFolder]], *, published: bool = False) -> None:
        self._reasons: dict[str, int] = {}
        self._problems: dict[bytes, tuple[int, str, str]] = {}
        """Digest of a problem → its number, its id, how it begins."""
        self._items: dict[tuple[str, str, bytes], _Item] = {}
        self._runs = [self._take(number, name, folder) for number, (name, folder) in enumerate(runs)]
        ordered = sorted(self._items.values(), key=lambda item: (item.task, item.problem, item.runs[0][0], item.sample))
        self._chunks = list(_chunks(ordered))
        self.n_chunks = len(self._chunks)
        self.head: dict[str, Any] = {
            "made_by": SCORED_BY,
            "little_evidence": LITTLE_EVIDENCE,
            "metrics": {task: _metrics(task) for task in dict.fromkeys(run.arrays.task for run in self._runs)},
            "runs": [_overview(run) for run in self._runs],
            "comparisons": list(_comparisons(self._runs)),
            **boards_head({run.name: run.entry for run in self._runs}),
            "published": _published(self._runs) if published else None,
            "index": self._index(),
        }

    def chunk(self, number: int) -> dict[str, Any]:
        """The texts of some proofs: ``problems``, and for each proof its steps, annotation, judgments and calls."""
        problems: dict[int, dict[str, Any]] = {}
        proofs = []
        for item in self._chunks[number]:
            proof: dict[str, Any] = {"problem": item.problem, "runs": []}
            for run_number, *_ in item.runs:
                run = self._runs[run_number]
                row = run.folder.row(item.id)
                record = run.folder.record(item.id, item.sample)
                if record is None:
                    continue
                problems.setdefault(item.problem, _problem(row))
                proof.setdefault("steps", record.steps)
                if record.annotation is not None:
                    proof["annotation"] = _annotation(record)
                proof["runs"].append(_judged(run.folder, run_number, item, record))
            proofs.append(proof)
        return {"problems": problems, "proofs": proofs}

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Every chunk in turn."""
        return map(self.chunk, range(self.n_chunks))

    def _take(self, number: int, name: str, folder: RunFolder) -> _Run:
        manifest = folder.manifest
        missing: Counter[str] = Counter()
        answered: Counter[str] = Counter()

        def see(record: ProofRecord) -> None:
            missing.update(_missing(record, manifest))
            answered.update(_answered(record, manifest))
            self._index_record(number, record, folder.row(record.proof_id or record.problem_id), manifest)

        summary, arrays = folder.scored(see)
        scored = any(split.metrics for split in summary.splits.values())
        return _Run(name, folder, summary, arrays, dict(missing), dict(answered), call_cost(folder) if scored else None)

    def _index_record(self, number: int, record: ProofRecord, row: Row, manifest: Manifest) -> None:
        task = manifest.identity.task
        texts = (record.problem_id, row.problem, row.reference_solution, row.reference_answer)
        digest = _digest(texts)
        if digest not in self._problems:
            self._problems[digest] = (len(self._problems), record.problem_id, _opening(row.problem))
        place = self._problems[digest][0]
        # The same for runs that judged the very same proof of the very same problem, reference and all; a proof that
        # does not exist is each run's own.
        identity = (task, record.key, _digest([*texts, *(record.steps or [f"run {number}"])]))
        item = self._items.get(identity)
        if item is None:
            item = self._items[identity] = _Item(
                task=task,
                key=record.key,
                id=record.proof_id or record.problem_id,
                problem=place,
                sample=record.sample_index,
                domain=record.domain or "",
                subject=record.subject,
                policy=record.policy or "",
                label=_label(record),
                steps=len(record.steps),
                size=len(row.problem) + sum(map(len, record.steps)),
            )
        item.size += sum(2 * (len(j.assessment or "") + len(j.errors or "")) + 500 for j in record.judgments)
        marks = [MISSING] * (0 if record.generation_error else manifest.extent.verifier_repeats)
        for judgment in record.judgments:
            marks[judgment.repeat] = self._mark(judgment)
        item.runs.append([number, self._why_no_proof(record), marks])

    def _mark(self, judgment: Judgment) -> int:
        if judgment.valid and judgment.first_error_step is not None:
            return judgment.first_error_step
        return INVALID_FROM - self._reasons.setdefault(judgment.reason or "invalid", len(self._reasons))

    def _why_no_proof(self, record: ProofRecord) -> str | None:
        if record.generation_error is not None:
            return record.generation_error
        return "pending" if record.proof_id is None and not record.steps else None

    def _index(self) -> dict[str, Any]:
        """Proofs as rows of short values, texts that recur as numbers."""
        names: dict[str, dict[str, int]] = defaultdict(dict)

        def code(column: str, text: str) -> int:
            return names[column].setdefault(text, len(names[column]))

        proofs = [
            [
                item.task,
                item.key,
                item.problem,
                item.sample,
                code("domains", item.domain),
                code("subjects", item.subject),
                code("policies", item.policy),
                item.label,
                item.steps,
                number,
                place,
                item.runs,
            ]
            for number, chunk in enumerate(self._chunks)
            for place, item in enumerate(chunk)
        ]
        return {
            "columns": list(_COLUMNS),
            "proofs": proofs,
            "problems": [[problem_id, opening] for _, problem_id, opening in self._problems.values()],
            "reasons": list(self._reasons),
            **{column: list(names[column]) for column in ("domains", "subjects", "policies")},
        }


def _chunks(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    chunk: list[_Item] = []
    size = 0
    for item in items:
        if chunk and size + item.size > CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += item.size
    if chunk:
        yield chunk


def _fractions(run: _Run, split: str) -> dict[str, str]:
    """The exact fraction behind each metric; of one made of several rates, how it is made of them."""
    found = exact_sums(run.arrays.split(split), meta=run.folder.manifest.extent.meta)
    return {metric: str(sums) for metric, sums in found.items()}


def _label(record: ProofRecord) -> int | None:
    """The human's first wrong step, -1 for none, UNLOCATED where none is named; None without a label."""
    if record.is_correct is False and record.first_error_step is None:
        return UNLOCATED
    return record.first_error_step


def _digest(texts: Iterable[str]) -> bytes:
    state = blake2b(digest_size=12)
    for part in texts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "big") + data)
    return state.digest()


def _opening(problem: str) -> str:
    text = " ".join(problem.split())
    return text if len(text) <= 140 else text[:139] + "…"


def _missing(record: ProofRecord, manifest: Manifest) -> Counter[str]:
    """Calls of this proof that are not answered (nor closed), by role, as far as one can tell."""
    if record.complete:
        return Counter()
    if record.proof_id is None and not record.steps:
        return Counter({"policy": 1, "verifier": manifest.extent.verifier_repeats})
    ungraded = sum(1 for j in record.judgments if j.valid and j.meta is None) if manifest.extent.meta else 0
    lacking = manifest.extent.verifier_repeats - len(record.judgments)
    return Counter({"verifier": lacking, "meta": ungraded + (lacking if manifest.extent.meta else 0)})


# ---------------------------------------------------------------- one run


def _overview(run: _Run) -> dict[str, Any]:
    manifest, summary = run.folder.manifest, run.summary
    identity, extent = manifest.identity, manifest.extent
    times = timing(run.folder.sources)
    return {
        "name": run.name,
        "task": identity.task,
        "complete": summary.complete,
        "run_id": summary.run_id,
        "protocol": summary.protocol,
        "scored_by": summary.scored_by,
        "tool": manifest.operation.get("tool"),
        "imported": _imported(manifest),
        "roles": [
            {
                "role": role,
                "model": settings.model,
                "kind": settings.kind,
                "generation": settings.generation,
                "prompt_sha256": identity.prompt_sha256.get(role),
                "own_prompt": role in identity.own_prompts,
            }
            for role, settings in identity.roles.items()
        ],
        "data_sha256": identity.data_sha256,
        "proofs_sha256": identity.proofs_sha256,
        "use_reference_solution": identity.use_reference_solution,
        "neutralise": identity.neutralise,
        "rows": extent.rows,
        "samples": extent.samples,
        "repeats": extent.verifier_repeats,
        "meta": extent.meta,
        "domain": extent.domain,
        "limit": extent.limit,
        "shard": extent.shard,
        "sessions": times["sessions"],
        "seconds": times["seconds"],
        "calls": times["roles"],
        "usage": summary.usage,
        "invalid": summary.invalid,
        "answered": run.answered,
        "missing": {role: count for role, count in run.missing.items() if count},
        "closed_unanswered": summary.closed_unanswered,
        "warnings": remarks(manifest, summary),
        "splits": {name: _split(run, name) for name in splits(run.folder.rows())},
    }


def _metrics(task: Task) -> list[dict[str, Any]]:
    """What the page says of each metric of a benchmark, headlines first."""
    known = metrics_of(task)
    return [
        {
            "name": name,
            "label": known[name].label,
            "heading": known[name].heading,
            "help": known[name].help,
            "unit": known[name].unit,
            "better": known[name].better,
            "headline": known[name].headline,
        }
        for name in headlines_first(task)
    ]


def _imported(manifest: Manifest) -> dict[str, Any] | None:
    """What the published evaluator said of a run that it made; None for a run of our own."""
    origin = manifest.operation.get("imported")
    if origin is None:
        return None
    return {name: origin.get(name) for name in ("evaluator_version", "run_id", "code_sha256")}


def _answered(record: ProofRecord, manifest: Manifest) -> Counter[str]:
    """Replies that are there (or closed by ``--final``), by role: what the counts of invalid ones are a share of."""
    answered = Counter({"verifier": len(record.judgments)})
    if benchmark_of(manifest.identity.task).samples:
        answered["policy"] = int(record.generation_error is not None or bool(record.steps))
    if manifest.extent.meta:
        answered["meta"] = sum(judgment.meta is not None for judgment in record.judgments)
    return answered


def _split(run: _Run, name: str) -> dict[str, Any]:
    split = run.summary.splits[name]
    shown: dict[str, Any] = {
        "selected_rows": split.selected_rows,
        "expected_records": split.expected_records,
        "completed_records": split.completed_records,
        "complete": split.complete,
        "metrics": split.metrics,
        "intervals": {metric: _shown(interval) for metric, interval in (split.intervals or {}).items()},
        "bounds": split.bounds,
        "fractions": {} if split.metrics is None else _fractions(run, name),
        "undefined": {} if isinstance(split.undefined, UnsetType) else split.undefined,
    }
    if split.metrics is not None:
        shown["plots"] = _plots(run, run.arrays.split(name))
    return shown


def _plots(run: _Run, arrays: JudgmentArrays) -> dict[str, Any]:
    manifest = run.folder.manifest
    task, meta = manifest.identity.task, manifest.extent.meta
    cost = run.cost
    plots: dict[str, Any] = {
        "voting": [_light(row) for row in voting_curve(arrays, cost=cost)],
        "cost_unit": cost.unit if cost else None,
        "breakdown": {
            by: [_light(row) for row in breakdown(arrays, by, meta=meta) if row["metric"] in headlines(task)]
            for by in benchmark_of(task).factors
        },
    }
    if arrays.repeats > 1:
        plots["agreement"] = [_light(row) for row in repeat_agreement(arrays)]
    if benchmark_of(task).samples:
        plots["pass_at_k"] = [_light(row) for row in pass_at_k(arrays)]
    else:
        plots["confusion"] = step_confusion(arrays)
        plots["human_agreement"] = [_light(row) for row in human_agreement(arrays)]
        if arrays.repeats > 1:
            plots["threshold"] = best_threshold(arrays)
    return plots


def _light(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose interval is kept as far as it is shown."""
    return row | {"interval": _shown(row["interval"])} if "interval" in row else row


def _pair(row: Mapping[str, Any]) -> dict[str, Any]:
    """A pair of runs as it is shown: with the interval that agrees with its verdict."""
    left = {name: value for name, value in row.items() if name not in ("same_problems", "step_interval")}
    return left | {"interval": _shown(row["step_interval"])}


def _shown(interval: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The interval that people are shown: its ends, the number of problems, and how many carry the rarer outcome."""
    shown = shown_interval(interval)
    if interval is None or shown is None:
        return None
    return {**shown._asdict(), "n": interval.get("n"), "evidence": interval.get("evidence")}


# ---------------------------------------------------------------- several runs


def _comparisons(runs: Sequence[_Run]) -> Iterator[dict[str, Any]]:
    """For each task and split that at least two runs have completed: the paired differences, or why there are none."""
    for task in BENCHMARKS:
        chosen = [run for run in runs if run.folder.manifest.identity.task == task]
        refused = False
        for split in dict.fromkeys(name for run in chosen for name in run.summary.splits):
            ready = [run for run in chosen if split in run.summary.splits and run.summary.splits[split].metrics]
            if len(ready) < 2:
                continue
            groups = _comparable(ready)
            if len(groups) > 1 and not refused:
                refused = True  # once a task: it is the same for every split
                found = differences({run.name: run.folder.manifest for run in ready})
                why = "; ".join(map(str, of_weight(found, "refuses")))
                yield {"task": task, "split": split, "runs": [run.name for run in ready], "reason": why}
            for group in groups:
                if len(group) > 1:
                    yield {"task": task, "split": split, "runs": [run.name for run in group], **_compare(group, split)}


def _comparable(runs: Sequence[_Run]) -> list[list[_Run]]:
    """Runs that differ in nothing that refuses a comparison, together."""
    groups: dict[tuple[str, ...], list[_Run]] = {}
    for run in runs:
        manifest = run.folder.manifest
        task = manifest.identity.task
        key = tuple(str(aspect.read(manifest)) for aspect in ASPECTS if aspect.weight(task) == "refuses")
        groups.setdefault(key, []).append(run)
    return list(groups.values())


def _compare(runs: Sequence[_Run], split: str) -> dict[str, Any]:
    manifests = {run.name: run.folder.manifest for run in runs}
    meta = all(manifest.extent.meta for manifest in manifests.values())
    found = differences(manifests)
    metrics = comparable(common_headlines(manifests), found, runs[0].folder.manifest.identity.task)
    try:
        result = compare_runs({run.name: run.arrays.split(split) for run in runs}, metrics=metrics, meta=meta)
    except ValueError as exc:
        return {"reason": str(exc)}
    sides = {run.name: Side(run.folder.manifest, run.summary, run.folder.rows()) for run in runs}
    return {
        "reason": None,
        "warnings": doubts(sides, found, split),
        "problems": result["problems"],
        "left_out": result["left_out"],
        "pairs": [_pair(row) for row in result["pairs"]],
        "ranks": result["ranks"],
    }


def published_table() -> list[dict[str, Any]]:
    """The published Table 1, scores as shares (0 to 1); source in published/README.md."""
    text = (files("proverbench.show.report") / "published" / "table1.csv").read_text(encoding="utf-8")
    return [
        {name: value if name in ("model", "group") else float(value) / 100 for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _published(runs: Sequence[_Run]) -> dict[str, Any]:
    return {
        "source": "arXiv 2607.11849, Table 1",
        "rows": published_table(),
        "differences": {run.name: list(_differences(run.folder.manifest)) for run in runs},
    }


def _differences(manifest: Manifest) -> Iterator[str]:
    """What certainly keeps a run from being comparable with the published table."""
    identity, extent = manifest.identity, manifest.extent
    if identity.own_prompts:
        yield f"proverbench's own prompts ({', '.join(identity.own_prompts)})"
    published = benchmark_of(identity.task)
    if extent.verifier_repeats != published.repeats:
        yield f"{extent.verifier_repeats} judgments a proof, published {published.repeats}"
    if identity.use_reference_solution != published.reference_shown:
        yield "reference solution " + ("shown" if identity.use_reference_solution else "not shown") + " to the judge"
    if extent.rows != published.published_rows:
        yield f"{extent.rows} rows, published {published.published_rows}"


# ---------------------------------------------------------------- texts


def _problem(row: Problem) -> dict[str, Any]:
    return {
        "id": row.problem_id,
        "text": row.problem,
        "reference": row.reference_solution,
        "answer": row.reference_answer,
        "source_id": row.source_id,
    }


def _annotation(record: ProofRecord) -> dict[str, Any]:
    note = record.annotation
    assert note is not None
    return {
        "fatal": note.first_fatal_error_step,
        "recoverable": [step for step in note.recoverable_error_steps if step >= 0],
        "comment": note.reviewer_comment,
        "reason": note.first_error_reason,
        "remark": note.remark,
        "correct": record.is_correct,
        "first": record.first_error_step,
    }


def _judged(folder: RunFolder, number: int, item: _Item, record: ProofRecord) -> dict[str, Any]:
    key = CallKey("verifier", item.id, item.sample, 0)
    shown: dict[str, Any] = {
        "run": number,
        "complete": record.complete,
        "score": record.score,
        "neutralised": record.neutralised,
        "unseen": sum(map(unseen, record.steps)),
        "prompt": _prompt(folder, key),
        "judgments": [_judgment(folder, item, judgment) for judgment in record.judgments],
    }
    if record.proof_id is None:
        key = CallKey("policy", item.id, item.sample)
        shown["policy"] = {"prompt": _prompt(folder, key), **_call(folder.call(key))}
    return shown


def _judgment(folder: RunFolder, item: _Item, judgment: Judgment) -> dict[str, Any]:
    key = CallKey("verifier", item.id, item.sample, judgment.repeat)
    shown: dict[str, Any] = {
        "repeat": judgment.repeat,
        "valid": judgment.valid,
        "step": judgment.first_error_step,
        "reason": judgment.reason,
        "assessment": decode_field(judgment.assessment or ""),
        "errors": error_items(judgment.errors or ""),
        **_call(folder.call(key)),
    }
    if judgment.meta is not None:
        key = CallKey("meta", item.id, item.sample, judgment.repeat)
        line = folder.call(key) if folder.manifest.extent.meta else None
        shown["meta"] = {
            "level": judgment.meta.level,
            "reason": judgment.meta.reason,
            "prompt": _prompt(folder, key) if line else None,
            **_call(line),
        }
    return shown


def _call(line: CallLine | None) -> dict[str, Any]:
    """A reply as it came, and what is known of the call."""
    if line is None:
        return {"reply": None}
    return {
        "reply": exact_text(line),
        "reasoning": line.reasoning or None,
        "finish": line.finish_reason,
        "refused": line.refused,
        "model": line.model,
        "at": line.at,
        "seconds": round(line.latency_s, 2),
        "usage": line.usage,
        "prompt_sha256": line.prompt_sha256,
    }


def _prompt(folder: RunFolder, key: CallKey) -> str | None:
    """The exact prompt; None where the run cannot tell it (an imported run without its template, another was sent)."""
    try:
        return folder.prompt(key)
    except (KeyError, PromptError):
        return None


# ---------------------------------------------------------------- opening


@contextmanager
def open_runs(paths: Sequence[Path], *, published: bool = False) -> Iterator[Report]:
    """The report of the runs in some folders, named after them; the folders stay open as long as it is used.

    Raises:
        RunMismatchError: If a folder is no run, or is given twice.
        JournalError: If a run is damaged.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise RunMismatchError("a run is given twice")
    with ExitStack() as stack:
        folders = []
        for path in paths:
            folder = RunFolder(path)
            stack.callback(folder.close)
            folders.append(folder)
        yield Report(list(zip(names_of(paths), folders, strict=True)), published=published)
