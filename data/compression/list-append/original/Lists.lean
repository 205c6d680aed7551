prelude
import Base
set_option linter.all false

/-- Lists. -/
inductive L (α : Type u) where
  | nil
  | cons (head : α) (tail : L α)

namespace L

/-- One list after the other. -/
noncomputable def append {α : Type u} (xs ys : L α) : L α :=
  L.rec (motive := fun _ => L α) ys (fun x _ ih => cons x ih) xs

/-- A function on every element. -/
noncomputable def map {α : Type u} {β : Type v} (f : α → β) (xs : L α) : L β :=
  L.rec (motive := fun _ => L β) nil (fun x _ ih => cons (f x) ih) xs

/-- A list backwards. -/
noncomputable def reverse {α : Type u} (xs : L α) : L α :=
  L.rec (motive := fun _ => L α) nil (fun x _ ih => append ih (cons x nil)) xs

theorem append_nil {α : Type u} (xs : L α) : Eq (append xs nil) xs :=
  L.rec (motive := fun xs => Eq (append xs nil) xs) Eq.refl
    (fun x xs ih => Eq.trans (b := cons x (append xs nil)) Eq.refl (congrArg (fun t => cons x t) ih)) xs

theorem append_assoc {α : Type u} (xs ys zs : L α) :
    Eq (append (append xs ys) zs) (append xs (append ys zs)) :=
  L.rec (motive := fun xs => Eq (append (append xs ys) zs) (append xs (append ys zs))) Eq.refl
    (fun x xs ih =>
      Eq.trans (b := cons x (append (append xs ys) zs)) Eq.refl
        (congrArg (fun t => cons x t) ih))
    xs

theorem map_append {α : Type u} {β : Type v} (f : α → β) (xs ys : L α) :
    Eq (map f (append xs ys)) (append (map f xs) (map f ys)) :=
  L.rec (motive := fun xs => Eq (map f (append xs ys)) (append (map f xs) (map f ys))) Eq.refl
    (fun x xs ih =>
      Eq.trans (b := cons (f x) (map f (append xs ys))) Eq.refl
        (congrArg (fun t => cons (f x) t) ih))
    xs

theorem map_map {α : Type u} {β : Type v} {γ : Type w} (f : α → β) (g : β → γ) (xs : L α) :
    Eq (map g (map f xs)) (map (fun x => g (f x)) xs) :=
  L.rec (motive := fun xs => Eq (map g (map f xs)) (map (fun x => g (f x)) xs)) Eq.refl
    (fun x xs ih => congrArg (fun t => cons (g (f x)) t) ih) xs

theorem reverse_append {α : Type u} (xs ys : L α) :
    Eq (reverse (append xs ys)) (append (reverse ys) (reverse xs)) :=
  L.rec (motive := fun xs => Eq (reverse (append xs ys)) (append (reverse ys) (reverse xs)))
    (Eq.symm (append_nil (reverse ys)))
    (fun x xs ih =>
      Eq.trans (b := append (append (reverse ys) (reverse xs)) (cons x nil))
        (congrArg (fun t => append t (cons x nil)) ih)
        (append_assoc (reverse ys) (reverse xs) (cons x nil)))
    xs

theorem reverse_reverse {α : Type u} (xs : L α) : Eq (reverse (reverse xs)) xs :=
  L.rec (motive := fun xs => Eq (reverse (reverse xs)) xs) Eq.refl
    (fun x xs ih =>
      Eq.trans (b := append (reverse (cons x nil)) (reverse (reverse xs)))
        (reverse_append (reverse xs) (cons x nil))
        (Eq.trans (b := cons x (reverse (reverse xs))) Eq.refl (congrArg (fun t => cons x t) ih)))
    xs

end L
