"""Studies: how near the whole matrix comes to an ideal scheduler; the page of one of full size beside a single run's.

Run it with ``python -m benchmarks.bench_study [POLICIES [JUDGES [PROBLEMS [SAMPLES [REPEATS]]]]]``; full size is
8 4 245 4 8: 251,000 judgments. It needs an installed Chromium. Everything is written as if it had been asked; nothing
is called.
"""

import shutil
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.bench_report import Looked, look
from benchmarks.measure import Usage, mock, python, require, run, scratch
from benchmarks.mock import dealt
from benchmarks.schedule import ideal_makespan
from benchmarks.tool import Work, write_problems
from proverbench.ask.study_plan import PlannedRun, plan_study
from proverbench.inputs.study import load_study
from proverbench.records import CallLine, Role
from proverbench.rehearse.profile import Latency
from proverbench.rehearse.replies import GeneratedReplies
from proverbench.rehearse.wire import Ask
from proverbench.run.session import Session
from proverbench.run.study import STUDY_FILE

FULL = Work(245, 4, 8)
POLICIES, JUDGES = 8, 4
ROUNDS = 3
_CHARS = 1500
_PROMPTS: dict[Role, str] = {
    "policy": "Write <step> elements.",
    "verifier": "Give <assessment>. <step0>\n\na\n\n</step0>",
}
_USAGE = {"prompt_tokens": 700, "completion_tokens": 500, "total_tokens": 1200}


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found."""

    matrix: Usage
    """``inspect STUDY``."""
    made: Usage
    """``report STUDY``."""
    first_mb: float
    """Of the file that is opened."""
    all_mb: float
    """Of all files."""
    study: Looked
    single: Looked
    """The page of one of its runs."""


def main() -> None:
    """Make the study and its pages, then look at them."""
    given = [int(argument) for argument in sys.argv[1:]]
    policies, judges, *size = *given, *(POLICIES, JUDGES, FULL.problems, FULL.samples, FULL.repeats)[len(given) :]
    work = Work(*size)
    judgments = policies * judges * work.problems * work.samples * work.repeats
    _say(f"{policies} policies × {judges} judges × {work}: at most {judgments:,} judgments")
    found = measure(work, policies, judges, rounds=ROUNDS)
    for what, usage in (("inspect", found.matrix), ("report", found.made)):
        _say(f"{what}: {usage.seconds:.1f} s ({usage.cpu_s:.1f} s of CPU), {usage.peak_mb:.0f} MB of memory")
    _say(f"page: {found.first_mb:.1f} MB to open, {found.all_mb:.1f} MB in all")
    for what, looked in (("study", found.study), ("single run", found.single)):
        for name, times in (("stands", looked.stands), ("charts drawn", looked.drawn)):
            _say(f"{what}, {name}: {statistics.median(times):.0f} ms [{min(times):.0f}..{max(times):.0f}]")


def measure(work: Work, policies: int, judges: int, *, rounds: int) -> Measured:
    """Make a study, its page and that of one of its runs, and open both."""
    with scratch() as folder:
        study = write_study(folder / "work", work, policies, judges)
        matrix = require(run(python("-m", "proverbench", "inspect", str(study))))
        made = require(run(python("-m", "proverbench", "report", str(study), "-o", str(folder / "whole.html"))))
        one = study / "runs" / "policy-0--judge-0"
        require(run(python("-m", "proverbench", "report", str(one), "-o", str(folder / "one.html"))))
        whole = folder / "whole.html"
        files = [whole] if whole.is_file() else [*(folder / "whole").iterdir()]
        first = whole if whole.is_file() else folder / "whole/index.html"
        return Measured(
            matrix,
            made,
            first.stat().st_size / 1e6,
            sum(file.stat().st_size for file in files) / 1e6,
            look(first, rounds=rounds, uses=False),
            look(folder / "one.html", rounds=rounds, uses=False),
        )


def makespan(spec: str, work: Work, policies: int, judges: int, *, in_flight: int) -> float:
    """Seconds of a whole study at the mock, from its first call to its last answer, to those of an ideal scheduler.

    To the ideal a study is a run: each problem has the samples of all policies, each proof the judgments of all judges.

    Raises:
        SystemExit: If more were in flight than the endpoint's limit, over all runs of the study.
    """
    whole = Work(work.problems, policies * work.samples, judges * work.repeats)
    ideal = ideal_makespan(whole, dealt(Latency.parse(spec)), in_flight=in_flight)
    with scratch() as folder, mock("--latency", spec) as server:
        write_problems(folder / "data.jsonl", work)
        file = folder / "study.toml"
        text = study_toml(folder / "data.jsonl", work, policies, judges, server.origin, concurrency=in_flight)
        file.write_text(text, encoding="utf-8")
        require(run(python("-m", "proverbench", "study", str(file), "--output", str(folder / "study"))))
        stats = server.stats()
    if stats["max_in_flight"] > in_flight:
        raise SystemExit(f"{stats['max_in_flight']} were in flight, more than the {in_flight} configured")
    return float(stats["last_at"] - stats["first_at"]) / ideal


def write_study(folder: Path, work: Work, policies: int, judges: int) -> Path:
    """A finished study in ``folder/study``; its proofs differ, and so do its judges' replies.

    Args:
        folder: Does not exist yet.
        work: How much is asked of each pair.
        policies: How many.
        judges: Likewise.

    Returns:
        The study's folder.
    """
    folder.mkdir(parents=True)
    write_problems(folder / "data.jsonl", work)
    file = folder / "study.toml"
    file.write_text(study_toml(folder / "data.jsonl", work, policies, judges, "http://127.0.0.1:9"), encoding="utf-8")
    plan = plan_study(load_study(file), folder / "study")
    proofs: dict[str, list[str]] = {}
    for number, planned in enumerate(plan.runs):
        policy = str(planned.cell.policy)
        asked_in = msgspec.UNSET if policy not in proofs else f"{policy}--judge-0"
        texts = proofs.setdefault(policy, _texts("policy", number, work.problems * work.samples, 0.9))
        session = Session.create(planned.cell.path, planned.prepared.draft)
        session.release()
        judged = _texts("verifier", number, len(texts) * work.repeats, 0.85 + 0.14 * number / len(plan.runs))
        with (planned.cell.path / "calls.jsonl").open("ab") as calls:
            for line in _lines(planned, work, texts, judged):
                if line.role == "policy":
                    line = msgspec.structs.replace(line, asked_in=asked_in)
                calls.write(msgspec.json.encode(line) + b"\n")
    shutil.copy(file, folder / "study" / STUDY_FILE)
    return folder / "study"


def study_toml(
    data: Path, work: Work, policies: int, judges: int, origin: str, *, concurrency: int = 64, more: str = ""
) -> str:
    """The file of a study whose models are all at one endpoint."""
    names = [("policy", n) for n in range(policies)] + [("judge", n) for n in range(judges)]
    members = "".join(
        f'[{kind}.{kind}-{n}]\nendpoint = "mock"\nmodel = "{kind}-{n}"\ngeneration = {{ max_tokens = 2048 }}\n'
        for kind, n in names
    )
    return (
        f'[study]\ndata = "{data}"\nsamples = {work.samples}\nverifier_repeats = {work.repeats}\n'
        f'[endpoint.mock]\nbase_url = "{origin}/v1"\nconcurrency = {concurrency}\nstream = false\n'
        f"prices = {{ input = 1, output = 4 }}\n{more}\n{members}"
    )


def _texts(role: Role, seed: int, n: int, accept_rate: float) -> list[str]:
    """So many replies, each like no other."""
    make = GeneratedReplies(accept_rate=accept_rate, min_chars=_CHARS)
    prompt = _PROMPTS[role]
    return [
        str(make(Ask("chat", "mock", f"{prompt} {seed}/{i}", None, False, False, None, 0), 0).content) for i in range(n)
    ]


def _lines(planned: PlannedRun, work: Work, proofs: list[str], judged: list[str]) -> Iterator[CallLine]:
    ids = [row.problem_id for row in planned.prepared.draft.rows]
    for proof, text in enumerate(proofs):
        row, sample = divmod(proof, work.samples)
        yield _line("policy", ids[row], sample, 0, text)
        for repeat in range(work.repeats):
            yield _line("verifier", ids[row], sample, repeat, judged[proof * work.repeats + repeat])


def _line(role: Role, problem: str, sample: int, repeat: int, text: str) -> CallLine:
    return CallLine(
        role=role,
        id=problem,
        sample=sample,
        repeat=repeat,
        prompt_sha256="0" * 64,
        text=text,
        finish_reason="stop",
        usage=_USAGE,
        model="mock",
        latency_s=1.0,
        at="2026-01-01T00:00:00.000Z",
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
