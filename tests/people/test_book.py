"""The labels file that is written: nothing is lost, nothing overwritten."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

from proverbench.errors import DataError, JournalError, UserInputError
from proverbench.people.book import StaleError
from proverbench.people.labels import read_labels
from tests.people.conftest import RUN

RIGHT = {"first_fatal_error_step": -1, "recoverable_error_steps": [-1], "reviewer_comment": "fine"}
OPEN = {"first_fatal_error_step": None, "recoverable_error_steps": None}


def said(annotation, **more):
    return {"annotation": annotation, **more}


def test_a_label_is_a_line_and_the_last_one_counts(new_book, folder):
    book = new_book()
    first, second, *_ = book.rows
    book.add(first, said(RIGHT), version=0, seconds=12.34)
    book.add(second, said(OPEN, undecided=True), version=0)
    wrong = {"first_fatal_error_step": 0, "recoverable_error_steps": [-1]}
    book.add(first, said(wrong), version=1)
    lines = [json.loads(line) for line in book.path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 6 + 3
    assert lines[6]["seconds"] == 12.3
    assert {line["run_id"] for line in lines} == {folder.manifest.run_id}
    labels = read_labels(book.path, folder)
    assert labels.correct() == {first: False}
    assert labels.remarks() == [
        "4 of 6 drawn proofs are not labelled yet",
        "of 1 proof nobody could say; they are not in the estimate",
    ]


def test_a_label_can_be_taken_back(new_book, folder):
    book = new_book()
    key = next(iter(book.rows))
    book.add(key, said(RIGHT), version=0)
    assert not book.add(key, said(OPEN), version=1)["labelled"]
    with pytest.raises(DataError, match="no row is filled in"):
        read_labels(book.path, folder)


def test_it_goes_on_where_it_was(new_book):
    book = new_book()
    keys = list(book.rows)
    book.add(keys[2], said(RIGHT), version=0)
    book.close()
    again = new_book()
    assert list(again.rows) == keys
    assert again.state(keys[2])["labelled"]
    assert [again.state(key)["labelled"] for key in keys].count(True) == 1
    again.add(keys[2], said(OPEN), version=again.state(keys[2])["version"])


def test_two_annotators_label_one_draw(new_book, folder, tmp_path):
    book = new_book("ann")
    keys = list(book.rows)
    book.add(keys[0], said(RIGHT), version=0)
    book.close()
    other = new_book("bob", path=book.path)
    assert list(other.rows) == keys
    assert not other.state(keys[0])["labelled"]
    other.add(keys[0], said({"first_fatal_error_step": 0, "recoverable_error_steps": [-1]}), version=0)
    other.add(keys[1], said(RIGHT), version=0)
    labels = read_labels(book.path, folder)
    assert labels.annotators == ["ann", "bob"]
    assert labels.correct() == {keys[1]: True}
    assert f"annotators disagree on 1 proof ({keys[0]}); the majority counts; 1 tied" in " ".join(labels.remarks())


def test_a_label_from_a_stale_window_is_refused_with_what_counts(new_book):
    book = new_book()
    key = next(iter(book.rows))
    book.add(key, said(RIGHT), version=0)
    with pytest.raises(StaleError) as refused:
        book.add(key, said(OPEN, undecided=True), version=0)
    assert refused.value.state["labelled"]
    assert book.state(key)["labelled"]


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        ({"first_fatal_error_step": 99, "recoverable_error_steps": [-1]}, "first_fatal_error_step"),
        ({"first_fatal_error_step": True, "recoverable_error_steps": [-1]}, "first_fatal_error_step"),
        ({"first_fatal_error_step": -1, "recoverable_error_steps": []}, "recoverable_error_steps"),
        ({"first_fatal_error_step": -1, "recoverable_error_steps": None}, "recoverable_error_steps"),
        ({**RIGHT, "reviewer_comment": 3}, "reviewer_comment"),
        ("yes", "annotation"),
    ],
)
def test_what_breaks_a_rule_is_not_written(new_book, annotation, wanted):
    book = new_book()
    before = book.path.read_bytes()
    with pytest.raises(DataError, match=wanted):
        book.add(next(iter(book.rows)), said(annotation), version=0)
    assert book.path.read_bytes() == before


def test_a_torn_line_is_cut_off(new_book):
    book = new_book()
    book.close()
    whole = book.path.read_bytes()
    book.path.write_bytes(whole + b'{"proof_id": "torn')
    new_book().close()
    assert book.path.read_bytes() == whole


def test_a_file_of_another_run_or_one_that_is_in_use_is_refused(new_book, tmp_path):
    book = new_book()
    with pytest.raises(UserInputError, match="another process is labelling"):
        new_book()
    book.close()
    text = book.path.read_text(encoding="utf-8").replace(next(iter(book.rows.values()))["run_id"], "0" * 64)
    book.path.write_text(text, encoding="utf-8")
    with pytest.raises(UserInputError, match="labels of another run"):
        new_book()


KILLED = """
import os, signal, sys
from pathlib import Path
from proverbench.people.book import LabelBook
from proverbench.people.sheet import drawn_of, rows
from proverbench.run.folder import RunFolder
run = RunFolder({run!r})
book = LabelBook(Path({path!r}), list(rows(run, drawn_of(run, choose=6), annotator="ann")), "ann")
for key in list(book.rows)[:4]:
    book.add(key, {{"annotation": {right!r}}}, version=0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_9_loses_no_label_that_was_confirmed(new_book, tmp_path):
    path = tmp_path / "labels.jsonl"
    script = KILLED.format(run=str(RUN), path=str(path), right=RIGHT)
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [state["labelled"] for state in new_book(path=path).states().values()] == [True] * 4 + [False] * 2


def test_a_full_disk_is_named_and_what_was_saved_is_whole(new_book, folder):
    book = new_book()
    keys = list(book.rows)
    book.add(keys[0], said(RIGHT), version=0)
    size = book.path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
    try:
        with pytest.raises(JournalError, match="cannot write"):
            book.add(keys[1], said(RIGHT), version=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.stat(book.path).st_size == size
    book.add(keys[1], said(RIGHT), version=0)  # once there is room again
    assert read_labels(book.path, folder).correct() == {keys[0]: True, keys[1]: True}
