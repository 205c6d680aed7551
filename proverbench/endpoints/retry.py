"""The one owner of retries: when a call is tried again, and after how long.

The HTTP layer never retries. Waiting doubles from attempt to attempt, with full jitter so that calls which failed
together do not come back together, and never ends before the provider's hint.
"""

import math
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from proverbench.endpoints.limits import Quota
from proverbench.errors import TransientError

BASE_WAIT_S = 1.0
"""Upper end of the first wait without a hint; doubles with each attempt."""
MAX_WAIT_S = 60.0
"""Longest wait without a hint."""
MAX_HINT_S = 300.0
"""Hints beyond this are cut to it: a provider that says "come back tomorrow" is asked sooner."""

_QUOTAS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
)
"""Headers that say how much of an allowance is left, and when it is whole again."""
_DURATION = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?", re.ASCII
)

_HINT = re.compile(r"(?:retry|try again) (?:in|after) (\d{1,6}(?:\.\d{1,9})?) ?(ms|s|m)\b", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}

Sleep = Callable[[float], Awaitable[None]]


def parse_retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """The provider's hint in seconds, in 0..MAX_HINT_S, or None when there is none that makes sense.

    Reads ``retry-after-ms`` and ``Retry-After`` as a number of seconds or an HTTP date; a date in the past is 0.

    Args:
        headers: Response headers, looked up without regard to case by the mapping itself.
        now: The present time, for dates.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, MAX_HINT_S)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return min(seconds, MAX_HINT_S)
    return _until(value, now or datetime.now(UTC))


def hint_in(message: str) -> float | None:
    """The hint that a message holds ("please try again in 1.2s"), in seconds, or None."""
    found = _HINT.search(message)
    if not found:
        return None
    return min(float(found[1]) * _UNITS[found[2].lower()], MAX_HINT_S)


def _number(value: str | None) -> float | None:
    """A nonnegative number, infinite when huge; None for anything else, ``nan`` and negative ones included."""
    if value is None or not re.fullmatch(r"\s*\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?\s*", value, re.ASCII):
        return None
    number = float(value)  # of any length: float() has no limit of digits, and what is too large is inf
    return None if math.isnan(number) else number


def _until(value: str | None, now: datetime) -> float | None:
    if value is None or len(value) > 100:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return min(max((date - now).total_seconds(), 0.0), MAX_HINT_S)


def quotas(headers: Mapping[str, str], *, now: datetime | None = None) -> list[Quota]:
    """The allowances that the headers say are used up, with the time until they are whole again.

    OpenAI gives durations such as ``1s``, ``6m0s`` or ``20ms``, others plain seconds, Anthropic RFC 3339 times.
    """
    found = []
    for remaining_name, reset_name in _QUOTAS:
        remaining = _number(headers.get(remaining_name))
        if remaining is not None and remaining < 1:
            reset_s = _reset(headers.get(reset_name), now or datetime.now(UTC))
            if reset_s:
                found.append(Quota(0, min(reset_s, MAX_HINT_S)))
    return found


def _reset(value: str | None, now: datetime) -> float | None:
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    duration = _DURATION.fullmatch(value.strip())
    if duration:
        hours, minutes, secs, milliseconds = (float(group or 0) for group in duration.groups())
        return hours * 3600 + minutes * 60 + secs + milliseconds / 1000
    try:
        date = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return max(((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds(), 0.0)


def wait_s(attempt: int, hint_s: float | None, rng: random.Random) -> float:
    """How long to wait after the ``attempt``-th attempt (1-based) failed.

    Without a hint uniform between a twentieth of min(60, 2**(attempt-1)) seconds and the whole; with one at least the
    hint, and up to a quarter of it plus that much more.
    """
    ceiling = min(MAX_WAIT_S, BASE_WAIT_S * 2.0 ** min(attempt - 1, 16))
    jitter = rng.uniform(0.05, 1.0) * ceiling
    return jitter if hint_s is None else hint_s + rng.uniform(0.0, 0.25) * hint_s + jitter


def retrying(*, max_retries: int, rng: random.Random, sleep: Sleep) -> AsyncRetrying:
    """Tenacity's controller for one call: at most ``max_retries`` attempts after the first, on TransientError only."""

    def wait(state: RetryCallState) -> float:
        exc = state.outcome.exception() if state.outcome else None
        hint = exc.retry_after_s if isinstance(exc, TransientError) else None
        return wait_s(state.attempt_number, hint, rng)

    return AsyncRetrying(
        stop=stop_after_attempt(max_retries + 1),
        wait=wait,
        retry=retry_if_exception_type(TransientError),
        sleep=sleep,
        reraise=True,
    )
