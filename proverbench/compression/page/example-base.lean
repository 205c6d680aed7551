prelude
set_option linter.all false
inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a
theorem Eq.trans {α : Sort u} {a b c : α} (h : Eq a b) (k : Eq b c) : Eq a c :=
  Eq.rec (motive := fun d _ => Eq a d) h k
theorem congrArg {α : Sort u} {β : Sort v} {a b : α} (f : α → β) (h : Eq a b) : Eq (f a) (f b) :=
  Eq.rec (motive := fun c _ => Eq (f a) (f c)) Eq.refl h
