"""A real browser for the tests, patient: whatever a page does after an interaction is waited for, never counted on.

Input is handled, and what follows from it is drawn, some time after ``press``, ``click`` or ``fill`` return.
So a test asserts with playwright's ``expect``, which waits, or with :meth:`Watched.until`; where it shows that
nothing happened, it first lets the page come to rest (:meth:`Watched.settled`).

``PROVERBENCH_SLOW_PAGE=20 pytest tests/show/report`` runs every page 20 times slower than the machine could:
a test that fails there can fail by chance wherever the machine is busy.
"""

import inspect
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.support import ROOT

ARTEFACTS = ROOT / ".artefacts" / "report"
PATIENCE_S = 300
"""How long anything is waited for. A page that loops needs minutes more, and one that works a moment."""
SLOWER = float(os.environ.get("PROVERBENCH_SLOW_PAGE", "1"))
"""How many times slower than the machine could the scripts of a page run."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]
STANDS = "html[data-ready=yes]:not([data-typeset=no]):not([data-drawn=no]), html[data-ready=true]"
"""A page that shows what was asked for, mathematics typeset and charts drawn."""
_AT_REST = """([stands, asked]) => {
  if (window.restAsked !== asked) Object.assign(window, { restAsked: asked, restFrames: 0 });
  window.restFrames = document.querySelector(stands) ? window.restFrames + 1 : 0;
  return window.restFrames > 3;
}"""
_GO = """(to) => new Promise((there) => {
  const before = location.href;
  addEventListener("hashchange", there, { once: true });  // after the page's own listener
  location.hash = to;
  if (location.href === before) there();
})"""
_numbers = itertools.count(1)

expect.set_options(timeout=PATIENCE_S * 1000)


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
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=PATIENCE_S * 1000)
        yield running
        running.close()


@dataclass
class Watched:
    """A page, and everything in it that should not happen."""

    page: Page
    faults: list[str] = field(default_factory=list)
    """Errors and warnings on the console, exceptions, and requests that left the page."""

    def text(self, selector: str) -> str:
        """What a person reads there, now: of a page at rest."""
        return str(self.page.locator(selector).first.inner_text())

    def settled(self) -> None:
        """Wait until what was asked for stands there, and still does some frames later."""
        self.page.wait_for_function(_AT_REST, arg=[STANDS, next(_numbers)])

    def go(self, fragment: str) -> None:
        """Go to another place in the page, and wait until it stands there."""
        self.page.evaluate(_GO, fragment)
        self.settled()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"{inspect.getsource(holds).strip()} never held")
            self.page.wait_for_timeout(20)  # meanwhile playwright hands over what the page said

    def leave(self) -> None:
        """Close the page, once it is at rest: before the server goes that it asks now and then."""
        if not self.page.is_closed():
            self.settled()
            self.page.close()


@contextmanager
def patient_contexts(browser: Any) -> Iterator[Callable[..., Page]]:
    """``new_page(**options of its context)``: a page of its own, waited for patiently, closed at the end."""
    contexts: list[Any] = []

    def new_page(**options: Any) -> Page:
        contexts.append(browser.new_context(**({"viewport": {"width": 1400, "height": 900}} | options)))
        contexts[-1].set_default_timeout(PATIENCE_S * 1000)
        page: Page = contexts[-1].new_page()
        if SLOWER > 1:
            contexts[-1].new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        return page

    yield new_page
    for context in contexts:
        context.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Watched]]:
    """``opened(address, **options of the context)``: the page, watched; any fault fails the test at its end."""
    all_watched: list[Watched] = []
    with patient_contexts(browser) as new_page:

        def open_page(address: Path | str, fragment: str = "", **options: Any) -> Watched:
            watched = Watched(new_page(**options))
            all_watched.append(watched)
            page, note = watched.page, watched.faults.append
            page.on("console", lambda said: note(said.text) if said.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: note(f"exception: {error}"))
            page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
            page.on("popup", lambda popup: note(f"popup: {popup.url}"))
            start = address.resolve().as_uri() if isinstance(address, Path) else address

            def request(asked: Any) -> None:
                if not asked.url.startswith(("data:", "blob:", start.rsplit("/", 1)[0])):
                    note(f"request: {asked.url[:200]}")

            page.on("request", request)
            page.goto(start + fragment)
            watched.settled()
            return watched

        yield open_page
        for watched in all_watched:
            watched.leave()
    assert [fault for watched in all_watched for fault in watched.faults] == []
