prelude
import Base
set_option linter.all false

theorem meet_idem {α : Type u} (M : Meets α) (a : α) : Eq (M.meet a a) a :=
  M.le_antisymm (M.meet_left a a) (M.meet_greatest (M.le_refl a) (M.le_refl a))

theorem meet_comm {α : Type u} (M : Meets α) (a b : α) : Eq (M.meet a b) (M.meet b a) :=
  M.le_antisymm
    (M.meet_greatest (M.meet_right a b) (M.meet_left a b))
    (M.meet_greatest (M.meet_right b a) (M.meet_left b a))

theorem meet_assoc {α : Type u} (M : Meets α) (a b c : α) :
    Eq (M.meet (M.meet a b) c) (M.meet a (M.meet b c)) :=
  M.le_antisymm
    (M.meet_greatest
      (M.le_trans (M.meet_left (M.meet a b) c) (M.meet_left a b))
      (M.meet_greatest
        (M.le_trans (M.meet_left (M.meet a b) c) (M.meet_right a b))
        (M.meet_right (M.meet a b) c)))
    (M.meet_greatest
      (M.meet_greatest
        (M.meet_left a (M.meet b c))
        (M.le_trans (M.meet_right a (M.meet b c)) (M.meet_left b c)))
      (M.le_trans (M.meet_right a (M.meet b c)) (M.meet_right b c)))

theorem meet_mono {α : Type u} (M : Meets α) {a b c d : α} (h : M.le a c) (k : M.le b d) :
    M.le (M.meet a b) (M.meet c d) :=
  M.meet_greatest (M.le_trans (M.meet_left a b) h) (M.le_trans (M.meet_right a b) k)

theorem meet_eq_left {α : Type u} (M : Meets α) {a b : α} (h : M.le a b) : Eq (M.meet a b) a :=
  M.le_antisymm (M.meet_left a b) (M.meet_greatest (M.le_refl a) h)

theorem meet_left_comm {α : Type u} (M : Meets α) (a b c : α) :
    Eq (M.meet a (M.meet b c)) (M.meet b (M.meet a c)) :=
  M.le_antisymm
    (M.meet_greatest
      (M.le_trans (M.meet_right a (M.meet b c)) (M.meet_left b c))
      (M.meet_greatest
        (M.meet_left a (M.meet b c))
        (M.le_trans (M.meet_right a (M.meet b c)) (M.meet_right b c))))
    (M.meet_greatest
      (M.le_trans (M.meet_right b (M.meet a c)) (M.meet_left a c))
      (M.meet_greatest
        (M.meet_left b (M.meet a c))
        (M.le_trans (M.meet_right b (M.meet a c)) (M.meet_right a c))))
