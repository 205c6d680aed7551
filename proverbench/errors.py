"""Every error that this package raises on purpose.

    ProverBenchError
    ├── UserInputError           the user can act; nothing was called, nothing written (exit 2)
    │   ├── ConfigError          a config file, an option, an unset variable
    │   ├── DataError            a row of a data file
    │   ├── PromptError          a prompt template
    │   └── RunMismatchError     a run that is not what the command needs (resume, merge, compare)
    ├── EndpointError            the provider: one attempt of one call failed
    │   ├── TransientError       worth another attempt: network, 408, 409, 425, 429, 5xx, a broken body
    │   │   ├── RateLimitedError     429 or overload: the endpoint as a whole should slow down
    │   │   ├── ServerEndedError     a reply that the server broke off: no answer, though it came with a 200
    │   │   └── AttemptTimeoutError  abandoned after waiting; the provider may bill it
    │   ├── CallFailedError      another attempt would not help; the call is unanswered
    │   └── FatalEndpointError   would hit every call; the run stops (exit 1)
    ├── JournalError             the run folder on disk: damaged, locked, full, read-only
    └── InvalidReply             a reply that cannot be read; data, not a fault

A message says what, where, the value found and the remedy. The command line prints it as one or two lines and ends with
the exit code above (``proverbench/cli/common.py``); a run that a fault stops saves and scores first what it has
(``proverbench/cli/execute.py``).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple


class ProverBenchError(Exception):
    """Base of all errors raised on purpose."""


class UserInputError(ProverBenchError):
    """Bad input. Nothing was called and nothing was written."""

    @classmethod
    def of(cls, faults: Iterable[str]) -> "UserInputError":
        """One error that lists all ``faults``, a line each."""
        return cls("\n".join(faults))


class ConfigError(UserInputError):
    """A config file, an option or an environment variable is wrong."""


class DataError(UserInputError):
    """A data file breaks a rule; the message has a line for each fault."""


class PromptError(UserInputError):
    """A prompt template lacks a placeholder or cannot be read."""


class RunMismatchError(UserInputError):
    """A saved run is not what the command needs; the message names each difference."""


class EndpointError(ProverBenchError):
    """One attempt of one call failed.

    Attributes:
        status: HTTP status, if one came.
        kind: A stable short word for journals and counts, such as ``timeout`` or ``http_503``.
    """

    def __init__(self, message: str, *, kind: str, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class Partial(NamedTuple):
    """What came of a reply that was broken off; the provider bills it."""

    finish_reason: str | None
    text_chars: int
    usage: dict[str, Any] | None
    """Token counts as they were told; None when they were not."""


class TransientError(EndpointError):
    """Another attempt may succeed.

    Attributes:
        retry_after_s: The provider's hint in seconds, already made sane, or None.
        asked_s: What it asked for, where that is longer than anybody waits; else None.
        partial: What came before the reply was broken off; None when no reply had begun.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        status: int | None = None,
        retry_after_s: float | None = None,
        asked_s: float | None = None,
        partial: Partial | None = None,
    ) -> None:
        super().__init__(message, kind=kind, status=status)
        self.retry_after_s = retry_after_s
        self.asked_s = asked_s
        self.partial = partial


class ServerEndedError(TransientError):
    """A reply that the server, not the model, ended. Always has a ``partial``."""


class RateLimitedError(TransientError):
    """The endpoint asks everyone to slow down (429, 529, overload)."""


class AttemptTimeoutError(TransientError):
    """The attempt was given up after waiting; what it produced may still be billed."""


class CallFailedError(EndpointError):
    """This call cannot be answered (a 4xx of its own); others may be."""


class FatalEndpointError(EndpointError):
    """Every call would fail alike: wrong key, unknown model, wrong URL, no credit."""


class JournalError(ProverBenchError):
    """The run folder is damaged, locked by another process, full or read-only."""


class InvalidReply(ProverBenchError):  # noqa: N818 - the public name says what the reply is
    """A reply that the protocol counts as invalid.

    Attributes:
        reason: A stable reason code (docs/metrics.md, "Reason codes").
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
