"""What labels buy."""

import pytest

from proverbench.people.gain import Stratum, Z, expected_width


def test_by_hand() -> None:
    # Two strata of half the judged proofs each; (4.5/10)(5.5/10)/20 each, weighed 1/4: se² = 2 · 0.25 · 0.012375.
    strata = [Stratum(0.5, 4, 9, 20), Stratum(0.5, 4, 9, 20)]
    assert expected_width(strata, judged=1.0, run_width=0.0) == pytest.approx(2 * Z * 0.0061875**0.5)


def test_the_run_s_own_width_stays() -> None:
    strata = [Stratum(1.0, 0, 0, 1_000_000)]
    assert expected_width(strata, judged=1.0, run_width=0.1) == pytest.approx(0.1, abs=0.01)


def test_a_stratum_without_labels_has_no_width_yet() -> None:
    strata = [Stratum(0.9, 3, 5, 10), Stratum(0.1, 0, 0, 10)]
    assert expected_width(strata, judged=1.0, run_width=0.1, labelled=True) is None
    assert expected_width(strata, judged=1.0, run_width=0.1) is not None


def test_more_labels_make_it_narrower() -> None:
    def width(planned: int) -> float:
        found = expected_width([Stratum(1.0, 2, 4, planned)], judged=1.0, run_width=0.0)
        assert found is not None
        return found

    assert width(10) > width(20) > width(40)
