"""The reader and the writer of lean4export files."""

import random
from pathlib import Path
from typing import Any

import pytest

from proverbench.compression.decimals import decimal_to_int, int_to_decimal
from proverbench.compression.export_reading import read_export, read_export_lines
from proverbench.compression.export_writing import write_export
from proverbench.errors import DataError
from tests.compression.builders import META, ndjson, read

NAME = {"in": 1, "str": {"pre": 0, "str": "A"}}
SORT = {"ie": 0, "sort": 0}
AXIOM = {"axiom": {"name": 1, "levelParams": [], "type": 0, "isUnsafe": False}}


def test_order_and_gaps_of_ids_do_not_matter(lean_data: Path) -> None:
    plain = write_export(read_export(lean_data / "toy.ndjson"))
    assert write_export(read_export(lean_data / "toy.sparse_ids.ndjson")) == plain
    first, *rest = (lean_data / "toy.sparse_ids.ndjson").read_bytes().splitlines(keepends=True)
    declarations = [line for line in rest if b'"in"' not in line and b'"il"' not in line and b'"ie"' not in line]
    tables = [line for line in rest if line not in declarations]
    random.Random(5).shuffle(tables)
    assert write_export(read_export_lines([first, *declarations, *tables], source="shuffled")) == plain


def test_both_spellings_of_format_3_say_the_same(shared_lean: Path) -> None:
    older, newer = (
        write_export(read_export(shared_lean / f"lean4export.Nat.add_succ.v{version}.ndjson"))
        for version in ("3.0.0", "3.1.0")
    )
    assert older == newer


def test_what_is_written_reads_back(lean_data: Path) -> None:
    written = write_export(read_export(lean_data / "toy.ndjson"))
    assert write_export(read_export_lines(written.splitlines(), source="again")) == written


def test_metadata_is_left_out(lean_data: Path) -> None:
    def lines(name: str) -> set[bytes]:
        return set(write_export(read_export(lean_data / name)).splitlines())

    assert len(lines("toy.mdata.ndjson")) == len(lines("toy.ndjson"))
    assert not any(b"mdata" in line for line in lines("toy.mdata.ndjson"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param([SORT, SORT], "test.ndjson:3: term id 0 is given twice", id="doubled-term"),
        pytest.param([NAME, NAME], "test.ndjson:3: name id 1 is given twice", id="doubled-name"),
        pytest.param([{"il": 0, "succ": 0}], "test.ndjson:2: level id 0 is given twice", id="level-zero"),
        pytest.param([{"ie": 0, "sort": 7}], "test.ndjson:2: level id 7 is not in the file", id="unknown-level"),
        pytest.param(
            [{"ie": 0, "app": {"fn": 1, "arg": 1}}], "test.ndjson:2: term id 1 is not in the file", id="unknown-term"
        ),
        pytest.param([{"ie": 0, "app": {"fn": 0, "arg": 0}}], "a term contains itself", id="circle"),
        pytest.param(
            [{"ie": 0, "app": {"fn": 1, "arg": 1}}, {"ie": 1, "app": {"fn": 0, "arg": 0}}],
            "a term contains itself",
            id="circle-of-two",
        ),
        pytest.param([{"in": 1, "str": {"pre": 1, "str": "a"}}], "name id 1 contains itself", id="name-circle"),
        pytest.param([{"il": 1, "max": [2, 0]}, {"il": 2, "succ": 1}], "contains itself", id="level-circle"),
        pytest.param([{"ie": 0, "bvar": -1}], "test.ndjson:2: bvar is -1", id="negative-variable"),
        pytest.param([{"ie": 0, "bvar": 2**80}], "test.ndjson:2: bvar is", id="huge-variable"),
        pytest.param([{"ie": 0, "natVal": "-1"}], "natVal is '-1'", id="negative-literal"),
        pytest.param([{"ie": 0, "sort": 0, "bvar": 0}], "one content field", id="two-contents"),
        pytest.param([{"ie": 0}], "one content field", id="no-content"),
        pytest.param([{"ie": 0, "spam": 0}], "unknown field `spam`", id="unknown-field"),
        pytest.param([{"ie": "0", "sort": 0}], "Expected `int", id="text-for-a-number"),
        pytest.param([NAME, SORT, {**AXIOM, "ie": 1}], "needs one of app", id="declaration-with-id"),
        pytest.param([META], "a second `meta` line", id="second-meta"),
    ],
)
def test_damaged_files_are_refused_with_the_place(lines: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(*lines)
    assert said in str(caught.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(DataError) as caught:
        read({"ie": 0, "sort": 7}, {"ie": 1, "app": {"fn": 8, "arg": 9}})
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    "first",
    [pytest.param(b"2.0.0\n", id="version-line"), pytest.param(b"1 #NS 0 Nat\n", id="name-line")],
)
def test_the_text_format_is_refused_by_name(first: bytes) -> None:
    with pytest.raises(DataError, match=r"the text format of lean4export 2\.x.*wanted lean4export NDJSON 3\.0\.0"):
        read_export_lines([first], source="old.export")


@pytest.mark.parametrize("version", ["2.1.0", "3.2.0", "4.0.0"])
def test_other_versions_are_refused_by_name(version: str) -> None:
    meta = {"meta": {**META["meta"], "format": {"version": version}}}
    with pytest.raises(DataError, match=f"format version '{version}'"):
        read_export_lines(ndjson(meta=meta), source="x")


def test_a_file_without_meta_is_refused() -> None:
    with pytest.raises(DataError, match="no `meta` line"):
        read(NAME, meta=None)


def test_different_names_have_different_texts() -> None:
    export = read(
        {"in": 1, "str": {"pre": 0, "str": "a"}},
        {"in": 2, "str": {"pre": 1, "str": "b"}},
        {"in": 3, "str": {"pre": 0, "str": "a.b"}},
        {"in": 4, "num": {"pre": 1, "i": 1}},
        {"in": 5, "str": {"pre": 1, "str": "1"}},
        {"in": 6, "str": {"pre": 0, "str": ""}},
        {"in": 7, "str": {"pre": 1, "str": "«b»"}},
    )
    texts = [export.name_text(index) for index in range(len(export.names))]
    assert texts[2:6] == ["a.b", "«a.b»", "a.1", "a.«1»"]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("digits", [1, 4_000, 4_001, 60_000])
def test_numbers_of_any_length(digits: int) -> None:
    text = "7" + "0123456789" * (digits // 10) + "1" * ((digits - 1) % 10)
    assert int_to_decimal(decimal_to_int(text)) == text
