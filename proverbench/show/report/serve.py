"""A report served on localhost (``proverbench view``): texts are read when looked at, and the page follows the runs."""

import gzip
import json
import re
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from proverbench.errors import JournalError, RunMismatchError
from proverbench.run.disk import CALLS
from proverbench.run.manifest import MANIFEST
from proverbench.run.study import expanded
from proverbench.show.report.build import Report, open_report
from proverbench.show.report.write import report_page

KEPT = 3
"""Reports of earlier moments that stay at hand, for pages that still show them."""
RESTS = 3
"""After a report took t seconds to build, the next one is not begun before RESTS * t seconds have passed."""


class Followed:
    """The report of some runs, built anew when their journals have grown.

    Args:
        paths: Folders of runs and studies; a study's runs are followed as they come.
        published: Whose published figures to show; None for none.

    Raises:
        RunMismatchError: If a folder is no run, or is given twice.
        JournalError: If a run is damaged.
    """

    def __init__(self, paths: Sequence[Path], *, published: str | None = None) -> None:
        self._paths = paths
        self._published = published
        self._lock = threading.RLock()
        self._reports: dict[str, tuple[Report, ExitStack]] = {}
        self._not_before = 0.0
        self._fault: str | None = None
        """Why the latest report could not be made."""
        self._build(self._state())

    def latest(self) -> tuple[str, Report]:
        """The version and report of this moment, or of a little earlier while building takes long.

        Raises:
            JournalError: If a run is damaged or gone now; it is read again in a while.
        """
        with self._lock:
            state = self._state()
            if state not in self._reports and time.monotonic() >= self._not_before:
                self._build(state)
            if self._fault is not None and state not in self._reports:
                raise JournalError(self._fault)
            version = next(reversed(self._reports))
            return version, self._reports[version][0]

    def chunk(self, version: str, number: int) -> dict[str, Any] | None:
        """A chunk of the report of that version; None when it is no longer at hand, or there is no such chunk."""
        with self._lock:
            found = self._reports.get(version)
            if found is None or not 0 <= number < found[0].n_chunks:
                return None
            return found[0].chunk(number)

    def close(self) -> None:
        """Close the runs' files."""
        with self._lock:
            while self._reports:
                self._reports.popitem()[1][1].close()

    def _build(self, state: str) -> None:
        start = time.monotonic()
        try:
            with ExitStack() as stack:
                report = stack.enter_context(open_report(self._paths, published=self._published))
                self._reports[state] = report, stack.pop_all()
            self._fault = None
        except (JournalError, RunMismatchError) as exc:
            self._fault = str(exc)
            raise
        finally:
            self._not_before = time.monotonic() + RESTS * (time.monotonic() - start)
        while len(self._reports) > KEPT:
            self._reports.pop(next(iter(self._reports)))[1].close()

    def _state(self) -> str:
        """Changes whenever a run's sources do."""
        parts = []
        for path in expanded(self._paths, calibrations=True):
            for name in (MANIFEST, CALLS):
                try:
                    status = (path / name).stat()
                    parts.append(f"{status.st_size:x}-{status.st_mtime_ns:x}")
                except FileNotFoundError:
                    parts.append("none")
        return ".".join(parts)


def make_server(followed: Followed, port: int, handler: "type[Handler] | None" = None) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 that shows a report; 0 takes a free port.

    It answers only requests that name it as localhost, so that no web site can read it by way of the browser.

    Args:
        followed: What to show.
        port: Of localhost.
        handler: Answers more than a report's requests (:mod:`proverbench.show.report.labelling`).

    Raises:
        OSError: If the port is taken.
    """

    class Answers(handler or Handler):  # type: ignore[misc]
        report = followed

    return _Server(("127.0.0.1", port), Answers)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about browsers that leave; anything else is a fault to see."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers a page's requests, of localhost alone."""

    protocol_version = "HTTP/1.1"
    server: _Server
    report: Followed

    def do_GET(self) -> None:
        """Answer a browser."""
        if not self.is_local():
            self.refuse()
            return
        url = urlsplit(self.path)
        try:
            self.answer(url.path, parse_qs(url.query).get("v", [""])[0])
        except (JournalError, RunMismatchError) as exc:
            self.send(503, "text/plain", f"{exc}\n".encode())

    def refuse(self) -> None:
        """Answer a request of somebody else."""
        self.send(403, "text/plain", b"this server answers on localhost only\n")

    def answer(self, path: str, wanted: str) -> None:
        """Answer a request for ``path``, with texts of the ``wanted`` version."""
        if path == "/":
            _, report = self.report.latest()
            page = "".join(report_page(report, "", connect=True))
            self.send(200, "text/html", page.encode())
        elif path == "/version":
            self.send(200, "text/plain", self.report.latest()[0].encode())
        elif path == "/model.json":
            version, report = self.report.latest()
            self.send_json(report.head | {"live": True, "version": version} | self.more())
        elif match := re.fullmatch(r"/chunk/([0-9]{1,9})\.json", path):
            chunk = self.report.chunk(wanted, int(match[1]))
            if chunk is None:
                self.send(410, "text/plain", b"the run has moved on; the page is about to follow\n")
            else:
                self.send_json(chunk)
        else:
            self.send(404, "text/plain", b"there is no such page\n")

    def more(self) -> dict[str, Any]:
        """What the page's model has beside the report."""
        return {}

    def is_local(self) -> bool:
        """Whether the request names this server as localhost."""
        host, _, port = self.headers.get("Host", "").rpartition(":")
        return host.lower() in ("127.0.0.1", "localhost") and port == str(self.server.server_port)

    def send_json(self, value: Any, status: int = 200) -> None:
        """Answer with JSON."""
        self.send(status, "application/json", json.dumps(value, allow_nan=False).encode())

    def send(self, status: int, kind: str, body: bytes) -> None:
        """Answer."""
        packed = "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 1000
        if packed:
            body = gzip.compress(body, compresslevel=1)
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a line for every poll helps nobody."""
