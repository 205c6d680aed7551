prelude
import Base
set_option linter.all false

/-- Truth values. -/
inductive B where
  | no
  | yes

namespace B

noncomputable def not (a : B) : B := B.rec (motive := fun _ => B) yes no a
noncomputable def and (a b : B) : B := B.rec (motive := fun _ => B) no b a
noncomputable def or (a b : B) : B := B.rec (motive := fun _ => B) b yes a
noncomputable def xor (a b : B) : B := B.rec (motive := fun _ => B) b (not b) a

theorem not_not (a : B) : Eq (not (not a)) a :=
  B.rec (motive := fun a => Eq (not (not a)) a) Eq.refl Eq.refl a

theorem and_comm (a b : B) : Eq (and a b) (and b a) :=
  B.rec (motive := fun a => Eq (and a b) (and b a))
    (B.rec (motive := fun b => Eq (and no b) (and b no)) Eq.refl Eq.refl b)
    (B.rec (motive := fun b => Eq (and yes b) (and b yes)) Eq.refl Eq.refl b)
    a

theorem and_assoc (a b c : B) : Eq (and (and a b) c) (and a (and b c)) :=
  B.rec (motive := fun a => Eq (and (and a b) c) (and a (and b c)))
    (B.rec (motive := fun b => Eq (and (and no b) c) (and no (and b c)))
      (B.rec (motive := fun c => Eq (and (and no no) c) (and no (and no c))) Eq.refl Eq.refl c)
      (B.rec (motive := fun c => Eq (and (and no yes) c) (and no (and yes c))) Eq.refl Eq.refl c)
      b)
    (B.rec (motive := fun b => Eq (and (and yes b) c) (and yes (and b c)))
      (B.rec (motive := fun c => Eq (and (and yes no) c) (and yes (and no c))) Eq.refl Eq.refl c)
      (B.rec (motive := fun c => Eq (and (and yes yes) c) (and yes (and yes c))) Eq.refl Eq.refl c)
      b)
    a

theorem not_and (a b : B) : Eq (not (and a b)) (or (not a) (not b)) :=
  B.rec (motive := fun a => Eq (not (and a b)) (or (not a) (not b)))
    (B.rec (motive := fun b => Eq (not (and no b)) (or (not no) (not b))) Eq.refl Eq.refl b)
    (B.rec (motive := fun b => Eq (not (and yes b)) (or (not yes) (not b))) Eq.refl Eq.refl b)
    a

theorem and_or (a b c : B) : Eq (and a (or b c)) (or (and a b) (and a c)) :=
  B.rec (motive := fun a => Eq (and a (or b c)) (or (and a b) (and a c)))
    (B.rec (motive := fun b => Eq (and no (or b c)) (or (and no b) (and no c)))
      (B.rec (motive := fun c => Eq (and no (or no c)) (or (and no no) (and no c))) Eq.refl Eq.refl c)
      (B.rec (motive := fun c => Eq (and no (or yes c)) (or (and no yes) (and no c))) Eq.refl Eq.refl c)
      b)
    (B.rec (motive := fun b => Eq (and yes (or b c)) (or (and yes b) (and yes c)))
      (B.rec (motive := fun c => Eq (and yes (or no c)) (or (and yes no) (and yes c))) Eq.refl Eq.refl c)
      (B.rec (motive := fun c => Eq (and yes (or yes c)) (or (and yes yes) (and yes c))) Eq.refl Eq.refl c)
      b)
    a

theorem xor_assoc (a b c : B) : Eq (xor (xor a b) c) (xor a (xor b c)) :=
  B.rec (motive := fun a => Eq (xor (xor a b) c) (xor a (xor b c)))
    (B.rec (motive := fun b => Eq (xor (xor no b) c) (xor no (xor b c)))
      (B.rec (motive := fun c => Eq (xor (xor no no) c) (xor no (xor no c))) Eq.refl Eq.refl c)
      (B.rec (motive := fun c => Eq (xor (xor no yes) c) (xor no (xor yes c))) Eq.refl Eq.refl c)
      b)
    (B.rec (motive := fun b => Eq (xor (xor yes b) c) (xor yes (xor b c)))
      (B.rec (motive := fun c => Eq (xor (xor yes no) c) (xor yes (xor no c))) Eq.refl Eq.refl c)
      (B.rec (motive := fun c => Eq (xor (xor yes yes) c) (xor yes (xor yes c))) Eq.refl Eq.refl c)
      b)
    a

end B
