"""Every kind of endpoint. Nothing else lists them."""

from difflib import get_close_matches

from proverbench.endpoints.kinds.anthropic import ANTHROPIC
from proverbench.endpoints.kinds.embedded import EMBEDDED
from proverbench.endpoints.kinds.kind import Kind
from proverbench.endpoints.kinds.openai import OPENAI
from proverbench.endpoints.kinds.own import OWN
from proverbench.endpoints.kinds.replay import REPLAY

KINDS: tuple[Kind, ...] = (OPENAI, ANTHROPIC, EMBEDDED, REPLAY, OWN)
"""In the order that people are shown them; the first is a config's default."""


def known_kind(name: object) -> Kind | None:
    """The kind of that name, if there is one."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    return None


def find_kind(name: str) -> Kind:
    """The kind of that name.

    Raises:
        KeyError: If there is none; :func:`no_such_kind` says what to tell people.
    """
    kind = known_kind(name)
    if kind is None:
        raise KeyError(name)
    return kind


def no_such_kind(name: str) -> str:
    """What to tell people of a name that no kind has: the nearest that one has, and all of them."""
    names = [kind.name for kind in KINDS if kind is not OWN]
    near = "".join(f"did you mean {match!r}? " for match in get_close_matches(name, names, 1))
    return f"{near}known are {', '.join(map(repr, names))}"
