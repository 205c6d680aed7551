"""The automatic sharing pass: the same proof, fewer nodes, every scope and level exact."""

from pathlib import Path
from typing import Any

import pytest

from proverbench.compression.charges import charge
from proverbench.compression.checking import check_sources
from proverbench.compression.counting import count_terms
from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
    LAM,
    LET,
    PI,
    PROJ,
    SORT,
    SUCC,
    Axiom,
    Definition,
    Export,
    Theorem,
)
from proverbench.compression.export_building import Builder, Importer
from proverbench.compression.export_reading import read_export
from proverbench.compression.hashing import TermHasher
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.olean import read_oleans
from proverbench.compression.sharing import share
from proverbench.compression.tasks import load_task, shipped_tasks


def lifted(builder: Builder, term: int, by: int, above: int = 0) -> int:
    export = builder.export
    kind, name, info = export.kind[term], export.name[term], export.info[term]
    a, b = export.a[term], export.b[term]
    if kind == BVAR:
        return builder.term(BVAR, a=a + by if a >= above else a)
    if kind == APP:
        return builder.term(APP, a=lifted(builder, a, by, above), b=lifted(builder, b, by, above))
    if kind in (LAM, PI):
        a, b = lifted(builder, a, by, above), lifted(builder, b, by, above + 1)
        return builder.term(kind, name=name, info=info, a=a, b=b)
    if kind == PROJ:
        return builder.term(PROJ, name=name, a=a, b=lifted(builder, b, by, above))
    assert kind in (SORT, CONST)
    return term


def unfolded(builder: Builder, term: int, env: tuple[int | None, ...] = (), values: Any = ()) -> int:
    """A term with every let written out: a slow second implementation, by substitution.

    ``env`` says of each binder around, from outside, where it stands in the result, None for a let; ``values`` has the
    lets' values with the number of kept binders around them.
    """
    export = builder.export
    kind, name, info = export.kind[term], export.name[term], export.info[term]
    a, b, c = export.a[term], export.b[term], export.c[term]
    kept = sum(place is not None for place in env)
    if kind == BVAR:
        place = env[-1 - a]
        if place is not None:
            return builder.term(BVAR, a=kept - 1 - place)
        value, depth = values[len(env) - 1 - a]
        return lifted(builder, value, kept - depth)
    if kind == APP:
        return builder.term(APP, a=unfolded(builder, a, env, values), b=unfolded(builder, b, env, values))
    if kind in (LAM, PI):
        body = unfolded(builder, b, (*env, kept), (*values, None))
        return builder.term(kind, name=name, info=info, a=unfolded(builder, a, env, values), b=body)
    if kind == LET:
        value = unfolded(builder, b, env, values)
        return unfolded(builder, c, (*env, None), (*values, (value, kept)))
    if kind == PROJ:
        return builder.term(PROJ, name=name, a=a, b=unfolded(builder, b, env, values))
    assert kind in (SORT, CONST)
    return term


def proofs(export: Export) -> dict[str, bytes]:
    """Hash of every theorem's proof with its lets written out."""
    builder = Builder()
    importer = Importer(export, builder)
    theorems = [importer.declaration(item) for item in export.declarations if isinstance(item, Theorem)]
    found = {}
    for item in theorems:
        assert isinstance(item, Theorem)
        plain = unfolded(builder, item.value)
        found[builder.export.name_text(item.name)] = TermHasher(builder.export).digest(plain, item.level_params)
    return found


def test_written_out_again_it_is_the_same_proof(lean_data: Path, kernel: LeanKernel) -> None:
    export = read_export(lean_data / "toy.ndjson")
    targets = ["zero_add", "zero_add_by_helper", "pair_eta", "with_let", "with_have", "congrArg"]
    shared = share(export, targets, [], kernel)
    for version in (shared.everything, shared.paying):
        assert version.problems == ()
        assert proofs(version.export) == proofs(export)


@pytest.mark.parametrize(
    "name",
    [
        "group",
        *(
            pytest.param(name, marks=pytest.mark.torture)
            for name in ("boolean", "list-append", "logic", "nat-add", "order")
        ),
    ],
)
def test_our_own_tasks(name: str, kernel: LeanKernel) -> None:
    task = load_task(shipped_tasks()[name])
    check = check_sources(task, task.original, kernel)
    assert check.export is not None
    shared = share(check.export, task.spec.targets, check.provided, kernel).paying
    assert shared.problems == ()
    assert shared.charge.count < task.spec.original_count
    assert proofs(shared.export) == proofs(check.export)


def test_statements_and_definitions_stay(lean_data: Path, kernel: LeanKernel) -> None:
    export = read_export(lean_data / "toy.ndjson")
    shared = share(export, ["zero_add"], [], kernel).everything

    def others(of: Export) -> dict[str, bytes]:
        found = {}
        for name, (constant, _) in of.constants().items():
            term = constant.value if isinstance(constant, Definition) else constant.type
            found[of.name_text(name)] = TermHasher(of).digest(term, constant.level_params)
        return found

    assert others(shared.export) == others(export)


def doubled(depth: int) -> tuple[Export, str]:
    """A library with ``c : T``, ``f : T → T → T`` and ``t : P (f (f …) (f …))``, a term of 2^depth leaves."""
    builder = Builder()

    def name(text: str) -> int:
        return builder.name_of(0, text)

    def const(text: str, *levels: int) -> int:
        return builder.term(CONST, name=name(text), a=builder.level_list(levels))

    one = builder.level(SUCC, 0)
    type_ = builder.term(SORT, a=one)
    prop = builder.term(SORT, a=0)
    t = const("T")
    declare = builder.export.declarations.append
    declare(Axiom(name("T"), [], type_))
    declare(Axiom(name("c"), [], t))
    t_to_t = builder.term(PI, a=t, b=t)
    declare(Axiom(name("f"), [], builder.term(PI, a=t, b=t_to_t)))
    declare(Axiom(name("P"), [], prop))
    declare(Axiom(name("p"), [], builder.term(PI, a=t, b=const("P"))))
    term = const("c")
    for _ in range(depth):
        term = builder.term(APP, a=builder.term(APP, a=const("f"), b=term), b=term)
    declare(Theorem(name("t"), [], const("P"), builder.term(APP, a=const("p"), b=term)))
    return builder.export, "t"


def test_a_proof_of_two_to_the_sixty_nodes_becomes_short(kernel: LeanKernel) -> None:
    export, target = doubled(60)
    before = charge(export, [target], []).count
    shared = share(export, [target], [], kernel).everything
    assert before > 2**60
    assert shared.problems == ()
    # Each of the 59 lower doublings once: a let, its type T, `f x x` of 5 nodes; and what is left of the proof.
    assert shared.charge.items[0].nodes < 60 * 8
    assert shared.lets >= 59


def test_equal_looking_terms_in_other_scopes_or_at_other_levels_stay_apart(kernel: LeanKernel) -> None:
    """``g (g x)`` below two binders means two things; ``id.{1} T`` is not ``id.{2} Type``."""
    source = """prelude
set_option linter.all false
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {α : Prop} : α
inductive T : Type where
  | mk
inductive All (a : Sort u) (b : Sort v) (c : Sort w) : Prop where
  | mk (x : a) (y : b) (z : c)
def id {α : Sort u} (x : α) : α := x
theorem scopes (g h : T → T) : All (T → T) (T → T) (T → T) :=
  All.mk (fun x => g (g x)) (fun x => h (g (g x))) (fun y => h (g (g y)))
theorem levels : All T Type (All T T T) :=
  All.mk (id (id T.mk)) (id (id T)) (All.mk (id T.mk) (id (id T.mk)) (id (id (id T.mk))))
"""
    done = kernel.compile("A.lean", {"A.lean": source.encode()})
    assert done.olean is not None, done.messages
    export, _ = read_oleans([("A", done.olean)])
    both = share(export, ["scopes", "levels"], [], kernel)
    for shared in (both.everything, both.paying):
        assert shared.problems == ()
        assert proofs(shared.export) == proofs(export)
        # `fun x => h (g (g x))` and the same with y are one term; `g (g x)` alone is never bound at the outside.
        values = let_values(shared.export, "scopes")
        assert LAM in values or shared is both.paying
        assert APP not in values


def let_values(export: Export, theorem: str) -> list[int]:
    """Kinds of what is bound by the lets of a theorem's proof."""
    (proof,) = (
        item for item in export.declarations if isinstance(item, Theorem) and export.name_text(item.name) == theorem
    )
    below = export.reach((proof.value,), bytearray(len(export)))
    return [export.kind[export.b[term]] for term in below if export.kind[term] == LET]


def test_the_planned_size_is_the_count(lean_data: Path, kernel: LeanKernel) -> None:
    export = read_export(lean_data / "toy.ndjson")
    shared = share(export, ["zero_add"], [], kernel).everything
    (target,) = (item for item in shared.charge.items if item.kind == "target")
    term = target.parts[0].term
    assert count_terms(shared.export, [term])[term] == target.nodes
