"""The data that ships with the repository: what the README and the demo promise of it holds."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from proverbench.inputs.data import load_problems, load_proofs
from proverbench.records import Problem, Proof
from tests.support import every

DATA = Path(__file__).parents[1] / "data"
SUBJECTS = {
    "Algebra",
    "Analysis",
    "Combinatorics",
    "Complex analysis",
    "Linear algebra",
    "Number theory",
    "Probability",
    "Topology",
}
KINDS = ("correct", "fatal only", "recoverable only", "both")
PLACES = ("in the first step", "in between", "in the last step", "none")


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    return load_problems(DATA / "proverbench.jsonl").rows


@pytest.fixture(scope="module")
def proofs() -> list[Proof]:
    return load_proofs(DATA / "verifierbench.jsonl").rows


def kind(proof: Proof) -> str:
    fatal = proof.annotation.first_fatal_error_step >= 0
    recoverable = proof.annotation.recoverable_error_steps != [-1]
    return KINDS[fatal + 2 * recoverable]


def place(proof: Proof) -> str:
    if proof.first_error_step == -1:
        return "none"
    if proof.first_error_step == 0:
        return "in the first step"
    return "in the last step" if proof.first_error_step == len(proof.steps) - 1 else "in between"


def texts(proof: Proof) -> list[str]:
    return [proof.problem, proof.reference_solution, *proof.steps, proof.annotation.reviewer_comment]


def test_enough_problems_over_all_subjects(problems: list[Problem]) -> None:
    domains = Counter(problem.domain for problem in problems)
    assert domains.keys() == {"ugd", "qe"}
    assert min(domains.values()) >= 12
    assert {problem.subject for problem in problems} == SUBJECTS
    assert all(problem.reference_solution.strip() for problem in problems)


def test_enough_proofs_of_every_problem(problems: list[Problem], proofs: list[Proof]) -> None:
    per_problem = Counter(proof.problem_id for proof in proofs)
    assert len(proofs) >= 48
    assert per_problem.keys() == {problem.problem_id for problem in problems}
    assert min(per_problem.values()) >= 2


def test_proofs_repeat_their_problem_exactly(problems: list[Problem], proofs: list[Proof]) -> None:
    known = {problem.problem_id: problem for problem in problems}
    for proof in every(proofs):
        shared = {name: getattr(proof, name) for name in Problem.__struct_fields__}
        assert Problem(**shared) == known[proof.problem_id], proof.proof_id


def test_each_text_is_written_once(problems: list[Problem], proofs: list[Proof]) -> None:
    assert len({problem.problem for problem in problems}) == len(problems)
    assert len({tuple(proof.steps) for proof in proofs}) == len(proofs)


def test_all_kinds_and_places_in_both_domains(proofs: list[Proof]) -> None:
    kinds, places = defaultdict(set), defaultdict(set)
    for proof in proofs:
        kinds[proof.domain].add(kind(proof))
        places[proof.domain].add(place(proof))
    assert kinds == {"ugd": set(KINDS), "qe": set(KINDS)}
    assert places == {"ugd": set(PLACES), "qe": set(PLACES)}


def test_some_proof_has_a_recoverable_error_after_its_fatal_one(proofs: list[Proof]) -> None:
    """Judges need not report it (prompts/meta.txt), so a set without the case would not try that rule."""
    assert any(
        0 <= proof.annotation.first_fatal_error_step < max(proof.annotation.recoverable_error_steps) for proof in proofs
    )


def test_comments_name_every_error(proofs: list[Proof]) -> None:
    for proof in every(proofs):
        annotation = proof.annotation
        assert annotation.reviewer_comment.startswith("Correct.") == proof.is_correct, proof.proof_id
        assert bool(annotation.first_error_reason) != proof.is_correct, proof.proof_id
        # One step is never both: its worst error decides.
        assert annotation.first_fatal_error_step not in set(annotation.recoverable_error_steps) - {-1}, proof.proof_id


def test_letter_of_a_proof_does_not_give_its_label_away(proofs: list[Proof]) -> None:
    correct = Counter(proof.proof_id[-1] for proof in proofs if proof.is_correct)
    wrong = Counter(proof.proof_id[-1] for proof in proofs if not proof.is_correct)
    assert correct.keys() == wrong.keys()


def test_formulas_are_closed(proofs: list[Proof]) -> None:
    """Unbalanced dollars or braces, or a control character from a lost backslash, would spoil the report's formulas."""
    for proof in every(proofs):
        for text in every(texts(proof)):
            assert text.count("$") % 2 == 0, (proof.proof_id, text)
            assert text.count("{") == text.count("}"), (proof.proof_id, text)
            assert not re.search(r"[\x00-\x1f\x7f]", text), (proof.proof_id, text)


def test_first_problems_are_short(problems: list[Problem]) -> None:
    first = problems[:3]
    assert [problem.domain for problem in first] == ["ugd", "ugd", "qe"]
    # About 120 tokens: LaTeX costs roughly a token per two or three characters.
    assert max(len(problem.problem + problem.reference_solution) for problem in first) <= 300


def test_first_proofs_are_short_and_show_the_kinds(proofs: list[Proof]) -> None:
    first = proofs[:4]
    assert [(proof.domain, kind(proof)) for proof in first] == [
        ("ugd", "correct"),
        ("ugd", "fatal only"),
        ("qe", "correct"),
        ("qe", "recoverable only"),
    ]
    assert all(len(proof.steps) == 3 and sum(map(len, proof.steps)) <= 400 for proof in first)


def test_the_rest_is_grouped_in_the_order_of_the_problems(problems: list[Problem], proofs: list[Proof]) -> None:
    order = [problem.problem_id for problem in problems]
    rest = [order.index(proof.problem_id) for proof in proofs[4:]]
    assert rest == sorted(rest)


def _table(readme: str, header: str) -> list[list[str]]:
    """Cells of the README's table whose first header cell is ``header``, without its two header lines."""
    lines = readme.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {header} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_readme_counts_are_those_of_the_files(problems: list[Problem], proofs: list[Proof]) -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    domains = []
    for name, wanted in [("ugd", {"ugd"}), ("qe", {"qe"}), ("all", {"ugd", "qe"})]:
        chosen = [proof for proof in proofs if proof.domain in wanted]
        kinds = Counter(map(kind, chosen))
        n_problems = sum(problem.domain in wanted for problem in problems)
        domains.append([name, *map(str, [n_problems, len(chosen), *(kinds[k] for k in KINDS)])])
    assert _table(readme, "domain") == domains
    per_problem = Counter(problem.subject for problem in problems)
    per_proof = Counter(proof.subject for proof in proofs)
    assert _table(readme, "subject") == [[s, str(per_problem[s]), str(per_proof[s])] for s in sorted(per_problem)]
    places = Counter(map(place, proofs))
    assert _table(readme, "first error") == [[p, str(places[p])] for p in PLACES]
