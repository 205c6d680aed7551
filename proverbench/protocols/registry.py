"""Every protocol of judging. Nothing else lists them."""

from difflib import get_close_matches

from proverbench.errors import ConfigError
from proverbench.protocols.basic_v1 import BASIC_V1
from proverbench.protocols.protocol import Protocol

PROTOCOLS: tuple[Protocol, ...] = (BASIC_V1,)
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


def no_such_protocol(name: str) -> str:
    """What to tell people of a name that no protocol has: the nearest that one has, and all of them."""
    names = [protocol.name for protocol in PROTOCOLS]
    near = "".join(f"did you mean {match!r}? " for match in get_close_matches(name, names, 1))
    return f"{near}known are {', '.join(map(repr, names))}"
