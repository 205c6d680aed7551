"""The index of proofs in a report: a short row for each, and the chunks that their texts come in."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from msgspec import UNSET

from proverbench.metrics.arrays import UNLOCATED
from proverbench.records import Judgment, Manifest, ProofRecord, Row

ACCEPTS, MISSING, INVALID_FROM = -1, -2, -10
"""Marks of a judgment in the index of proofs: accepts; not there yet; ``INVALID_FROM - n`` is invalid for reason n;
UNLOCATED rejects and names no step. From 0 on, a mark is the step at which the proof is rejected."""


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
    "grade",
    "steps",
    "chunk",
    "place",
    "runs",
)
"""What a row of the index of proofs holds."""


@dataclass(slots=True)
class Item:
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
    grade: str | None
    """People's grade: ``6/7``."""
    steps: int
    size: int
    runs: list[list[Any]] = field(default_factory=list)
    """For each run that has it: number of the run, why there is no proof (or None), marks; of judges that give grades
    also these, None where there is none."""


class ProofIndex:
    """Every proof of the runs once, with what each run said of it."""

    def __init__(self) -> None:
        self._reasons: dict[str, int] = {}
        self._problems: dict[bytes, tuple[int, str, str]] = {}
        """Digest of a problem → its number, its id, how it begins."""
        self._items: dict[tuple[str, str, bytes], Item] = {}

    def see(self, number: int, record: ProofRecord, row: Row, manifest: Manifest) -> None:
        """Take a record of the run of that number."""
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
            item = self._items[identity] = Item(
                task=task,
                key=record.key,
                id=record.proof_id or record.problem_id,
                problem=place,
                sample=record.sample_index,
                domain=record.domain or "",
                subject=record.subject,
                policy=record.policy or "",
                label=_label(record),
                grade=None if record.grade is UNSET else f"{record.grade:.3g}/{record.max_grade}",
                steps=len(record.steps),
                size=len(row.problem) + sum(map(len, record.steps)),
            )
        item.size += sum(2 * (len(j.assessment or "") + len(j.errors or "")) + 500 for j in record.judgments)
        marks = [MISSING] * (0 if record.generation_error else manifest.extent.verifier_repeats)
        for judgment in record.judgments:
            marks[judgment.repeat] = self._mark(judgment)
        entry: list[Any] = [number, self._why_no_proof(record), marks]
        given = {j.repeat: j.grade for j in record.judgments if j.grade is not UNSET}
        item.runs.append([*entry, [given.get(repeat) for repeat in range(len(marks))]] if given else entry)

    def chunks(self) -> list[list[Item]]:
        """The proofs in the order that people read them, cut where a chunk's texts are long enough."""
        ordered = sorted(self._items.values(), key=lambda item: (item.task, item.problem, item.runs[0][0], item.sample))
        return list(_chunks(ordered))

    def as_json(self, chunks: Sequence[Sequence[Item]]) -> dict[str, Any]:
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
                item.grade,
                item.steps,
                number,
                place,
                item.runs,
            ]
            for number, chunk in enumerate(chunks)
            for place, item in enumerate(chunk)
        ]
        return {
            "columns": list(_COLUMNS),
            "proofs": proofs,
            "problems": [[problem_id, opening] for _, problem_id, opening in self._problems.values()],
            "reasons": list(self._reasons),
            **{column: list(names[column]) for column in ("domains", "subjects", "policies")},
        }

    def _mark(self, judgment: Judgment) -> int:
        if judgment.valid and judgment.first_error_step is not None:
            return judgment.first_error_step
        if judgment.valid:
            return ACCEPTS if judgment.accepting else UNLOCATED
        return INVALID_FROM - self._reasons.setdefault(judgment.reason or "invalid", len(self._reasons))

    def _why_no_proof(self, record: ProofRecord) -> str | None:
        if record.generation_error is not None:
            return record.generation_error
        return "pending" if record.proof_id is None and not record.steps else None


def _chunks(items: Sequence[Item]) -> Iterator[list[Item]]:
    chunk: list[Item] = []
    size = 0
    for item in items:
        if chunk and size + item.size > CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += item.size
    if chunk:
        yield chunk


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
