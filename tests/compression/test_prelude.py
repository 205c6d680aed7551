"""What `prelude` files may hold, as docs/compression.md says it, of the Lean that checks them."""

import pytest

from proverbench.compression.kernel import LeanKernel

HEAD = "prelude\nset_option linter.all false\n"
OPTION = "set_option genCtorIdx false\n"
THREE = "unsafe axiom lcAny : Type\nunsafe axiom lcErased : Type\nunsafe axiom lcProof {α : Prop} : α\n"
TWO = "inductive B where\n  | no\n  | yes\n"
AND = "def and (a b : B) : B := B.rec (motive := fun _ => B) B.no b a\n"
MATCH = "noncomputable def and (a b : B) : B := match a with | B.no => B.no | B.yes => b\n"
NAT = "inductive Nat where\n  | zero\n  | succ (n : Nat)\n"


def said(kernel: LeanKernel, *parts: str) -> str:
    """Lean's first error; empty if it compiles."""
    done = kernel.compile("A.lean", {"A.lean": "".join([HEAD, *parts]).encode()})
    assert (done.olean is None) == bool(done.messages)
    return done.messages[0] if done.messages else ""


def test_a_recursor_in_a_plain_definition_and_match_are_refused_by_lean(kernel: LeanKernel) -> None:
    assert "does not support recursor `B.rec`" in said(kernel, THREE, TWO, AND)
    assert "PProd.mk" in said(kernel, THREE, TWO, MATCH)
    assert said(kernel, THREE, TWO, "noncomputable ", AND) == ""


@pytest.mark.parametrize("line", ["structure P (α : Type) where\n  x : α\n", "def id (α : Type) (a : α) : α := a\n"])
def test_structures_want_three_constants_of_the_compiler(kernel: LeanKernel, line: str) -> None:
    assert "lcAny" in said(kernel, line)
    assert said(kernel, THREE, line) == ""


def test_a_type_called_nat_wants_an_option(kernel: LeanKernel) -> None:
    assert "ctorIdx" in said(kernel, THREE, NAT, TWO)
    assert said(kernel, OPTION, THREE, NAT, TWO) == ""
    assert said(kernel, THREE, NAT.replace("Nat", "Natural"), TWO) == ""
