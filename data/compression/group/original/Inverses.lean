prelude
import Base
set_option linter.all false

theorem mul_inv {α : Type u} (G : Group α) (a : α) : Eq (G.mul a (G.inv a)) G.one :=
  Eq.trans (b := G.mul G.one (G.mul a (G.inv a)))
    (Eq.symm (G.one_mul (G.mul a (G.inv a))))
    (Eq.trans (b := G.mul (G.mul (G.inv (G.inv a)) (G.inv a)) (G.mul a (G.inv a)))
      (congrArg (fun x => G.mul x (G.mul a (G.inv a))) (Eq.symm (G.inv_mul (G.inv a))))
      (Eq.trans (b := G.mul (G.inv (G.inv a)) (G.mul (G.inv a) (G.mul a (G.inv a))))
        (G.assoc (G.inv (G.inv a)) (G.inv a) (G.mul a (G.inv a)))
        (Eq.trans (b := G.mul (G.inv (G.inv a)) (G.mul (G.mul (G.inv a) a) (G.inv a)))
          (congrArg (fun x => G.mul (G.inv (G.inv a)) x) (Eq.symm (G.assoc (G.inv a) a (G.inv a))))
          (Eq.trans (b := G.mul (G.inv (G.inv a)) (G.mul G.one (G.inv a)))
            (congrArg (fun x => G.mul (G.inv (G.inv a)) (G.mul x (G.inv a))) (G.inv_mul a))
            (Eq.trans (b := G.mul (G.inv (G.inv a)) (G.inv a))
              (congrArg (fun x => G.mul (G.inv (G.inv a)) x) (G.one_mul (G.inv a)))
              (G.inv_mul (G.inv a)))))))

theorem mul_one {α : Type u} (G : Group α) (a : α) : Eq (G.mul a G.one) a :=
  Eq.trans (b := G.mul a (G.mul (G.inv a) a))
    (congrArg (fun x => G.mul a x) (Eq.symm (G.inv_mul a)))
    (Eq.trans (b := G.mul (G.mul a (G.inv a)) a)
      (Eq.symm (G.assoc a (G.inv a) a))
      (Eq.trans (b := G.mul G.one a)
        (congrArg (fun x => G.mul x a) (mul_inv G a))
        (G.one_mul a)))

theorem mul_left_cancel {α : Type u} (G : Group α) {a b c : α} (h : Eq (G.mul a b) (G.mul a c)) : Eq b c :=
  Eq.trans (b := G.mul G.one b) (Eq.symm (G.one_mul b))
    (Eq.trans (b := G.mul (G.mul (G.inv a) a) b)
      (congrArg (fun x => G.mul x b) (Eq.symm (G.inv_mul a)))
      (Eq.trans (b := G.mul (G.inv a) (G.mul a b)) (G.assoc (G.inv a) a b)
        (Eq.trans (b := G.mul (G.inv a) (G.mul a c))
          (congrArg (fun x => G.mul (G.inv a) x) h)
          (Eq.trans (b := G.mul (G.mul (G.inv a) a) c) (Eq.symm (G.assoc (G.inv a) a c))
            (Eq.trans (b := G.mul G.one c) (congrArg (fun x => G.mul x c) (G.inv_mul a)) (G.one_mul c))))))

theorem inv_inv {α : Type u} (G : Group α) (a : α) : Eq (G.inv (G.inv a)) a :=
  mul_left_cancel G (a := G.inv a)
    (Eq.trans (b := G.one) (mul_inv G (G.inv a)) (Eq.symm (G.inv_mul a)))

theorem inv_one {α : Type u} (G : Group α) : Eq (G.inv G.one) G.one :=
  mul_left_cancel G (a := G.one)
    (Eq.trans (b := G.one) (mul_inv G G.one) (Eq.symm (G.one_mul G.one)))

theorem inv_mul_rev {α : Type u} (G : Group α) (a b : α) :
    Eq (G.inv (G.mul a b)) (G.mul (G.inv b) (G.inv a)) :=
  mul_left_cancel G (a := G.mul a b)
    (Eq.trans (b := G.one) (mul_inv G (G.mul a b))
      (Eq.symm
        (Eq.trans (b := G.mul a (G.mul b (G.mul (G.inv b) (G.inv a))))
          (G.assoc a b (G.mul (G.inv b) (G.inv a)))
          (Eq.trans (b := G.mul a (G.mul (G.mul b (G.inv b)) (G.inv a)))
            (congrArg (fun x => G.mul a x) (Eq.symm (G.assoc b (G.inv b) (G.inv a))))
            (Eq.trans (b := G.mul a (G.mul G.one (G.inv a)))
              (congrArg (fun x => G.mul a (G.mul x (G.inv a))) (mul_inv G b))
              (Eq.trans (b := G.mul a (G.inv a))
                (congrArg (fun x => G.mul a x) (G.one_mul (G.inv a)))
                (mul_inv G a)))))))
