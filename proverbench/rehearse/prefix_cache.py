"""A provider's prompt cache, modelled by time and length: what a request may read of what others wrote before it.

OpenAI's way: any prefix of 1,024 tokens or more that another request began with is read, in blocks of 128 tokens.
Anthropic's: only what ends at a ``cache_control`` mark is written and read, as a whole, from 1,024 tokens on. In both a
prefix can be read once the answer to the request that wrote it has begun, and for ``lifetime_s`` after its last use.
"""

import hashlib
from dataclasses import dataclass, field

from proverbench.rehearse.wire import Ask, count_tokens

MIN_TOKENS = 1024
BLOCK_TOKENS = 128
_CHARS_PER_TOKEN = 4
"""As :func:`~proverbench.rehearse.wire.count_tokens` counts."""


@dataclass(slots=True)
class PrefixCache:
    """What the server remembers of prompts.

    Args:
        lifetime_s: Seconds that a prefix is kept after it was last used.
    """

    lifetime_s: float = 300.0
    _kept: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    """Hash of a prefix → from when and until when it can be read."""

    def ask(self, ask: Ask, now: float, begins: float) -> tuple[int, int]:
        """Tokens of a request that are read from the cache, and that are written to it.

        Args:
            ask: The request.
            now: When it came, in seconds.
            begins: When its answer begins to come; what it writes can be read from then on.
        """
        ends = self._ends(ask)
        read = max((tokens for tokens, name in ends if self._readable(name, now)), default=0)
        for _, name in ends:
            since, until = self._kept.get(name, (begins, begins))
            self._kept[name] = (min(since, begins) if until >= now else begins, begins + self.lifetime_s)
        written = max((tokens for tokens, _ in ends), default=0) - read
        return read, written if ask.protocol == "messages" else 0

    def _readable(self, name: bytes, now: float) -> bool:
        since, until = self._kept.get(name, (now + 1, now))
        return since <= now <= until

    def _ends(self, ask: Ask) -> list[tuple[int, bytes]]:
        """Where prefixes of a prompt may end, in tokens, each with its hash."""
        if ask.protocol == "messages":
            places = [(count_tokens(ask.prompt[:at]), at) for at in ask.marks]
        else:
            whole = count_tokens(ask.prompt) // BLOCK_TOKENS
            places = [(n * BLOCK_TOKENS, n * BLOCK_TOKENS * _CHARS_PER_TOKEN) for n in range(1, whole + 1)]
        digest, done, ends = hashlib.sha256(ask.model.encode()), 0, []
        for tokens, at in places:
            digest.update(ask.prompt[done:at].encode("utf-8", "surrogatepass"))
            done = at
            if tokens >= MIN_TOKENS:
                ends.append((tokens, digest.digest()))
        return ends
