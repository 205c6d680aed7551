"""Data sets whose rows need more than a description (mapping.py): labels in several places, or in texts beside a table.

An importer invents no label. A label that names the first wrong step becomes a fatal error there, with no recoverable
ones, because none of these formats grades severity; a verdict on a whole proof becomes an unlocated one, because it has
no place to give. What was decided, and what was left out and why, is in the report.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.inputs.imported import FIRST_ERROR_IS_FATAL, UNLOCATED, Imported, with_ids
from proverbench.inputs.splitting import SPLITS, Split, Unsplittable, split_proof
from proverbench.inputs.tables import SUFFIXES, TableRow, read_rows, table_files


class _Faulty(Exception):  # noqa: N818 - never leaves this module
    """One source row breaks its format; the argument is the sentence for it."""


class _LeftOut(Exception):  # noqa: N818 - never leaves this module
    """One source row is well formed and cannot be used; the argument says why."""


def import_processbench(path: Path, split: Split | None = None) -> Imported:
    """Read ProcessBench: its files, one of them or a folder. Its proofs are lists, so ``split`` has nothing to do.

    Raises:
        DataError: Lists every row that is not as published.
    """
    imported = _import(path, _processbench)
    imported.notes += [FIRST_ERROR_IS_FATAL, "Whether the final answer was right is kept in annotation.remark."]
    return imported


def _processbench(row: TableRow) -> dict[str, Any]:
    steps = _steps_of(row, "steps")
    label = row.data.get("label")
    if type(label) is not int or not -1 <= label < len(steps):
        raise _Faulty(_fault(row, "label", f"an integer from -1 to {len(steps) - 1}"))
    row_id = _text(row, "id")
    right = row.data.get("final_answer_correct")
    return {
        "problem": _text(row, "problem"),
        "proof_id": row_id,
        "steps": steps,
        "annotation": _located(
            label, remark=f"final answer {'right' if right else 'wrong'}" if right in (0, 1) else ""
        ),
        "policy": _optional(row, "generator") or None,
        "subject": row_id.rpartition("-")[0],
        "source_id": f"processbench:{row_id}",
    }


def import_hard2verify(path: Path, split: Split | None = None) -> Imported:
    """Read Hard2Verify, decrypted; or any set with one label a step (1 is right).

    Raises:
        DataError: Lists every row that is not as published, or still encrypted.
    """
    imported = _import(path, _hard2verify)
    imported.notes += [
        FIRST_ERROR_IS_FATAL,
        "The first error is the first step whose label is not 1; human_labels_first_error_idx is not read.",
    ]
    return imported


def _hard2verify(row: TableRow) -> dict[str, Any]:
    if isinstance(row.data.get("model_response_by_step"), str) or isinstance(row.data.get("human_labels"), str):
        raise _Faulty(
            f"{row.where}: is still encrypted; decrypt the file with the set's own tool first, which uses each row's "
            "canary"
        )
    steps = _steps_of(row, "model_response_by_step")
    labels = row.data.get("human_labels")
    if not isinstance(labels, list) or len(labels) != len(steps) or any(type(label) is not int for label in labels):
        raise _Faulty(_fault(row, "human_labels", f"a list of {len(steps)} integers, one a step"))
    row_id = str(row.data.get("unique_id", ""))
    return {
        "problem": _text(row, "question"),
        "proof_id": row_id,
        "steps": steps,
        "annotation": _located(next((index for index, label in enumerate(labels) if label != 1), -1)),
        "source_id": f"hard2verify:{row_id}" if row_id else "",
    }


def import_opc(path: Path, split: Split | None = None) -> Imported:
    """Read the Open Proof Corpus: each judge's verdict is a grade of 0 or 1, and a verdict where all agree.

    Raises:
        DataError: Lists every row that is not as published.
    """
    imported = _import(path, _once(lambda row: _opc(row, split or "paragraphs")))
    imported.notes += [
        "Each judge's verdict is a grade of 0 or 1. Where judges differ the grade lies between, and the proof counts "
        "as incorrect unless a run's --correct-from says otherwise; --graders all-agree leaves such rows out.",
        UNLOCATED,
        SPLITS[split or "paragraphs"],
    ]
    return imported


def _opc(row: TableRow, split: Split) -> dict[str, Any]:
    for name in ("problem_issue", "ground_truth_issue"):
        if row.data.get(name):
            raise _LeftOut(f"the source reports a fault of the problem or its reference ({name})")
    scores = row.data.get("score")
    if not isinstance(scores, list) or any(score not in (0, 1, None) for score in scores):
        raise _Faulty(_fault(row, "score", "a list of 0 or 1, one a judge"))
    if all(score is None for score in scores):
        raise _LeftOut("no judge gave a verdict")
    uncertain = row.data.get("uncertain")
    if isinstance(uncertain, list) and any(uncertain):
        raise _LeftOut("a judge was uncertain")
    feedback = row.data.get("feedback")
    comments = [text if isinstance(text, str) else "" for text in feedback] if isinstance(feedback, list) else []
    comments += [""] * (len(scores) - len(comments))
    grades: list[dict[str, Any]] = [
        {"grader": f"judge {number}", "grade": int(score)} | ({"comment": comment} if comment else {})
        for number, (score, comment) in enumerate(zip(scores, comments, strict=False), 1)
        if score is not None
    ]
    mean = Fraction(sum(given["grade"] for given in grades), len(grades))
    annotation: dict[str, Any] = {"reviewer_comment": "\n\n".join(filter(None, comments))}
    if mean in (0, 1):
        annotation |= {"first_fatal_error_step": None, "verdict": "correct" if mean else "incorrect"}
    return {
        "problem": _text(row, "problem"),
        "problem_id": str(row.data.get("problem_id") or ""),
        "steps": _split(row, "solution", split),
        "annotation": annotation,
        "grade": float(mean),
        "max_grade": 1,
        "grades": grades,
        "policy": _optional(row, "model_id") or None,
        "reference_solution": _optional(row, "ground_truth_solution"),
        "subject": _optional(row, "competition"),
        "source_id": f"opc:{row.data.get('problem_id', '')}".removesuffix(":"),
    }


def import_prm800k(path: Path, split: Split | None = None) -> Imported:
    """Read PRM800K: the solution is made of the steps that were chosen, and ends at the first that is rated -1.

    Raises:
        DataError: Lists every row that is not as published.
    """
    imported = _import(path, _once(_prm800k))
    imported.notes += [FIRST_ERROR_IS_FATAL, "A step that a labeller wrote counts as right."]
    return imported


def _prm800k(row: TableRow) -> dict[str, Any]:
    question, label = row.data.get("question"), row.data.get("label")
    if not isinstance(question, dict) or not isinstance(question.get("problem"), str):
        raise _Faulty(_fault(row, "question", "an object with the problem's text"))
    if not isinstance(label, dict) or not isinstance(label.get("steps"), list):
        raise _Faulty(_fault(row, "label", "an object with steps"))
    finish = label.get("finish_reason")
    if finish in ("bad_problem", "give_up"):
        raise _LeftOut(f"the labeller ended with {finish}")
    steps: list[str] = []
    first_error = -1
    for step in label["steps"]:
        text, rating = _chosen(row, step)
        steps.append(text)
        if rating == -1:
            first_error = len(steps) - 1
            break
    if not steps or not all(text.strip() for text in steps):
        raise _LeftOut("a step of the proof is empty")
    if first_error == -1 and finish == "found_error":
        raise _LeftOut("an error was found, and no chosen step is rated -1")
    return {
        "problem": question["problem"],
        "steps": steps,
        "annotation": _located(first_error),
        "reference_solution": str(question.get("ground_truth_solution") or ""),
        "reference_answer": str(question.get("ground_truth_answer") or ""),
        "source_id": "prm800k",
    }


def _chosen(row: TableRow, step: object) -> tuple[str, int]:
    """The text and rating of the completion that a solution goes on with."""
    if not isinstance(step, dict) or not isinstance(step.get("completions") or [], list):
        raise _Faulty(_fault(row, "label", "steps with lists of completions"))
    completions, chosen = step.get("completions") or [], step.get("chosen_completion")
    human = step.get("human_completion")
    if chosen is None and isinstance(human, dict):
        return str(human.get("text", "")), 1
    if chosen is None:
        if len(completions) != 1:
            raise _LeftOut("no completion of a step was chosen")
        chosen = 0
    if type(chosen) is not int or not 0 <= chosen < len(completions) or not isinstance(completions[chosen], dict):
        raise _Faulty(_fault(row, "label", "chosen_completion to be an index of completions, or null"))
    rating = completions[chosen].get("rating")
    if rating is None:
        raise _LeftOut("a chosen step has no rating")
    if rating not in (-1, 0, 1):
        raise _Faulty(_fault(row, "label", "ratings of -1, 0 or 1"))
    return str(completions[chosen].get("text", "")), int(rating)


def import_arxivmath(path: Path, split: Split | None = None) -> Imported:
    """Read ArxivMathGradingBench: a folder of its table and the papers' texts, each named by its ``arxiv_id``.

    Every paper is wrong, at a place that is named in words; so the label has no step, and the place is a remark.

    Raises:
        DataError: Lists every row whose text is not there.
    """
    if not path.is_dir():
        raise DataError(f"{path}: is no folder; give one with the set's table and the papers' texts (ARXIV_ID.tex)")
    texts = {
        file.stem: file
        for form in ("tex", "md", "txt")
        for ending in SUFFIXES[form]
        for file in path.rglob("*" + ending)
    }

    def read(row: TableRow) -> dict[str, Any]:
        arxiv_id, version = _text(row, "arxiv_id"), str(row.data.get("version", "")).strip()
        names = (f"{arxiv_id}v{version.removeprefix('v')}", arxiv_id, arxiv_id.replace("/", "_"))
        file = next((texts[name] for name in names if name in texts), None)
        if file is None:
            raise _Faulty(f"{row.where}: found no text of {arxiv_id}; wanted {arxiv_id}.tex, .md or .txt in the folder")
        (paper,) = read_rows(file, next(form for form in ("tex", "md", "txt") if file.suffix in SUFFIXES[form]))
        return {
            "problem": _optional(row, "Title") or f"The results of arXiv:{arxiv_id}.",
            "problem_id": arxiv_id,
            "steps": _split(paper, "text", split or "paragraphs"),
            "annotation": {
                "first_fatal_error_step": None,
                "verdict": "incorrect",
                "remark": _text(row, "Location of Error"),
            },
            "source_id": f"arxiv:{arxiv_id}{version and 'v' + version.removeprefix('v')}",
        }

    imported = _import(path, read)
    imported.notes += [UNLOCATED, SPLITS[split or "paragraphs"]]
    return imported


def _located(first_error: int, **texts: str) -> dict[str, Any]:
    """The label of a proof whose first wrong step is known; -1: it has none."""
    label: dict[str, Any] = {"first_fatal_error_step": first_error, "recoverable_error_steps": [-1]}
    return label | {name: text for name, text in texts.items() if text}


def _once(read: Callable[[TableRow], dict[str, Any]]) -> Callable[[TableRow], dict[str, Any]]:
    """The same, but for proofs that stand earlier in the source."""
    seen: set[str] = set()

    def unless_seen(row: TableRow) -> dict[str, Any]:
        proof = with_ids(read(row))
        if proof["proof_id"] in seen:
            raise _LeftOut("the same proof of the same problem stands earlier in the file")
        seen.add(proof["proof_id"])
        return proof

    return unless_seen


def _import(source: Path, read: Callable[[TableRow], dict[str, Any]]) -> Imported:
    imported = Imported()
    faults = []
    for row in _rows(source):
        try:
            imported.rows.append(with_ids(read(row)))
        except _Faulty as exc:
            faults.append(str(exc))
        except _LeftOut as exc:
            imported.left_out[str(exc)] += 1
    if faults:
        raise DataError.of(faults)
    return imported


def _rows(source: Path) -> Iterator[TableRow]:
    for file in table_files(source):
        yield from read_rows(file)


def _fault(row: TableRow, name: str, wanted: str) -> str:
    """A sentence on a field of a row."""
    shown = repr(row.data[name]) if name in row.data else "nothing"
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{row.where}: field {name}: found {shown}; wanted {wanted}"


def _text(row: TableRow, name: str) -> str:
    value = row.data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise _Faulty(_fault(row, name, "a non-empty text"))
    return value


def _optional(row: TableRow, name: str) -> str:
    value = row.data.get(name)
    return value if isinstance(value, str) else ""


def _split(row: TableRow, name: str, split: Split) -> list[str]:
    try:
        return split_proof(_text(row, name), split)
    except Unsplittable as exc:
        raise _Faulty(_fault(row, name, str(exc))) from exc


def _steps_of(row: TableRow, name: str) -> list[str]:
    steps = row.data.get(name)
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise _Faulty(_fault(row, name, "a non-empty list of strings"))
    if not all(step.strip() for step in steps):
        # Dropping the empty step would move every index after it, and the label with it.
        raise _LeftOut("a step of the proof is empty")
    return steps
