"""Kind ``own``: an endpoint that a Python program passes to ``run_prover`` or ``run_verifier``."""

from typing import Protocol

from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.kinds.kind import Opening
from proverbench.errors import ConfigError, EndpointError, FatalEndpointError, TransientError


class OwnEndpoint(Protocol):
    """What an endpoint of one's own must have.

    It may also have these attributes: ``model``, the model's name (by default that of its class); ``generation``, a
    dict of whatever else sets how the model answers; ``concurrency``, the most calls in flight (16); ``max_retries``
    (6); ``timeout_s`` (1800). Name and generation are part of the run's identity: a run is continued by the same ones.
    """

    async def ask(self, request: Request) -> Reply:
        """Answer one call; several are asked at once.

        An OSError, a TimeoutError or a TransientError is asked again; a CallFailedError leaves this call unanswered;
        anything else stops the run.
        """
        ...


class _Adapter:
    """Makes an :class:`OwnEndpoint` one of ours."""

    def __init__(self, own: OwnEndpoint) -> None:
        self._own = own

    async def complete(self, request: Request) -> Reply:
        """Make one attempt."""
        who = f"{type(self._own).__name__}.ask"
        try:
            reply = await self._own.ask(request)
        except EndpointError:
            raise
        except (OSError, TimeoutError) as exc:
            raise TransientError(f"{who} raised {type(exc).__name__}: {exc}", kind=type(exc).__name__) from exc
        except Exception as exc:
            raise FatalEndpointError(f"{who} raised {type(exc).__name__}: {exc}", kind="own") from exc
        if not isinstance(reply, Reply):
            raise FatalEndpointError(f"{who} returned a {type(reply).__name__}; wanted a proverbench.Reply", kind="own")
        return reply

    async def aclose(self) -> None:
        """It belongs to whoever made it."""


async def open_own(opening: Opening) -> _Adapter:
    """Take an endpoint that is there already.

    Raises:
        ConfigError: If none was passed.
    """
    if opening.given is None:
        roles = ", ".join(opening.roles)
        raise ConfigError(
            f"calls of the {roles} went to an endpoint of a Python program ({opening.config.name}); go on from there "
            "(run_prover or run_verifier with endpoints=…), or read docs/python.md"
        )
    return _Adapter(opening.given)
