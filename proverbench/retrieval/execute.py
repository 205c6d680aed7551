"""What ``retrievalbench run`` does: make or find the run folders, ask each system, say how it went."""

import asyncio
import contextlib
import hashlib
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from proverbench.cli.stop_signals import StopSignals
from proverbench.errors import ConfigError, RunMismatchError
from proverbench.retrieval.folder import MANIFEST, RetrievalRun, as_first_written, create_run, queries_bytes
from proverbench.retrieval.prepare import DataOptions, Prepared, prepare
from proverbench.retrieval.records import GoldQuery, RunManifest
from proverbench.retrieval.render import modern_sha256
from proverbench.retrieval.run import Result, run_system
from proverbench.retrieval.settings import Settings
from proverbench.retrieval.systems.base import Context, System, forecast_of
from proverbench.retrieval.systems.build import SystemBuilder

SAY_EVERY_S = 5.0
"""How often a line of progress comes."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One system to run and where."""

    spec: str
    folder: Path
    manifest: RunManifest | None
    """Of the saved run that goes on; None for a new one."""


class RetrievalSession:
    """One call of ``retrievalbench run``.

    Args:
        data: Which data.
        settings: The config's tables.
        cache: Where vectors and answers are kept.
        planned: The systems, in order.
        say: Writes a line for people.
    """

    def __init__(
        self,
        data: DataOptions,
        settings: Settings,
        cache: Path,
        planned: Sequence[Planned],
        say: Callable[[str], None],
    ) -> None:
        self.data = data
        self.settings = settings
        self.cache = cache
        self.planned = planned
        self.prepared: Prepared = prepare(data)
        self._say = say
        self._began: dict[str, tuple[float, int]] = {}
        self._say_again = time.monotonic() + SAY_EVERY_S
        self._signals = StopSignals(self._stop_politely)
        context = Context(
            self.prepared.corpus,
            self.prepared.texts,
            cache,
            self.prepared.renderer,
            self.prepared.strings,
            [query.id for query in self.prepared.asked],
            on_progress=self._progress,
            stopping=lambda: self.stopped,
        )
        self._builder = SystemBuilder(context, settings)
        # Built before anything is written: a wrong spec, table or run file must leave nothing behind.
        self.systems: list[tuple[Planned, System]] = [(plan, self._builder.build(plan.spec)) for plan in planned]
        self.manifests = {plan.folder: self._manifest(plan, system) for plan, system in self.systems}

    def _manifest(self, plan: Planned, system: System) -> RunManifest:
        manifest = self.prepared.manifest(system)
        operation = {
            **manifest.operation,
            "data": {name: str(v.resolve()) if isinstance(v, Path) else v for name, v in asdict(self.data).items()},
            "config": self.settings.tables,
            "cache": str(self.cache.resolve()),
        }
        manifest = msgspec.structs.replace(manifest, operation=operation)
        if plan.manifest is not None:
            _require_same(plan, manifest, self.prepared.queries_for(system))
        return manifest

    @property
    def stopped(self) -> bool:
        """Whether a signal ended it early."""
        return self._signals.came is not None

    @property
    def exit_code(self) -> int | None:
        """How the process should end when a signal came; None if none did."""
        return self._signals.exit_code

    def _stop_politely(self) -> None:
        self._say("stopping: nothing new is asked, what is in flight is saved; Ctrl-C again to stop at once")

    def run(self, *, heeds_signals: bool = False) -> list[tuple[Planned, Result]]:
        """Run every system; returns how each went. If wanted, a signal ends it early (:attr:`stopped`)."""
        return asyncio.run(self._run(heeds_signals))

    async def _run(self, heeds_signals: bool) -> list[tuple[Planned, Result]]:
        with self._signals if heeds_signals else contextlib.nullcontext():
            return await self._run_all()

    async def _run_all(self) -> list[tuple[Planned, Result]]:
        results: list[tuple[Planned, Result]] = []
        try:
            # All folders first, so that --resume finds the systems that were not begun.
            for plan, system in self.systems:
                if plan.manifest is None:
                    create_run(plan.folder, self.manifests[plan.folder], self.prepared.queries_for(system))
            for plan, system in self.systems:
                if self.stopped:
                    break
                results.append((plan, await run_system(plan.folder, system, on_answer=self._answered(plan.spec))))
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await self._builder.aclose()
        return results

    def _progress(self, what: str, done: int, total: int) -> None:
        """Say how far something is: when it is done, and every few seconds before."""
        now = time.monotonic()
        began, before = self._began.setdefault(what, (now, done))
        if done == total or now >= self._say_again:
            self._say_again = now + SAY_EVERY_S
            left = (total - done) * (now - began) / (done - before) if done > before else 0.0
            self._say(f"{what}: {done} of {total}{f', about {_duration(left)} left' if left >= 1 else ''}")

    def forecasts(self) -> list[str]:
        """Return what each system will ask for, and about how much and how long that is."""
        return [line for _, system in self.systems for line in forecast_of(system, self.prepared.queries_for(system))]

    def _answered(self, spec: str) -> Callable[[int, int], None]:
        return lambda done, total: self._progress(f"{spec}: queries answered", done, total)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def plan_new(specs: Sequence[str], output: Path) -> list[Planned]:
    """Plan new runs: one system in ``output`` itself, several in a folder each below it.

    Raises:
        ConfigError: If a system is named twice.
        RunMismatchError: If a folder holds something already.
    """
    if len(set(specs)) < len(specs):
        raise ConfigError("a system is named twice; each needs to run once only")
    folders = [output] if len(specs) == 1 else [output / slug(spec) for spec in specs]
    for folder in folders:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunMismatchError(
                f"{folder} is there already; go on with --resume {shlex.quote(str(output))}, or give another --output"
            )
    return [Planned(spec, folder, None) for spec, folder in zip(specs, folders, strict=True)]


def plan_resume(path: Path) -> list[Planned]:
    """Plan to go on with a saved run, or with all runs below a folder.

    Raises:
        RunMismatchError: If there is none.
        JournalError: If one is damaged.
    """
    planned = []
    for folder in find_runs([path]):
        manifest = RetrievalRun(folder).manifest
        planned.append(Planned(manifest.system, folder, manifest))
    datasets = {str(plan.manifest.operation.get("data")) for plan in planned if plan.manifest}
    if len(datasets) > 1:
        raise RunMismatchError(f"{path}: its runs were made on different data; resume them one by one")
    return planned


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the run folders that ``paths`` name: each a run, or a folder of runs.

    Raises:
        RunMismatchError: Names every path that holds none.
    """
    found: list[Path] = []
    faults = []
    for path in paths:
        if (path / MANIFEST).is_file():
            found.append(path)
            continue
        inside = sorted(manifest.parent for manifest in path.glob(f"*/{MANIFEST}"))
        if not inside:
            faults.append(f"{path}: no run of retrievalbench in it (no {MANIFEST}, nor a folder with one)")
        found += inside
    if faults:
        raise RunMismatchError.of(faults)
    return list(dict.fromkeys(found))


def data_of(
    manifest: RunManifest,
    *,
    corpus: Path | None = None,
    queries: Path | None = None,
    subset: Path | None = None,
    strings: Path | None = None,
) -> DataOptions:
    """Return the data options of a saved run; files that have moved since are given anew.

    Raises:
        RunMismatchError: If the manifest does not say.
    """
    try:
        saved: dict[str, Any] = dict(manifest.operation["data"])
        for name in ("corpus", "queries", "subset", "strings"):
            if saved.get(name) is not None:
                saved[name] = Path(saved[name])
        options = DataOptions(**saved)
    except (KeyError, TypeError) as exc:
        raise RunMismatchError(f"the manifest does not say which data the run took ({exc}); start a new run") from exc
    return replace(
        options,
        corpus=corpus or options.corpus,
        queries=queries or options.queries,
        subset=subset or options.subset,
        strings=strings or options.strings,
    )


def slug(spec: str) -> str:
    """Return a folder's name for a system."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", spec).strip("-.")[:100] or "system"


def _require_same(plan: Planned, now: RunManifest, queries: Sequence[GoldQuery]) -> None:
    assert plan.manifest is not None
    if plan.manifest.run_id == now.run_id:
        return
    before, after = _modern(msgspec.to_builtins(plan.manifest)), msgspec.to_builtins(now)
    if before["queries_sha256"] == hashlib.sha256(queries_bytes(map(as_first_written, queries))).hexdigest():
        after["queries_sha256"] = before["queries_sha256"]  # an older version wrote less about the same queries
    ignored = ("run_id", "operation")
    faults = [
        f"{plan.folder}: {name} was {_short(before.get(name))}, now {_short(after.get(name))}"
        for name in {**before, **after}
        if name not in ignored and before.get(name) != after.get(name)
    ]
    if faults:
        advice = "a run cannot go on with other data or another system; start a new one"
        raise RunMismatchError.of([*faults, advice])


def _modern(value: Any) -> Any:
    """Return a saved identity with the renderer's hash as it is made now."""
    if isinstance(value, dict):
        return {name: _modern(item) for name, item in value.items()}
    return modern_sha256(value) if isinstance(value, str) else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."
