import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.classify import MAX_HINT_S
from proverbench.endpoints.error_facts import ErrorFacts, error_facts
from proverbench.endpoints.limits import Quota
from proverbench.endpoints.retry import asked_wait, quotas, retrying, wait_s
from proverbench.errors import CallFailedError, TransientError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


NOTHING = ErrorFacts("")


def _hint(headers, facts=NOTHING):
    """What a retry waits for, cut."""
    asked = asked_wait(headers, facts, now=NOW)
    return None if asked is None else min(asked, MAX_HINT_S)


def _date(seconds):
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("1e2", 100.0),
        (_date(30), 30.0),
        (_date(-30), 0.0),
        (_date(10**9), MAX_HINT_S),
        ("Fri, 01 May 2026 12:00:09 -0000", 9.0),
        ("nan", None),
        ("inf", None),
        ("1e309", MAX_HINT_S),
        ("9" * 5000, MAX_HINT_S),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("١٢", None),
        ("Fri, 99 Foo 2026 25:61:00 GMT", None),
        (None, None),
    ],
)
def test_retry_after(value, seconds):
    headers = {} if value is None else {"retry-after": value}
    assert _hint(headers) == seconds


@pytest.mark.parametrize(("value", "seconds"), [("250", 0.25), ("1e309", MAX_HINT_S), ("nan", 2.0), ("x", 2.0)])
def test_milliseconds_come_first(value, seconds):
    assert _hint({"retry-after-ms": value, "retry-after": "2"}) == seconds


@given(st.text(max_size=60))
def test_no_header_raises(value):
    hint = asked_wait({"retry-after": value, "retry-after-ms": value[::-1]}, ErrorFacts(value, wait=value))
    assert hint is None or hint >= 0
    quotas({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": value})


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.2s.", 1.2),
        ("Please retry in 36.9s", 36.9),
        ("try again in 6ms", 0.006),
        ("Try again in 2m", 120.0),
        ("Please try again in 1m26.4s.", 86.4),
        ("Please retry after 26 seconds.", 26.0),
        ("try again in 6m0s", MAX_HINT_S),
        ("try again in 1h2m3s", MAX_HINT_S),
        ("try again in 2 minutes and 5 seconds", 125.0),
        ("try again after 500ms", 0.5),
        ("Rate limit reached. Please wait 45 seconds before retrying", 45.0),
        ("Please retry your request after 60 seconds", 60.0),
        ("Your limit resets in 3 minutes", 180.0),
        ("Retry after: 12", 12.0),
        ("try again after 2026-05-01T12:00:07Z", 7.0),
        ("Try again at 12:01 UTC", 60.0),
        ("Try again at 9:00 UTC", MAX_HINT_S),
        ("the quota resets at 2026-04-30 11:00 UTC", 0.0),
        ("try again in 3 moments", None),
        ("try again at 25:99 UTC", None),
        ("try again in a while", None),
    ],
)
def test_hint_in_words(message, seconds):
    assert _hint({}, ErrorFacts(message)) == pytest.approx(seconds)


def test_a_hint_is_a_moment_where_the_number_says_so():
    # 1e9 seconds is the year 2001: no server asks for a wait of 31 years.
    at = NOW.timestamp() + 40
    exhausted = {"x-ratelimit-remaining-requests": "0"}
    assert _hint({"retry-after": f"{at:.0f}"}) == 40.0
    assert _hint({**exhausted, "x-ratelimit-reset-requests": f"{at:.0f}"}) == 40.0
    assert _hint({**exhausted, "x-ratelimit-reset-requests": f"{at * 1000:.0f}"}) == 40.0
    assert quotas({**exhausted, "x-ratelimit-reset-requests": f"{at:.0f}"}, now=NOW) == [Quota(0, 40.0)]


def test_a_body_repeats_what_another_server_said():
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{(NOW.timestamp() + 9) * 1000:.0f}"}
    assert _hint({}, error_facts({"error": {"message": "slow down", "metadata": {"headers": reset}}})) == 9.0
    google = [{"error": {"message": "used up", "details": [{"@type": "RetryInfo", "retryDelay": "26s"}]}}]
    assert _hint({}, error_facts(google)) == 26.0
    assert _hint({"retry-after": "3"}, error_facts(google)) == 3.0, "the header comes first"


@pytest.mark.parametrize(
    ("remaining", "reset", "found"),
    [
        ("0", "1s", [Quota(0, 1.0)]),
        ("0", "6m0s", [Quota(0, MAX_HINT_S)]),
        ("0", "20ms", [Quota(0, 0.02)]),
        ("0", "1m2.5s", [Quota(0, 62.5)]),
        ("0", "3", [Quota(0, 3.0)]),
        ("0", "2026-05-01T12:00:05Z", [Quota(0, 5.0)]),
        ("0", "2026-05-01T11:00:00Z", []),
        ("0", "later", []),
        ("0", None, []),
        ("1", "1s", []),
        ("many", "1s", []),
    ],
)
@pytest.mark.parametrize(
    "names",
    [
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ],
)
def test_quota_headers(names, remaining, reset, found):
    headers = {names[0]: remaining} | ({names[1]: reset} if reset else {})
    assert quotas(headers, now=NOW) == found


@given(st.integers(1, 10_000), st.none() | st.floats(0, MAX_HINT_S), st.integers())
def test_wait(attempt, hint, seed):
    wait = wait_s(attempt, hint, random.Random(seed))
    ceiling = min(60.0, 2.0 ** min(attempt - 1, 16))
    assert 0 < wait <= ceiling + 1.25 * (hint or 0)
    assert wait >= (hint or 0)


async def test_only_transient_errors_are_tried_again():
    naps = []

    async def sleep(seconds):
        naps.append(seconds)

    tried = []

    async def attempt(error, at):
        tried.append(1)
        if len(tried) <= at:
            raise error
        return "done"

    transient = TransientError("x", kind="x", retry_after_s=5.0)
    controller = retrying(max_retries=3, rng=random.Random(0), sleep=sleep)
    assert await controller(attempt, transient, 3) == "done"
    assert (len(tried), len(naps)) == (4, 3)
    assert all(nap >= 5 for nap in naps)
    tried.clear()
    with pytest.raises(TransientError):
        await controller(attempt, transient, 99)
    assert len(tried) == 4
    tried.clear()
    with pytest.raises(CallFailedError):
        await controller(attempt, CallFailedError("x", kind="x"), 99)
    assert len(tried) == 1
