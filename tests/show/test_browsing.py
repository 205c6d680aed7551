"""How far judges disagree, and which proofs a filter finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.errors import RunMismatchError
from proverbench.records import Judgment, ProofRecord
from proverbench.show.browsing import Entry, Filters, disagreement


def record(*verdicts: int | str, correct: bool | None = None, **fields) -> ProofRecord:
    """Verdicts are first wrong steps, or the reason of an invalid judgment."""
    judgments = [
        Judgment(repeat=i, valid=True, first_error_step=verdict)
        if isinstance(verdict, int)
        else Judgment(repeat=i, valid=False, reason=verdict)
        for i, verdict in enumerate(verdicts)
    ]
    return ProofRecord(problem_id="p", judgments=judgments, is_correct=correct, **fields)


@pytest.mark.parametrize(
    ("found", "polarity", "human", "places"),
    [
        pytest.param(record(), 0, None, 0, id="no judgment"),
        pytest.param(record("bad_index"), 0, None, 0, id="none valid"),
        pytest.param(record(-1, -1), 0, None, 1, id="all accept"),
        pytest.param(record(-1, -1, 2, 0), 0.5, None, 3, id="half and half"),
        pytest.param(record(-1, 0, 0, 0), 0.25, None, 2, id="one against three"),
        pytest.param(record(1, 2), 0, None, 2, id="only the place differs"),
        pytest.param(record(-1, -1, correct=False), 0, 1.0, 1, id="all against the human"),
        pytest.param(record(-1, 2, correct=True), 0.5, 0.5, 2, id="half against the human"),
        pytest.param(record("bad_index", correct=True), 0, 0.0, 0, id="nobody against the human"),
        pytest.param(record(-1, "bad_index", correct=True), 0, 0.0, 1, id="invalid ones do not count"),
    ],
)
def test_disagreement(found, polarity, human, places):
    assert disagreement(found) == (polarity, human, places)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=8), st.booleans())
def test_order_of_judgments_does_not_matter(verdicts, correct):
    one, other = (disagreement(record(*order, correct=correct)) for order in (verdicts, sorted(verdicts)))
    assert one == other
    assert 0 <= one.polarity <= 0.5
    assert 0 <= (one.human or 0) <= 1


@pytest.fixture
def entries() -> list[Entry]:
    records = [
        record(-1, -1, domain="ugd", subject="Algebra", score=1.0),
        record(-1, 2, domain="qe", subject="Analysis", score=0.0),
        record(1, 2, domain="qe", score=0.0),
        record("missing:errors", "bad_index", score=0.0),
        record(generation_error="no_proof_steps", score=0.0),
        record(-1, complete=False),
    ]
    return [Entry.of(number, found, 2) for number, found in enumerate(records)]


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (Filters(), [0, 1, 2, 3, 4, 5]),
        (Filters(accepted=True), [0]),
        (Filters(rejected=True), [1, 2, 3, 4]),
        (Filters(incomplete=True), [5]),
        (Filters(invalid=""), [3, 4]),
        (Filters(invalid="missing"), [3]),
        (Filters(invalid="no_proof_steps"), [4]),
        (Filters(disagree="any"), [1, 2]),
        (Filters(disagree="judges"), [1, 2]),
        (Filters(disagree="human"), []),
        (Filters(domain="qe"), [1, 2]),
        (Filters(domain="qe", subject="Analysis"), [1]),
        (Filters(problem="p", accepted=True, rejected=True), []),
    ],
)
def test_filters(entries, filters, numbers):
    assert [entry.number for entry in filters.select(entries)] == numbers


def test_with_the_human_label_the_human_comes_first():
    records = [record(-1, 0, correct=False), record(-1, -1, correct=False)]
    entries = [Entry.of(number, found, 2) for number, found in enumerate(records)]
    assert [entry.number for entry in Filters(disagree="judges").select(entries)] == [0]
    assert [entry.number for entry in Filters(disagree="any").select(entries)] == [0, 1]
    assert [entry.number for entry in Filters(disagree="human").select(entries)] == [1, 0]


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (Filters(invalid="empty"), "there is: bad_index, missing:errors, no_proof_steps"),
        (Filters(domain="QE"), "there is: qe, ugd"),
        (Filters(subject="Analisys"), "did you mean 'Analysis'"),
        (Filters(problem="q"), "there is: p"),
    ],
)
def test_a_name_that_does_not_occur_is_told(entries, filters, told):
    with pytest.raises(RunMismatchError, match=told):
        filters.refuse_unknown(entries)
