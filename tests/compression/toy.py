"""A small library of our own, what Lean makes of it, and copies of that which are damaged, each in one known way."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proverbench.compression.export import Definition, Export, Inductive, Theorem
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.olean import read_oleans

SOURCE = """prelude
set_option linter.all false
-- What the compiler asks for; being unsafe, no theorem rests on it.
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {P : Prop} : P

inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a

theorem congrArg {α : Sort u} {β : Sort v} {a b : α} (f : α → β) (same : Eq a b) : Eq (f a) (f b) :=
  Eq.rec (motive := fun other _ => Eq (f a) (f other)) (Eq.refl (a := f a)) same

inductive MyNat where
  | zero
  | succ (before : MyNat)

noncomputable def MyNat.add (a b : MyNat) : MyNat :=
  MyNat.rec (motive := fun _ => MyNat) a (fun _ ih => MyNat.succ ih) b

theorem succ_congr (n m : MyNat) (ih : Eq n m) : Eq (MyNat.succ n) (MyNat.succ m) :=
  congrArg MyNat.succ ih

theorem zero_add (n : MyNat) : Eq (MyNat.add MyNat.zero n) n :=
  MyNat.rec (motive := fun k => Eq (MyNat.add MyNat.zero k) k) Eq.refl (fun _ ih => congrArg MyNat.succ ih) n

-- The same by way of a lemma, so that there is something to save.
theorem zero_add_by_helper (n : MyNat) : Eq (MyNat.add MyNat.zero n) n :=
  MyNat.rec (motive := fun n => Eq (MyNat.add MyNat.zero n) n) Eq.refl (fun k ih => succ_congr _ k ih) n

structure Pair (α : Type u) (β : Type v) where
  fst : α
  snd : β

theorem pair_eta (both : Pair α β) : Eq both (Pair.mk both.fst both.snd) := Eq.refl

theorem with_let (n : MyNat) : Eq n n := let again : MyNat := n; (Eq.refl : Eq again again)
theorem with_have (n : MyNat) : Eq n n := have same : Eq n n := Eq.refl; same

axiom choose_one : MyNat
theorem uses_axiom : Eq choose_one choose_one := Eq.refl
"""
VERDICTS = {
    "": "accept",
    ".changed_statement": "accept",
    ".dangling_id": "malformed",
    ".level_arity": "reject",
    ".mdata": "accept",
    ".missing_definition": "reject",
    ".rec_k_lie": "reject",
    ".rec_rule_swapped": "reject",
    ".sorry_axiom": "accept",
    ".sparse_ids": "accept",
    ".wrong_value": "reject",
}
"""What Lean's kernel says of ``toy.ndjson`` and of each copy, by what was done to it."""


def exported(source: str, kernel: LeanKernel) -> bytes:
    """What Lean makes of a source, as an export."""
    done = kernel.compile("Toy.lean", {"Toy.lean": source.encode()})
    assert done.olean is not None, done.messages
    return write_export(read_oleans([("Toy", done.olean)])[0])


def _named(export: Export, name: str) -> Any:
    (found,) = (item for item in export.declarations if export.name_text(item.name) == name)
    return found


def _theorem(export: Export, name: str) -> Theorem:
    found = _named(export, name)
    assert isinstance(found, Theorem)
    return found


def _wrong_value(export: Export) -> None:
    _theorem(export, "zero_add").value = _theorem(export, "with_have").value


def _changed_statement(export: Export) -> None:
    other, target = _theorem(export, "with_have"), _theorem(export, "zero_add")
    target.type, target.value = other.type, other.value


def _missing_definition(export: Export) -> None:
    gone = _named(export, "MyNat.add")
    assert isinstance(gone, Definition)
    export.declarations.remove(gone)


def _numbers(export: Export) -> Inductive:
    found = _named(export, "MyNat")
    assert isinstance(found, Inductive)
    return found


def _rec_k_lie(export: Export) -> None:
    _numbers(export).recs[0].k = True


def _rec_rule_swapped(export: Export) -> None:
    zero, succ = _numbers(export).recs[0].rules
    succ.rhs = zero.rhs


CHANGES: dict[str, Callable[[Export], None]] = {
    ".wrong_value": _wrong_value,
    ".changed_statement": _changed_statement,
    ".missing_definition": _missing_definition,
    ".rec_k_lie": _rec_k_lie,
    ".rec_rule_swapped": _rec_rule_swapped,
}


def _lines(terms: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in terms.splitlines()]


def _name_id(lines: list[dict[str, Any]], text: str) -> int:
    return next(line["in"] for line in lines if line.get("str") == {"pre": 0, "str": text})


def _mdata(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The value of a theorem in a wrapper that means nothing."""
    wrapper = 1 + max(line["ie"] for line in lines if "ie" in line)
    name = _name_id(lines, "zero_add")
    target = next(line["thm"] for line in lines if line.get("thm", {}).get("name") == name)
    lines.insert(-1, {"ie": wrapper, "mdata": {"data": {"note": "nothing"}, "expr": target["value"]}})
    target["value"] = wrapper
    lines.append(lines.pop(next(n for n, line in enumerate(lines) if line.get("thm") is target)))
    return lines


def _level_arity(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``Eq`` at no universe level wherever it was used at one."""
    name = _name_id(lines, "Eq")
    for line in lines:
        if line.get("const", {}).get("name") == name:
            line["const"]["us"] = []
    return lines


def _dangling_id(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    next(line["thm"] for line in lines if "thm" in line)["value"] = 1_000_000
    return lines


def _sparse_ids(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Other ids with gaps between them, tables in any order; declarations stay in theirs."""
    first, *rest = lines
    texts = [json.dumps(_renumbered(line)) for line in rest]
    tables = [text for text in texts if any(key in json.loads(text) for key in ("in", "il", "ie"))]
    declarations = [text for text in texts if text not in set(tables)]
    random.Random(7).shuffle(tables)
    return [first, *(json.loads(text) for text in [*tables, *declarations])]


_NAMES = {"in", "pre", "name", "param", "typeName", "levelParams", "all", "ctors", "induct", "ctor"}
_LEVELS = {"il", "succ", "max", "imax", "us", "sort"}
_TERMS = {"ie", "fn", "arg", "type", "body", "value", "struct", "rhs", "expr"}


def _renumbered(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _renumbered(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_renumbered(part, key) for part in value]
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if key in _NAMES or key in _LEVELS:  # 0 is the name without parts, and level zero
        return 7 * value + 3 if value else 0
    return 5 * value + 2 if key in _TERMS else value


REWRITTEN = {".mdata": _mdata, ".level_arity": _level_arity, ".dangling_id": _dangling_id, ".sparse_ids": _sparse_ids}


def make_toy(folder: Path, kernel: LeanKernel) -> None:
    """Write ``toy.lean``, ``toy.ndjson`` and every copy of :data:`VERDICTS`."""
    (folder / "toy.lean").write_text(SOURCE, encoding="utf-8")
    terms = exported(SOURCE, kernel)
    (folder / "toy.ndjson").write_bytes(terms)
    for name, change in CHANGES.items():
        export = read_export_lines(terms.splitlines(keepends=True), source="toy")
        change(export)
        (folder / f"toy{name}.ndjson").write_bytes(write_export(export))
    for name, rewrite in REWRITTEN.items():
        lines = rewrite(_lines(terms))
        (folder / f"toy{name}.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    wished = "axiom wish (n : MyNat) : Eq (MyNat.add MyNat.zero n) n\n"
    head, _, rest = SOURCE.partition("theorem zero_add (")
    proof, _, rest = rest.partition("\n\n")
    assert proof
    assumed = f"{head}{wished}theorem zero_add (n : MyNat) : Eq (MyNat.add MyNat.zero n) n := wish n\n\n{rest}"
    (folder / "toy.sorry_axiom.ndjson").write_bytes(exported(assumed, kernel))
