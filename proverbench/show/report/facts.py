"""Published figures of other proof benchmarks: shown as facts with their source, never ranked with runs."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from proverbench.errors import UserInputError

TABLE_1 = "advancedmathbench"
"""The published results of these two benchmarks themselves (:func:`.several.published_table`)."""


@cache
def published_figures() -> Mapping[str, Mapping[str, Any]]:
    """By name of the benchmark: ``title``, ``what``, ``source`` and ``figures``: of each who, what, value in words."""
    text = (files("proverbench.show.report") / "published" / "figures.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def known_published(name: str) -> str:
    """The name, if something is published under it.

    Raises:
        UserInputError: Otherwise, with the nearest known name.
    """
    known = [TABLE_1, *published_figures()]
    if name not in known:
        near = "".join(f"did you mean {match}? " for match in get_close_matches(name, known, 1))
        raise UserInputError(
            f"--published {name}: no such figures; {near}there are {', '.join(known)} (RUNs go before the option)"
        )
    return name


def facts_of(name: str) -> dict[str, Any]:
    """What a report says of one benchmark's published figures."""
    found = published_figures()[name]
    figures = [dict(zip(("who", "what", "value"), figure, strict=True)) for figure in found["figures"]]
    return {"name": name, **{key: found[key] for key in ("title", "what", "source")}, "figures": figures}
