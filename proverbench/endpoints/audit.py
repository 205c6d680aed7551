"""The reply audit: what a reply that came is worth, before it is kept. Pure; one step for direct calls and batches.

A 200 is not yet an answer. A server that was stopped, or ran out of memory, ends replies that look whole; another
tells no tokens for a text, or shortens prompts in silence. So every live reply passes here, between wire and journal:

* :func:`audit` finds the replies that the **server** ended. They are no answers: they are asked again, never scored.
* What the **model** ended (a limit, a filter, an unknown word) stays an answer, invalid as published.
* What is odd about a reply that is kept becomes a remark to the user, once (:class:`Remarks`).

Imports, replays and the journals of older runs are not audited: there every such reply stays what it was.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from proverbench.endpoints.base import Reply
from proverbench.endpoints.kinds.kind import SERVER_ENDED
from proverbench.errors import Partial, ServerEndedError
from proverbench.spending.usage import UNCOUNTED, normalise_usage

_NORMAL_ELSEWHERE = frozenset(["stop", "eos", "eos_token", "end_turn", "stop_sequence", "completed"])
"""A normal end in the words of some server; where they are not exactly this kind's, the reply is invalid."""

CLIPPED_FROM_CHARS = 4_000
"""Prompts of so many characters or more are long enough to tell by their tokens whether they were shortened."""
CLIPPED_CHARS_PER_TOKEN = 8.0
"""Prose has about 4 characters a token, LaTeX 3. A prompt with more than this was not read whole."""
_SAME_COUNT = 3
"""So many long prompts of clearly different lengths, all counted as equally many tokens, were cut to that."""
_CLEARLY_LONGER = 1.25


def word(value: object) -> str | None:
    """A finish reason as a server sent it; absent, null and empty ones are none."""
    return str(value) if value is not None and str(value).strip() else None


def server_ended(finish_reason: str | None) -> bool:
    """Whether a finish reason says that the server, not the model, ended the reply."""
    return finish_reason is not None and finish_reason.strip().lower() in SERVER_ENDED


def audit(reply: Reply) -> Reply:
    """The reply, if it is an answer; its token counts are marked where they contradict its text.

    Args:
        reply: As it came over the wire.

    Raises:
        ServerEndedError: If the server broke it off, openly or behind a proxy's ``stop``.
    """
    for finish_reason in (reply.finish_reason, reply.native_finish_reason):
        if server_ended(finish_reason):
            raise broken_off(str(finish_reason), reply)
    told = reply.usage or {}
    # Nearly always a count of output tokens is there, and says something.
    if told and not (told.get("completion_tokens") or told.get("output_tokens")) and (reply.text or reply.reasoning):
        usage = normalise_usage(reply.usage)
        if usage is not None and usage.output == 0:
            return replace(reply, usage={**told, UNCOUNTED: True})
    return reply


def broken_off(finish_reason: str, reply: Reply) -> ServerEndedError:
    """The error of a reply that the server ended, with what came of it."""
    finish = finish_reason.strip().lower()
    return ServerEndedError(
        f"the server broke the reply off (finish reason {finish_reason!r})",
        kind=f"server_ended:{finish}",
        status=200,
        partial=Partial(finish_reason, len(reply.text), reply.usage),
    )


@dataclass(slots=True)
class Remarks:
    """What the user should know of an endpoint's replies, each said once.

    Args:
        name: Of the endpoint.
        normal_stops: The finish reasons that are a normal stop for its kind.
        missing_finish_accepted: Whether a reply without a finish reason may be valid.
        say: Takes a remark.
    """

    name: str
    normal_stops: frozenset[str]
    missing_finish_accepted: bool
    say: Callable[[str], object]
    _said: set[str] = field(default_factory=set)
    _models: dict[str, str] = field(default_factory=dict)
    _counted: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Prompt tokens → how many long prompts were counted so, and the shortest's and longest's characters."""

    def see(self, role: str, prompt_chars: int, reply: Reply) -> None:
        """Look at an answer.

        Args:
            role: Who asked.
            prompt_chars: Length of the prompt in characters.
            reply: What came, audited.
        """
        for code, remark in self._of(role, prompt_chars, reply):
            if code not in self._said:
                self._said.add(code)
                self.say(f"endpoint {self.name!r}: {remark}")
        if reply.model is not None:
            known = self._models.setdefault(role, reply.model)
            if known != reply.model:
                self._models[role] = reply.model
                self.say(
                    f"endpoint {self.name!r}: the server answered the {role} as {known!r} and now as {reply.model!r}"
                )

    def _of(self, role: str, prompt_chars: int, reply: Reply) -> Iterator[tuple[str, str]]:
        """Code and text of each remark on a reply."""
        if reply.remark is not None:
            yield "remark", reply.remark
        if reply.refused is not None:
            if reply.context is not None and (said := reply.context.why_no_room()):
                yield "context", f"a {role} prompt was refused: {said}"
            return
        finish = reply.finish_reason
        if finish is None and not self.missing_finish_accepted:
            yield (
                "missing_finish",
                "a reply came without a finish reason; such replies count as invalid. If this server never sends one, "
                "set accept_missing_finish = true",
            )
        if finish is not None and finish not in self.normal_stops and finish.strip().lower() in _NORMAL_ELSEWHERE:
            yield (
                f"word:{finish}",
                f"a reply ended with {finish!r}, which is a normal end elsewhere but none here; such replies count as "
                "invalid (non_stop_finish)",
            )
        native = reply.native_finish_reason
        if finish in self.normal_stops and native is not None and native.strip().lower() not in _NORMAL_ELSEWHERE:
            yield (
                f"native:{native}",
                f"a reply ended with {finish!r}, but the server behind the proxy says {native!r}; {finish!r} counts",
            )
        yield from self._of_counts(prompt_chars, reply)

    def _of_counts(self, prompt_chars: int, reply: Reply) -> Iterator[tuple[str, str]]:
        usage = normalise_usage(reply.usage)
        if usage is None:
            return
        silent = not reply.text and not reply.reasoning
        if silent and usage.output == 0 and reply.finish_reason in self.normal_stops:
            yield (
                "empty",
                f"an empty reply came as a normal end ({usage.input:,} prompt tokens, 0 output tokens); it counts as "
                "invalid (empty_final_answer). Often the prompt is longer than the context that the server has loaded, "
                "or a gateway fails",
            )
        if not usage.known and not silent:
            yield (
                "usage",
                "token counts are missing or contradict each other; the larger reading counts, and the cost is at "
                "least that",
            )
        if usage.input and is_clipped(prompt_chars, usage.input):
            yield (
                "clipped",
                f"a prompt of {prompt_chars:,} characters was counted as {usage.input:,} tokens: the server seems to "
                "shorten prompts in silence. Raise its context (Ollama: OLLAMA_CONTEXT_LENGTH) and start a new run",
            )
        elif usage.input and self._does_not_grow(prompt_chars, usage.input):
            yield (
                "clipped",
                f"prompts of clearly different lengths, up to {self._counted[usage.input][2]:,} characters, were all "
                f"counted as {usage.input:,} tokens: the server seems to shorten prompts in silence. Raise its context "
                "(Ollama: OLLAMA_CONTEXT_LENGTH) and start a new run",
            )

    def _does_not_grow(self, prompt_chars: int, tokens: int) -> bool:
        if prompt_chars < CLIPPED_FROM_CHARS:
            return False
        n, shortest, longest = self._counted.get(tokens, (0, prompt_chars, prompt_chars))
        n, shortest, longest = n + 1, min(shortest, prompt_chars), max(longest, prompt_chars)
        self._counted[tokens] = (n, shortest, longest)
        return n >= _SAME_COUNT and longest >= _CLEARLY_LONGER * shortest


def is_clipped(prompt_chars: int, prompt_tokens: int) -> bool:
    """Whether a prompt is too long for the tokens it was counted as, so that the server cannot have read it whole."""
    return prompt_chars >= CLIPPED_FROM_CHARS and prompt_chars > CLIPPED_CHARS_PER_TOKEN * prompt_tokens
