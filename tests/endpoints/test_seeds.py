from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.seeds import call_seed


def test_pinned():
    """A resumed run must send what an unbroken one would have, on every machine and in every version."""
    assert call_seed(0, "policy/p1/0/0") == 2133422922
    assert call_seed(7, "verifier/a/b/3/1") == 1389988336


@given(st.integers(), st.text())
def test_range(base, key):
    assert 0 <= call_seed(base, key) < 2**31


def test_calls_differ():
    seeds = {call_seed(1, f"verifier/p/{sample}/{repeat}") for sample in range(20) for repeat in range(20)}
    assert len(seeds) == 400
    assert call_seed(1, "policy/p/0/0") != call_seed(2, "policy/p/0/0")
