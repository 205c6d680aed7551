"""Every protocol of judging. Nothing else lists them."""

from dataclasses import replace
from difflib import get_close_matches

from msgspec import UNSET

from proverbench.errors import ConfigError
from proverbench.protocols.basic_v1 import BASIC_V1
from proverbench.protocols.grading import GRADE_0_7, PROCESS_V1, SCORE_3
from proverbench.protocols.protocol import Protocol
from proverbench.records import Identity

PROTOCOLS: tuple[Protocol, ...] = (BASIC_V1, GRADE_0_7, SCORE_3, PROCESS_V1)
"""In the order that people are shown them; the first is the default."""


def known_protocol(name: str) -> Protocol | None:
    """The protocol of that name, if there is one."""
    return next((protocol for protocol in PROTOCOLS if protocol.name == name), None)


def find_protocol(name: str) -> Protocol:
    """The protocol of that name.

    Raises:
        ConfigError: If there is none; names the nearest.
    """
    protocol = known_protocol(name)
    if protocol is None:
        raise ConfigError(f"no protocol is called {name!r}; {no_such_protocol(name)}")
    return protocol


def protocol_of(identity: Identity, declared: Protocol | None = None) -> Protocol:
    """How the replies of a run are read, its own threshold of acceptance included.

    Args:
        identity: Of the run.
        declared: The protocol that its folder holds, if it holds one.

    Raises:
        ConfigError: If its protocol is not known.
    """
    protocol = find_protocol(identity.protocol) if declared is None else declared
    return protocol if identity.accept_from is UNSET else accepting_from(protocol, identity.accept_from)


def accepting_from(protocol: Protocol, least: float) -> Protocol:
    """A grading protocol that accepts from another grade."""
    return replace(
        protocol,
        accept_from=least,
        accepts=lambda verdict: verdict.grade is not None and verdict.grade >= least,
    )


def no_such_protocol(name: str) -> str:
    """What to tell people of a name that no protocol has: the nearest that one has, and all of them."""
    names = [protocol.name for protocol in PROTOCOLS]
    near = "".join(f"did you mean {match!r}? " for match in get_close_matches(name, names, 1))
    return f"{near}known are {', '.join(map(repr, names))}"
