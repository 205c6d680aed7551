"""What is measured: one function a suite. Each adds to the results as it goes."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import bench_report, bench_seal, bench_study, cache_grid, tool
from benchmarks import cache_first as bench_cache_first
from benchmarks.coverage import main as grid_of_coverage
from benchmarks.measure import Mock, Results, Usage, cores, mock, python, require, run, scratch
from benchmarks.mock import dealt
from benchmarks.schedule import ideal_makespan
from benchmarks.tool import COMMAND, Work
from proverbench.rehearse.profile import Latency


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured."""

    rounds: int
    quick: bool
    clients: tuple[str, ...] = ()
    """Which of the clients of throughput are measured; none named: all."""
    inspect_python: str | None = None
    """A Python that has Inspect AI, or None."""
    in_flight: tuple[int, ...] = (64, 256, 1000)
    calls: int = 4400
    """Of one measurement of throughput; start-up weighs the more, the fewer there are."""

    def scaled(self, full: int, quick: int) -> int:
        """One of two sizes."""
        return quick if self.quick else full


class _Client:
    """One thing that makes calls, measured as a whole process against the mock."""

    def __init__(self, name: str, measure: Callable[[Path, str, Work, int], Usage]) -> None:
        self.name = name
        self.measure = measure
        self.rates: dict[int, list[float]] = {}
        self.cpu_ms: dict[int, list[float]] = {}


def throughput(results: Results, options: Options) -> None:
    """Calls a second and CPU a call, of the tool and of the yardsticks, in turn, on one core."""
    server_core, client_core = cores()
    work = Work.of(options.scaled(options.calls, 360))
    clients = [_tool_client(kind, client_core) for kind in ("openai", "anthropic")]
    clients += [_sdk_client(name, client_core) for name in _SDKS]
    clients = [client for client in clients if not options.clients or client.name in options.clients]
    if options.inspect_python is not None:
        clients.append(_inspect_client(options.inspect_python, client_core))
    with mock(core=server_core) as server:
        for in_flight in options.in_flight:
            for _ in range(options.rounds):
                for client in clients:
                    _measure_once(client, server.origin, work, in_flight)
            for client in clients:
                results.add("throughput", f"{client.name}, {in_flight} in flight", client.rates[in_flight], "calls/s")
                results.add(
                    "throughput", f"{client.name}, {in_flight} in flight, CPU", client.cpu_ms[in_flight], "ms/call"
                )
    _ratios(results, {client.name: client for client in clients}, options.in_flight)


_SDKS = ("openai-aiohttp", "openai", "anthropic-aiohttp", "anthropic", "aiohttp")


def _measure_once(client: _Client, origin: str, work: Work, in_flight: int) -> None:
    with scratch() as folder:
        usage = client.measure(folder / "work", origin, work, in_flight)
    client.rates.setdefault(in_flight, []).append(work.calls / usage.seconds)
    client.cpu_ms.setdefault(in_flight, []).append(1000 * usage.cpu_s / work.calls)


def _tool_client(kind: str, core: int | None) -> _Client:
    return _Client(
        f"proverbench ({kind})",
        lambda folder, origin, work, in_flight: tool.measure(
            folder, origin, work, concurrency=in_flight, kind=kind, core=core
        ),
    )


def _sdk_client(name: str, core: int | None) -> _Client:
    def measure(_: Path, origin: str, work: Work, in_flight: int) -> Usage:
        sizes = ("--calls", str(work.calls), "--in-flight", str(in_flight))
        return require(run(python("-m", "benchmarks.clients", name, origin, *sizes), core=core))

    return _Client(name, measure)


def _inspect_client(interpreter: str, core: int | None) -> _Client:
    def measure(_: Path, origin: str, work: Work, in_flight: int) -> Usage:
        sizes = ("--proofs", str(work.problems * work.samples), "--repeats", str(work.repeats))
        command = [interpreter, "-m", "benchmarks.inspect_chain", origin, *sizes, "--in-flight", str(in_flight)]
        return require(run(command, core=core))

    return _Client("inspect ai", measure)


def _ratios(results: Results, clients: dict[str, _Client], in_flight: tuple[int, ...]) -> None:
    """Round by round, so that what slowed the machine for a while slows both sides."""
    for kind in ("openai", "anthropic"):
        names = (f"proverbench ({kind})", f"{kind}-aiohttp", kind)
        if not all(name in clients for name in names):
            continue
        ours, fast, default = (clients[name] for name in names)
        for n in in_flight:
            cpu = [a / b for a, b in zip(ours.cpu_ms[n], fast.cpu_ms[n], strict=True)]
            results.add("ratio", f"{kind}, {n} in flight: CPU a call, tool / SDK on aiohttp", cpu, "×", "at most 1.25")
            rate = [a / b for a, b in zip(ours.rates[n], default.rates[n], strict=True)]
            note = "at least 3" if n == 1000 else ""
            results.add("ratio", f"{kind}, {n} in flight: calls/s, tool / default SDK", rate, "×", note)
            # On a machine with other work the clock says little; CPU time still tells what one free core could do.
            rate = [a / b for a, b in zip(default.cpu_ms[n], ours.cpu_ms[n], strict=True)]
            results.add("ratio", f"{kind}, {n} in flight: calls per CPU second, tool / default SDK", rate, "×", note)


def latency(results: Results, options: Options) -> None:
    """Makespans with latency: against the bound with one, against the ideal scheduler with a long tail."""
    server_core, client_core = cores()
    fixed = [(256, 1.0, 0.95), (1000, 1.0, 0.70), (5000, 30.0, 0.0)]
    for in_flight, seconds, target in fixed[:1] if options.quick else fixed:
        work = Work.of(options.scaled(max(9 * in_flight, 4400), 1200))
        shares = []
        for _ in range(1 if seconds > 5 else options.rounds):
            made = _makespan(f"fixed:{seconds}", work, in_flight, server_core, client_core)
            ideal = ideal_makespan(work, dealt(Latency("fixed", seconds)), in_flight=in_flight)
            shares.append(ideal / made)
        note = f"at least {target:.0%}" if target else "works"
        results.add("latency", f"{seconds:g} s, {in_flight} in flight: ideal / makespan", shares, "", note)
    tails = [(256, 1.0, 0.6), (256, 1.0, 1.2), (1000, 3.0, 0.6), (1000, 3.0, 1.2)]
    for in_flight, median_s, sigma in tails[:1] if options.quick else tails:
        work = Work(245, 4, 8) if not options.quick else Work.of(1200)
        spec = f"lognormal:{median_s},{sigma}"
        ideal = ideal_makespan(work, dealt(Latency.parse(spec)), in_flight=in_flight)
        ratios = [
            _makespan(spec, work, in_flight, server_core, client_core) / ideal for _ in range(min(options.rounds, 2))
        ]
        results.add("latency", f"{spec}, {in_flight} in flight: makespan / ideal", ratios, "×", "at most 1.10")


def _makespan(spec: str, work: Work, in_flight: int, server_core: int | None, client_core: int | None) -> float:
    """Seconds from the first request to the last answer, as the mock saw them."""
    with scratch() as folder, mock("--latency", spec, core=server_core) as server:
        tool.measure(folder / "work", server.origin, work, concurrency=in_flight, core=client_core)
        return _makespan_of(server, in_flight)


def _makespan_of(server: Mock, in_flight: int) -> float:
    stats = server.stats()
    if stats["max_in_flight"] > in_flight:
        raise SystemExit(f"{stats['max_in_flight']} were in flight, more than the {in_flight} configured")
    return float(stats["last_at"] - stats["first_at"])


def memory(results: Results, options: Options) -> None:
    """Peak memory of runs of two lengths, and with more in flight."""
    small, large = options.scaled(10_000, 600), options.scaled(100_000, 2_400)
    peaks = {}
    with mock() as server:
        for calls in (small, large):
            with scratch() as folder:
                work = Work.of(calls)
                peaks[calls] = tool.measure(folder / "work", server.origin, work, concurrency=256).peak_mb
            results.add("memory", f"{calls:,} calls, 256 in flight: peak", [peaks[calls]], "MB")
    growth = (peaks[large] - peaks[small]) * 1e6 / (large - small)
    results.add("memory", f"from {small:,} to {large:,} calls", [growth], "bytes/call")
    results.add("memory", f"peak at {large:,} / at {small:,}", [peaks[large] / peaks[small]], "×", "at most 1.10")
    few, many = 64, options.scaled(2000, 512)
    held = {}
    with mock("--latency", "fixed:2") as server:
        for in_flight in (few, many):
            with scratch() as folder:
                work = Work.of(options.scaled(2 * many, 600))
                held[in_flight] = tool.measure(folder / "work", server.origin, work, concurrency=in_flight).peak_mb
    results.add(
        "memory",
        f"from {few} to {many} in flight",
        [(held[many] - held[few]) * 1e3 / (many - few)],
        "kB/call in flight",
    )


def lag(results: Results, options: Options) -> None:
    """How long the event loop is held up: by replies of 1 MB, and by thousands of failures."""
    large = ("--reply-bytes", "1000000", "--latency", "fixed:0.2")
    for what, in_flight, mocked, more, calls in (
        ("1 MB replies", 64, large, "", options.scaled(900, 90)),
        ("three of ten requests fail", 256, ("--failing", "0.3"), "max_retries = 20", options.scaled(4400, 360)),
    ):
        worst = []
        for _ in range(options.rounds):
            with scratch() as folder, mock(*mocked) as server:
                (folder / "work").mkdir()
                command = tool.prepare(folder / "work", server.origin, Work.of(calls), concurrency=in_flight, more=more)
                command[1:3] = ["-m", "benchmarks.lag"]
                usage = require(run(command))
            found = re.search(r"worst lag ([\d.]+)", usage.output)
            worst.append(1000 * float(found[1]) if found else float("nan"))
        results.add("lag", f"{what}, {in_flight} in flight: worst of the event loop", worst, "ms", "under 100")


def offline(results: Results, options: Options) -> None:
    """Saved runs: score, report, merge, open to resume."""
    sizes = (options.scaled(100_000, 2_000), options.scaled(1_000_000, 20_000))
    for judgments in sizes:
        with scratch() as folder:
            work = Work(-(-judgments // 16))
            path = _saved_run(folder / "work", work)
            size_mb = (path / "calls.jsonl").stat().st_size / 1e6
            _offline_once(results, f"score, {judgments:,} judgments, {size_mb:,.0f} MB", "score", str(path))
            page = str(folder / "report.html")
            _offline_once(results, f"report, {judgments:,} judgments", "report", str(path), "-o", page)
    for judgments in sizes:
        with scratch() as folder:
            work = Work(-(-judgments // 16))
            shards = [str(_saved_run(folder / f"shard{i}", work, "--shard", f"{i}/2")) for i in (1, 2)]
            merged = str(folder / "merged")
            _offline_once(results, f"merge of two shards, {judgments:,} judgments", "merge", *shards, "-o", merged)
    _open_to_resume(results, options)


def seal(results: Results, options: Options) -> None:
    """What seals cost where calls are written; `verify-run` and `score` of a large run beside decoding it once."""
    shares = [100 * bench_seal.writing(options.scaled(options.calls, 360)) for _ in range(options.rounds)]
    results.add("seal", "CPU of the seals / of the whole run, 2 KB replies", shares, "%", "at most 3")
    judgments = options.scaled(100_000, 2_000)
    verifies, scores, seconds = bench_seal.reading(judgments, options.rounds)
    results.add("seal", f"score, {judgments:,} judgments of 2 KB: CPU", seconds, "s")
    results.add("seal", "verify-run / score, CPU", verifies, "×", "at most 1.2")
    results.add("seal", "score / decoding calls.jsonl once, CPU", scores, "×")


def _saved_run(folder: Path, work: Work, *options: str) -> Path:
    """Written by a process of its own, so that this one stays smaller than what it measures (measure.run)."""
    require(run(python("-m", "benchmarks.saved", str(folder), str(work.problems), *options)))
    return folder / "run"


def _offline_once(results: Results, what: str, *command: str) -> None:
    usage = require(run(python("-c", COMMAND, *command)))
    results.add("offline", what, [usage.seconds], "s")
    results.add("offline", f"{what}: peak", [usage.peak_mb], "MB")


def _open_to_resume(results: Results, options: Options) -> None:
    """From the start of the process to the first call of a resumed run."""
    calls = options.scaled(100_000, 2_000)
    with scratch() as folder, mock() as server:
        what = ("--reply-bytes", "8000", "--origin", server.origin, "--but-last", "8")
        path = _saved_run(folder / "work", Work.of(calls), *what)
        require(run(python("-c", COMMAND, "score", str(path))), exit_code=1)  # a run that was asked has a summary
        start = time.monotonic()
        usage = require(run(python("-c", COMMAND, "run", "--resume", str(path))))
        stats = server.stats()
    if stats["requests"] != 8:
        raise SystemExit(f"a resumed run asked {stats['requests']} calls instead of the 8 that were missing")
    results.add("offline", f"resume of {calls:,} calls of 8 KB: to the first call", [stats["first_at"] - start], "s")
    results.add("offline", f"resume of {calls:,} calls of 8 KB: whole process", [usage.seconds], "s")


def startup(results: Results, options: Options) -> None:
    """Commands that do next to nothing."""
    with scratch() as folder:
        work = Work(20)
        dry_run = [*tool.prepare(folder, "http://127.0.0.1:9", work, concurrency=4), "--dry-run"]
        for what, command in (
            ("python -c pass", python("-c", "pass")),
            ("proverbench --help", python("-c", COMMAND, "--help")),
            ("proverbench run --dry-run", dry_run),
        ):
            usages = [require(run(command)) for _ in range(max(3, options.rounds))]
            results.add("start-up", what, [usage.seconds for usage in usages], "s")
            results.add("start-up", f"{what}: CPU", [usage.cpu_s for usage in usages], "s")


def report(results: Results, options: Options) -> None:
    """The page of a full ProverBench run in Chromium: opening, scrolling, walking from proof to proof."""
    if bench_report.find_chromium() is None:
        results.add("report", "left out: no chromium is installed", [float("nan")], "")
        return
    with bench_report.page_of(Work(20, 4, 8) if options.quick else bench_report.FULL) as page:
        size = page.path.stat().st_size / 1e6
        found = bench_report.look(page.path, rounds=options.rounds)
    results.add("report", f"page of {size:.1f} MB stands, scores readable", found.stands, "ms")
    results.add("report", "empty page of its size", found.empty, "ms")
    results.add("report", "page stands / empty page", found.ratios(), "×", "about 1")
    results.add("report", "every chart drawn", found.drawn, "ms")
    results.add("report", "a frame of scrolling the list", found.frame, "ms", "16.7 at 60 Hz")
    results.add("report", "a proof walked to", found.walk, "ms", "under 100")


def study(results: Results, options: Options) -> None:
    """A whole study against the ideal scheduler; the page of one of full size, beside that of one of its runs."""
    policies, judges, work, in_flight = (2, 2, Work(6, 1, 2), 16) if options.quick else (3, 2, Work(60, 2, 4), 64)
    for spec in ("fixed:1", "lognormal:1,0.6"):
        what = f"{policies} × {judges} × {work.problems} × {work.samples} × {work.repeats}, {spec}"
        found = bench_study.makespan(spec, work, policies, judges, in_flight=in_flight)
        results.add("study", f"{what}, {in_flight} in flight: makespan / ideal", [found], "×", "at most 1.10")
    if bench_report.find_chromium() is None:
        results.add("study", "page left out: no chromium is installed", [float("nan")], "")
        return
    size = (2, 2, Work(10, 2, 2)) if options.quick else (bench_study.POLICIES, bench_study.JUDGES, bench_study.FULL)
    page = bench_study.measure(size[2], size[0], size[1], rounds=options.rounds)
    for name, usage in (("inspect", page.matrix), ("report", page.made)):
        results.add("study", f"{name}: CPU", [usage.cpu_s], "s")
        results.add("study", f"{name}: peak", [usage.peak_mb], "MB")
    results.add("study", "page: the file that is opened", [page.first_mb], "MB")
    results.add("study", "page: all files", [page.all_mb], "MB")
    results.add("study", "page stands", page.study.stands, "ms")
    results.add("study", "page of one run stands", page.single.stands, "ms")


def cluster(results: Results, options: Options) -> None:
    """A run of full size in one process, then on Ray with a worker killed half way: makespans, calls asked twice."""
    work, in_flight = (Work(20, 2, 4), 40) if options.quick else (Work(245, 4, 8), 500)
    spec = "lognormal:2,0.6"
    what = f"{work.problems} × {work.samples} × {work.repeats} at {spec}, {in_flight} in flight"
    ideal = ideal_makespan(work, dealt(Latency.parse(spec)), in_flight=in_flight)
    with scratch() as folder:
        with mock("--latency", spec) as server:
            tool.measure(folder / "local", server.origin, work, concurrency=in_flight)
            made = _makespan_of(server, in_flight)
        results.add("cluster", f"{what}, one process: makespan / ideal", [made / ideal], "×", f"ideal {ideal:.0f} s")
        with mock("--latency", spec) as server:
            (folder / "ray").mkdir()
            command = tool.prepare(folder / "ray", server.origin, work, concurrency=in_flight)
            # The mock goes on with what the dead worker had asked, so its count of calls in flight says nothing here.
            flying = tool.kill_a_worker(
                [*command, "--executor", "ray"], folder / "ray" / "run", work.calls // 2, server
            )
            stats = server.stats()
        made = stats["last_at"] - stats["first_at"]
        results.add("cluster", f"{what}, Ray, one worker killed: makespan / ideal", [made / ideal], "×")
        results.add("cluster", "  calls asked twice", [stats["requests"] - work.calls], "", f"in flight: {flying}")
        for name in ("records.jsonl", "summary.json"):
            if (folder / "local" / "run" / name).read_bytes() != (folder / "ray" / "run" / name).read_bytes():
                raise SystemExit(f"{name} of the run on Ray differs from that of one process")


def cache_first(results: Results, options: Options) -> None:
    """Cached share, cost and makespan of asking each proof's first judgment alone, against asking all at once."""
    both = {}
    for first in (False, True):
        with scratch() as folder:
            both[first] = bench_cache_first.measure(
                folder, kind="openai", repeats=8, in_flight=16, proofs=160, first=first, latency_s=0.5
            )
    where = "over HTTP, openai, R = 8, 16 in flight"
    for first, found in both.items():
        name = f"{where}, {'first alone' if first else 'all at once'}"
        results.add("cache_first", f"{name}, cached share", [found.cached_share], "")
        results.add("cache_first", f"{name}, cost", [found.cost_usd], "$")
        results.add("cache_first", f"{name}, makespan", [found.seconds], "s")
    for in_flight in (64,) if options.quick else (64, 1000):
        for kind in ("openai", "anthropic"):
            for repeats in (8,) if options.quick else (4, 8, 16):
                _cache_cell(results, kind=kind, repeats=repeats, in_flight=in_flight, proofs=10 * in_flight)


def _cache_cell(results: Results, *, kind: str, repeats: int, in_flight: int, proofs: int) -> None:
    """One cell of the simulated grid."""
    simulate = partial(cache_grid.simulate, kind=kind, repeats=repeats, in_flight=in_flight, proofs=proofs)
    best = cache_grid.ideal(kind=kind, repeats=repeats, proofs=proofs)
    at_once = simulate(first=False)
    where = f"simulated, {kind}, R = {repeats}, {in_flight} in flight"
    results.add("cache_first", f"{where}, all at once, cached share", [at_once.cached_share], "")
    results.add("cache_first", f"{where}, all at once, cost", [at_once.cost_usd], "$")
    results.add("cache_first", f"{where}, ideal, cached share", [best.cached_share], "")
    for streamed in (True, False):
        found = simulate(first=True, streamed=streamed)
        name = f"{where}, {'streamed' if streamed else 'whole'}"
        saved = (at_once.cost_usd - found.cost_usd) / (at_once.cost_usd - best.cost_usd)
        results.add("cache_first", f"{name}, cached share", [found.cached_share], "")
        results.add("cache_first", f"{name}, cost", [found.cost_usd], "$")
        results.add("cache_first", f"{name}, of the ideal saving", [saved], "", "at least 0.8")
        results.add(
            "cache_first", f"{name}, makespan / all at once", [found.seconds / at_once.seconds], "×", "at most 1.02"
        )


def coverage(results: Results, options: Options) -> None:
    """The grid of docs/coverage.md; ends with an error where it lies outside its bounds."""
    grid_of_coverage(options.quick)
    results.add("coverage", "cells outside the bounds", [0], "", "0")


SUITES: dict[str, Callable[[Results, Options], None]] = {
    "startup": startup,
    "throughput": throughput,
    "latency": latency,
    "memory": memory,
    "lag": lag,
    "offline": offline,
    "seal": seal,
    "report": report,
    "study": study,
    "cluster": cluster,
    "cache_first": cache_first,
    "coverage": coverage,
}
