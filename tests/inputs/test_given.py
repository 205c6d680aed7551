"""Proofs that exist already: how they are read, and what is refused."""

from pathlib import Path

from proverbench.inputs.given import load_given_proofs
from proverbench.records import Problem
from tests.inputs.test_data import faults, write

KNOWN = [Problem(problem_id="p1", problem="a"), Problem(problem_id="p2", problem="b")]


def test_given_proofs_are_read_like_replies(tmp_path: Path) -> None:
    path = write(
        tmp_path / "g.jsonl",
        {"problem_id": "p1", "sample": 0, "steps": ["x", "y"]},
        {"problem_id": "p1", "sample": 2, "text": "<think>no</think> <step>one</step><step>two</step>"},
        {"problem_id": "p2", "sample": 0, "text": "no steps here"},
        {"problem_id": "p2", "sample": 1, "text": "<think>still thinking <step>a</step>"},
    )
    given_proofs = load_given_proofs(path, KNOWN)
    found = {key: (proof.steps, proof.reason) for key, proof in given_proofs.proofs.items()}
    assert found == {
        ("p1", 0): (["x", "y"], None),
        ("p1", 2): (["one", "two"], None),
        ("p2", 0): ([], "no_proof_steps"),
        ("p2", 1): ([], "empty_final_answer"),
    }
    assert given_proofs.samples == 3


def test_faulty_given_proofs(tmp_path: Path) -> None:
    path = write(
        tmp_path / "g.jsonl",
        {"problem_id": "p9", "sample": 0, "steps": ["x"]},
        {"problem_id": "p1", "sample": True, "steps": ["x"]},
        {"problem_id": "p1", "sample": 0, "steps": ["x"], "text": "y"},
        {"problem_id": "p1", "sample": 1, "steps": ["x"]},
        {"problem_id": "p1", "sample": 1, "text": "<step>a"},
        {"problem_id": "p1"},
    )
    assert faults(path, lambda file: load_given_proofs(file, KNOWN)) == [
        '1: field problem_id: found "p9"; wanted the id of a problem of the data file',
        "2: field sample: found true; wanted an integer of at least 0",
        '3: field steps: found ["x"]; wanted either steps or text, and not both',
        "5: field sample: found 1; wanted one that 'p1' does not have on line 4",
        "6: field sample: found nothing; wanted an integer of at least 0",
        "6: field steps: found nothing; wanted either steps or text, and not both",
    ]
