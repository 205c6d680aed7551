prelude
import Tactics
set_option linter.all false
set_option genCtorIdx false

/-! Natural numbers from nothing, with the tactics of Tactics.lean. The proofs are right, and longer than they need be. -/

inductive N where
  | zero
  | succ (n : N)

instance : OfNat N 0 := ⟨N.zero⟩
noncomputable instance : Add N := ⟨fun a b => N.rec (motive := fun _ => N) a (fun _ sum => N.succ sum) b⟩
noncomputable instance : Mul N := ⟨fun a b => N.rec (motive := fun _ => N) 0 (fun _ product => product + a) b⟩

namespace N

theorem zero_add (n : N) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ k ih =>
    show succ (0 + k) = succ k
    rw [ih]

theorem succ_add (m n : N) : succ m + n = succ (m + n) := by
  induction n with
  | zero => rfl
  | succ k ih =>
    show succ (succ m + k) = succ (m + succ k)
    rw [ih]
    rfl

theorem add_comm (m n : N) : m + n = n + m := by
  induction n with
  | zero =>
    show m = 0 + m
    rw [zero_add]
  | succ k ih =>
    show succ (m + k) = succ k + m
    rw [succ_add, ih]

theorem add_assoc (a b c : N) : a + b + c = a + (b + c) := by
  induction c with
  | zero => rfl
  | succ k ih =>
    show succ (a + b + k) = succ (a + (b + k))
    rw [ih]

theorem add_left_comm (a b c : N) : a + (b + c) = b + (a + c) := by
  rw [← add_assoc, ← add_assoc, add_comm a b]

theorem add_right_comm (a b c : N) : a + b + c = a + c + b := by
  rw [add_assoc, add_assoc, add_comm b c]

theorem zero_mul (n : N) : 0 * n = 0 := by
  induction n with
  | zero => rfl
  | succ k ih =>
    show 0 * k + 0 = 0
    rw [ih]
    rfl

theorem succ_mul (m n : N) : succ m * n = m * n + n := by
  induction n with
  | zero => rfl
  | succ k ih =>
    show succ (succ m * k + m) = succ (m * k + m + k)
    rw [ih, add_right_comm]

theorem mul_comm (m n : N) : m * n = n * m := by
  induction n with
  | zero =>
    show 0 = 0 * m
    rw [zero_mul]
  | succ k ih =>
    show m * k + m = succ k * m
    rw [succ_mul, ih]

theorem mul_add (a b c : N) : a * (b + c) = a * b + a * c := by
  induction c with
  | zero => rfl
  | succ k ih =>
    show a * (b + k) + a = a * b + (a * k + a)
    rw [ih, add_assoc]

theorem add_mul (a b c : N) : (a + b) * c = a * c + b * c := by
  rw [mul_comm, mul_add, mul_comm c a, mul_comm c b]

theorem mul_assoc (a b c : N) : a * b * c = a * (b * c) := by
  induction c with
  | zero => rfl
  | succ k ih =>
    show a * b * k + a * b = a * (b * k + b)
    rw [ih, mul_add]

theorem zero_or_succ (n : N) : n = 0 ∨ (n + 0 = n ∧ 0 + n = n) := by
  induction n with
  | zero =>
    left
    rfl
  | succ k _ =>
    right
    constructor
    · rfl
    · exact zero_add (succ k)

theorem and_or_swap {p q r : Prop} (h : p ∧ (q ∨ r)) : (r ∨ q) ∧ p := by
  induction h with
  | intro hp hqr =>
    constructor
    · induction hqr with
      | inl hq => right; assumption
      | inr hr => left; assumption
    · exact hp

end N
