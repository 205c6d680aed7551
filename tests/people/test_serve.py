"""The server of labelling mode: who may write, what is written, what two windows see."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proverbench.run.saved import open_runs
from proverbench.show.report.labelling import make_label_server
from proverbench.show.report.serve import Followed
from tests.people.conftest import RUN

RIGHT = {"first_fatal_error_step": -1, "recoverable_error_steps": [-1]}


@contextmanager
def serving(book) -> Iterator[str]:
    (saved,) = open_runs([RUN], split="all")
    with served(RUN, lambda followed: make_label_server(followed, 0, book, saved.arrays)) as origin:
        yield origin


@contextmanager
def served(run, make) -> Iterator[str]:
    """The page of a run in labelling mode, while a server answers that ``make`` makes for what follows the run."""
    followed = Followed([run])
    server = make(followed)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        followed.close()


def ask(url, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        with refused:
            text = refused.read().decode()
            return refused.code, json.loads(text) if text.startswith("{") else text


def test_a_label_is_written_and_told(new_book):
    book = new_book()
    key = list(book.rows)[1]
    with serving(book) as origin:
        status, said = ask(
            f"{origin}/label", {"proof_id": key, "annotation": RIGHT, "version": 0, "seconds": 3}, Origin=origin
        )
        assert status == 200
        assert said["state"]["labelled"]
        assert said["progress"]["labelled"] == 1
        assert said["progress"]["drawn"] == 6
        assert ask(f"{origin}/labels.json")[1]["states"][key]["version"] == 1
        assert ask(f"{origin}/model.json")[1]["labelling"]["annotator"] == "ann"
        status, said = ask(f"{origin}/label", {"proof_id": key, "annotation": RIGHT, "version": 0}, Origin=origin)
        assert (status, said["state"]["version"]) == (409, 1)
    assert json.loads(book.path.read_text(encoding="utf-8").splitlines()[-1])["proof_id"] == key


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 403, id="without-origin"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another-site"),
        pytest.param({"Origin": "null"}, 403, id="a-file"),
        pytest.param({"Origin": "own", "Host": "evil.example:80"}, 403, id="another-host"),
        pytest.param({"Origin": "own", "Content-Type": "text/plain"}, 400, id="a-form"),
    ],
)
def test_nobody_else_can_write(new_book, headers, status):
    book = new_book()
    before = book.path.read_bytes()
    with serving(book) as origin:
        headers = {name: origin if value == "own" else value for name, value in headers.items()}
        said = {"proof_id": next(iter(book.rows)), "annotation": RIGHT, "version": 0}
        assert ask(f"{origin}/label", said, **headers)[0] == status
    assert book.path.read_bytes() == before


@pytest.mark.parametrize("body", [[], {}, {"proof_id": "x", "version": 0}, {"proof_id": "none/0", "version": 0}])
def test_what_is_no_label_is_said_so(new_book, body):
    with serving(new_book()) as origin:
        status, said = ask(f"{origin}/label", body, Origin=origin)
    assert (status, said["fault"].startswith("not a label")) == (400, True)
