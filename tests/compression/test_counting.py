"""Node counts, against a walk of the term as a tree and against the known files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.compression.charges import charge
from proverbench.compression.counting import count_levels, count_terms
from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
    IMAX,
    LAM,
    LET,
    MAX,
    MDATA,
    PARAM,
    PI,
    PROJ,
    SORT,
    SUCC,
    Axiom,
    Export,
    Recursor,
    Theorem,
    constants_of,
    terms_of,
)
from proverbench.compression.export_building import Builder
from proverbench.compression.export_reading import read_export
from proverbench.errors import DataError
from tests.compression.builders import read


def walk_level(export: Export, level: int) -> int:
    kind, a, b = export.level_kind[level], export.level_a[level], export.level_b[level]
    if kind == SUCC:
        return 1 + walk_level(export, a)
    if kind in (MAX, IMAX):
        return 1 + walk_level(export, a) + walk_level(export, b)
    return 1


def walk(export: Export, term: int) -> int:
    """The rule read literally, over the tree."""
    kind = export.kind[term]
    if kind == CONST:
        return 1 + sum(walk_level(export, level) for level in export.level_lists[export.a[term]])
    if kind == SORT:
        return 1 + walk_level(export, export.a[term])
    below = sum(walk(export, child) for child in export.children(term))
    return below if kind == MDATA else 1 + below


@st.composite
def exports(draw: st.DrawFn) -> tuple[Export, int]:
    """A random well-ordered term table and its last term."""
    builder = Builder()
    levels = [0]
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from([SUCC, MAX, IMAX, PARAM]))
        a, b = draw(st.sampled_from(levels)), draw(st.sampled_from(levels))
        levels.append(builder.level(kind, 0 if kind == PARAM else a, b if kind in (MAX, IMAX) else 0))
    terms = [builder.term(BVAR, a=0)]
    for _ in range(draw(st.integers(1, 12))):
        a, b, c = (draw(st.sampled_from(terms)) for _ in range(3))
        kind = draw(st.sampled_from([APP, LAM, PI, LET, MDATA, PROJ, SORT, CONST]))
        if kind == SORT:
            term = builder.term(SORT, a=draw(st.sampled_from(levels)))
        elif kind == CONST:
            given_levels = tuple(draw(st.lists(st.sampled_from(levels), max_size=3)))
            term = builder.term(CONST, a=builder.level_list(given_levels))
        elif kind == PROJ:
            term = builder.term(PROJ, a=draw(st.integers(0, 3)), b=b)
        else:
            term = builder.term(kind, a=a, b=0 if kind == MDATA else b, c=c if kind == LET else 0)
        terms.append(term)
    return builder.export, terms[-1]


@given(exports())
def test_the_count_is_that_of_the_tree(case: tuple[Export, int]) -> None:
    export, root = case
    assert count_terms(export, [root]) == {root: walk(export, root)}
    assert count_terms(export, range(len(export))) == {term: walk(export, term) for term in range(len(export))}
    assert count_levels(export) == [walk_level(export, level) for level in range(len(export.level_kind))]


def test_sixty_doublings_count_at_once() -> None:
    builder = Builder()
    term = builder.term(BVAR, a=0)
    for _ in range(60):
        term = builder.term(APP, a=term, b=term)
    assert count_terms(builder.export, [term]) == {term: 2**61 - 1}


def test_a_very_long_chain_needs_no_recursion_and_counts_exactly() -> None:
    builder = Builder()
    term = builder.term(BVAR, a=0)
    for _ in range(20_000):
        term = builder.term(APP, a=term, b=term)
    assert count_terms(builder.export, [term])[term] == 2**20_001 - 1


def test_the_worked_example() -> None:
    """@congrArg.{1,1} MyNat MyNat n m succ ih: 1 + 2·2 for the constant, 6 applications, 6 arguments of one node."""
    builder = Builder()
    one = builder.level(SUCC, 0)

    def const(text: str, *levels: int) -> int:
        return builder.term(CONST, name=builder.name_of(0, text), a=builder.level_list(levels))

    term = const("congrArg", one, one)
    for argument in (const("MyNat"), const("MyNat"), *(builder.term(BVAR, a=i) for i in (2, 1)), const("succ")):
        term = builder.term(APP, a=term, b=argument)
    term = builder.term(APP, a=term, b=builder.term(BVAR, a=0))
    assert count_terms(builder.export, [term])[term] == 17


@pytest.mark.parametrize("name", ["toy.ndjson", "toy.sparse_ids.ndjson", "toy.mdata.ndjson"])
def test_every_part_of_the_toy_file(lean_data: Path, found_by_others: dict[str, Any], name: str) -> None:
    export = read_export(lean_data / name)
    found: dict[tuple[str, str], int] = {}
    counts = count_terms(export, range(len(export)))
    for declaration in export.declarations:
        for constant, part, term in terms_of(declaration):
            shown = export.name_text(constant.name)
            if isinstance(constant, Recursor) and part.startswith("rule"):
                shown += " @ " + export.name_text(constant.rules[int(part.split()[1])].ctor)
                part = "rhs"
            found[shown, part] = counts[term]
    wanted = {(row["decl"], row["part"].split(".")[1]): row["nodes"] for row in found_by_others["counts"]}
    assert found == wanted


@pytest.mark.parametrize("name", ["toy.ndjson", "toy.sparse_ids.ndjson", "toy.mdata.ndjson"])
def test_known_charges(lean_data: Path, found_by_others: dict[str, Any], name: str) -> None:
    export = read_export(lean_data / name)
    for case in found_by_others["charges"]:
        found = charge(export, case["targets"], case["background"])
        assert {item.name: item.pays() for item in found.items} == case["pays"]
        assert found.count == case["N"]


@pytest.mark.parametrize("name", ["toy.ndjson", "toy.sparse_ids.ndjson", "toy.mdata.ndjson"])
def test_the_page_s_inductive_type_and_what_a_target_rests_on(lean_data: Path, name: str) -> None:
    export = read_export(lean_data / name)
    found = {item.name: item for item in charge(export, ["zero_add"], []).items}
    assert found["MyNat"].pays() == {"types": [3], "ctors": [1, 3], "rec_types": [26], "rules": [22, 37]}
    assert {name: item.nodes for name, item in found.items()} == {
        "zero_add": 86,
        "MyNat": 92,
        "MyNat.add": 28,
        "congrArg": 102,
        "Eq": 99,
    }


@pytest.mark.parametrize("version", ["3.0.0", "3.1.0"])
def test_an_inductive_type_of_a_real_export(shared_lean: Path, version: str) -> None:
    export = read_export(shared_lean / f"lean4export.Nat.add_succ.v{version}.ndjson")
    found = charge(export, ["Nat.add_succ"], [])
    nat = next(item for item in found.items if item.name == "Nat")
    assert nat.pays() == {"types": [3], "ctors": [1, 3], "rec_types": [26], "rules": [22, 37]}
    assert nat.nodes == 92


def test_any_part_of_a_block_makes_it_background(lean_data: Path) -> None:
    export = read_export(lean_data / "toy.ndjson")
    for name in ("MyNat", "MyNat.succ", "MyNat.rec"):
        assert "MyNat" not in {item.name for item in charge(export, ["zero_add"], [name]).items}


def test_a_target_twice_or_used_by_another_is_charged_once(lean_data: Path) -> None:
    export = read_export(lean_data / "toy.ndjson")
    once = charge(export, ["zero_add_by_helper", "succ_congr"], []).items
    assert [item.kind for item in once].count("target") == 2
    assert charge(export, ["succ_congr", "zero_add_by_helper", "succ_congr"], []).count == sum(x.nodes for x in once)


def test_a_projection_charges_its_structure(lean_data: Path) -> None:
    export = read_export(lean_data / "toy.ndjson")
    names = {export.name_text(constant.name) for item in export.declarations for constant in constants_of(item)}
    without = names - {"Pair", "Pair.mk", "Pair.rec", "Pair.fst", "pair_eta"}
    found = {item.name for item in charge(export, ["pair_eta"], without - {"Pair.snd"}).items}
    assert {"Pair", "Pair.snd"} <= found


def test_what_is_missing_is_named() -> None:
    export = read(
        {"in": 1, "str": {"pre": 0, "str": "t"}},
        {"in": 2, "str": {"pre": 0, "str": "gone"}},
        {"ie": 0, "const": {"name": 2, "us": []}},
        {"thm": {"name": 1, "levelParams": [], "type": 0, "value": 0, "all": [1]}},
    )
    with pytest.raises(DataError, match="gone is used but not declared"):
        charge(export, ["t"], [])
    with pytest.raises(DataError, match="target u is not declared"):
        charge(export, ["u"], [])


@pytest.mark.parametrize(("depth", "fits"), [(12_000, True), (13_000, False)])
def test_counts_have_at_most_some_thousand_digits(depth: int, fits: bool) -> None:
    builder = Builder()
    prop = builder.term(SORT)
    const = builder.term(CONST, name=builder.name_of(0, "T"), a=builder.level_list(()))
    term = const
    for _ in range(depth):
        term = builder.term(APP, a=term, b=term)
    builder.export.declarations = [
        Axiom(builder.name_of(0, "T"), [], prop),
        Theorem(builder.name_of(0, "t"), [], const, term),
    ]
    if fits:
        found = charge(builder.export, ["t"], []).count
        assert json.loads(json.dumps(found)) == found
    else:
        with pytest.raises(DataError, match="not scored"):
            charge(builder.export, ["t"], [])
