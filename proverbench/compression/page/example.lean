prelude
import Base
set_option linter.all false

inductive MyNat where
  | zero
  | succ (n : MyNat)

noncomputable def MyNat.add (m n : MyNat) : MyNat :=
  MyNat.rec (motive := fun _ => MyNat) m (fun _ sum => MyNat.succ sum) n

theorem succ_congr (n m : MyNat) (ih : Eq n m) : Eq (MyNat.succ n) (MyNat.succ m) :=
  congrArg MyNat.succ ih

theorem zero_add (n : MyNat) : Eq (MyNat.add MyNat.zero n) n :=
  MyNat.rec (motive := fun k => Eq (MyNat.add MyNat.zero k) k) Eq.refl (fun k ih => succ_congr _ k ih) n

theorem two_succ (n m : MyNat) (h : Eq n m) : Eq (MyNat.succ (MyNat.succ n)) (MyNat.succ (MyNat.succ m)) :=
  Eq.trans (succ_congr _ _ (succ_congr n m h)) Eq.refl
