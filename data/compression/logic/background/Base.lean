prelude
set_option linter.all false
-- Three names that Lean's compiler looks for; unsafe, so no theorem can use them and they are never exported.
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {α : Prop} : α

/-- Nothing proves it. -/
inductive False : Prop

/-- Both. -/
inductive And (a b : Prop) : Prop where
  | intro (left : a) (right : b)

/-- At least one. -/
inductive Or (a b : Prop) : Prop where
  | inl (h : a)
  | inr (h : b)

/-- Each follows from the other. -/
inductive Iff (a b : Prop) : Prop where
  | intro (mp : a → b) (mpr : b → a)

/-- A contradiction follows. -/
def Not (a : Prop) : Prop := a → False

theorem And.left {a b : Prop} (h : And a b) : a := And.rec (motive := fun _ => a) (fun x _ => x) h
theorem And.right {a b : Prop} (h : And a b) : b := And.rec (motive := fun _ => b) (fun _ y => y) h
theorem Iff.mp {a b : Prop} (h : Iff a b) : a → b := Iff.rec (motive := fun _ => a → b) (fun f _ => f) h
theorem Iff.mpr {a b : Prop} (h : Iff a b) : b → a := Iff.rec (motive := fun _ => b → a) (fun _ g => g) h
theorem Or.elim {a b c : Prop} (h : Or a b) (f : a → c) (g : b → c) : c := Or.rec (motive := fun _ => c) f g h
