"""The check of a submission: what passes, and what does not."""

from pathlib import Path

import pytest

from proverbench.compression.authoring import Order, make_task, write_task
from proverbench.compression.building import read_header
from proverbench.compression.checking import check_export, check_sources
from proverbench.compression.export_reading import read_export
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Allowance
from proverbench.compression.rules import axioms_of
from proverbench.compression.tasks import Task, load_task, load_work, render_task, shipped_tasks, task_from_files
from proverbench.errors import DataError


def test_the_original_is_valid_and_counts_as_recorded(
    toy_task: Task, toy_sources: dict[str, bytes], kernel: LeanKernel
) -> None:
    check = check_sources(toy_task, toy_sources, kernel)
    assert (check.verdict, check.problems, check.count) == ("valid", (), 254)
    assert toy_task.spec.original_count == 254


def test_a_shorter_proof_is_valid_and_counts_less(
    toy_task: Task, shorter: dict[str, bytes], kernel: LeanKernel
) -> None:
    check = check_sources(toy_task, shorter, kernel)
    assert (check.verdict, check.count) == ("valid", 206)
    assert check.charge is not None
    assert {item.name: item.nodes for item in check.charge.items} == {
        "zero_add_by_helper": 86,
        "MyNat": 92,
        "MyNat.add": 28,
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            b"theorem zero_add_by_helper (n : MyNat) : Eq (MyNat.add MyNat.zero n) n :=",
            b"theorem zero_add_by_helper (n : MyNat) : Eq n n := Eq.refl\ntheorem other (n : MyNat) :"
            b" Eq (MyNat.add MyNat.zero n) n :=",
            "statement changed: zero_add_by_helper",
            id="statement",
        ),
        pytest.param(
            b"MyNat.rec (motive := fun _ => MyNat) a (fun _ ih => MyNat.succ ih) b",
            b"MyNat.rec (motive := fun _ => MyNat) b (fun _ ih => ih) a",
            "frozen definition changed: MyNat.add",
            id="definition",
        ),
        pytest.param(
            b"theorem zero_add_by_helper",
            b"axiom wish (n : MyNat) : Eq (MyNat.add MyNat.zero n) n\n"
            b"theorem zero_add_by_helper (n : MyNat) : Eq (MyNat.add MyNat.zero n) n := wish n\ntheorem old",
            "axiom not allowed: wish",
            id="axiom",
        ),
        pytest.param(
            b"theorem zero_add_by_helper",
            b"axiom propext (n : MyNat) : Eq (MyNat.add MyNat.zero n) n\n"
            b"theorem zero_add_by_helper (n : MyNat) : Eq (MyNat.add MyNat.zero n) n := propext n\ntheorem old",
            "axiom not allowed: propext is declared in an editable file",
            id="axiom-under-a-permitted-name",
        ),
        pytest.param(
            b"theorem zero_add_by_helper", b"theorem old", "target zero_add_by_helper is not declared", id="gone"
        ),
        pytest.param(
            b"theorem zero_add_by_helper",
            b"noncomputable def zero_add_by_helper",
            "target zero_add_by_helper is not a theorem",
            id="definition-for-theorem",
        ),
        pytest.param(b"ih) n", b"k) n", "Toy.lean:", id="does-not-compile"),
        pytest.param(b"prelude\n", b"prelude\nimport Init\n", "Toy.lean: imports Init, which is neither", id="import"),
        pytest.param(b"prelude\n", b"", "does not begin with `prelude`", id="no-prelude"),
        pytest.param(b"prelude\n", b"module\nprelude\n", "begins with `module`", id="module"),
        pytest.param(b"prelude\n", b"prelude\n-- \xff\n", "is not UTF-8", id="not-text"),
    ],
)
def test_what_makes_a_version_invalid(
    toy_task: Task, toy_sources: dict[str, bytes], kernel: LeanKernel, old: bytes, new: bytes, said: str
) -> None:
    assert old in toy_sources["Toy.lean"]
    check = check_sources(toy_task, {"Toy.lean": toy_sources["Toy.lean"].replace(old, new)}, kernel)
    assert check.verdict == "invalid"
    assert any(said in problem for problem in check.problems), check.problems


def test_a_proof_inside_a_definition_may_change_and_what_it_says_may_not(kernel: LeanKernel) -> None:
    source = """prelude
set_option linter.all false
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {α : Prop} : α
inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a
inductive B where
  | no
  | yes
structure Mag (α : Type u) where
  op : α → α → α
  idem : ∀ a, Eq (op a a) a
noncomputable def and (a b : B) : B := B.rec (motive := fun _ => B) B.no b a
noncomputable def or (a b : B) : B := B.rec (motive := fun _ => B) b B.yes a
noncomputable def m : Mag B :=
  { op := and, idem := fun a => B.rec (motive := fun a => Eq (and a a) a) Eq.refl Eq.refl a }
theorem t (a : B) : Eq (m.op a a) a := m.idem a
"""
    task = make_task({"A.lean": source.encode()}, Order("t", ["t"]), kernel)
    assert "m" in task.spec.frozen
    assert not any("_proof" in name for name in task.spec.frozen)
    proof = "fun a => B.rec (motive := fun a => Eq (and a a) a) Eq.refl Eq.refl a"
    named = source.replace(
        "noncomputable def m", f"theorem and_idem : ∀ a, Eq (and a a) a := {proof}\nnoncomputable def m"
    )
    named = named.replace(f"idem := {proof}", "idem := and_idem")
    assert check_sources(task, {"A.lean": named.encode()}, kernel).verdict == "valid"
    other = source.replace("op := and", "op := or").replace("Eq (and a a) a)", "Eq (or a a) a)")
    check = check_sources(task, {"A.lean": other.encode()}, kernel)
    assert check.problems == ("frozen definition changed: m, or something that it rests on",)


def test_names_that_the_kernel_trusts_are_reserved(kernel: LeanKernel) -> None:
    """The kernel itself accepts this proof of False: it takes a string literal to be of whatever is called String."""
    task = load_task(shipped_tasks()["logic"])
    source = task.original["Connectives.lean"]
    hole = b'def String : Prop := False\ntheorem boom : False := "a"\ntheorem and_comm'
    check = check_sources(task, {"Connectives.lean": source.replace(b"theorem and_comm", hole, 1)}, kernel)
    assert check.problems == (
        "reserved name: String is one that the kernel trusts without looking; only pinned files may declare it",
    )


def test_reserved_names_of_an_original_are_frozen_and_literals_come_after_their_type(kernel: LeanKernel) -> None:
    source = b"""prelude
set_option linter.all false
set_option genCtorIdx false
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {\xce\xb1 : Prop} : \xce\xb1
inductive Eq {\xce\xb1 : Sort u} (a : \xce\xb1) : \xce\xb1 \xe2\x86\x92 Prop where
  | refl : Eq a a
inductive Nat where
  | zero
  | succ (n : Nat)
class OfNat (\xce\xb1 : Type u) (_ : Nat) where ofNat : \xce\xb1
instance instOfNatNat (n : Nat) : OfNat Nat n := OfNat.mk n
theorem a : Eq (3 : Nat) (3 : Nat) := Eq.refl
"""
    task = make_task({"A.lean": source}, Order("t", ["a"]), kernel)
    assert {"Nat", "Nat.succ", "Nat.rec"} <= set(task.spec.frozen)
    assert check_sources(task, {"A.lean": source}, kernel).verdict == "valid"
    extended = source.replace(b"class OfNat", b"noncomputable def Nat.add (a b : Nat) : Nat := a\nclass OfNat")
    assert "reserved name: Nat.add" in check_sources(task, {"A.lean": extended}, kernel).problems[0]


PINNED = b"""prelude
set_option linter.all false
set_option genCtorIdx false
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcProof {\xce\xb1 : Prop} : \xce\xb1
inductive Eq {\xce\xb1 : Sort u} (a : \xce\xb1) : \xce\xb1 \xe2\x86\x92 Prop where
  | refl : Eq a a
inductive Nat where
  | zero
  | succ (n : Nat)
noncomputable def Nat.twice (n : Nat) : Nat := n
"""
REST = b"""prelude
import Base
set_option linter.all false
noncomputable def same (n : Nat) : Nat := n
theorem a (n : Nat) : Eq (same (Nat.twice n)) n := Eq.refl
"""


@pytest.fixture(scope="module")
def on_pinned_nat(kernel: LeanKernel) -> Task:
    """A task whose pinned background declares names that the kernel trusts."""
    return make_task({"Base.lean": PINNED, "A.lean": REST}, Order("t", ["a"]), kernel)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(b"", None, id="pinned-files-may-declare-them"),
        pytest.param(b"theorem Nat.mine (n : Nat) : Eq n n := Eq.refl", None, id="a-theorem-below-them"),
        pytest.param(b"noncomputable def Nat.mine (n : Nat) : Nat := n", "reserved name: Nat.mine", id="below-them"),
        pytest.param(b"noncomputable def Nat.add (n m : Nat) : Nat := n", "reserved name: Nat.add", id="trusted"),
        pytest.param(
            b"theorem Nat.add (n : Nat) : Eq n n := Eq.refl", "reserved name: Nat.add", id="a-trusted-theorem"
        ),
        pytest.param(b"noncomputable def mine (n : Nat) : Nat := n", None, id="elsewhere"),
    ],
)
def test_names_that_the_kernel_trusts_belong_to_pinned_files(
    on_pinned_nat: Task, kernel: LeanKernel, line: bytes, problem: str | None
) -> None:
    check = check_sources(on_pinned_nat, {"A.lean": REST.replace(b"theorem a", line + b"\ntheorem a", 1)}, kernel)
    if problem is None:
        assert (check.verdict, check.problems) == ("valid", ())
    else:
        assert check.verdict == "invalid"
        assert check.problems[0].startswith(f"{problem} is one that the kernel trusts without looking")


def test_a_frozen_definition_that_is_gone_is_named(on_pinned_nat: Task, kernel: LeanKernel) -> None:
    assert "same" in on_pinned_nat.spec.frozen
    without = REST.replace(b"def same", b"def other").replace(b"(same ", b"(other ")
    check = check_sources(on_pinned_nat, {"A.lean": without}, kernel)
    assert check.verdict == "invalid"
    assert "frozen definition changed: same is gone" in check.problems


def test_a_stronger_background_constant_is_refused(toy_sources: dict[str, bytes], kernel: LeanKernel) -> None:
    """Its use is free, so what it says must stay; how it is proved may not matter."""
    task = make_task(toy_sources, Order("toy", ["zero_add"], background=["Eq", "succ_congr"]), kernel)
    source = toy_sources["Toy.lean"]
    other_proof = source.replace(
        b"congrArg MyNat.succ ih\n\ntheorem zero_add", b"(congrArg MyNat.succ ih)\n\ntheorem zero_add"
    )
    assert check_sources(task, {"Toy.lean": other_proof}, kernel).verdict == "valid"
    stated = b"theorem succ_congr (n m : MyNat) (ih : Eq n m) : Eq (MyNat.succ n) (MyNat.succ m) :="
    assert stated in source
    stronger = source.replace(stated, stated.replace(b"(n m", b"(spare : MyNat) (n m")).replace(
        b"succ_congr _ k ih", b"succ_congr k _ k ih"
    )
    check = check_sources(task, {"Toy.lean": stronger}, kernel)
    assert check.problems == ("frozen definition changed: succ_congr, or something that it rests on",)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("toy.ndjson", None),
        ("toy.sparse_ids.ndjson", None),
        ("toy.mdata.ndjson", None),
        ("toy.wrong_value.ndjson", "kernel: zero_add: declTypeMismatch"),
        ("toy.changed_statement.ndjson", "statement changed: zero_add does not state what the task asks"),
        ("toy.sorry_axiom.ndjson", "axiom not allowed: "),
        ("toy.rec_k_lie.ndjson", "MyNat.rec: k"),
        ("toy.rec_rule_swapped.ndjson", "rule for MyNat.succ"),
        ("toy.missing_definition.ndjson", "uses MyNat.add, not declared"),
        ("toy.level_arity.ndjson", "gives Eq 0 universe levels"),
    ],
)
def test_the_known_files_against_a_task(
    zero_add_task: Task, lean_data: Path, kernel: LeanKernel, name: str, problem: str | None
) -> None:
    check = check_export(zero_add_task, read_export(lean_data / name), set(), kernel=kernel)
    assert check.verdict == ("valid" if problem is None else "invalid")
    assert problem is None or any(problem in said for said in check.problems), check.problems


def test_without_a_kernel_nothing_is_called_valid(toy_task: Task, lean_data: Path) -> None:
    check = check_export(toy_task, read_export(lean_data / "toy.ndjson"), set(), kernel=None)
    assert (check.verdict, check.kernel, check.count) == ("structure checked, not kernel-checked", None, 254)
    wrong = check_export(toy_task, read_export(lean_data / "toy.changed_statement.ndjson"), set(), kernel=None)
    assert wrong.verdict == "structure checked, not kernel-checked", "another theorem's statement is not a concern"
    assert check_export(toy_task, read_export(lean_data / "toy.missing_definition.ndjson"), set(), kernel=None).problems


def test_too_many_heartbeats_are_invalid_not_stopped(
    toy_task: Task, shorter: dict[str, bytes], kernel: LeanKernel
) -> None:
    library = find_library()
    assert library is not None
    check = check_sources(toy_task, shorter, LeanKernel(library, Allowance(heartbeats=100, time_s=3600)))
    assert any("needs more heartbeats than allowed" in problem for problem in check.problems)


def test_axioms_of_the_toy_theorems(lean_data: Path, found_by_others: dict[str, object]) -> None:
    export = read_export(lean_data / "toy.ndjson")
    known = found_by_others["theorem_axioms"]
    assert isinstance(known, dict)
    assert {name: axioms_of(export, [name]) for name in known} == known


# --- tasks


def test_a_task_is_written_and_read_back(toy_task: Task, tmp_path: Path) -> None:
    write_task(toy_task, tmp_path / "toy")
    assert load_task(tmp_path / "toy") == toy_task
    assert load_work(tmp_path / "toy" / "work", toy_task) == (toy_task.original, [])
    with pytest.raises(DataError, match="not empty"):
        write_task(toy_task, tmp_path / "toy")


def test_work_does_not_change_the_task_but_every_pinned_byte_does(toy_task: Task, tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    write_task(toy_task, folder)
    (folder / "work" / "Toy.lean").write_bytes(b"prelude\n")
    assert load_task(folder).sha256 == toy_task.sha256
    (folder / "original" / "Toy.lean").write_bytes(b"prelude\n")
    with pytest.raises(DataError, match=r"original/Toy\.lean: changed"):
        load_task(folder)
    (folder / "original" / "Toy.lean").write_bytes(toy_task.original["Toy.lean"])
    (folder / "background").mkdir()
    (folder / "background" / "More.lean").write_bytes(b"prelude\n")
    with pytest.raises(DataError, match="not among the task's pinned files"):
        load_task(folder)


def test_only_editable_files_belong_into_work(toy_task: Task, tmp_path: Path) -> None:
    (tmp_path / "Helper.lean").write_bytes(b"prelude\n")
    (tmp_path / "notes.txt").write_bytes(b"free")
    assert load_work(tmp_path, toy_task)[1] == ["work/Helper.lean: is not an editable file of this task (Toy.lean)"]


def test_all_faults_of_a_task_file_are_told_at_once(toy_task: Task) -> None:
    toml = render_task(toy_task.spec).replace(b"format = 2", b"format = 9").replace(b'kind = "prelude"', b'kind = "x"')
    with pytest.raises(DataError) as caught:
        task_from_files(toml, toy_task.files, source="t")
    assert "format" in str(caught.value)
    assert "kind" in str(caught.value)


def test_a_task_of_an_older_format_is_refused_with_what_to_do(toy_task: Task) -> None:
    toml = render_task(toy_task.spec).replace(b"format = 2", b"format = 1")
    with pytest.raises(DataError, match=r"format 1, .*make the task anew"):
        task_from_files(toml, toy_task.files, source="t")


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Order("t", ["nothing"]), "--target nothing: not declared; theorems here: "),
        (Order("t", ["MyNat.add"]), "--target MyNat.add: not a theorem"),
        (Order("t", ["zero_add"], background=["Nope"]), "--background Nope: not declared"),
        (Order("t", ["zero_add"], editable=["No.lean"]), "--editable No.lean: no such file"),
        (Order("t", ["uses_axiom"]), "the targets rest on the axiom choose_one"),
    ],
)
def test_sources_that_are_no_task(toy_sources: dict[str, bytes], kernel: LeanKernel, order: Order, said: str) -> None:
    with pytest.raises(DataError, match=said):
        make_task(toy_sources, order, kernel)


def test_pinned_files_may_not_rest_on_editable_ones(kernel: LeanKernel) -> None:
    files = {
        "A.lean": b"prelude\ninductive T : Prop where\n  | mk\ntheorem a : T := T.mk\n",
        "B.lean": b"prelude\nimport A\ntheorem b : T := a\n",
    }
    with pytest.raises(DataError, match=r"B\.lean: imports A, which is not in the pinned background"):
        make_task(files, Order("t", ["a"], editable=["A.lean"]), kernel)


@pytest.mark.parametrize("name", ["boolean", "group", "list-append", "logic", "nat-add", "order"])
def test_our_own_tasks_are_valid_as_they_are(name: str, kernel: LeanKernel) -> None:
    task = load_task(shipped_tasks()[name])
    check = check_sources(task, task.original, kernel)
    assert (check.verdict, check.problems, check.count) == ("valid", (), task.spec.original_count)


# --- headers


@pytest.mark.parametrize(
    ("source", "imports", "prelude", "module"),
    [
        (
            "prelude\nimport A\nimport Sub.B -- why\n/- import C -/ import D\ndef x := 1",
            ("A", "Sub.B", "D"),
            True,
            False,
        ),
        ("/- /- nested -/ import No -/\nimport A", ("A",), False, False),
        ("-- prelude\nmodule\npublic import A\nmeta import B", ("A", "B"), False, True),
        ("preludes", (), False, False),
        ("/- never closed import A", (), False, False),
        ("", (), False, False),
    ],
)
def test_headers(source: str, imports: tuple[str, ...], prelude: bool, module: bool) -> None:
    header = read_header(source)
    assert (header.imports, header.prelude, header.module) == (imports, prelude, module)
