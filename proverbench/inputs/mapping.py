"""A description of other people's files, in TOML (docs/own-data.md)."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from proverbench.errors import ConfigError
from proverbench.inputs.tables import read_text

_TABLE = ConfigDict(extra="forbid", frozen=True)

GIVEN_FIELDS = (
    "problem_id", "problem", "reference_solution", "reference_answer", "domain", "subject", "source_id", "rubric",
    "proof", "proof_id", "policy", "grade", "max_grade", "first_error", "verdict", "comment", "remark",
)  # fmt: skip
"""What ``[fields]`` may name."""


class Taken(BaseModel):
    """Where a field's value comes from."""

    model_config = _TABLE
    from_: Annotated[str | tuple[str, ...], Field(alias="from")] = ()
    """A column or path, or several, whose texts are joined."""
    join: str = "\n\n"
    """What stands between joined texts, and between the items of a list."""
    pattern: str | None = None
    """A regular expression; its group ``value`` (and ``max``, of a grade) is what counts."""
    file: str | None = None
    """Instead of a column: the text of this file, in which ``{FIELD}`` stands for another field."""
    value: str | int | float | None = None
    """Instead of a column: the same for every row."""
    values: Mapping[str, str] = {}
    """What words mean, any case: ``values = {good = "correct"}``; other words stay."""
    prefix: str = ""
    """What is put before a text that is not empty."""
    optional: bool = False
    """Whether a row, or the file, may lack it; a row without its proof is then left out, and counted."""


def _as_taken(given: object) -> object:
    return {"from": given} if isinstance(given, str | list) else given


_Taken = Annotated[Taken, BeforeValidator(_as_taken)]


class Wide(BaseModel):
    """A grader's own columns."""

    model_config = _TABLE
    grade: str
    comment: str | None = None
    optional: bool = False
    """Whether the file may lack these columns."""


class Graders(BaseModel):
    """Where several people's grades stand."""

    model_config = _TABLE
    layout: Literal["long", "wide", "list"]
    """``long``: a row a grader; ``wide``: columns a grader; ``list``: a list inside the row."""
    rows: str | None = None
    """list: path of the objects, such as ``grades[]``; without it ``name`` and ``grade`` are lists side by side."""
    name: str | None = None
    grade: str | None = None
    comment: str | None = None
    columns: Mapping[str, Wide] = {}
    """wide: grader → columns."""


class Sheet(BaseModel):
    """A table that is joined to texts by their names."""

    model_config = _TABLE
    file: str
    on: str = "file"
    """The sheet's column that holds the text's file name, with or without its ending."""
    delimiter: str | None = None


class FileMapping(BaseModel):
    """A description of files."""

    model_config = _TABLE
    format: Literal["csv", "jsonl", "json", "parquet", "tex", "md", "txt"] | None = None
    """By default that of the file's ending, among the first four."""
    files: str | None = None
    """A glob inside the given folder; by default every file of the format."""
    delimiter: str | None = None
    decimal: Literal[".", ","] = "."
    rows: str | None = None
    """Path of the rows inside each object, such as ``data[]`` or ``attempts[]``; ``^.`` in a field is the parent."""
    split: Literal["whole", "paragraphs", "lines", "tags", "json"] | None = None
    """How a proof's text becomes steps; a list is taken as it is. By default ``paragraphs``, or ``tags``."""
    index_base: Literal[0, 1] = 0
    """Of ``first_error``: the first step's number."""
    fields: Mapping[str, _Taken]
    graders: Graders | None = None
    sheet: Sheet | None = None


def load_mapping(path: Path) -> FileMapping:
    """Read a description.

    Raises:
        ConfigError: Lists every fault of the file.
    """
    return mapping_of(read_text(path), str(path))


def mapping_of(text: str, path: str) -> FileMapping:
    """A description from its text; ``path`` is for messages.

    Raises:
        ConfigError: Lists every fault of the file.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path}: is not TOML: {exc}") from None
    try:
        mapping = FileMapping.model_validate(content)
    except ValidationError as exc:
        raise ConfigError.of(
            f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']} (found {fault['input']!r})"
            for fault in exc.errors()
        ) from None
    faults = list(_mapping_faults(mapping))
    if faults:
        raise ConfigError.of(f"{path}: {fault}" for fault in faults)
    return mapping


def _mapping_faults(mapping: FileMapping) -> Iterator[str]:
    for name, taken in mapping.fields.items():
        if name not in GIVEN_FIELDS:
            yield f"fields.{name}: is not a field; fields are {', '.join(GIVEN_FIELDS)}"
        if sum([bool(taken.from_), taken.file is not None, taken.value is not None]) != 1:
            yield f"fields.{name}: give one of from, file and value"
        if taken.pattern is not None:
            try:
                groups = re.compile(taken.pattern).groupindex
            except re.error as exc:
                yield f"fields.{name}.pattern: is no regular expression: {exc}"
            else:
                if "value" not in groups:
                    yield f"fields.{name}.pattern: has no group 'value'; write (?P<value>…) around what counts"
    if "problem" not in mapping.fields:
        yield "fields: lacks problem, the problem's text"
    labels = {"first_error", "verdict", "grade"} & set(mapping.fields)
    if "proof" in mapping.fields and not labels and mapping.graders is None:
        yield "fields: has proofs and no label; give grade, first_error or verdict, or [graders]"
    if mapping.graders is not None:
        yield from _grader_faults(mapping.graders)


def _grader_faults(graders: Graders) -> Iterator[str]:
    if graders.layout == "wide":
        if not graders.columns:
            yield "graders: a wide layout needs columns: [graders.columns.NAME] with grade = COLUMN"
    elif graders.name is None or graders.grade is None:
        yield f"graders: a {graders.layout} layout needs name and grade, the columns or paths that hold them"
