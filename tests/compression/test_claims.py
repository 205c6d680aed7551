"""Whatever terms claim of an inductive type is compared with what the kernel makes; of a file of our own."""

import copy
from collections.abc import Callable

import pytest

from proverbench.compression.export import Constructor, Export, Inductive, InductiveType, Recursor
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.olean import read_oleans

SOURCE = """prelude
set_option linter.all false
set_option genCtorIdx false
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {α : Prop} : α
inductive Two where
  | left
  | right
inductive Row (α : Type) : Two → Type where
  | none : Row α Two.left
  | more (head : α) (rest : Row α Two.left) : Row α Two.right
inductive Same {α : Type} (a : α) : α → Prop where
  | here : Same a a
inductive Box (α : Type) where
  | box (content : α)
inductive Tree where
  | leaf
  | node (child : Box Tree)
"""


@pytest.fixture(scope="module")
def terms(kernel: LeanKernel) -> bytes:
    """The kernel terms of the file, as an export."""
    done = kernel.compile("A.lean", {"A.lean": SOURCE.encode()})
    assert done.olean is not None, done.messages
    return write_export(read_oleans([("A", done.olean)])[0])


def block(export: Export, name: str) -> Inductive:
    (found,) = (item for item in export.declarations if export.name_text(item.name) == name)
    assert isinstance(found, Inductive)
    return found


def replayed(kernel: LeanKernel, terms: bytes, name: str, change: Callable[[Inductive], None]) -> list[str]:
    export = read_export_lines(terms.splitlines(keepends=True), source="terms")
    before = copy.deepcopy(block(export, name))
    change(block(export, name))
    assert block(export, name) != before, "nothing was changed"
    return [f"{problem.declaration}: {problem.message}" for problem in kernel.replay(write_export(export)).problems]


def test_the_claims_of_the_compiler_are_true(kernel: LeanKernel, terms: bytes) -> None:
    found = kernel.replay(terms)
    assert found.problems == ()
    assert found.accepted >= 5


def of_type(**changed: object) -> Callable[[Inductive], None]:
    return lambda item: _set(item.types[0], changed)


def of_ctor(**changed: object) -> Callable[[Inductive], None]:
    return lambda item: _set(item.ctors[-1], changed)


def of_rec(**changed: object) -> Callable[[Inductive], None]:
    return lambda item: _set(item.recs[0], changed)


def of_rule(**changed: object) -> Callable[[Inductive], None]:
    return lambda item: _set(item.recs[0].rules[-1], changed)


def _set(value: object, changed: dict[str, object]) -> None:
    for key, new in changed.items():
        setattr(value, key, new(getattr(value, key)) if callable(new) else new)


def more(number: int) -> int:
    return number + 1


def doubled(names: list[int]) -> list[int]:
    return [*names, names[0]]


def turned(item: Inductive) -> None:
    item.recs[0].rules.reverse()


def other_right_side(item: Inductive) -> None:
    item.recs[0].rules[-1].rhs = item.recs[0].rules[0].rhs


def elsewhere(item: Inductive) -> None:
    item.ctors[-1].induct = item.ctors[-1].name


def another_type(item: Inductive) -> None:
    item.recs[0].type = item.types[0].type


def without_a_recursor(item: Inductive) -> None:
    del item.recs[-1]


LIES = [
    pytest.param("Row", of_type(num_indices=more), "Row: indices", id="indices"),
    pytest.param("Row", of_type(num_params=0), "Row", id="parameters"),
    pytest.param("Tree", of_type(num_nested=more), "Tree: nested", id="nested"),
    pytest.param("Row", of_type(all=doubled), "Row: all", id="all"),
    pytest.param("Row", of_type(is_rec=False), "Row: flags", id="recursive"),
    pytest.param("Row", of_type(is_reflexive=True), "Row: flags", id="reflexive"),
    pytest.param("Row", elsewhere, "Row.more: type it belongs to", id="type-of-a-constructor"),
    pytest.param("Row", of_ctor(cidx=more), "Row.more: numbers", id="place-of-a-constructor"),
    pytest.param("Row", of_ctor(num_params=more), "Row.more: numbers", id="parameters-of-a-constructor"),
    pytest.param("Row", of_ctor(num_fields=more), "Row.more: numbers", id="fields-of-a-constructor"),
    pytest.param("Row", of_rec(k=True), "Row.rec: k", id="k"),
    pytest.param("Same", of_rec(k=False), "Same.rec: k", id="no-k"),
    pytest.param("Row", of_rec(all=doubled), "Row.rec: all", id="all-of-a-recursor"),
    pytest.param("Row", of_rec(num_params=more), "Row.rec: numbers", id="parameters-of-a-recursor"),
    pytest.param("Row", of_rec(num_indices=more), "Row.rec: numbers", id="indices-of-a-recursor"),
    pytest.param("Row", of_rec(num_motives=more), "Row.rec: numbers", id="motives"),
    pytest.param("Row", of_rec(num_minors=more), "Row.rec: numbers", id="minors"),
    pytest.param("Row", turned, "Row.rec: rules", id="order-of-rules"),
    pytest.param("Row", of_rule(n_fields=more), "Row.rec: rules", id="fields-of-a-rule"),
    pytest.param("Two", other_right_side, "Two.rec: rule for Two.right", id="right-side"),
    pytest.param("Row", another_type, "Row.rec: type", id="type-of-a-recursor"),
    pytest.param("Tree", without_a_recursor, "recursors; the kernel makes", id="a-recursor-too-few"),
]


@pytest.mark.parametrize(("name", "change", "said"), LIES)
def test_a_lie_about_an_inductive_type_is_named(
    kernel: LeanKernel, terms: bytes, name: str, change: Callable[[Inductive], None], said: str
) -> None:
    problems = replayed(kernel, terms, name, change)
    assert any(problem.startswith(f"{name}: ") and said in problem for problem in problems), problems


def test_no_number_flag_or_list_of_an_inductive_type_goes_unnamed() -> None:
    """Every field that the kernel makes is lied about above, but those that the kernel is given itself."""
    given = {"name", "level_params", "type", "ctors", "is_unsafe", "rules"}
    fields = {
        field
        for kind in (InductiveType, Constructor, Recursor)
        for field in kind.__struct_fields__
        if field not in given
    }
    assert fields == {
        *("all", "num_params", "num_indices", "num_nested", "is_rec", "is_reflexive"),
        *("induct", "cidx", "num_fields", "num_motives", "num_minors", "k"),
    }
