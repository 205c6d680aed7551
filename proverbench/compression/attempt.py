"""A language model as the participant: it proposes, the check answers, the best version is kept.

Every reply is on disk before anyone looks into it. An attempt that was stopped goes on when it is started again with
the same folder: a round that has its reply is not asked again.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.compression.checking import Check, check_sources
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.limits import StoppedError
from proverbench.compression.tasks import Task
from proverbench.endpoints.base import Answered, Caller, Priority, Request
from proverbench.errors import DataError, InvalidReply
from proverbench.protocols.basic_v1 import final_text
from proverbench.shipped import shipped

_OPEN_FILE = re.compile(r'<file name="([^"<>\n]{1,200})">')
_CLOSE_FILE = "</file>"
_FENCE = re.compile(r"\A```[a-z0-9]*\n(.*?)\n?```\Z", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{(targets|background|count|files|feedback)\}")
_SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Round:
    """What one proposal came to."""

    number: int
    outcome: str
    """``shorter``, ``not shorter``, ``invalid``, ``stopped``, ``unreadable:REASON`` or ``unanswered:KIND``."""
    count: int | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """All rounds, and the best version."""

    rounds: tuple[Round, ...]
    best: Mapping[str, bytes]
    best_count: int
    usage: tuple[Any, ...]
    """What the provider said of tokens, a value for each answered round."""

    @property
    def complete(self) -> bool:
        """Whether every round was answered."""
        return not any(item.outcome.startswith("unanswered") for item in self.rounds)


def read_files(reply: str, editable: tuple[str, ...]) -> dict[str, bytes]:
    """The files that a reply proposes: elements ``<file name="…">…</file>``, a code fence around the content allowed.

    Raises:
        InvalidReply: ``empty_final_answer``, ``no_files``, ``file_not_closed``, ``duplicate_file`` or
            ``not_editable``.
    """
    text = final_text(reply)
    found: dict[str, bytes] = {}
    place = 0
    while opened := _OPEN_FILE.search(text, place):
        end = text.find(_CLOSE_FILE, opened.end())
        if end < 0:
            raise InvalidReply("file_not_closed")
        name, content = opened[1], text[opened.end() : end].strip()
        if name not in editable:
            raise InvalidReply("not_editable")
        if name in found:
            raise InvalidReply("duplicate_file")
        fenced = _FENCE.match(content)
        found[name] = (fenced[1] if fenced else content).encode("utf-8", "replace") + b"\n"
        place = end + len(_CLOSE_FILE)
    if not found:
        raise InvalidReply("no_files")
    return found


def render_attempt(template: str, task: Task, best: Mapping[str, bytes], count: int, feedback: str) -> str:
    """The prompt of a round, filled in one pass, so that no file's text is read as a placeholder."""
    values = {
        "targets": ", ".join(task.spec.targets),
        "background": _shown_files(task.below("background")) or "(none)",
        "count": str(count),
        "files": _shown_files(best),
        "feedback": feedback,
    }
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)


def own_template() -> str:
    """The prompt prompts/compression.txt."""
    return shipped("prompts/compression.txt").read_text(encoding="utf-8")


async def attempt(
    task: Task,
    caller: Caller,
    folder: Path,
    *,
    rounds: int,
    make_kernel: Callable[[], LeanKernel],
    build_folder: Path | None = None,
    report: Callable[[Round], None] = lambda item: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Attempt:
    """Ask for shorter versions, a number of times; the folder gets prompts, replies, checks and the best version.

    Args:
        task: The task.
        caller: Where the policy's calls go.
        folder: Where everything is kept.
        rounds: How often to ask.
        make_kernel: Makes a kernel for each check, so that the task's time limit holds for each.
        build_folder: Where a project was fetched.
        report: Told of every round as it ends.
        stopping: True once nothing new should be asked.

    Raises:
        FatalEndpointError: If no call will be answered.
        DataError: If the folder is another task's or the original is not valid.
    """
    template = own_template()
    _claim(folder, task)
    best: Mapping[str, bytes] = task.original
    best_count = task.spec.original_count
    feedback = "This is the original. Propose a shorter version."
    done: list[Round] = []
    usage: list[Any] = []
    for number in range(1, rounds + 1):
        if stopping():
            break
        place = folder / f"round-{number:03d}"
        prompt = render_attempt(template, task, best, best_count, feedback)
        reply = _saved_reply(place, prompt) or await _ask(caller, place, prompt, number)
        if "error" in reply:
            done.append(Round(number, f"unanswered:{reply['error']}", None, (reply["message"],)))
            report(done[-1])
            continue
        usage.append(reply["usage"])
        result, proposed = _judge(task, best, best_count, reply, number, make_kernel, build_folder)
        if result.outcome == "shorter" and proposed is not None and result.count is not None:
            best, best_count = proposed, result.count
        feedback = _feedback(result)
        _write(
            place / "round.json",
            json.dumps({"outcome": result.outcome, "count": result.count, "problems": result.problems}),
        )
        done.append(result)
        report(result)
    for path, content in best.items():
        _write(folder / "best" / path, content)
    return Attempt(tuple(done), best, best_count, tuple(usage))


async def _ask(caller: Caller, place: Path, prompt: str, number: int) -> dict[str, Any]:
    _write(place / "prompt.txt", prompt)
    request = Request(role="policy", prompt=prompt, key=f"policy/compression/{number}/0", seed=None)
    await caller.acquire(Priority.POLICY)
    started = time.monotonic()
    outcome = await caller.call(request)
    if not isinstance(outcome, Answered):
        return {"error": outcome.error_kind, "message": outcome.message}
    answer = outcome.reply
    saved = {
        "prompt_sha256": _sha256(prompt),
        "text": answer.text,
        "finish_reason": answer.finish_reason,
        "refused": answer.refused,
        "reasoning": answer.reasoning,
        "usage": answer.usage,
        "model": answer.model,
        "latency_s": round(time.monotonic() - started, 3),
    }
    # ASCII keeps lone surrogates, which a model may write, without loss.
    _write(place / "reply.json", json.dumps(saved, ensure_ascii=True, indent=1))
    return saved


def _saved_reply(place: Path, prompt: str) -> dict[str, Any] | None:
    try:
        saved: dict[str, Any] = json.loads((place / "reply.json").read_bytes())
    except (OSError, ValueError):
        return None
    return saved if saved.get("prompt_sha256") == _sha256(prompt) else None


def _judge(
    task: Task,
    best: Mapping[str, bytes],
    best_count: int,
    reply: Mapping[str, Any],
    number: int,
    make_kernel: Callable[[], LeanKernel],
    build_folder: Path | None,
) -> tuple[Round, dict[str, bytes] | None]:
    if reply["refused"]:
        return Round(number, f"unreadable:refused:{reply['refused']}", None, ()), None
    try:
        proposed = {**best, **read_files(reply["text"], tuple(task.spec.editable))}
    except InvalidReply as exc:
        return Round(number, f"unreadable:{exc.reason}", None, ()), None
    try:
        check: Check = check_sources(task, proposed, make_kernel(), build_folder=build_folder)
    except StoppedError as exc:
        return Round(number, "stopped", None, (str(exc),)), None
    if check.verdict != "valid" or check.count is None:
        return Round(number, "invalid", check.count, check.problems), None
    return Round(number, "shorter" if check.count < best_count else "not shorter", check.count, ()), proposed


def _feedback(result: Round) -> str:
    if result.outcome == "shorter":
        return f"Your last version is valid and the best so far with {result.count} nodes. Propose a still shorter one."
    if result.outcome == "not shorter":
        return f"Your last version is valid but has {result.count} nodes, which is not fewer. Propose another."
    if result.outcome.startswith("unreadable"):
        reason = result.outcome.removeprefix("unreadable:")
        return f"Your last answer could not be read ({reason}). Answer with whole files between the tags shown above."
    problems = "\n".join(f"- {problem}" for problem in result.problems[:_SHOWN_PROBLEMS])
    return f"Your last version was not accepted:\n{problems}\nPropose another."


def _claim(folder: Path, task: Task) -> None:
    """Say whose folder it is.

    Raises:
        DataError: If it is another task's.
    """
    mark = folder / "task.json"
    if mark.is_file():
        found = json.loads(mark.read_bytes()).get("sha256")
        if found != task.sha256:
            raise DataError(f"{folder}: is an attempt at another task (SHA-256 {found}); give a new --output")
        return
    _write(mark, json.dumps({"task": task.spec.name, "sha256": task.sha256}))


def _shown_files(sources: Mapping[str, bytes]) -> str:
    return "\n".join(
        f'<file name="{path}">\n{content.decode("utf-8", "replace").rstrip()}\n</file>'
        for path, content in sorted(sources.items())
    )


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
