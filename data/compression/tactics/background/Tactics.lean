prelude
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

def Lean.Parser.Tactic.exact : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.exact
def Lean.Parser.Tactic.apply : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.apply
def Lean.Parser.Tactic.refine : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.refine
def Lean.Parser.Tactic.intro : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.intro
def Lean.Parser.Tactic.assumption : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.assumption
def Lean.Parser.Tactic.constructor : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.constructor
def Lean.Parser.Tactic.skip : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.skip
def Lean.Parser.Tactic.left : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.left
def Lean.Parser.Tactic.right : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.right
def Lean.Parser.Tactic.done : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.done
def Lean.Parser.Tactic.change : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.change
def Lean.Parser.Tactic.clear : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.clear
def Lean.Parser.Tactic.revert : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.revert
def Lean.Parser.Tactic.specialize : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.specialize
def Lean.Parser.Tactic.unfold : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.unfold
def Lean.Parser.Tactic.delta : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.delta
def Lean.Parser.Tactic.rename : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.rename
def Lean.Parser.Tactic.congr : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.congr
def Lean.Parser.Tactic.first : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.first
def Lean.Parser.Tactic.allGoals : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.allGoals
def Lean.Parser.Tactic.paren : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.paren
def Lean.Parser.Tactic.rewriteSeq : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.rewriteSeq
def Lean.Parser.Tactic.rwSeq : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.rwSeq
def Lean.Parser.Tactic.induction : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.induction
def Lean.Parser.Tactic.eqRefl : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.eqRefl
def Lean.Parser.Tactic.tacticRfl : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.tacticRfl
def Lean.Parser.Tactic.focus : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.focus
def Lean.Parser.Tactic.case : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.case
def Lean.Parser.Tactic.show : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.show
def Lean.Parser.Tactic.withReducible : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.withReducible
def Lean.Parser.Tactic.tacticTry_ : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.Parser.Tactic.tacticTry_
def Lean.cdot : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [tactic_parser] Lean.cdot
def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_2 : Lean.Macro := fun stx _ _ => stx
attribute [macro Lean.Parser.Tactic.tacticRfl] Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_2
def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_rwSeq_1 : Lean.Macro := fun stx _ _ => stx
attribute [macro Lean.Parser.Tactic.rwSeq] Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_rwSeq_1
def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTry__1 : Lean.Macro := fun stx _ _ => stx
attribute [macro Lean.Parser.Tactic.tacticTry_] Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTry__1
def «term_=_» : Lean.TrailingParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [term_parser] «term_=_»
def «_aux_Init_Notation___macroRules_term_=__1» : Lean.Macro := fun stx _ _ => stx
attribute [macro «term_=_»] «_aux_Init_Notation___macroRules_term_=__1»
def «term_∧_» : Lean.TrailingParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [term_parser] «term_∧_»
def «_aux_Init_Notation___macroRules_term_∧__1» : Lean.Macro := fun stx _ _ => stx
attribute [macro «term_∧_»] «_aux_Init_Notation___macroRules_term_∧__1»
def «term_∨_» : Lean.TrailingParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [term_parser] «term_∨_»
def «_aux_Init_Notation___macroRules_term_∨__1» : Lean.Macro := fun stx _ _ => stx
attribute [macro «term_∨_»] «_aux_Init_Notation___macroRules_term_∨__1»
def «term_+_» : Lean.TrailingParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [term_parser] «term_+_»
def «_aux_Init_Notation___macroRules_term_+__1» : Lean.Macro := fun stx _ _ => stx
attribute [macro «term_+_»] «_aux_Init_Notation___macroRules_term_+__1»
def «term_*_» : Lean.TrailingParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [term_parser] «term_*_»
def «_aux_Init_Notation___macroRules_term_*__1» : Lean.Macro := fun stx _ _ => stx
attribute [macro «term_*_»] «_aux_Init_Notation___macroRules_term_*__1»
def «term¬_» : Lean.ParserDescr := Lean.ParserDescr.const Lean.Name.anonymous
attribute [term_parser] «term¬_»
def «_aux_Init_Notation___macroRules_term¬__1» : Lean.Macro := fun stx _ _ => stx
attribute [macro «term¬_»] «_aux_Init_Notation___macroRules_term¬__1»
