"""The page of a full ProverBench run: how large, how soon open, and whether it stalls.

Run it with ``python -m benchmarks.bench_report [PROBLEMS [SAMPLES [REPEATS]]]``; the published size is 245 4 8. It
needs an installed Chromium. Times in the browser stand beside those of an empty page of the same number of bytes,
measured in turn; computing is processor time of the page's own process, so that a busy neighbour does not count.
"""

import base64
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.measure import run
from benchmarks.saved import write_run
from benchmarks.tool import Work
from proverbench.rehearse.replies import GeneratedReplies
from proverbench.rehearse.wire import Ask

ROUNDS = 5
REPLY_CHARS = 3000
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main() -> None:
    """Make the run and its page, then look at it."""
    given = [int(argument) for argument in sys.argv[1:]] + [245, 4, 8][len(sys.argv) - 1 :]
    work = Work(*given)
    with tempfile.TemporaryDirectory(prefix="proverbench-bench-") as scratch:
        saved = write_run(Path(scratch) / "work", work, reply_bytes=REPLY_CHARS)
        _make_unlike(saved / "calls.jsonl")
        page = Path(scratch) / "report.html"
        command = [sys.executable, "-m", "proverbench", "report", str(saved), "-o", str(page)]
        made = run(command)
        if made.exit_code:
            raise SystemExit(made.output)
        size = page.stat().st_size
        journal = (saved / "calls.jsonl").stat().st_size
        _say(f"{given[0]} problems × {given[1]} proofs × {given[2]} judgments, calls.jsonl {journal / 1e6:.1f} MB")
        _say(f"made in {made.seconds:.1f} s ({made.cpu_s:.1f} s of CPU), {made.peak_mb:.0f} MB of memory")
        _say(f"page {size / 1e6:.1f} MB: {size / journal:.2f} of calls.jsonl")
        empty = Path(scratch) / "empty.html"
        _write_empty(empty, size)
        _look(page, empty)


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


def _look(page_file: Path, empty: Path) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no chromium is installed (Debian: apt-get install -y chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(_open(browser, page_file, "html[data-ready=yes]"))
            theirs.append(_open(browser, empty, "title"))
        (wall, cpu), (empty_wall, empty_cpu) = (_medians(times) for times in (ours, theirs))
        _say(
            f"opens in {wall:.0f} ms, {cpu:.0f} ms of it computing; an empty page of its size in {empty_wall:.0f} ms, "
            f"{empty_cpu:.0f} ms computing; {wall / empty_wall:.2f} times"
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(page_file.as_uri() + "#/proofs")
        page.wait_for_selector("html[data-ready=yes]")
        for what, script, steps in (("a frame of scrolling the list", _SCROLL, 150), ("a proof walked to", _WALK, 60)):
            before = _computed(browser)
            page.evaluate(script)
            _say(f"{what}: {(_computed(browser) - before) / steps:.1f} ms computing")
        browser.close()


def _open(browser: Any, path: Path, ready: str) -> tuple[float, float]:
    """Milliseconds from the request for the page until it stands there: by the clock, and computing."""
    before = _computed(browser)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    start = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector(ready, state="attached")
    took = 1000 * (time.perf_counter() - start)
    computed = _computed(browser) - before
    page.close()
    return took, computed


def _computed(browser: Any) -> float:
    """Milliseconds of processor time that the processes of pages have taken."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(1000 * float(process["cpuTime"]) for process in processes if process["type"] == "renderer")


def _medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(wall for wall, _ in times), statistics.median(cpu for _, cpu in times)


_NEXT = "const next = () => new Promise((go) => requestAnimationFrame(() => go()));"
_SCROLL = f"""async () => {{ {_NEXT}
    const list = document.querySelector(".scroller");
    for (let i = 0; i <= 150; i += 1) {{
        list.scrollTop = (list.scrollHeight - list.clientHeight) * i / 150;
        await next();
    }}
}}"""
_WALK = f"""async () => {{ {_NEXT}
    for (let i = 0; i < 60; i += 1) {{
        document.dispatchEvent(new KeyboardEvent("keydown", {{ key: "j", bubbles: true }}));
        do await next(); while (document.documentElement.matches("[data-ready=no], [data-typeset=no]"));
    }}
}}"""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
