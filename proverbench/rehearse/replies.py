"""What the rehearsed model says: plausible proofs, verdicts and levels, made from nothing but a seed and the prompt.

A reply never depends on the order or the number of requests, unless that is asked for (:data:`Vary`), so that a run
that was disturbed and resumed gets the same replies as one that was not.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from proverbench.errors import DataError
from proverbench.protocols.prompts import prompt_sha256
from proverbench.records import LEVEL_SCORES, CallLine
from proverbench.rehearse.plays import ModelReply
from proverbench.rehearse.wire import Ask, digest
from proverbench.run.disk import CALLS
from proverbench.run.texts import exact_reasoning, exact_text

Replies = Callable[[Ask, int], ModelReply]
"""The question, and how many times it was answered before, to the reply."""

Vary = Literal["prompt", "seed", "order"]
"""What a reply depends on besides the server's seed and the prompt.

prompt  nothing: the same prompt always gets the same reply
seed    the request's own ``seed``: repeats differ, and a run asked again is the same run
order   how often the prompt was answered before: repeats differ without seeds, but not alike in two runs
"""

_JUDGE_AGREES = 0.9
"""Share of a proof's judgments that follow the leaning of the proof, where judgments differ at all."""

_OPENAI_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}

_STEP_SHOWN = re.compile(r"<step(\d{1,6})>\s*?\n")

_PARAGRAPH_SHOWN = re.compile(r"<paragraph_(\d{1,6})>")

_SENTENCES = (
    "Let $n \\ge {a}$ be an integer and put $m = n + {b}$.",
    "By induction on $n$, the claim holds for all smaller values; assume $a_{{n}} < {a}n + {b}$.",
    "Since $f$ is continuous on $[0, {a}]$, it attains its maximum at some $x_0$ with $f(x_0) \\ge {b}$.",
    "Hence $|x - y| < \\frac{{1}}{{{a}}}$ whenever $x < y$ and $y < x + {b}$.",
    "The group has order ${a} \\cdot {b}$, so by Sylow's theorem it has a normal subgroup.",
    "Comparing both sides modulo ${a}$ gives $k \\equiv {b}$.",
    "Apply the Cauchy–Schwarz inequality to the ${a}$ terms on the left; equality holds only for $t = {b}$.",
    "This contradicts the choice of $p$, because $p \\nmid {a}^{{{b}}} + 1$.",
)


@dataclass(frozen=True, kw_only=True)
class GeneratedReplies:
    """Made-up replies: steps to a policy's prompt, a verdict to a verifier's, a level to a meta-verifier's."""

    seed: int = 0
    vary: Vary = "prompt"
    accept_rate: float = 0.5
    """Share of proofs that the verifier leans to accept, 0 to 1."""
    invalid_rate: float = 0.0
    """Share of replies that the protocol counts as invalid, 0 to 1."""
    min_chars: int = 0
    """Replies are padded to about this length."""

    def __call__(self, ask: Ask, answered_before: int) -> ModelReply:
        """The reply to ``ask``."""
        of_prompt = random.Random(f"{self.seed}/{digest(ask.prompt)}")
        rng = random.Random(f"{self.seed}/{digest(ask.prompt, variation(self.vary, ask, answered_before))}")
        invalid = rng.random() < self.invalid_rate
        if ask.role == "policy":
            return self._proof(rng, invalid)
        if ask.role == "verifier":
            accepts = of_prompt.random() < self.accept_rate
            if self.vary != "prompt" and rng.random() >= _JUDGE_AGREES:
                accepts = not accepts
            if "<assessment>" not in ask.prompt:
                return _judged(rng, invalid, accepts, ask.prompt)
            return self._verdict(rng, invalid, accepts, steps_shown(ask.prompt))
        return _level(rng, invalid)

    def _proof(self, rng: random.Random, invalid: bool) -> ModelReply:
        n_steps = rng.randint(2, 6)
        steps = [self._padded(rng, _sentence(rng), self.min_chars // n_steps) for _ in range(n_steps)]
        text = "\n\n".join(f"<step>\n{step}\n</step>" for step in steps)
        if not invalid:
            return ModelReply(content=text)
        return rng.choice(
            (
                ModelReply(content=text[: len(text) // 2], finish_reason="length"),
                ModelReply(content=" ".join(steps)),
                ModelReply(content=f"<think>{text}"),
                ModelReply(content=None, reasoning=text, finish_reason="length"),
            )
        )

    def _verdict(self, rng: random.Random, invalid: bool, accepts: bool, n_steps: int) -> ModelReply:
        index = -1 if accepts else rng.randrange(n_steps)
        judged = "Every step follows." if accepts else f"Step {index} does not follow."
        assessment = self._padded(rng, f"{judged} {_sentence(rng)}", self.min_chars)
        errors = "" if accepts else f"Step {index}: {_sentence(rng)} This is not justified."
        text = _verdict_text(assessment, errors, str(index))
        if not invalid:
            return ModelReply(content=text)
        return rng.choice(
            (
                ModelReply(content=text, finish_reason="length"),
                ModelReply(content=text.replace("</errors>", "")),
                ModelReply(content=_verdict_text(assessment, errors, str(n_steps))),
                ModelReply(content=_verdict_text(assessment, errors, f"step {max(index, 0)}")),
                ModelReply(content=text + "\n<first_error_step>-1</first_error_step>"),
                ModelReply(content=""),
            )
        )

    @staticmethod
    def _padded(rng: random.Random, text: str, min_chars: int) -> str:
        while len(text) < min_chars:
            text += " " + _sentence(rng)
        return text


def _sentence(rng: random.Random) -> str:
    return rng.choice(_SENTENCES).format(a=rng.randint(2, 97), b=rng.randint(2, 97))


def _judged(rng: random.Random, invalid: bool, accepts: bool, prompt: str) -> ModelReply:
    """A judgment under one of the other shipped protocols."""
    if invalid:
        return ModelReply(content=_sentence(rng))
    if "<points>" in prompt:
        said = f"<points>{rng.choice((6, 7)) if accepts else rng.randrange(6)} out of 7</points>"
    elif "<paragraph_0>" in prompt:
        last = max(int(number) for number in _PARAGRAPH_SHOWN.findall(prompt))
        said = f"\\boxed{{{-1 if accepts else rng.randint(0, last)}}}"
    else:
        said = f"\\boxed{{{1 if accepts else rng.choice((0, 0.5))}}}"
    return ModelReply(content=f"{_sentence(rng)}\n\n{said}")


def _verdict_text(assessment: str, errors: str, index: str) -> str:
    return (
        f"<assessment>\n{assessment}\n</assessment>\n<errors>\n{errors}\n</errors>\n"
        f"<first_error_step>{index}</first_error_step>"
    )


def _level(rng: random.Random, invalid: bool) -> ModelReply:
    level = rng.choice(tuple(LEVEL_SCORES))
    if not invalid:
        return ModelReply(content=f"The findings were compared one by one.\n<level>{level}</level>")
    return rng.choice(
        (
            ModelReply(content=f"<level>{level}</level>", finish_reason="length"),
            ModelReply(content="<level>GOOD_MATCH</level>"),
            ModelReply(content=f"<level>{level}</level> or <level>POOR_MATCH</level>"),
        )
    )


def steps_shown(prompt: str) -> int:
    """How many steps the proof in a judge's prompt has, by its ``<stepN>`` tags; at least 1."""
    return 1 + max((int(number) for number in _STEP_SHOWN.findall(prompt)), default=0)


def variation(vary: Vary, ask: Ask, answered_before: int) -> int | None:
    """What tells apart two replies to one prompt."""
    return {"prompt": None, "seed": ask.seed, "order": answered_before}[vary]


class SavedReplies:
    """Replies of a saved run, found by their prompts.

    A prompt that was answered several times plays its first reply, or, as ``vary`` says, one chosen by the request's
    seed or each in turn. A prompt that the run never asked is answered by ``otherwise``.

    Raises:
        DataError: If the folder has no calls.jsonl, or a line of it cannot be read.
    """

    def __init__(self, run: Path, *, vary: Vary = "prompt", otherwise: Replies) -> None:
        self._vary = vary
        self._otherwise = otherwise
        self._by_prompt: dict[str, list[ModelReply]] = {}
        path = run / CALLS
        if not path.is_file():
            raise DataError(f"{path}: there is no such file; --replies wants the folder of a saved run")
        self._read(path)

    def __len__(self) -> int:
        return sum(map(len, self._by_prompt.values()))

    def __call__(self, ask: Ask, answered_before: int) -> ModelReply:
        """The saved reply to ``ask``, or another's."""
        replies = self._by_prompt.get(prompt_sha256(ask.prompt))
        if not replies:
            return self._otherwise(ask, answered_before)
        return replies[(variation(self._vary, ask, answered_before) or 0) % len(replies)]

    def _read(self, path: Path) -> None:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break  # the torn tail of a run that was killed
                try:
                    if msgspec.json.decode(line, type=_Typed).type == "call":
                        call = msgspec.json.decode(line, type=CallLine)
                        self._by_prompt.setdefault(call.prompt_sha256, []).append(_reply_of(call))
                except msgspec.MsgspecError as exc:
                    raise DataError(f"{path}:{number}: not a line of a journal: {exc}") from exc


class _Typed(msgspec.Struct):
    """The part of a journal line that says what it is."""

    type: str


def _reply_of(call: CallLine) -> ModelReply:
    finish_reason = _OPENAI_REASONS.get(call.finish_reason or "", call.finish_reason)
    return ModelReply(
        content=exact_text(call), finish_reason=finish_reason, reasoning=exact_reasoning(call), model=call.model
    )
