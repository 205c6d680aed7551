"""What is said of an export without a kernel."""

from pathlib import Path
from typing import Any

import pytest

from proverbench.compression.export_building import Builder
from proverbench.compression.export_reading import read_export
from proverbench.compression.structure import check_structure, in_dependency_order, loose_ranges
from tests.compression.builders import read

A = {"in": 1, "str": {"pre": 0, "str": "A"}}
B = {"in": 2, "str": {"pre": 0, "str": "B"}}
U = {"in": 3, "str": {"pre": 0, "str": "u"}}
LEVEL_U = {"il": 1, "param": 3}
PROP = {"ie": 0, "sort": 0}


def axiom(name: int, type_: int, *params: int) -> dict[str, Any]:
    return {"axiom": {"name": name, "levelParams": list(params), "type": type_, "isUnsafe": False}}


@pytest.mark.parametrize("name", ["toy.ndjson", "toy.sparse_ids.ndjson", "toy.mdata.ndjson", "toy.sorry_axiom.ndjson"])
def test_well_formed_files(lean_data: Path, name: str) -> None:
    assert check_structure(read_export(lean_data / name)) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("toy.missing_definition.ndjson", "zero_add: its type uses MyNat.add, not declared"),
        ("toy.level_arity.ndjson", "Eq.refl: its type gives Eq 0 universe levels; it takes 1"),
    ],
)
def test_damaged_files(lean_data: Path, name: str, said: str) -> None:
    assert said in check_structure(read_export(lean_data / name))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param([A, PROP, axiom(1, 0), axiom(1, 0)], "A is declared twice", id="doubled"),
        pytest.param([A, {"ie": 0, "bvar": 0}, axiom(1, 0)], "A: its type has a loose bound variable", id="loose"),
        pytest.param(
            [
                A,
                PROP,
                {"ie": 1, "bvar": 1},
                {"ie": 2, "lam": {"name": 1, "type": 0, "body": 1, "binderInfo": "default"}},
                axiom(1, 2),
            ],
            "A: its type has a loose bound variable",
            id="loose-below-one-binder",
        ),
        pytest.param(
            [A, U, LEVEL_U, {"ie": 0, "sort": 1}, axiom(1, 0)],
            "A: its type uses the undeclared level parameter u",
            id="level-parameter",
        ),
        pytest.param([A, U, PROP, axiom(1, 0, 3, 3)], "A declares a level parameter twice", id="doubled-parameter"),
        pytest.param(
            [A, B, {"ie": 0, "const": {"name": 2, "us": []}}, axiom(1, 0)],
            "A: its type uses B, not declared",
            id="gone",
        ),
        pytest.param(
            [A, B, PROP, {"ie": 1, "const": {"name": 1, "us": [0]}}, axiom(1, 0), axiom(2, 1)],
            "B: its type gives A 1 universe levels; it takes 0",
            id="arity",
        ),
        pytest.param(
            [A, B, PROP, {"ie": 1, "proj": {"typeName": 1, "idx": 0, "struct": 0}}, axiom(1, 0), axiom(2, 1)],
            "B: its type projects from A, which is not a declared inductive type",
            id="projection",
        ),
        pytest.param(
            [A, {"ie": 0, "const": {"name": 1, "us": []}}, axiom(1, 0)], "A rests on itself", id="circle-of-one"
        ),
        pytest.param(
            [
                A,
                B,
                {"ie": 0, "const": {"name": 1, "us": []}},
                {"ie": 1, "const": {"name": 2, "us": []}},
                axiom(1, 1),
                axiom(2, 0),
            ],
            "rests on itself",
            id="circle-of-two",
        ),
    ],
)
def test_each_fault_is_named(lines: list[dict[str, Any]], said: str) -> None:
    assert any(said in fault for fault in check_structure(read(*lines)))


def test_dependencies_come_first_and_the_order_is_kept_otherwise(lean_data: Path) -> None:
    export = read_export(lean_data / "toy.ndjson")
    kept, _ = in_dependency_order(export, export.declarations)
    assert kept == export.declarations
    turned, faults = in_dependency_order(export, export.declarations[::-1])
    assert faults == []
    names = [export.name_text(item.name) for item in turned]
    assert names.index("Eq") < names.index("congrArg") < names.index("zero_add")


def test_a_huge_shared_term_is_checked_at_once() -> None:
    builder = Builder()
    term = builder.term(0, a=5)
    for _ in range(200):
        term = builder.term(3, a=term, b=term)
    assert loose_ranges(builder.export)[term] == 6
