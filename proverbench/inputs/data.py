"""Data files: JSONL → problems and annotated proofs, checked whole before anything is called (docs/data.md).

A file is read once, line by line; its rows are kept, its text is not. Every fault of the file is found before it is
refused, each as ``file:line: field NAME: found …; wanted …``.
"""

import hashlib
import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from proverbench.benchmark import Benchmark
from proverbench.errors import DataError, InvalidReply
from proverbench.inputs.graded import graded_annotation, read_grade
from proverbench.inputs.splitting import Split, Unsplittable, split_proof
from proverbench.inputs.tables import plain_tex, read_text
from proverbench.protocols.basic_v1 import parse_steps
from proverbench.records import Annotation, Problem, Proof
from proverbench.selection import EVERYTHING, parse_shard, shard_of
from proverbench.shipped import resolve

R = TypeVar("R", bound=Problem)

_ABSENT: Any = object()
_LONE_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Dataset(Generic[R]):
    """A data file that keeps all rules."""

    path: Path
    rows: list[R]
    """All rows, in file order."""
    sha256: str
    """Of the file's bytes."""
    lines: list[int] = field(default_factory=list, repr=False)
    """Line number of each row, 1-based."""

    def select(self, *, domain: str | None = None, limit: int | None = None, shard: str | None = None) -> list[R]:
        """The rows that a run asks about: of ``domain``, then the first ``limit``, then those of ``shard``.

        Args:
            domain: A domain's name; None or ``all`` for every row.
            limit: At most so many rows; None for all.
            shard: ``i/n``, 1-based; which shard a row is in depends on its ``problem_id`` alone. May be empty.

        Raises:
            DataError: If no row has that domain, or ``shard`` is not ``i/n``.
        """
        rows = self.rows
        if domain is not None and domain != EVERYTHING:
            rows = [row for row in rows if row.domain == domain]
            if not rows:
                there = ", ".join(sorted({row.domain for row in self.rows if row.domain})) or "none"
                raise DataError(f"{self.path}: no row has the domain {domain!r}; domains there: {there}")
        if limit is not None:
            rows = rows[:limit]
        if shard is not None:
            index, count = parse_shard(shard)
            rows = [row for row in rows if shard_of(row.problem_id, count) == index]
        return list(rows)


def derive_problem_id(problem: str) -> str:
    """The id of a problem whose row has none, as the published evaluator derives it."""
    return "amb-p-" + hashlib.sha256(problem.encode()).hexdigest()[:16]


def derive_proof_id(problem_id: str, steps: list[str]) -> str:
    """The id of a proof whose row has none, as the published evaluator derives it."""
    text = json.dumps([problem_id, steps], ensure_ascii=False, separators=(",", ":"))
    return "amb-v-" + hashlib.sha256(text.encode()).hexdigest()[:16]


def load_rows(
    benchmark: Benchmark, path: Path | str, *, correct_from: float | None = None
) -> "Dataset[Problem] | Dataset[Proof]":
    """The input rows of a benchmark, from a file.

    Args:
        benchmark: Which.
        path: The file.
        correct_from: As :func:`load_proofs` takes it; problems have no grades.

    Raises:
        DataError: Lists every fault of the file.
    """
    if benchmark.row is Proof:
        return load_proofs(path, correct_from=correct_from)
    if correct_from is not None:
        raise DataError(f"--correct-from {correct_from:g} is about proofs that people graded; {path} has problems")
    return load_problems(path)


def load_problems(path: Path | str) -> Dataset[Problem]:
    """Read ProverBench data.

    Args:
        path: A JSONL file, a problem a line (docs/data.md), or ``shipped:proverbench``.

    Raises:
        DataError: Lists every fault of the file, each with its line and field.
    """
    return _load(resolve(path, "data"), _problem, "problem_id")


def load_proofs(path: Path | str, *, correct_from: float | None = None) -> Dataset[Proof]:
    """Read VerifierBench data.

    Args:
        path: A JSONL file, an annotated or graded proof a line (docs/data.md), or ``shipped:verifierbench``.
        correct_from: The points from which a proof that was only graded counts as correct; None: 6 of 7, else all.

    Raises:
        DataError: Lists every fault of the file, each with its line and field.
    """
    path = resolve(path, "data")
    dataset = _load(path, lambda row: _proof(row, correct_from), "proof_id")
    if correct_from is not None:
        _check_correct_from(path, dataset, correct_from)
    return dataset


def _check_correct_from(path: Path, dataset: Dataset[Proof], correct_from: float) -> None:
    scales = sorted({row.max_grade for row in dataset.rows if isinstance(row.max_grade, int)})
    if len(scales) != 1:
        found = f"scales of {', '.join(map(str, scales))} points" if scales else "no grades"
        raise DataError(f"{path}: found {found}; --correct-from {correct_from:g} needs grades on one scale")
    if not 0 < correct_from <= scales[0]:
        raise DataError(f"{path}: --correct-from is {correct_from:g}; give a number above 0 and up to {scales[0]}")


@dataclass(frozen=True)
class LabelLine:
    """A line of a labels file: VerifierBench data, perhaps not filled in, and who says so."""

    line: int
    data: dict[str, Any]
    """As it stands there."""
    row: "_Row"

    @property
    def is_open(self) -> bool:
        """Whether the line holds no label: nothing was said yet, or it was taken back."""
        annotation = self.data.get("annotation")
        names = ("first_fatal_error_step", "recoverable_error_steps", "verdict")
        return isinstance(annotation, dict) and all(annotation.get(name) is None for name in names)

    def proof(self) -> tuple[Proof | None, list[str]]:
        """The proof with its label, or every fault of the line."""
        found = _proof(self.row)
        return found, self.row.faults


def label_lines(path: Path | str) -> tuple[list[LabelLine], list[str]]:
    """The lines of a labels file (docs/labels.md), and the faults of those that are no JSON objects.

    A last line that was torn, as by a process that was killed, is passed over.

    Raises:
        DataError: If the file cannot be read.
    """
    path = Path(path)
    lines = _Lines(path)
    found = [LabelLine(row.line, row.data, row) for row in lines]
    content = path.read_bytes()
    torn = None if content.endswith(b"\n") else f"{path}:{content.count(10) + 1}:"
    return found, [fault for fault in lines.faults if torn is None or not fault.startswith(torn)]


def label_faults(data: dict[str, Any]) -> list[str]:
    """Why a label that is about to be written breaks a rule of the data; nothing for one that is open or undecided."""
    row = _Row(Path("label"), 0, data, may_hold_surrogates=True)
    line = LabelLine(0, data, row)
    if line.is_open:
        return []
    return [fault.removeprefix("label:0: ") for fault in line.proof()[1]]


@dataclass(frozen=True)
class GivenProof:
    """A proof that exists already, to be judged instead of a sampled one."""

    problem_id: str
    sample: int
    steps: list[str]
    text: str | None = None
    """What the steps were read from; None when the file gave them as a list."""
    as_reply: bool = False
    """Whether ``text`` is read as a model's reply is, by its ``<step>`` elements."""
    reason: str | None = None
    """Why ``text`` is an invalid generation (it then scores 0 and is not judged), else None."""


@dataclass(frozen=True)
class GivenProofs:
    """The file of ``--proofs``."""

    path: Path
    proofs: dict[tuple[str, int], GivenProof]
    """By ``problem_id`` and sample index, in file order."""
    sha256: str
    """Of the file's bytes."""

    @property
    def samples(self) -> int:
        """S: one more than the largest sample index, so that every proof given has its place."""
        return 1 + max(sample for _, sample in self.proofs)


def load_given_proofs(path: Path | str, problems: Iterable[Problem], *, split: Split | None = None) -> GivenProofs:
    """Read proofs that exist already: JSONL of ``problem_id``, ``sample``, and ``steps`` or ``text``; or plain texts.

    Args:
        path: The file. A ``text`` is read as a reply is: after the reasoning, its ``<step>`` elements. Or a folder of
            ``.tex``, ``.md`` and ``.txt`` files, each named by its problem's id, with ``.SAMPLE`` after it if not 0.
        problems: Every problem that may be named, also those a run does not select.
        split: How a text becomes steps instead.

    Raises:
        DataError: Lists every fault of the file, each with its line and field.
    """
    path = Path(path)
    known = {problem.problem_id for problem in problems}
    if path.is_dir():
        return _folder_of_proofs(path, known, split)
    lines = _Lines(path)
    proofs: dict[tuple[str, int], GivenProof] = {}
    first_line: dict[tuple[str, int], int] = {}
    faults = []
    for row in lines:
        proof = _given_proof(row, known, split)
        if proof is not None:
            key = (proof.problem_id, proof.sample)
            if first_line.setdefault(key, row.line) != row.line:
                row.fault(
                    "sample", proof.sample, f"one that {proof.problem_id!r} does not have on line {first_line[key]}"
                )
            proofs[key] = proof
        faults += row.faults
    told = _in_line_order(lines.faults, faults, path)
    if not proofs and not told:
        told = [f"{path}: holds no rows; wanted JSONL of problem_id, sample, and steps or text"]
    if told:
        raise DataError.of(told)
    return GivenProofs(path, proofs, lines.sha256)


def _folder_of_proofs(folder: Path, known: set[str], split: Split | None) -> GivenProofs:
    """Proofs that are texts, a file each."""
    files = sorted(file for file in folder.iterdir() if file.suffix in (".tex", ".md", ".txt") and file.is_file())
    faults = [] if files else [f"{folder}: holds no .tex, .md or .txt file; wanted PROBLEM_ID.txt, PROBLEM_ID.1.txt, …"]
    proofs: dict[tuple[str, int], GivenProof] = {}
    digest = hashlib.sha256()
    for file in files:
        stem, _, number = file.stem.rpartition(".")
        name, sample = (file.stem, 0) if file.stem in known or not number.isdecimal() else (stem, int(number))
        if name not in known:
            faults.append(f"{file}: {name!r} is no problem of the data file; wanted PROBLEM_ID or PROBLEM_ID.SAMPLE")
            continue
        if (name, sample) in proofs:
            faults.append(f"{file}: is a second text of {name!r}, sample {sample}")
        text = plain_tex(read_text(file)) if file.suffix == ".tex" else read_text(file)
        digest.update(f"{file.name}\0{text}\0".encode())
        proofs[name, sample] = _read_given(name, sample, text, split)
    if faults:
        raise DataError.of(faults)
    return GivenProofs(folder, proofs, digest.hexdigest())


def _read_given(problem_id: str, sample: int, text: str, split: Split | None) -> GivenProof:
    """A proof that was given as a text."""
    if split is not None and split != "tags":
        try:
            return GivenProof(problem_id, sample, split_proof(text, split), text)
        except Unsplittable:
            return GivenProof(problem_id, sample, [], text, reason="no_proof_steps")
    try:
        return GivenProof(problem_id, sample, parse_steps(text), text, as_reply=True)
    except InvalidReply as exc:
        return GivenProof(problem_id, sample, [], text, as_reply=True, reason=exc.reason)


def _given_proof(row: "_Row", known: set[str], split: Split | None) -> GivenProof | None:
    problem_id = row.text("problem_id", blank=False, wanted="the id of a problem of the data file")
    if problem_id is not None and problem_id not in known:
        row.fault("problem_id", problem_id, "the id of a problem of the data file")
    sample = row.data.get("sample", _ABSENT)
    if type(sample) is not int or sample < 0:
        row.fault("sample", sample, "an integer of at least 0")
    if ("steps" in row.data) == ("text" in row.data):
        row.fault("steps", row.data.get("steps", _ABSENT), "either steps or text, and not both")
        return None
    steps = _steps(row, row.data["steps"]) if "steps" in row.data else None
    text = row.text("text") if "text" in row.data else None
    if row.faults or problem_id is None:
        return None
    if text is not None:
        return _read_given(problem_id, sample, text, split)
    return None if steps is None else GivenProof(problem_id, sample, steps)


def looks_like_proofs(path: Path | str) -> bool:
    """Whether most of the file's first rows are VerifierBench rows: they have steps, or an error label.

    Raises:
        DataError: If the file cannot be read.
    """
    marks = ("steps", "annotation", "first_fatal_error_step", "grade", "grades")
    first = [any(mark in row.data for mark in marks) for row in islice(_Lines(resolve(path, "data")), 20)]
    return sum(first) * 2 > len(first)


def describe(dataset: Dataset[Any]) -> dict[str, Any]:
    """What a data file holds, in numbers: rows, problems, domains, subjects; of proofs, labels and steps too."""
    rows = dataset.rows
    proofs = [row for row in rows if isinstance(row, Proof)]
    found: dict[str, Any] = {
        "rows": len(rows),
        "problems": len({row.problem_id for row in rows}),
        "sha256": dataset.sha256,
        "domains": _tally(row.domain for row in rows),
        "subjects": _tally(row.subject or None for row in rows),
        "with_reference_solution": sum(bool(row.reference_solution.strip()) for row in rows),
    }
    if proofs:
        correct = sum(proof.is_correct for proof in proofs)
        places = [proof.annotation.first_fatal_error_step for proof in proofs]
        fatal = sum(place is not None and place >= 0 for place in places)
        whole = sum(proof.first_error_step is None for proof in proofs)
        labels = {"correct": correct, "fatal": fatal, "only_recoverable": len(proofs) - correct - fatal - whole}
        if unlocated := places.count(None):
            labels |= {"incorrect_without_place": whole, "unlocated": unlocated}
        found |= {
            "labels": labels,
            "steps": sum(len(proof.steps) for proof in proofs),
            "policies": _tally(proof.policy for proof in proofs),
        }
    return found


def _tally(values: Iterable[str | None]) -> dict[str, int]:
    """How often each value occurs, the most frequent first; what is absent counts as ``(none)``."""
    return dict(Counter(value if value is not None else "(none)" for value in values).most_common())


class _Row:
    """One line's object, and the faults found while reading its fields."""

    def __init__(self, path: Path, line: int, data: dict[str, Any], may_hold_surrogates: bool) -> None:
        self.path = path
        self.line = line
        self.data = data
        self.faults: list[str] = []
        self._may_hold_surrogates = may_hold_surrogates

    def fault(self, name: str, found: object, wanted: str) -> None:
        self._say(name, "nothing" if found is _ABSENT else _shown(found), wanted)

    def _say(self, name: str, found: str, wanted: str) -> None:
        self.faults.append(f"{self.path}:{self.line}: field {name}: found {found}; wanted {wanted}")

    def text(
        self,
        name: str,
        *,
        default: str | None = None,
        null: bool = False,
        blank: bool = True,
        wanted: str = "a string",
        data: dict[str, Any] | None = None,
        shown_as: str | None = None,
    ) -> str | None:
        """A string field.

        Args:
            name: The key.
            default: Value of an absent field; None makes the field required.
            null: Whether null stands for ``default``.
            blank: Whether a string of white space alone will do.
            wanted: What the message asks for.
            data: Where the key is looked up; the row itself if None.
            shown_as: The field's name in messages.

        Returns:
            The string, or None with a fault.
        """
        value = (self.data if data is None else data).get(name, _ABSENT)
        if default is not None and (value is _ABSENT or (value is None and null)):
            return default
        if not isinstance(value, str) or not (blank or value.strip()):
            self.fault(shown_as or name, value, wanted)
            return None
        return value if self.clean(shown_as or name, value) else None

    def clean(self, name: str, value: str) -> bool:
        """Whether UTF-8 can hold the text; a lone surrogate could be neither sent nor saved."""
        if self._may_hold_surrogates:
            try:
                value.encode()
            except UnicodeEncodeError as exc:
                found = f"the lone surrogate \\u{ord(value[exc.start]):04x} at character {exc.start + 1}"
                self._say(name, found, "text that UTF-8 can hold")
                return False
        return True

    def index(self, name: str, value: object, n_steps: int | None) -> int | None:
        """An error step's index; ``n_steps`` None: the steps are faulty, so the range is unknown."""
        wanted = "an integer, -1 for none" if n_steps is None else f"an integer from -1 to {n_steps - 1}"
        if type(value) is not int or value < -1 or (n_steps is not None and value >= n_steps):
            self.fault(name, value, wanted)
            return None
        return value


def _shown(value: object) -> str:
    """A value as JSON, cut short."""
    if isinstance(value, dict):
        return "an object"
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:  # pragma: no cover - JSON that was read can be written
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _common(row: _Row) -> dict[str, Any]:
    """The fields that problems and proofs share; a value is None where it was faulty."""
    problem = row.text("problem", blank=False, wanted="the problem's text")
    fields: dict[str, Any] = {"problem": problem}
    if "problem_id" in row.data:
        fields["problem_id"] = row.text("problem_id", blank=False, wanted="a non-empty string, or no such field")
    else:
        fields["problem_id"] = derive_problem_id(problem) if problem is not None else None
    reference = "solution" if "reference_solution" not in row.data and "solution" in row.data else "reference_solution"
    fields["reference_solution"] = row.text(reference, default="", wanted="a string, or no such field")
    for name in ("reference_answer", "subject", "source_id"):
        fields[name] = row.text(name, default="", null=True)
    fields["domain"] = _domain(row)
    if rubric := row.text("rubric", default="", null=True):
        fields["rubric"] = rubric
    return fields


def _domain(row: _Row) -> str | None:
    value = row.data.get("domain")
    if value is None:
        return None
    wanted = "a name other than 'all', such as 'ugd' or 'qe', without white space around it; or no such field"
    if not isinstance(value, str) or not value or value != value.strip() or value == EVERYTHING:
        row.fault("domain", value, wanted)
        return None
    return value if row.clean("domain", value) else None


def _problem(row: _Row) -> Problem | None:
    fields = _common(row)
    return None if row.faults else Problem(**fields)


def _proof(row: _Row, correct_from: float | None = None) -> Proof | None:
    fields = _common(row)
    steps = _steps(row, row.data.get("steps", _ABSENT))
    graded = read_grade(row)
    if graded is not None and _names_no_label(row.data):
        annotation: Annotation | None = _graded(row, graded_annotation(graded, correct_from))
    else:
        annotation = _annotation(row, len(steps) if steps is not None else None)
    correct = first_error = None
    if annotation is not None:
        correct, first_error = _label(annotation)
    policy = row.text("policy", default="", null=True)
    _agree(row, correct, first_error)
    problem_id = fields["problem_id"]
    proof_id = None
    if "proof_id" in row.data:
        proof_id = row.text("proof_id", blank=False, wanted="a non-empty string, or no such field")
    elif problem_id is not None and steps is not None:
        proof_id = derive_proof_id(problem_id, steps)
    if row.faults or proof_id is None or steps is None or annotation is None or correct is None:
        return None
    return Proof(
        **fields,
        proof_id=proof_id,
        steps=steps,
        policy=policy or None,
        annotation=annotation,
        is_correct=correct,
        first_error_step=first_error,
        **({} if graded is None else msgspec.structs.asdict(graded)),
    )


def _steps(row: _Row, value: object) -> list[str] | None:
    if not isinstance(value, list) or not value:
        row.fault("steps", value, "a non-empty list of strings")
        return None
    good = True
    for index, step in enumerate(value):
        if not isinstance(step, str) or not step.strip():
            row.fault(f"steps[{index}]", step, "a non-empty string")
            good = False
        else:
            good = row.clean(f"steps[{index}]", step) and good
    return value if good else None


def _annotation(row: _Row, n_steps: int | None) -> Annotation | None:
    before = len(row.faults)
    data, prefix = row.data, ""
    if "annotation" in row.data:  # without it, the legacy layout: its keys stand in the row itself
        data, prefix = row.data["annotation"], "annotation."
        if not isinstance(data, dict):
            row.fault("annotation", data, "an object, or no such field and its keys in the row itself")
            return None
    unlocated = data.get("first_fatal_error_step", _ABSENT) is None and data.get("verdict") is not None
    fatal, recoverable = None, [-1] if unlocated else None
    if unlocated:
        _check_unlocated(row, data, prefix)
    else:
        fatal = row.index(f"{prefix}first_fatal_error_step", data.get("first_fatal_error_step", _ABSENT), n_steps)
        recoverable = _recoverable(row, f"{prefix}recoverable_error_steps", data, n_steps)
    texts = _annotation_texts(row, data, prefix)
    if len(row.faults) > before or recoverable is None:
        return None
    verdict = data["verdict"] if unlocated else msgspec.UNSET
    return Annotation(fatal, recoverable, **texts, verdict=verdict)


_TEXTS = ("reviewer_comment", "first_error_reason", "remark")


def _names_no_label(data: dict[str, Any]) -> bool:
    """Whether a row's annotation, if it has one, holds texts alone."""
    if "annotation" not in data:
        return "first_fatal_error_step" not in data
    return isinstance(data["annotation"], dict) and not set(data["annotation"]) - set(_TEXTS)


def _graded(row: _Row, annotation: Annotation) -> Annotation | None:
    """The label of a proof that was only graded, with what people wrote about it."""
    data = row.data.get("annotation")
    if data is None:
        return annotation
    before = len(row.faults)
    texts = _annotation_texts(row, data, "annotation.")
    return None if len(row.faults) > before else msgspec.structs.replace(annotation, **texts)


def _annotation_texts(row: _Row, data: dict[str, Any], prefix: str) -> dict[str, str]:
    texts = {
        name: row.text(name, default="", null=name != "reviewer_comment", data=data, shown_as=prefix + name)
        for name in _TEXTS
    }
    return {name: text or "" for name, text in texts.items()}


def _check_unlocated(row: _Row, data: dict[str, Any], prefix: str) -> None:
    """A verdict on the whole proof: right or wrong, and no step named."""
    if data["verdict"] not in ("correct", "incorrect"):
        row.fault(f"{prefix}verdict", data["verdict"], "'correct' or 'incorrect', or no such field and a step's index")
    if data.get("recoverable_error_steps") not in (None, [-1]):
        wanted = "null or [-1], since first_fatal_error_step null says that no step is known"
        row.fault(f"{prefix}recoverable_error_steps", data["recoverable_error_steps"], wanted)


def _recoverable(row: _Row, name: str, data: dict[str, Any], n_steps: int | None) -> list[int] | None:
    value = data.get("recoverable_error_steps", _ABSENT)
    if not isinstance(value, list) or not value:
        row.fault(name, value, "[-1] for none, or a list of step indices")
        return None
    read = [row.index(f"{name}[{place}]", item, n_steps) for place, item in enumerate(value)]
    indices = [item for item in read if item is not None]
    if len(indices) < len(read):
        return None
    if -1 in indices and indices != [-1]:
        row.fault(name, value, "[-1] alone, or a list of step indices without -1")
        return None
    return indices


def _label(annotation: Annotation) -> tuple[bool, int | None]:
    """Whether the proof is correct, and the smallest nonnegative label: -1 if none, None if no step is known."""
    if annotation.first_fatal_error_step is None:
        correct = annotation.verdict == "correct"
        return correct, -1 if correct else None
    labels = [annotation.first_fatal_error_step, *annotation.recoverable_error_steps]
    first_error = min((label for label in labels if label >= 0), default=-1)
    return first_error == -1, first_error


def _agree(row: _Row, correct: bool | None, first_error: int | None) -> None:
    """A derived field that is present must say what the labels say; ``correct`` None: the labels are faulty."""
    given = row.data.get("is_correct", _ABSENT)
    if given is not _ABSENT and not isinstance(given, bool):
        row.fault("is_correct", given, "true, false, or no such field")
    elif given is not _ABSENT and correct is not None and given != correct:
        row.fault("is_correct", given, f"{str(correct).lower()}, as the labels say")
    given = row.data.get("first_error_step", _ABSENT)
    unlocated = correct is False and first_error is None
    if given is not _ABSENT and type(given) is not int and not (unlocated and given is None):
        row.fault("first_error_step", given, "null, or no such field" if unlocated else "an integer, or no such field")
    elif given is not _ABSENT and correct is not None and given != first_error:
        row.fault("first_error_step", given, f"{'null' if unlocated else first_error}, as the labels say")


class _Ids:
    """Ids seen so far, to find what is said twice or in two ways."""

    def __init__(self, path: Path, unique: str) -> None:
        self._path = path
        self._unique = unique
        self._first_line: dict[str, tuple[int, object]] = {}
        self._problems: dict[str, tuple[int, str]] = {}

    def faults(self, line: int, data: dict[str, Any], row: Problem | None) -> Iterator[str]:
        value = getattr(row, self._unique) if row is not None else data.get(self._unique)
        if isinstance(value, str | int | float):
            yield from self._repeated(line, value)
        problem_id, problem = (row.problem_id, row.problem) if row else (data.get("problem_id"), data.get("problem"))
        if isinstance(problem_id, str) and isinstance(problem, str):
            first, text = self._problems.setdefault(problem_id, (line, problem))
            if text != problem:
                yield (
                    f"{self._path}:{line}: field problem_id: found {_shown(problem_id)}, which names another "
                    f"problem text on line {first}; wanted one text for each id"
                )

    def _repeated(self, line: int, value: str | int | float) -> Iterator[str]:
        key = value if isinstance(value, str) else _shown(value)
        first, as_first = self._first_line.setdefault(key, (line, value))
        if first != line:
            yield (
                f"{self._path}:{line}: field {self._unique}: found {_shown(value)}, as {_shown(as_first)} on line "
                f"{first}; wanted a unique string"
            )

    def shared(self, row: R) -> R:
        """The row with the very string object that earlier rows of its problem have, to save memory."""
        text = self._problems[row.problem_id][1]
        return msgspec.structs.replace(row, problem=text) if row.problem is not text else row


class _Lines:
    """A JSONL file, an object at a time.

    Attributes:
        sha256: Of the bytes; known when the file has been read to its end.
        faults: Lines that hold no JSON object.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[str] = []
        self.sha256 = ""

    def __iter__(self) -> Iterator[_Row]:
        digest = hashlib.sha256()
        try:
            with self.path.open("rb") as file:
                for line, raw in enumerate(file, 1):  # binary files split at \n only
                    digest.update(raw)
                    if line == 1:
                        raw = raw.removeprefix(BOM_UTF8)
                        self._refuse_one_document(raw)
                    row = self._row(line, raw)
                    if row is not None:
                        yield row
        except OSError as exc:
            raise DataError(f"{self.path}: cannot be read: {exc.strerror}; give the path of a JSONL file") from exc
        self.sha256 = digest.hexdigest()

    def _refuse_one_document(self, first: bytes) -> None:
        """One sentence for a JSON document over many lines, which would be a fault on each of them."""
        if first.strip() in (b"{", b"[", b"[{"):
            raise DataError(
                f"{self.path}:1: looks like one JSON document over several lines; wanted JSONL, one object a line "
                f"(a list becomes JSONL with: jq -c '.[]' {self.path.name})"
            )

    def _row(self, line: int, raw: bytes) -> _Row | None:
        where = f"{self.path}:{line}"
        try:
            text = raw.decode().rstrip()
        except UnicodeDecodeError as exc:
            self.faults.append(f"{where}: byte {exc.start + 1} is {raw[exc.start]:#04x}, which is not UTF-8")
            return None
        if not text:
            return None
        repeated: list[str] = []
        try:
            data = json.loads(text, object_pairs_hook=_noting(repeated), parse_constant=_refuse_constant)
        except json.JSONDecodeError as exc:
            self.faults.append(f"{where}: not JSON: {exc.msg} at character {exc.pos + 1}; wanted one object a line")
            return None
        except (ValueError, RecursionError) as exc:
            self.faults.append(f"{where}: not JSON that can be read: {exc}")
            return None
        if not isinstance(data, dict):
            self.faults.append(f"{where}: found {_kind(data)}; wanted one object a line")
            return None
        if repeated:
            self.faults.extend(f"{where}: field {name}: found twice in one object; wanted once" for name in repeated)
            return None
        return _Row(self.path, line, data, _LONE_SURROGATE_ESCAPE.search(raw) is not None)


def _noting(repeated: list[str]) -> Any:
    """A hook for json that notes keys which an object holds twice: readers disagree about which one counts."""

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        return found

    return table


def _refuse_constant(name: str) -> None:
    raise ValueError(f"found {name}, which is no JSON")


def _kind(value: object) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else _shown(value)


def _load(path: Path, read: Any, unique: str) -> Dataset[Any]:
    lines = _Lines(path)
    ids = _Ids(path, unique)
    rows: list[Any] = []
    numbers: list[int] = []
    faults: list[tuple[int, str]] = []
    seen = of_other_task = 0
    for line in lines:
        row = read(line)
        seen += 1
        of_other_task += ("steps" in line.data) != (unique == "proof_id")
        faults += [(line.line, fault) for fault in (*line.faults, *ids.faults(line.line, line.data, row))]
        if row is not None and not faults:
            rows.append(ids.shared(row))
            numbers.append(line.line)
    told = _in_line_order(lines.faults, [fault for _, fault in faults], path)
    if not seen and not told:
        told = [f"{path}: holds no rows; wanted JSONL, one object a line"]
    if told:
        if seen and of_other_task == seen:
            told = [_other_task(path, unique)]  # the other faults follow from it
        raise DataError.of(told)
    return Dataset(path, rows, lines.sha256, numbers)


def _in_line_order(unreadable: list[str], faulty: list[str], path: Path) -> list[str]:
    prefix = len(f"{path}:")
    return sorted(unreadable + faulty, key=lambda fault: int(fault[prefix:].split(":", 1)[0]))


def _other_task(path: Path, unique: str) -> str:
    if unique == "problem_id":
        return f"{path}: these are annotated proofs (every row has steps), problems were wanted; use: verifierbench"
    return f"{path}: these are problems (no row has steps), annotated proofs were wanted; use: proverbench run"
