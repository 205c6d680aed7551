"""Shared fixtures: the command in this process, a rehearsal endpoint, and a browser (tests/browser.py)."""

import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from proverbench.cli import main
from proverbench.rehearse import GeneratedReplies, RehearseServer
from tests.browser import browser, opened
from tests.support import SHARED, Ended

__all__ = ["browser", "opened"]  # fixtures

collect_ignore = [] if SHARED.is_dir() else ["inputs/test_formatted.py"]
"""Modules of nothing but third parties' data, which are not part of the repository."""
NEED_SHARED = {"shared_lean", "found_by_others", "imported_page"}
"""Fixtures that are nothing but shared data."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs data that are not part of the repository (the mark ``shared``), where they are not."""
    if SHARED.is_dir():
        return
    without = [
        item
        for item in items
        if item.get_closest_marker("shared") or not NEED_SHARED.isdisjoint(getattr(item, "fixturenames", ()))
    ]
    config.hook.pytest_deselected(items=without)
    left_out = {id(item) for item in without}
    items[:] = [item for item in items if id(item) not in left_out]


# Behind nohup a hangup is ignored, by the commands that are tested too: they inherit it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# Likewise Ctrl-C, in a job that a script has put in the background.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A test shows growth, never seconds: a machine may be busy.
hypothesis.settings.register_profile("proverbench", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("proverbench")


@pytest.fixture
def command(capfd, monkeypatch, tmp_path):
    """``command("run", "--data", …)`` runs it in this process, in an empty folder, and tells how it ended."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments], prog_name="proverbench")
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def server() -> Iterator[RehearseServer]:
    """A rehearsal endpoint whose repeats differ, by each request's own seed."""
    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed")) as running:
        yield running
