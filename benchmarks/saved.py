"""Large saved runs, written without calling anything, for what works offline: ``python -m benchmarks.saved``."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.tool import Work, write_config, write_problems
from proverbench.ask.parts import Options
from proverbench.ask.prepare import prepare_new
from proverbench.records import CallLine
from proverbench.rehearse.replies import GeneratedReplies
from proverbench.rehearse.wire import Ask
from proverbench.run.disk import CALLS
from proverbench.run.journal import write_seal
from proverbench.run.seal import START, sealed
from proverbench.run.session import Session

_VARIANTS = 32
_PROMPTS = {"policy": "Write <step> elements.", "verifier": "Give <assessment>. <step0>\n\na\n\n</step0>"}


def write_run(
    folder: Path,
    work: Work,
    *,
    reply_bytes: int = 200,
    origin: str = "http://127.0.0.1:9",
    but_last: int = 0,
    shard: str | None = None,
) -> Path:
    """A finished run in ``folder/run``.

    Args:
        folder: Does not exist yet.
        work: How large.
        reply_bytes: About how long each reply is.
        origin: Where a resumed session would ask.
        but_last: So many calls at the end are left unanswered.
        shard: ``i/n``: only that part of the problems.

    Returns:
        The run's folder.
    """
    folder.mkdir(parents=True)
    write_problems(folder / "data.jsonl", work)
    write_config(folder / "config.toml", origin, concurrency=64)
    options = Options(
        data=folder / "data.jsonl",
        config=folder / "config.toml",
        samples=work.samples,
        repeats=work.repeats,
        shard=shard,
    )
    prepared = prepare_new("prover", options)
    session = Session.create(folder / "run", prepared.draft)
    ids = [row.problem_id for row in session.sources.rows]
    session.release()
    lines = list(_lines(ids, work, reply_bytes)) if but_last else _lines(ids, work, reply_bytes)
    if isinstance(lines, list):
        del lines[-but_last:]
    place = START
    with (folder / "run" / CALLS).open("wb") as calls:
        for line in lines:
            raw, place = sealed(line, place)
            calls.write(raw + b"\n")
    write_seal(folder / "run", place)
    return folder / "run"


def _lines(ids: list[str], work: Work, reply_bytes: int) -> Iterator[bytes]:
    texts = {role: _texts(role, reply_bytes) for role in _PROMPTS}
    encode = msgspec.json.Encoder().encode
    usage = {"prompt_tokens": 700, "completion_tokens": 500, "total_tokens": 1200}
    n = 0
    for problem_id in ids:
        for sample in range(work.samples):
            for role, repeats in (("policy", 1), ("verifier", work.repeats)):
                for repeat in range(repeats):
                    n += 1
                    line = CallLine(
                        role=role,  # type: ignore[arg-type]
                        id=problem_id,
                        sample=sample,
                        repeat=repeat,
                        prompt_sha256="0" * 64,
                        text=texts[role][n * 7919 % _VARIANTS],
                        finish_reason="stop",
                        usage=usage,
                        model="mock",
                        latency_s=1.0,
                        at="2026-01-01T00:00:00.000Z",
                    )
                    yield encode(line)


def _texts(role: str, reply_bytes: int) -> list[str]:
    make = GeneratedReplies(accept_rate=0.7, min_chars=reply_bytes)
    return [
        str(make(Ask("chat", "mock", f"{_PROMPTS[role]} {n}", None, False, False, None, 0), 0).content)
        for n in range(_VARIANTS)
    ]


def main() -> None:
    """Run as ``python -m benchmarks.saved``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("problems", type=int)
    parser.add_argument("--reply-bytes", type=int, default=200)
    parser.add_argument("--origin", default="http://127.0.0.1:9")
    parser.add_argument("--but-last", type=int, default=0, help="so many calls at the end are left unanswered")
    parser.add_argument("--shard", help="i/n: only that part of the problems")
    given = parser.parse_args()
    write_run(
        given.folder,
        Work(given.problems),
        reply_bytes=given.reply_bytes,
        origin=given.origin,
        but_last=given.but_last,
        shard=given.shard,
    )


if __name__ == "__main__":
    main()
