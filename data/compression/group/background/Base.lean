prelude
set_option linter.all false
-- Three names that Lean's compiler looks for; unsafe, so no theorem can use them and they are never exported.
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {α : Prop} : α

/-- Equality. -/
inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a

theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a :=
  Eq.rec (motive := fun x _ => Eq x a) (Eq.refl (a := a)) h

theorem Eq.trans {α : Sort u} {a b c : α} (h : Eq a b) (k : Eq b c) : Eq a c :=
  Eq.rec (motive := fun x _ => Eq a x) h k

theorem congrArg {α : Sort u} {β : Sort v} {a b : α} (f : α → β) (h : Eq a b) : Eq (f a) (f b) :=
  Eq.rec (motive := fun x _ => Eq (f a) (f x)) (Eq.refl (a := f a)) h

/-- A group, from axioms on the left alone. -/
structure Group (α : Type u) where
  mul : α → α → α
  one : α
  inv : α → α
  assoc : ∀ a b c, Eq (mul (mul a b) c) (mul a (mul b c))
  one_mul : ∀ a, Eq (mul one a) a
  inv_mul : ∀ a, Eq (mul (inv a) a) one
