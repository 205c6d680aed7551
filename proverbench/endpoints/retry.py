"""The one owner of retries: when a call is tried again, and after how long.

The HTTP layer never retries. Waiting doubles from attempt to attempt, with full jitter so that calls which failed
together do not come back together, and never ends before the provider's hint.
"""

import math
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from proverbench.endpoints.classify import MAX_HINT_S
from proverbench.endpoints.error_facts import ErrorFacts
from proverbench.endpoints.limits import Quota
from proverbench.errors import TransientError

BASE_WAIT_S = 1.0
"""Upper end of the first wait without a hint; doubles with each attempt."""
MAX_WAIT_S = 60.0
"""Longest wait without a hint."""

_QUOTAS = (
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
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

_UNIT_WORDS = (
    (r"milliseconds?|millis|ms", 0.001),
    (r"seconds?|secs?|s", 1.0),
    (r"minutes?|mins?|m", 60.0),
    (r"hours?|hrs?|h", 3600.0),
    (r"days?|d", 86_400.0),
)
_SPAN = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?) ?(" + "|".join(words for words, _ in _UNIT_WORDS) + r")(?![a-z])", re.IGNORECASE
)
_SPANS = rf"{_SPAN.pattern}(?:(?:,? and |,? ?){_SPAN.pattern})*"
_ASKED = r"(?:retry(?:ing)?|try(?: it)? again|resets?|available(?: again)?)(?: your request| the request| it)?"
_HINT = re.compile(
    rf"(?:{_ASKED} (?:in|after)|wait(?: for)?)(?: about| approximately| another| at least)? ({_SPANS})", re.IGNORECASE
)
_PLAIN_HINT = re.compile(r"retry[ -]after ?[:=]? ?(\d{1,13}(?:\.\d{1,9})?)(?![\w.:-])", re.IGNORECASE)
"""``Retry after: 12``, as the header has it: seconds, or a moment in Unix time."""
_MOMENT = re.compile(
    rf"{_ASKED} (?:at|after|on) (?:(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?)"
    r"|(\d\d?:\d\d(?::\d\d)?)) ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?(?!\w)",
    re.IGNORECASE,
)
"""``Try again at 12:00 UTC``, ``resets at 2026-01-01T12:00:00Z``: a date and a time, or the next such time."""
_DATE_S, _DATE_MS = 1e9, 1e12
"""Above these a number is no duration but a moment: Unix seconds, Unix milliseconds."""

Sleep = Callable[[float], Awaitable[None]]


def asked_wait(headers: Mapping[str, str], facts: ErrorFacts, *, now: datetime | None = None) -> float | None:
    """How long the provider asks to wait after an error, in seconds, however long; None when it does not say.

    Headers come first: ``retry-after-ms``, ``Retry-After`` as a number of seconds or an HTTP date, then the resets of
    allowances that are used up (:func:`quotas`). Then what the body repeats of another server's headers, its field for
    it, and its words ("please try again in 1m26.4s"). A moment in the past is 0.

    Args:
        headers: Response headers, looked up without regard to case by the mapping itself.
        facts: What the body says.
        now: The present time, for dates.
    """
    now = now or datetime.now(UTC)
    for asked in (
        _asked_in(headers, now),
        _asked_in(facts.headers, now),
        _span(facts.wait),
        _in_words(facts.message, now),
    ):
        if asked is not None:
            return asked
    return None


def _asked_in(headers: Mapping[str, str], now: datetime) -> float | None:
    if not headers:
        return None
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(_number(value), now)
    if seconds is None:
        seconds = _until(value, now)
    if seconds is None:
        seconds = max((reset_s for reset_s in _resets(headers, now)), default=None)
    return seconds


def _in_words(message: str, now: datetime) -> float | None:
    if found := _HINT.search(message):
        return _span(found[1])
    if found := _PLAIN_HINT.search(message):
        return _seconds(_number(found[1]), now)
    found = _MOMENT.search(message)
    return _moment(found[1], found[2], found[3], now) if found else None


def _moment(date: str | None, time_of_day: str | None, zone: str | None, now: datetime) -> float | None:
    """The seconds until a moment; without a zone in UTC. A time without a date is the next one."""
    text = date or f"{now.astimezone(UTC).date().isoformat()}T{(time_of_day or '').rjust(5, '0')}"
    offset = "+00:00" if zone is None or zone.upper() in ("Z", "UTC", "GMT") else zone
    try:
        moment = datetime.fromisoformat(text + offset)
    except ValueError:
        return None
    left_s = (moment - now).total_seconds()
    return left_s % 86_400 if date is None else max(left_s, 0.0)


def _span(text: str) -> float | None:
    """The seconds of ``26s``, ``1m26.4s``, ``2 minutes and 5 seconds``; None of anything without a unit."""
    spans = _SPAN.findall(text)
    if not spans:
        return None
    return sum(float(number) * _unit(unit) for number, unit in spans)


def _unit(word: str) -> float:
    return next(seconds for words, seconds in _UNIT_WORDS if re.fullmatch(words, word, re.IGNORECASE))


def _seconds(number: float | None, now: datetime) -> float | None:
    """A duration in seconds, also where the number is a moment in Unix seconds or milliseconds."""
    if number is None or number <= _DATE_S or math.isinf(number):
        return number
    moment = number / 1000 if number > _DATE_MS else number
    return max(moment - now.timestamp(), 0.0)


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
    return max((date - now).total_seconds(), 0.0)


def quotas(headers: Mapping[str, str], *, now: datetime | None = None) -> list[Quota]:
    """The allowances that the headers say are used up, with the time until they are whole again.

    OpenAI gives durations such as ``1s``, ``6m0s`` or ``20ms``, others plain seconds, Anthropic RFC 3339 times.
    """
    return [Quota(0, min(reset_s, MAX_HINT_S)) for reset_s in _resets(headers, now)]


def _resets(headers: Mapping[str, str], now: datetime | None) -> Iterator[float]:
    for remaining_name, reset_name in _QUOTAS:
        remaining = _number(headers.get(remaining_name))
        if remaining is not None and remaining < 1:
            reset_s = _reset(headers.get(reset_name), now or datetime.now(UTC))
            if reset_s:
                yield reset_s


def _reset(value: str | None, now: datetime) -> float | None:
    seconds = _seconds(_number(value), now)
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
