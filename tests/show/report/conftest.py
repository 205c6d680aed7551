"""A real browser for the page, and reports to open in it."""

import inspect
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proverbench.show.report.build import open_runs
from proverbench.show.report.write import write_report
from tests.support import ROOT, SHARED, run_process

DATA = Path(__file__).parent / "data"
ARTEFACTS = ROOT / ".artefacts" / "report"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """A browser that is installed: Debian's, or another Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")  # while playwright is started, no asyncio.run works in this thread
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; without it the test is skipped, but fails in continuous integration."""
    path = find_chromium()
    if path is None:
        message = "no chromium is installed (Debian: apt-get install -y chromium)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@dataclass
class Watched:
    """A page, and everything in it that should not happen."""

    page: Any
    faults: list[str] = field(default_factory=list)
    """Errors and warnings on the console, exceptions, and requests that left the page."""

    def text(self, selector: str) -> str:
        """What a person reads there."""
        return str(self.page.locator(selector).first.inner_text())

    def settled(self) -> None:
        """Wait until what was asked for stands there, mathematics typeset and charts drawn."""
        self.page.wait_for_timeout(50)
        self.page.wait_for_selector("html[data-ready=yes]:not([data-typeset=no]):not([data-drawn=no])")
        self.page.wait_for_timeout(50)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds, 10 seconds at most."""
        for _ in range(200):
            if holds():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{inspect.getsource(holds).strip()} never held")


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Watched]]:
    """``opened(address, **options of the context)``: the page, watched; any fault fails the test at its end."""
    all_watched: list[Watched] = []
    with _contexts(browser) as new_context:

        def open_page(address: Path | str, fragment: str = "", *, allowed: str = "", **options: Any) -> Watched:
            context = new_context(**({"viewport": {"width": 1400, "height": 900}} | options))
            page = context.new_page()
            watched = Watched(page)
            all_watched.append(watched)
            note = watched.faults.append
            page.on("console", lambda said: note(said.text) if said.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: note(f"exception: {error}"))
            page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
            page.on("popup", lambda popup: note(f"popup: {popup.url}"))
            start = address.resolve().as_uri() if isinstance(address, Path) else address

            def request(asked: Any) -> None:
                inside = ("data:", "blob:", start.rsplit("/", 1)[0], *([allowed] if allowed else []))
                if not asked.url.startswith(inside):
                    note(f"request: {asked.url[:200]}")

            page.on("request", request)
            page.goto(start + fragment)
            watched.settled()
            return watched

        yield open_page
    assert [fault for watched in all_watched for fault in watched.faults] == []


@contextmanager
def _contexts(browser: Any) -> Iterator[Callable[..., Any]]:
    contexts: list[Any] = []

    def new(**options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(10_000)
        return contexts[-1]

    yield new
    for context in contexts:
        context.close()


def make_page(folder: Path, *runs: Path, **options: Any) -> Path:
    """Write the page of some runs."""
    with open_runs(runs, **{name: value for name, value in options.items() if name == "published"}) as report:
        largest = {name: value for name, value in options.items() if name == "largest"}
        return write_report(report, folder / "report.html", **largest)


@pytest.fixture(scope="session")
def prover_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a ProverBench run."""
    return make_page(tmp_path_factory.mktemp("prover"), DATA / "prover")


@pytest.fixture(scope="session")
def judge_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a VerifierBench run."""
    return make_page(tmp_path_factory.mktemp("judge"), DATA / "judge")


@pytest.fixture(scope="session")
def imported_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of runs of the published evaluator: with meta levels, and one that was interrupted."""
    runs = SHARED / "data" / "published-run"
    folder = tmp_path_factory.mktemp("imported")
    for name in ("verifier-meta", "prover-interrupted"):
        data = ("--data", runs / f"{name}.data.jsonl")
        ended = run_process(
            "data", "import", "--format", "published", runs / name, *data, "--output", folder / name, cwd=folder
        )
        assert ended.code == 0, ended.err
    return make_page(folder, folder / "verifier-meta", folder / "prover-interrupted")


@pytest.fixture(scope="session")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a mixture: the same proofs under two names, another task, and the published table."""
    folder = tmp_path_factory.mktemp("mixed")
    shutil.copytree(DATA / "judge", folder / "another judge")
    return make_page(folder, DATA / "judge", folder / "another judge", DATA / "prover", published="advancedmathbench")
