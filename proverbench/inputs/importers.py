"""Other people's labelled proofs → rows in our schema (docs/data.md, "Importing").

An importer invents no label. A label that names the first wrong step becomes a fatal error there, with no recoverable
ones, because none of these formats grades severity; a verdict on a whole proof becomes an unlocated one on a proof of
one step, because it has no place to give. What was decided, and what was left out and why, is in the report.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from proverbench.errors import DataError, InvalidReply
from proverbench.inputs.data import derive_problem_id, derive_proof_id, load_problems, load_proofs
from proverbench.protocols.basic_v1 import parse_steps
from proverbench.records import Annotation, Problem, Proof, WholeVerdict

Split = Literal["whole", "paragraphs", "lines", "tags", "json"]
LabelKind = Literal["first-error", "first-error-1", "verdict"]

FIRST_ERROR_IS_FATAL = (
    "The first wrong step of each proof is recorded as its fatal error, with recoverable_error_steps [-1]: "
    "the source does not grade severity."
)
WHOLE_PROOFS = (
    "Each proof is one step, and its label is a verdict without a place: the source judges proofs as a whole. "
    "These rows count for right and wrong, and never for localisation (first_error_step_accuracy)."
)


@dataclass(frozen=True)
class Source:
    """A row of the file that is imported, and where it stands."""

    path: Path
    place: str
    """``line 3`` or ``row 3``, 1-based."""
    data: Mapping[str, Any]

    def fault(self, name: str, wanted: str) -> str:
        """A sentence on a field of this row."""
        shown = repr(self.data[name]) if name in self.data else "nothing"
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return f"{self.path}: {self.place}: field {name}: found {shown}; wanted {wanted}"


@dataclass
class Imported:
    """What an importer made of a file."""

    rows: list[Problem] = field(default_factory=list)
    """Problems, or :class:`Proof` rows."""
    notes: list[str] = field(default_factory=list)
    """What was decided on the way, for people to read."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why rows were left out → how many."""


class _Faulty(Exception):  # noqa: N818 - never leaves this module
    """One source row breaks its format; the argument is the sentence for it."""


class _LeftOut(Exception):  # noqa: N818 - never leaves this module
    """One source row is well formed and cannot be used; the argument says why."""


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV of problems, proofs and labels is to be read."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Our field → the file's column; a field that is not named is read from the column of its own name, if any."""
    label: LabelKind | None = None
    """What the ``label`` column holds; needed where there are proofs."""
    split: Split | None = None
    """How a proof's text becomes steps; None: ``whole`` for verdicts, ``tags`` for first errors."""


CSV_FIELDS = (
    "problem",
    "proof",
    "label",
    "problem_id",
    "proof_id",
    "reference_solution",
    "reference_answer",
    "domain",
    "subject",
    "source_id",
    "policy",
    "comment",
)


def import_processbench(path: Path) -> Imported:
    """Read ProcessBench: its ``.json`` files, one of them or a folder.

    Raises:
        DataError: Lists every row that is not as published.
    """
    imported = _import(_json_rows(path), _processbench)
    imported.notes += [FIRST_ERROR_IS_FATAL, "Whether the final answer was right is kept in annotation.remark."]
    return imported


def _processbench(row: Source) -> Proof:
    steps = _steps_of(row, "steps")
    label = row.data.get("label")
    if type(label) is not int or not -1 <= label < len(steps):
        raise _Faulty(row.fault("label", f"an integer from -1 to {len(steps) - 1}"))
    row_id = _text(row, "id")
    right = row.data.get("final_answer_correct")
    return labelled_proof(
        problem=_text(row, "problem"),
        proof_id=row_id,
        steps=steps,
        first_error=label,
        remark=f"final answer {'right' if right else 'wrong'}" if isinstance(right, bool) else "",
        policy=_optional(row, "generator") or None,
        subject=row_id.rpartition("-")[0],
        source_id=f"processbench:{row_id}",
    )


def import_hard2verify(path: Path) -> Imported:
    """Read Hard2Verify, decrypted, as JSON or JSONL; or any set with one label a step (1 is right).

    Raises:
        DataError: Lists every row that is not as published, or still encrypted.
    """
    imported = _import(_json_rows(path), _hard2verify)
    imported.notes += [
        FIRST_ERROR_IS_FATAL,
        "The first error is the first step whose label is not 1; human_labels_first_error_idx is not read.",
    ]
    return imported


def _hard2verify(row: Source) -> Proof:
    if isinstance(row.data.get("model_response_by_step"), str) or isinstance(row.data.get("human_labels"), str):
        raise _Faulty(
            f"{row.path}: {row.place}: is still encrypted; decrypt the file with the set's own tool first, "
            "which uses each row's canary"
        )
    steps = _steps_of(row, "model_response_by_step")
    labels = row.data.get("human_labels")
    if not isinstance(labels, list) or len(labels) != len(steps) or any(type(label) is not int for label in labels):
        raise _Faulty(row.fault("human_labels", f"a list of {len(steps)} integers, one a step"))
    row_id = str(row.data.get("unique_id", ""))
    return labelled_proof(
        problem=_text(row, "question"),
        proof_id=row_id,
        steps=steps,
        first_error=next((index for index, label in enumerate(labels) if label != 1), -1),
        source_id=f"hard2verify:{row_id}" if row_id else "",
    )


def import_gradingbench(path: Path, *, correct_from: float = 7.0) -> Imported:
    """Read IMO-GradingBench's CSV.

    Args:
        path: ``gradingbench.csv``.
        correct_from: Points, 0 to 7, from which a proof counts as correct.

    Raises:
        DataError: Lists missing columns, or every row that is not as published.
    """
    wanted = ("Grading ID", "Problem ID", "Problem", "Solution", "Response", "Points")

    def read(row: Source) -> Proof:
        points = _number(row, "Points")
        if not 0 <= points <= 7:
            raise _Faulty(row.fault("Points", "a number from 0 to 7"))
        reward = _optional(row, "Reward")
        return labelled_proof(
            problem=_text(row, "Problem"),
            problem_id=_text(row, "Problem ID"),
            proof_id=_text(row, "Grading ID"),
            steps=[_text(row, "Response")],
            first_error=_whole(points >= correct_from),
            remark=f"points {points:g} of 7" + (f", reward {reward!r}" if reward else ""),
            reference_solution=_optional(row, "Solution"),
            source_id=f"gradingbench:{_optional(row, 'Problem Source')}".removesuffix(":"),
        )

    imported = _import(_csv_rows(path, wanted), read)
    imported.notes += [
        f"A proof counts as correct from {correct_from:g} points of 7.",
        WHOLE_PROOFS,
        "Grading guidelines are not kept: a reference solution is what judges may be shown.",
    ]
    return imported


def import_opc(path: Path) -> Imported:
    """Read the Open Proof Corpus's JSONL export.

    Raises:
        DataError: Lists every row that is not as published.
    """
    seen: set[str] = set()

    def read(row: Source) -> Proof:
        proof = _opc(row)
        if proof.proof_id in seen:
            raise _LeftOut("the same proof of the same problem stands earlier in the file")
        seen.add(proof.proof_id)
        return proof

    imported = _import(_json_rows(path), read)
    imported.notes += ["A proof counts as correct or incorrect where all its judges say so.", WHOLE_PROOFS]
    return imported


def _opc(row: Source) -> Proof:
    for name in ("problem_issue", "ground_truth_issue"):
        if row.data.get(name):
            raise _LeftOut(f"the source reports a fault of the problem or its reference ({name})")
    scores = row.data.get("score")
    if not isinstance(scores, list) or any(score not in (0, 1, None) for score in scores):
        raise _Faulty(row.fault("score", "a list of 0 or 1, one a judge"))
    verdicts = {bool(score) for score in scores if score is not None}
    if not verdicts:
        raise _LeftOut("no judge gave a verdict")
    if len(verdicts) > 1:
        raise _LeftOut("its judges disagree")
    uncertain = row.data.get("uncertain")
    if isinstance(uncertain, list) and any(uncertain):
        raise _LeftOut("a judge was uncertain")
    feedback = row.data.get("feedback")
    comments = [text for text in feedback if isinstance(text, str)] if isinstance(feedback, list) else []
    return labelled_proof(
        problem=_text(row, "problem"),
        problem_id=str(row.data.get("problem_id", "")),
        steps=[_text(row, "solution")],
        first_error=_whole(verdicts == {True}),
        comment="\n\n".join(comments),
        policy=_optional(row, "model_id") or None,
        reference_solution=_optional(row, "ground_truth_solution"),
        subject=_optional(row, "competition"),
        source_id=f"opc:{row.data.get('problem_id', '')}".removesuffix(":"),
    )


def import_csv(path: Path, options: CsvOptions | None = None) -> Imported:
    """Read a CSV of problems, or of problems, proofs and labels.

    Args:
        path: The file, UTF-8, with a header line.
        options: Which columns to read and what the label means. Without a ``proof`` column the rows are problems.

    Raises:
        DataError: Lists options that do not fit the file, or every faulty row.
    """
    options = options or CsvOptions()
    header = _csv_header(path)
    columns = {name: name for name in CSV_FIELDS if name in header} | dict(options.columns)
    _check_columns(path, header, columns, options)
    split = options.split or ("whole" if options.label == "verdict" else "tags")

    def read(row: Source) -> Problem:
        cells = Source(row.path, row.place, {name: row.data[column] for name, column in columns.items()})
        common = {
            name: cells.data[name]
            for name in ("problem_id", "reference_solution", "reference_answer", "domain", "subject", "source_id")
            if cells.data.get(name)
        }
        problem = _text(cells, "problem")
        if "proof" not in columns:
            return Problem(**{"problem_id": derive_problem_id(problem), **common}, problem=problem)
        steps = _split(cells, split)
        return labelled_proof(
            problem=problem,
            steps=steps,
            first_error=_label(cells, options.label, len(steps)),
            proof_id=_optional(cells, "proof_id"),
            policy=_optional(cells, "policy") or None,
            comment=_optional(cells, "comment"),
            **common,
        )

    imported = _import(_csv_rows(path, tuple(columns.values())), read)
    if "proof" in columns:
        imported.notes += [WHOLE_PROOFS] if split == "whole" else [FIRST_ERROR_IS_FATAL, _SPLIT_NOTES[split]]
    return imported


_SPLIT_NOTES: dict[str, str] = {
    "paragraphs": "A step is a paragraph of the proof: what stands between empty lines.",
    "lines": "A step is a line of the proof that is not empty.",
    "tags": "A step is a <step> element of the proof.",
    "json": "A step is an item of the JSON list that the proof's cell holds.",
}


def _check_columns(path: Path, header: list[str], columns: Mapping[str, str], options: CsvOptions) -> None:
    faults = [
        f"{path}: --column {name}=...: {name!r} is no field; fields are {', '.join(CSV_FIELDS)}"
        for name in options.columns
        if name not in CSV_FIELDS
    ]
    faults += [
        f"{path}: has no column {column!r} (for {name}); columns are {', '.join(map(repr, header))}"
        for name, column in columns.items()
        if column not in header
    ]
    if "problem" not in columns:
        faults.append(f"{path}: has no column 'problem'; say which one it is: --column problem=COLUMN")
    if "proof" in columns and "label" not in columns:
        faults.append(f"{path}: has proofs and no column 'label'; say which one it is: --column label=COLUMN")
    if "proof" in columns and options.label is None:
        faults.append(
            f"{path}: say what the labels are: --label first-error (index from 0, -1 for none), first-error-1 (index "
            "from 1, 0 or -1 for none) or verdict (correct or incorrect)"
        )
    if options.label == "verdict" and options.split not in (None, "whole"):
        faults.append(
            f"{path}: --split {options.split} needs labels that name a step; a verdict on a whole proof goes with "
            "--split whole"
        )
    if options.label in ("first-error", "first-error-1") and options.split == "whole":
        faults.append(f"{path}: --split whole has no steps for --label {options.label} to name")
    if faults:
        raise DataError.of(faults)


def _split(row: Source, split: str) -> list[str]:
    proof = _text(row, "proof")
    if split == "tags":
        try:
            return parse_steps(proof)
        except InvalidReply as exc:
            raise _Faulty(row.fault("proof", "<step>...</step> elements (or another --split)")) from exc
    if split == "json":
        try:
            steps = json.loads(proof)
        except ValueError:
            steps = None
        if not isinstance(steps, list):
            raise _Faulty(row.fault("proof", "a JSON list of strings (or another --split)"))
        return _steps_of(Source(row.path, row.place, {"proof": steps}), "proof")
    if split == "whole":
        return [proof]
    pieces = re.split(r"\n[^\S\n]*\n" if split == "paragraphs" else r"\n", proof.replace("\r\n", "\n"))
    return [piece.strip() for piece in pieces if piece.strip()]


_CORRECT = ("correct", "true", "yes", "valid", "1", "1.0")
_INCORRECT = ("incorrect", "false", "no", "invalid", "wrong", "0", "0.0")


def _label(row: Source, kind: LabelKind | None, n_steps: int) -> "int | WholeVerdict":
    label = _text(row, "label").strip()
    if kind == "verdict":
        if label.lower() not in (*_CORRECT, *_INCORRECT):
            raise _Faulty(row.fault("label", f"one of {', '.join((*_CORRECT, *_INCORRECT))}"))
        return _whole(label.lower() in _CORRECT)
    base = 1 if kind == "first-error-1" else 0
    if not re.fullmatch(r"-?[0-9]{1,9}(\.0)?", label) or not -1 <= (index := int(float(label))) < n_steps + base:
        raise _Faulty(row.fault("label", f"an integer from -1 to {n_steps - 1 + base}"))
    return max(index - base, -1)


def write_rows(imported: Imported, output: Path) -> None:
    """Write the rows as JSONL and prove that they keep every rule; on a fault nothing is left behind.

    Raises:
        DataError: If ``output`` exists, or the rows break a rule of data files (such as an id said twice).
    """
    if output.exists():
        raise DataError(f"{output}: exists already; give another --output, or delete it")
    if not imported.rows:
        raise DataError("no row could be imported; nothing was written")
    part = output.with_name(output.name + ".part")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            for row in imported.rows:
                file.write(msgspec.json.encode(row) + b"\n")
        _reload(part, isinstance(imported.rows[0], Proof))
        part.replace(output)
    except DataError as exc:
        raise DataError(f"the imported rows would not be valid:\n{exc}".replace(str(part), str(output))) from exc
    except OSError as exc:
        raise DataError(f"{output}: cannot be written: {exc.strerror}") from exc
    finally:
        part.unlink(missing_ok=True)


def _reload(path: Path, proofs: bool) -> None:
    if proofs:
        load_proofs(path)
    else:
        load_problems(path)


def labelled_proof(
    *,
    problem: str,
    steps: list[str],
    first_error: int | WholeVerdict,
    problem_id: str = "",
    proof_id: str = "",
    comment: str = "",
    remark: str = "",
    **more: Any,
) -> Proof:
    """A proof with what people said of it; missing ids are derived."""
    problem_id = problem_id or derive_problem_id(problem)
    annotation = Annotation(None, [-1], reviewer_comment=comment, remark=remark)
    if isinstance(first_error, int):
        annotation = msgspec.structs.replace(annotation, first_fatal_error_step=first_error)
    else:
        annotation = msgspec.structs.replace(annotation, verdict=first_error)
    return Proof(
        problem=problem,
        problem_id=problem_id,
        proof_id=proof_id or derive_proof_id(problem_id, steps),
        steps=steps,
        annotation=annotation,
        is_correct=first_error in (-1, "correct"),
        first_error_step={"correct": -1, "incorrect": None}.get(first_error)
        if isinstance(first_error, str)
        else first_error,
        **more,
    )


def _whole(correct: bool) -> WholeVerdict:
    """The label of a proof that was judged as a whole."""
    return "correct" if correct else "incorrect"


def _import(rows: Iterator[Source], read: Callable[[Source], Problem]) -> Imported:
    imported = Imported()
    faults = []
    for row in rows:
        try:
            imported.rows.append(read(row))
        except _Faulty as exc:
            faults.append(str(exc))
        except _LeftOut as exc:
            imported.left_out[str(exc)] += 1
    if faults:
        raise DataError.of(faults)
    return imported


def _text(row: Source, name: str) -> str:
    value = row.data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise _Faulty(row.fault(name, "a non-empty text"))
    return value


def _optional(row: Source, name: str) -> str:
    value = row.data.get(name)
    return value if isinstance(value, str) else ""


def _number(row: Source, name: str) -> float:
    try:
        return float(_text(row, name))
    except ValueError:
        raise _Faulty(row.fault(name, "a number")) from None


def _steps_of(row: Source, name: str) -> list[str]:
    steps = row.data.get(name)
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise _Faulty(row.fault(name, "a non-empty list of strings"))
    if not all(step.strip() for step in steps):
        # Dropping the empty step would move every index after it, and the label with it.
        raise _LeftOut("a step of the proof is empty")
    return steps


def _json_rows(path: Path) -> Iterator[Source]:
    """Rows of a JSON list or of JSONL; of a folder, of its ``.json`` and ``.jsonl`` files by name."""
    files = sorted(file for file in path.iterdir() if file.suffix in (".json", ".jsonl")) if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: holds no .json or .jsonl file")
    for file in files:
        text = _read_text(file)
        if text.lstrip().startswith("["):
            yield from _listed(file, text)
        else:
            yield from _lined(file, text)


def _listed(path: Path, text: str) -> Iterator[Source]:
    try:
        items = json.loads(text)
    except json.JSONDecodeError as exc:
        raise DataError(f"{path}:{exc.lineno}:{exc.colno}: not JSON: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{path}: not JSON that can be read: {exc}") from exc
    for number, item in enumerate(items, 1):
        yield _source(path, f"row {number}", item)


def _lined(path: Path, text: str) -> Iterator[Source]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as exc:
                raise DataError(f"{path}:{number}: not JSON: {exc}; wanted a JSON list, or one object a line") from exc
            yield _source(path, f"line {number}", item)


def _source(path: Path, place: str, item: object) -> Source:
    if not isinstance(item, dict):
        raise DataError(f"{path}: {place}: found {type(item).__name__}; wanted an object")
    return Source(path, place, item)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}; give the path of the file to import") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{path}: byte {exc.start + 1} is not UTF-8; wanted UTF-8 text") from exc


def _csv_records(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)  # a proof may be longer than the 128 KB that csv allows by default
    try:
        yield from csv.reader(io.StringIO(_read_text(path), newline=""), strict=True)
    except csv.Error as exc:
        raise DataError(f"{path}: not CSV that can be read: {exc}") from exc


def _csv_header(path: Path) -> list[str]:
    header = next(_csv_records(path), [])
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if not header or repeated:
        what = f"names the column {repeated[0]!r} twice" if repeated else "is missing"
        raise DataError(f"{path}: the header line {what}")
    return header


def _csv_rows(path: Path, wanted: tuple[str, ...]) -> Iterator[Source]:
    header = _csv_header(path)
    missing = [name for name in wanted if name not in header]
    if missing:
        raise DataError.of(
            f"{path}: has no column {name!r}; columns are {', '.join(map(repr, header))}" for name in missing
        )
    for number, cells in enumerate(_csv_records(path)):
        if number and any(cells):
            if len(cells) != len(header):
                raise DataError(f"{path}: row {number}: found {len(cells)} cells; wanted {len(header)}, as the header")
            yield Source(path, f"row {number}", dict(zip(header, cells, strict=True)))
