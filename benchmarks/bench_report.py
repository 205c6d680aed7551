"""The page of a full ProverBench run: how large, how soon open, and whether it stalls.

Run it with ``python -m benchmarks.bench_report [PROBLEMS [SAMPLES [REPEATS]]]``; the published size is 245 4 8. It
needs an installed Chromium. Times in the browser stand beside those of an empty page of the same number of bytes,
measured in turn. A page stands when it is loaded to its end, its scores can be read and have been painted; its charts
are drawn when all of them are, in the window or below it. Computing is processor time of the page's own process, so
that a busy neighbour does not count.
"""

import base64
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.measure import python, require, run
from benchmarks.saved import write_run
from benchmarks.tool import Work
from proverbench.rehearse.replies import GeneratedReplies
from proverbench.rehearse.wire import Ask

FULL = Work(245, 4, 8)
ROUNDS = 5
REPLY_CHARS = 3000
FRAMES, PROOFS = 150, 60
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@dataclass(slots=True)
class Looked:
    """What opening and using the page took, in milliseconds; one of each a round."""

    stands: list[float] = field(default_factory=list)
    """From the request until the scores have been painted and the file has been read to its end."""
    empty: list[float] = field(default_factory=list)
    """The same of an empty page of the same size."""
    drawn: list[float] = field(default_factory=list)
    """Until every chart is drawn."""
    frame: list[float] = field(default_factory=list)
    """From frame to frame while the list of proofs is scrolled from end to end; a screen of 60 Hz wants 16.7."""
    frame_computing: list[float] = field(default_factory=list)
    """Processor time of such a frame, of all threads, painting without a graphics card included."""
    walk: list[float] = field(default_factory=list)
    """From the key for the next proof until what is in sight of it has been painted, mathematics typeset."""
    walk_computing: list[float] = field(default_factory=list)
    """Processor time of a proof walked to, what lies below the window included."""

    def ratios(self) -> list[float]:
        """Ours to the empty page's, round by round."""
        return [ours / theirs for ours, theirs in zip(self.stands, self.empty, strict=True)]


def main() -> None:
    """Make the run and its page, then look at it."""
    given = [int(argument) for argument in sys.argv[1:]]
    work = Work(*given, *(FULL.problems, FULL.samples, FULL.repeats)[len(given) :])
    with page_of(work) as page:
        _say(f"{work.problems} problems × {work.samples} proofs × {work.repeats} judgments: {page.told}")
        found = look(page.path, rounds=ROUNDS)
    for what, times in (
        ("the page stands", found.stands),
        ("an empty page of its size stands", found.empty),
        ("every chart is drawn", found.drawn),
        ("a frame of scrolling the list", found.frame),
        ("computing a frame", found.frame_computing),
        ("a proof walked to is there", found.walk),
        ("computing a proof walked to", found.walk_computing),
    ):
        _say(f"{what + ':':42}{statistics.median(times):7.1f} ms [{min(times):.1f}..{max(times):.1f}]")
    _say(f"{'the page / the empty page:':42}{statistics.median(found.ratios()):7.2f} times")


@dataclass(frozen=True, slots=True)
class Page:
    """A page to look at, and what making it took."""

    path: Path
    told: str


@contextmanager
def page_of(work: Work) -> Iterator[Page]:
    """The page of a made-up run of that size, whose replies compress as little as real ones."""
    with tempfile.TemporaryDirectory(prefix="proverbench-bench-") as scratch:
        saved = write_run(Path(scratch) / "work", work, reply_bytes=REPLY_CHARS)
        _make_unlike(saved / "calls.jsonl")
        page = Path(scratch) / "report.html"
        made = require(run(python("-m", "proverbench", "report", str(saved), "-o", str(page))))
        size, journal = page.stat().st_size, (saved / "calls.jsonl").stat().st_size
        yield Page(
            page,
            f"calls.jsonl {journal / 1e6:.1f} MB, page {size / 1e6:.1f} MB, "
            f"made in {made.seconds:.1f} s ({made.cpu_s:.1f} s of CPU) with {made.peak_mb:.0f} MB of memory",
        )


def find_chromium() -> str | None:
    """The browser that is measured, if one is installed."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def look(path: Path, *, rounds: int, uses: bool = True) -> Looked:
    """Open the page and an empty one of its size in turn, then scroll and walk through its proofs.

    Args:
        path: The page.
        rounds: How often.
        uses: Whether it is scrolled and walked through.

    Raises:
        SystemExit: If no Chromium is installed.
    """
    from playwright.sync_api import sync_playwright

    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("no chromium is installed (Debian: apt-get install -y chromium)")
    empty = path.with_name("empty.html")
    _write_empty(empty, path.stat().st_size)
    found = Looked()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        _open(browser, empty, "title")  # starting the browser is in neither
        for _ in range(rounds):
            stands, drawn = _open(browser, path, "html[data-ready=yes]", "html[data-drawn=yes]")
            found.stands.append(stands)
            found.drawn.append(drawn)
            found.empty.append(_open(browser, empty, "title")[0])
        for _ in range(rounds if uses else 0):
            _use(browser, path, found)
        browser.close()
    return found


def _open(browser: Any, path: Path, ready: str, after: str = "html") -> tuple[float, float]:
    """Until the page stands, and until what comes after is there."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.add_init_script(_WATCH.replace("READY", ready).replace("AFTER", after))
    page.goto(path.as_uri(), wait_until="commit")
    stands = float(page.evaluate(_WAIT, "stands"))
    drawn = float(page.evaluate(_WAIT, "after"))
    page.close()
    return stands, drawn


def _use(browser: Any, path: Path, found: Looked) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(path.as_uri() + "#/proofs")
    page.wait_for_selector("html[data-ready=yes]:not([data-typeset=no])", state="attached")
    before = _computed(browser)
    found.frame.append(page.evaluate(_SCROLL))
    found.frame_computing.append((_computed(browser) - before) / FRAMES)
    before = _computed(browser)
    found.walk.append(page.evaluate(_WALK))
    found.walk_computing.append((_computed(browser) - before) / PROOFS)
    page.close()


def _make_unlike(calls: Path) -> None:
    """Give every call a reply of its own, so that they compress as little as real ones."""
    make = GeneratedReplies(accept_rate=0.7, min_chars=REPLY_CHARS)
    prompts = {"policy": "Write <step> elements.", "verifier": "Give <assessment>. <step0>\n\na\n\n</step0>"}
    lines = calls.read_bytes().splitlines()
    with calls.open("wb") as file:
        for number, line in enumerate(lines):
            value = msgspec.json.decode(line)
            if value["type"] == "call":
                ask = Ask("chat", "mock", f"{prompts[value['role']]} {number}", None, False, False, None, 0)
                value["text"] = str(make(ask, 0).content)
            file.write(msgspec.json.encode(value) + b"\n")


def _write_empty(path: Path, size: int) -> None:
    """A page of that many bytes with nothing to show or run."""
    start, end = '<!doctype html><title>empty</title><script type="application/gzip">', "</script>"
    filling = base64.b64encode(os.urandom(size)).decode()[: size - len(start) - len(end)]
    path.write_text(start + filling + end, encoding="ascii")


def _computed(browser: Any) -> float:
    """Milliseconds of processor time that the processes of pages have taken."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(1000 * float(process["cpuTime"]) for process in processes if process["type"] == "renderer")


# The page's own clock, which starts when it is asked for: what drives the browser takes no part. What is there before a
# frame has been painted when the next one begins.
_WATCH = """window.at = {};
const note = (name, holds) => requestAnimationFrame(() => {
    if (!holds()) note(name, holds);
    else requestAnimationFrame(() => (window.at[name] = performance.now()));
});
note("stands", () => document.readyState === "complete" && document.querySelector("READY"));
note("after", () => window.at.stands && document.querySelector("AFTER"));"""
_WAIT = """(name) => new Promise((go) => {
    const look = () => (window.at[name] ? go(window.at[name]) : setTimeout(look, 20));
    look();
})"""
_NEXT = "const next = () => new Promise((go) => requestAnimationFrame(() => go()));"
_SCROLL = f"""async () => {{ {_NEXT}
    const list = document.querySelector(".scroller");
    const way = list.scrollHeight - list.clientHeight;
    const start = performance.now();
    for (let i = 0; i <= {FRAMES}; i += 1) {{
        list.scrollTop = way * i / {FRAMES};
        await next();
    }}
    return (performance.now() - start) / {FRAMES};
}}"""
_WALK = f"""async () => {{ {_NEXT}
    const page = document.documentElement;
    let took = 0;
    for (let i = 0; i < {PROOFS}; i += 1) {{
        const start = performance.now();
        document.dispatchEvent(new KeyboardEvent("keydown", {{ key: "j", bubbles: true }}));
        const there = () => document.querySelector(".position").textContent.startsWith(`${{i + 2}} of`);
        do await next(); while (!there() || page.matches("[data-ready=no], [data-typeset=no]"));
        await next();  // painted
        took += performance.now() - start;
        while (page.matches("[data-typeset=no]")) await next();  // what lies below the window
    }}
    return took / {PROOFS};
}}"""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
