"""The rows of data files: problems and annotated or graded proofs, field by field (docs/data.md)."""

import hashlib
import json
from typing import Any

import msgspec

from proverbench.inputs.graded import graded_annotation, read_grade
from proverbench.inputs.jsonl import ABSENT, DataLine
from proverbench.records import Annotation, Problem, Proof
from proverbench.selection import EVERYTHING


def derive_problem_id(problem: str) -> str:
    """The id of a problem whose row has none, as the published evaluator derives it."""
    return "amb-p-" + hashlib.sha256(problem.encode()).hexdigest()[:16]


def derive_proof_id(problem_id: str, steps: list[str]) -> str:
    """The id of a proof whose row has none, as the published evaluator derives it."""
    text = json.dumps([problem_id, steps], ensure_ascii=False, separators=(",", ":"))
    return "amb-v-" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _common(row: DataLine) -> dict[str, Any]:
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


def _domain(row: DataLine) -> str | None:
    value = row.data.get("domain")
    if value is None:
        return None
    wanted = "a name other than 'all', such as 'ugd' or 'qe', without white space around it; or no such field"
    if not isinstance(value, str) or not value or value != value.strip() or value == EVERYTHING:
        row.fault("domain", value, wanted)
        return None
    return value if row.clean("domain", value) else None


def read_problem(row: DataLine) -> Problem | None:
    """The row as a problem; None with its faults noted in the row."""
    fields = _common(row)
    return None if row.faults else Problem(**fields)


def read_proof(row: DataLine, correct_from: float | None = None) -> Proof | None:
    """The row as an annotated or graded proof; None with its faults noted in the row.

    Args:
        row: The line.
        correct_from: As :func:`proverbench.inputs.data.load_proofs` takes it.
    """
    fields = _common(row)
    steps = read_steps(row, row.data.get("steps", ABSENT))
    before = len(row.faults)
    graded = read_grade(row)
    annotation: Annotation | None
    if graded is not None and _names_no_label(row.data):
        annotation = _graded(row, graded_annotation(graded, correct_from))
    elif len(row.faults) > before and _names_no_label(row.data):
        annotation = None  # the grade was to be the label; that it is none is said
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


def read_steps(row: DataLine, value: object) -> list[str] | None:
    """A proof's steps; None with a fault noted in the row."""
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


def _annotation(row: DataLine, n_steps: int | None) -> Annotation | None:
    before = len(row.faults)
    data, prefix = row.data, ""
    if "annotation" in row.data:  # without it, the legacy layout: its keys stand in the row itself
        data, prefix = row.data["annotation"], "annotation."
        if not isinstance(data, dict):
            row.fault("annotation", data, "an object, or no such field and its keys in the row itself")
            return None
    unlocated = data.get("first_fatal_error_step", ABSENT) is None and data.get("verdict") is not None
    fatal, recoverable = None, [-1] if unlocated else None
    if unlocated:
        _check_unlocated(row, data, prefix)
    else:
        fatal = row.index(f"{prefix}first_fatal_error_step", data.get("first_fatal_error_step", ABSENT), n_steps)
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


def _graded(row: DataLine, annotation: Annotation) -> Annotation | None:
    """The label of a proof that was only graded, with what people wrote about it."""
    data = row.data.get("annotation")
    if data is None:
        return annotation
    before = len(row.faults)
    texts = _annotation_texts(row, data, "annotation.")
    return None if len(row.faults) > before else msgspec.structs.replace(annotation, **texts)


def _annotation_texts(row: DataLine, data: dict[str, Any], prefix: str) -> dict[str, str]:
    texts = {
        name: row.text(name, default="", null=name != "reviewer_comment", data=data, shown_as=prefix + name)
        for name in _TEXTS
    }
    return {name: text or "" for name, text in texts.items()}


def _check_unlocated(row: DataLine, data: dict[str, Any], prefix: str) -> None:
    """A verdict on the whole proof: right or wrong, and no step named."""
    if data["verdict"] not in ("correct", "incorrect"):
        row.fault(f"{prefix}verdict", data["verdict"], "'correct' or 'incorrect', or no such field and a step's index")
    if data.get("recoverable_error_steps") not in (None, [-1]):
        wanted = "null or [-1], since first_fatal_error_step null says that no step is known"
        row.fault(f"{prefix}recoverable_error_steps", data["recoverable_error_steps"], wanted)


def _recoverable(row: DataLine, name: str, data: dict[str, Any], n_steps: int | None) -> list[int] | None:
    value = data.get("recoverable_error_steps", ABSENT)
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


def _agree(row: DataLine, correct: bool | None, first_error: int | None) -> None:
    """A derived field that is present must say what the labels say; ``correct`` None: the labels are faulty."""
    given = row.data.get("is_correct", ABSENT)
    if given is not ABSENT and not isinstance(given, bool):
        row.fault("is_correct", given, "true, false, or no such field")
    elif given is not ABSENT and correct is not None and given != correct:
        row.fault("is_correct", given, f"{str(correct).lower()}, as the labels say")
    given = row.data.get("first_error_step", ABSENT)
    unlocated = correct is False and first_error is None
    if given is not ABSENT and type(given) is not int and not (unlocated and given is None):
        row.fault("first_error_step", given, "null, or no such field" if unlocated else "an integer, or no such field")
    elif given is not ABSENT and correct is not None and given != first_error:
        row.fault("first_error_step", given, f"{'null' if unlocated else first_error}, as the labels say")
