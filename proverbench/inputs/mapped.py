"""Other people's files → rows of our schema, by their description (mapping.py).

Every faulty row is named; no label or grade is invented, and what is left out is counted with the reason.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.inputs.imported import FIRST_ERROR_IS_FATAL, UNLOCATED, Imported, with_ids
from proverbench.inputs.mapping import FileMapping, Graders, Taken
from proverbench.inputs.nested import FaultyError, Nested, source_rows
from proverbench.inputs.splitting import SPLITS, Split, Unsplittable, split_proof
from proverbench.inputs.tables import read_rows

_DASHES = ("", "-", "–", "—", "−")
"""What people write where they gave no grade."""
_GRADE = re.compile(r"(?P<value>[+-]?\d+(?:[.,]\d+)?)\s*(?:(?:/|out\s+of)\s*(?P<max>\d+))?", re.IGNORECASE)
_CORRECT = ("correct", "true", "yes", "valid", "1", "1.0")
_INCORRECT = ("incorrect", "false", "no", "invalid", "wrong", "0", "0.0")


class _NoGrade(Exception):  # noqa: N818 - never leaves this module
    """A row has no grade."""


class _NoProof(Exception):  # noqa: N818 - never leaves this module
    """A row has no proof, and need not have one."""


def apply_mapping(mapping: FileMapping, source: Path, *, split: Split | None = None) -> Imported:
    """Read files by their description.

    Args:
        mapping: The description.
        source: The file, or the folder that holds the files.
        split: How a proof's text becomes steps, instead of as the description says.

    Returns:
        Rows of problems, or of proofs where the mapping has proofs.

    Raises:
        DataError: Lists every row that does not fit.
    """
    if split is not None:
        mapping = mapping.model_copy(update={"split": split})
    imported, faults = Imported(), []
    long = mapping.graders is not None and mapping.graders.layout == "long"
    proofs: dict[object, dict[str, Any]] = {}
    folder = source if source.is_dir() else source.parent
    for number, row in enumerate(source_rows(mapping, source)):
        try:
            built = _build(mapping, row, folder)
        except FaultyError as exc:
            faults.append(str(exc))
            continue
        except _NoProof:
            imported.left_out["have no proof"] += 1
            continue
        proof = (built.get("problem_id", built["problem"]), built.get("policy"), *built.get("steps", ()))
        key = proof if long else number
        if key in proofs:
            proofs[key]["grades"] += built["grades"]
        else:
            proofs[key] = built
    if faults:
        raise DataError.of(faults)
    for built in proofs.values():
        _finish(mapping, built, imported)
    if not imported.rows:
        left = "".join(f"; {n} {why}" for why, n in imported.left_out.items())
        raise DataError(f"{source}: no row can be used{left}")
    if "proof" in mapping.fields:
        imported.notes += _notes(mapping, imported)
    return imported


def _notes(mapping: FileMapping, imported: Imported) -> Iterator[str]:
    """What was decided on the way."""
    if "first_error" in mapping.fields:
        yield FIRST_ERROR_IS_FATAL
    else:
        yield UNLOCATED
    yield f"Where a proof is a text: {SPLITS[_split_of(mapping)]}"


def _split_of(mapping: FileMapping) -> Split:
    return mapping.split or ("tags" if "first_error" in mapping.fields else "paragraphs")


def _finish(mapping: FileMapping, built: dict[str, Any], imported: Imported) -> None:
    """Take in a built row: its grade is the exact mean of its graders' unless it has one of its own."""
    grades = built.get("grades")
    if grades is not None:
        if not grades:
            del built["grades"]
        else:
            total = sum((Fraction(given["grade"]) for given in grades), Fraction(0))
            built.setdefault("grade", _number(total / len(grades)))
    expects_grade = mapping.graders is not None or "grade" in mapping.fields
    labelled = built.get("grade") is not None or "first_error" in mapping.fields or "verdict" in mapping.fields
    if "steps" in built and expects_grade and not labelled:
        imported.left_out["have no grade"] += 1
        return
    if built.get("grade") is None:
        built.pop("max_grade", None)
    imported.rows.append(with_ids(built))


def _build(mapping: FileMapping, nested: Nested, folder: Path) -> dict[str, Any]:
    built: dict[str, Any] = {}
    # The name of a file may hold other fields, so those come first.
    for name, taken in sorted(mapping.fields.items(), key=lambda item: item[1].file is not None):
        if name in ("grade", "proof", "first_error", "verdict"):
            continue
        value = _text(nested, name, taken, built, folder)
        if name == "max_grade" and value:
            built[name] = _whole(nested, name, value)
        elif value or name == "problem":
            built[name] = value
    if not built["problem"]:
        raise FaultyError(f"{nested.row.where}: field problem: found nothing; wanted the problem's text")
    if "proof" in mapping.fields:
        built["steps"] = _steps(mapping, nested, built, folder)
        _label(mapping, nested, built, folder)
        _grades(mapping, nested, built)
    said = {"reviewer_comment": built.pop("comment", ""), "remark": built.pop("remark", "")}
    if "steps" in built and ("annotation" in built or any(said.values())):
        built["annotation"] = built.get("annotation", {}) | {name: text for name, text in said.items() if text}
    return built


def _value(nested: Nested, name: str, path: str, *, optional: bool = False) -> Any:
    try:
        return nested.look(path)
    except (KeyError, IndexError, TypeError):
        if optional:
            return None
        there = ", ".join(map(repr, nested.row.data))
        raise FaultyError(f"{nested.row.where}: field {name}: found no {path!r}; there is {there}") from None


def _text(nested: Nested, name: str, taken: Taken, built: Mapping[str, Any], folder: Path) -> str:
    if taken.value is not None:
        return str(taken.value)
    if taken.file is not None:
        file = folder / re.sub(r"\{(\w+)\}", lambda match: str(built.get(match[1], match[0])), taken.file)
        (row,) = read_rows(file, "tex" if file.suffix == ".tex" else "txt")
        return str(row.data["text"])
    paths = (taken.from_,) if isinstance(taken.from_, str) else taken.from_
    found = [_value(nested, name, path, optional=taken.optional) for path in paths]
    texts = [taken.join.join(_plain(item) for item in _listed(value)) for value in found]
    text = taken.join.join(text for text in texts if text)
    if taken.pattern is not None and (text or not taken.optional):
        match = re.search(taken.pattern, text)
        if match is None:
            wanted = f"wanted what {taken.pattern!r} matches"
            raise FaultyError(f"{nested.row.where}: field {name}: found {_short(text)}; {wanted}")
        text = str(match["value"])
    text = {word.lower(): meant for word, meant in taken.values.items()}.get(text.strip().lower(), text)
    return taken.prefix + text if text else text


def _listed(value: Any) -> list[Any]:
    return [item for item in value if item is not None] if isinstance(value, list) else [] if value is None else [value]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _steps(mapping: FileMapping, nested: Nested, built: Mapping[str, Any], folder: Path) -> list[str]:
    taken = mapping.fields["proof"]
    if isinstance(taken.from_, str) and taken.pattern is None:
        value = _value(nested, "proof", taken.from_, optional=taken.optional)
        if isinstance(value, list):
            steps = [item for item in value if isinstance(item, str) and item.strip()]
            if not steps or len(steps) < len(value):
                raise FaultyError(
                    f"{nested.row.where}: field proof: found {_short(value)}; wanted texts that are not empty"
                )
            return steps
    text = _text(nested, "proof", taken, built, folder)
    if taken.optional and not text.strip():
        raise _NoProof
    try:
        return split_proof(text, _split_of(mapping))
    except Unsplittable as exc:
        raise FaultyError(f"{nested.row.where}: field proof: found {_short(text)}; wanted {exc}") from exc


def _label(mapping: FileMapping, nested: Nested, built: dict[str, Any], folder: Path) -> None:
    if "first_error" in mapping.fields:
        text = _text(nested, "first_error", mapping.fields["first_error"], built, folder).strip()
        base, most = mapping.index_base, len(built["steps"]) - 1
        if not re.fullmatch(r"-?[0-9]{1,9}(\.0)?", text) or not -1 <= (index := int(float(text))) <= most + base:
            raise FaultyError(
                f"{nested.row.where}: field first_error: found {_short(text)}; wanted an integer, -1 to {most + base}"
            )
        step = max(index - base, -1)
        built["annotation"] = {"first_fatal_error_step": step, "recoverable_error_steps": [-1]}
    elif "verdict" in mapping.fields:
        text = _text(nested, "verdict", mapping.fields["verdict"], built, folder).strip().lower()
        if text not in (*_CORRECT, *_INCORRECT):
            words = ", ".join((*_CORRECT, *_INCORRECT))
            raise FaultyError(f"{nested.row.where}: field verdict: found {_short(text)}; wanted one of {words}")
        verdict = "correct" if text in _CORRECT else "incorrect"
        built["annotation"] = {"first_fatal_error_step": None, "verdict": verdict}


def _grades(mapping: FileMapping, nested: Nested, built: dict[str, Any]) -> None:
    taken = mapping.fields.get("grade")
    if taken is not None:
        pattern = re.compile(taken.pattern) if taken.pattern else _GRADE
        paths = (taken.from_,) if isinstance(taken.from_, str) else taken.from_
        given = taken.value
        value = _value(nested, "grade", paths[0], optional=taken.optional) if given is None else given
        with contextlib.suppress(_NoGrade):
            built["grade"] = _grade(mapping, nested, built, value, "grade", pattern)
    if mapping.graders is None:
        return
    built["grades"] = []
    for name, value, comment in _given_grades(mapping.graders, nested):
        try:
            grade = _grade(mapping, nested, built, value, f"grade of {name!r}", _GRADE)
        except _NoGrade:
            continue
        built["grades"].append({"grader": name, "grade": grade} | ({"comment": comment} if comment else {}))


def _given_grades(graders: Graders, nested: Nested) -> Iterable[tuple[str, Any, str]]:
    def text(path: str | None, *, optional: bool = False) -> str:
        if path is None:
            return ""
        return "\n\n".join(map(_plain, _listed(_value(nested, "comment", path, optional=optional)))).strip()

    if graders.layout == "wide":
        for name, columns in graders.columns.items():
            grade = _value(nested, "grade", columns.grade, optional=columns.optional)
            yield name, grade, text(columns.comment, optional=columns.optional)
        return
    assert graders.name is not None
    assert graders.grade is not None
    if graders.layout == "long":
        yield text(graders.name) or "unnamed", _value(nested, "grade", graders.grade), text(graders.comment)
    elif graders.rows is None:
        names, grades = (_value(nested, "grades", path) or [] for path in (graders.name, graders.grade))
        if len(names) != len(grades):
            raise FaultyError(f"{nested.row.where}: field grades: found {len(names)} names and {len(grades)} grades")
        for name, grade in zip(names, grades, strict=True):
            yield _plain(name), grade, ""
    else:
        for item in _value(nested, "grades", graders.rows):
            inner = Nested(nested.row._replace(data=item), (nested.row.data, *nested.parents))
            comment = "" if graders.comment is None else _plain(_value(inner, "comment", graders.comment) or "").strip()
            yield _plain(_value(inner, "grader", graders.name)), _value(inner, "grade", graders.grade), comment


def _grade(
    mapping: FileMapping, nested: Nested, built: dict[str, Any], value: Any, name: str, pattern: re.Pattern[str]
) -> int | float:
    """A grade as it is written, in points; the scale that stands behind it must be the row's."""
    text = _plain("" if value is None else value).strip()
    if text in _DASHES:
        raise _NoGrade
    match = pattern.fullmatch(text) if pattern is _GRADE else pattern.search(text)
    found = match["value"] if match else None
    other = "," if mapping.decimal == "." else "."
    if found is None or (other in found and isinstance(value, str)):
        raise FaultyError(f"{nested.row.where}: field {name}: found {_short(value)}; wanted a number, such as 5 or 5/7")
    assert match is not None
    scale = match.groupdict().get("max")
    if scale is not None and built.setdefault("max_grade", int(scale)) != int(scale):
        raise FaultyError(
            f"{nested.row.where}: field {name}: found {_short(value)}; wanted points of {built['max_grade']}"
        )
    if "max_grade" not in built:
        raise FaultyError(
            f"{nested.row.where}: field max_grade: found nothing; wanted the most points: max_grade = {{value = 7}}"
        )
    grade = Fraction(found.replace(",", "."))
    if not 0 <= grade <= built["max_grade"]:
        raise FaultyError(f"{nested.row.where}: field {name}: found {_short(value)}; wanted 0 to {built['max_grade']}")
    return _number(grade)


def _whole(nested: Nested, name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}(\.0+)?", text) or not float(text):
        raise FaultyError(f"{nested.row.where}: field {name}: found {_short(text)}; wanted a positive integer")
    return int(float(text))


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
