"""Which rows belong together: splits by domain, shards by a hash of the problem. Pure."""

import hashlib
import re
from collections.abc import Iterable

from proverbench.errors import DataError
from proverbench.records import Problem

PUBLISHED_DOMAINS = ("ugd", "qe")
EVERYTHING = "all"
"""Name of the split of all rows."""


def parse_shard(text: str) -> tuple[int, int]:
    """``i/n`` as (i, n), with 1 ≤ i ≤ n.

    Raises:
        DataError: If it is anything else.
    """
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    index, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= index <= count:
        raise DataError(f"shard is {text!r}; wanted i/n with i from 1 to n, such as 1/4, and n below a million")
    return index, count


def shard_of(problem_id: str, count: int) -> int:
    """Which of ``count`` shards a problem is in, 1-based: by the first 8 bytes of its id's SHA-256."""
    digest = hashlib.sha256(problem_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") % count + 1


def splits(rows: Iterable[Problem]) -> list[str]:
    """Names of the splits: ``all``, ``ugd`` and ``qe`` always, then other domains as they first appear."""
    names = dict.fromkeys((EVERYTHING, *PUBLISHED_DOMAINS))
    names |= dict.fromkeys(row.domain for row in rows if row.domain is not None)
    return list(names)
