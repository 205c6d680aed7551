prelude
import Base
set_option linter.all false

theorem and_comm (a b : Prop) : Iff (And a b) (And b a) :=
  Iff.intro
    (fun h => And.intro (And.right h) (And.left h))
    (fun h => And.intro (And.right h) (And.left h))

theorem or_comm (a b : Prop) : Iff (Or a b) (Or b a) :=
  Iff.intro
    (fun h => Or.elim h (fun x => Or.inr x) (fun y => Or.inl y))
    (fun h => Or.elim h (fun x => Or.inr x) (fun y => Or.inl y))

theorem and_assoc (a b c : Prop) : Iff (And (And a b) c) (And a (And b c)) :=
  Iff.intro
    (fun h => And.intro (And.left (And.left h)) (And.intro (And.right (And.left h)) (And.right h)))
    (fun h => And.intro (And.intro (And.left h) (And.left (And.right h))) (And.right (And.right h)))

theorem or_assoc (a b c : Prop) : Iff (Or (Or a b) c) (Or a (Or b c)) :=
  Iff.intro
    (fun h => Or.elim h
      (fun k => Or.elim k (fun x => Or.inl x) (fun y => Or.inr (Or.inl y)))
      (fun z => Or.inr (Or.inr z)))
    (fun h => Or.elim h
      (fun x => Or.inl (Or.inl x))
      (fun k => Or.elim k (fun y => Or.inl (Or.inr y)) (fun z => Or.inr z)))

theorem and_or (a b c : Prop) : Iff (And a (Or b c)) (Or (And a b) (And a c)) :=
  Iff.intro
    (fun h => Or.elim (And.right h)
      (fun y => Or.inl (And.intro (And.left h) y))
      (fun z => Or.inr (And.intro (And.left h) z)))
    (fun h => Or.elim h
      (fun k => And.intro (And.left k) (Or.inl (And.right k)))
      (fun k => And.intro (And.left k) (Or.inr (And.right k))))

theorem not_or (a b : Prop) : Iff (Not (Or a b)) (And (Not a) (Not b)) :=
  Iff.intro
    (fun h => And.intro (fun x => h (Or.inl x)) (fun y => h (Or.inr y)))
    (fun h k => Or.elim k (fun x => And.left h x) (fun y => And.right h y))

theorem iff_trans (a b c : Prop) (h : Iff a b) (k : Iff b c) : Iff a c :=
  Iff.intro (fun x => Iff.mp k (Iff.mp h x)) (fun z => Iff.mpr h (Iff.mpr k z))

theorem not_not_not (a : Prop) : Iff (Not (Not (Not a))) (Not a) :=
  Iff.intro
    (fun h x => h (fun k => k x))
    (fun h k => k (fun x => h x))
