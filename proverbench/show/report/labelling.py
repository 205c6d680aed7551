"""The page in labelling mode, served on localhost (`proverbench label`)."""

import json
from http.server import ThreadingHTTPServer
from typing import Any

from proverbench.errors import DataError, JournalError
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.people.book import LabelBook, StaleError
from proverbench.people.draw import Drawn
from proverbench.people.gain import gain_of
from proverbench.people.sheet import Scale, labelling_of
from proverbench.show.report.serve import Followed, Handler, make_server

LARGEST = 1_000_000
"""Bytes of a label, its comment included."""


def make_label_server(
    followed: Followed, port: int, book: LabelBook, arrays: JudgmentArrays, scale: Scale | None = None
) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 with the page of a run in labelling mode.

    Args:
        followed: The run.
        port: 0 for a free one.
        book: Where labels go.
        arrays: The run's judgments.
        scale: What people grade by; None where they say which step is wrong.

    Raises:
        OSError: If the port is taken.
    """
    drawn = [
        Drawn(key, row.get("stratum", ""), row.get("stratum_size", 0), row.get("probability", 1.0))
        for key, row in book.rows.items()
    ]
    run_id = next((row["run_id"] for row in book.rows.values()), "")

    class Labelling(_Labelling):
        labels = book
        judged = arrays
        said = labelling_of(run_id, drawn, annotator=book.annotator, scale=scale)
        grades_by = scale

    return make_server(followed, port, Labelling)


class _Labelling(Handler):
    labels: LabelBook
    judged: JudgmentArrays
    said: dict[str, Any]
    grades_by: Scale | None

    def more(self) -> dict[str, Any]:
        """The draw, and whose labels they are."""
        return {"labelling": self.said, "live": False}

    def answer(self, path: str, wanted: str) -> None:
        """Answer for labels, too."""
        if path == "/labels.json":
            self.send_json({"states": self.labels.states(), "progress": self._progress()})
        else:
            super().answer(path, wanted)

    def do_POST(self) -> None:  # noqa: N802 (the library looks it up by this name)
        """Take a label: JSON of ``proof_id``, ``annotation``, ``undecided``, ``version`` and ``seconds``."""
        own = f"http://{self.headers.get('Host', '')}"
        if not self.is_local() or self.headers.get("Origin", "").lower() != own.lower():
            self.refuse()
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST or self.headers.get_content_type() != "application/json":
            self.close_connection = True
            self.send(400, "text/plain", b"a label is JSON of at most 1 MB\n")
            return
        body = self.rfile.read(int(length))
        if self.path != "/label":
            self.send(404, "text/plain", b"there is no such page\n")
            return
        self._take(body)

    def _take(self, body: bytes) -> None:
        try:
            said = json.loads(body)
            seconds = said.get("seconds")
            state = self.labels.add(
                said["proof_id"],
                said,
                version=said["version"],
                seconds=seconds if isinstance(seconds, int | float) else None,
            )
        except StaleError as exc:
            self.send_json({"fault": str(exc), "state": exc.state}, 409)
        except DataError as exc:
            self.send_json({"fault": str(exc)}, 400)
        except JournalError as exc:
            self.send_json({"fault": str(exc)}, 507)
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            self.send_json({"fault": f"not a label: {exc}"}, 400)
        else:
            self.send_json({"state": state, "progress": self._progress()})

    def _progress(self) -> dict[str, Any]:
        return progress(self.labels, self.judged, self.grades_by)


def progress(book: LabelBook, arrays: JudgmentArrays, scale: Scale | None = None) -> dict[str, Any]:
    """How far an annotator is, and how wide the corrected score's interval is now and with every label of the draw."""
    states = book.states()
    correct = {key: _correct(state, scale) for key, state in states.items() if state["labelled"]}
    gain = gain_of(arrays, correct, {key: row.get("probability", 1.0) for key, row in book.rows.items()})
    return {
        "labelled": len(correct),
        "undecided": sum(state["undecided"] for state in states.values()),
        "drawn": len(states),
        "width": gain.width,
        "expected": gain.expected,
    }


def _correct(state: dict[str, Any], scale: Scale | None) -> bool:
    if scale is not None:
        return bool(state["grade"] >= scale.accept_from)
    annotation = state["annotation"]
    return bool(annotation["first_fatal_error_step"] == -1 and annotation["recoverable_error_steps"] == [-1])
