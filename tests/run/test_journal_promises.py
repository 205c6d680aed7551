"""What calls.jsonl and the lock promise, a case on each side of a line; test_journal.py has what may befall them."""

import asyncio
import base64
import errno
import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import JournalError
from proverbench.records import CallKey, CallLine, Extent, FinalLine, Line, Proof, Role, SessionLine
from proverbench.run import disk as disk_module
from proverbench.run import journal as journal_module
from proverbench.run import lock as lock_module
from proverbench.run.calls import CallsReader, Ledger
from proverbench.run.disk import CALLS, LOCK, replacing, write_whole
from proverbench.run.extent import Plan
from proverbench.run.journal import Journal, write_lines
from proverbench.run.lock import RunLock, try_lock, writer
from proverbench.run.texts import exact_reasoning, exact_text, storable_value
from tests.run.made_runs import proof


def call(key: str, text: str = "t", **more: Any) -> CallLine:
    named = CallKey.parse(key)
    return CallLine(role=named.role, id=named.id, sample=named.sample, repeat=named.repeat, text=text, **more)


def plan(*, meta: bool = True) -> Plan:
    """Two proofs, two judgments each."""
    rows: list[Proof] = [proof("v"), proof("w")]
    return Plan(rows, Extent(rows=2, verifier_repeats=2, meta=meta), judged_only=True)


def written(folder: Path, *lines: Line) -> list[int]:
    journal = Journal(folder)
    offsets = [journal.append(line) for line in lines]
    journal.close()
    return offsets


def state(ledger: Ledger, role: Role = "verifier") -> str:
    """``a`` answered, ``c`` closed, ``o`` open, call by call."""
    marks = ""
    for number in range(ledger.plan.size(role)):
        offset, closed = ledger.offset(role, number), ledger.is_closed(role, number)
        assert [offset is not None, closed, ledger.is_open(role, number)].count(True) == 1
        marks += "a" if offset is not None else "c" if closed else "o"
    return marks


# ---------------------------------------------------------------- which calls are answered


def test_a_ledger_begins_open_and_holds_what_the_plan_wants():
    ledger = Ledger(plan())
    assert (state(ledger), state(ledger, "meta"), state(ledger, "policy")) == ("oooo", "oooo", "")
    assert (ledger.end, ledger.n_lines, ledger.any_closed()) == (0, 0, False)
    assert state(Ledger(plan(meta=False)), "meta") == ""


def test_answers_closures_and_what_reopens():
    ledger = Ledger(plan())
    ledger.answer(CallKey("verifier", "v", 0, 1), 0)  # the first byte of the file is a place like any other
    ledger.close(CallKey("verifier", "v", 0, 1))  # answered: stays so
    ledger.close(CallKey("verifier", "w", 0, 0))
    ledger.close(CallKey("verifier", "nobody", 0, 0))
    ledger.answer(CallKey("verifier", "nobody", 0, 0), 7)
    assert state(ledger) == "oaco"
    assert ledger.offset("verifier", 1) == 0
    assert ledger.any_closed()
    assert (ledger.count("verifier"), ledger.count("meta")) == (1, 0)
    ledger.answer(CallKey("verifier", "w", 0, 0), 50)  # an answer that came all the same
    ledger.answer(CallKey("verifier", "w", 0, 0), 90)
    ledger.close(CallKey("meta", "v", 0, 0))
    assert (state(ledger), ledger.offset("verifier", 2)) == ("oaao", 50)
    ledger.reopen()
    assert (state(ledger), state(ledger, "meta"), ledger.any_closed()) == ("oaao", "oooo", False)


def test_only_the_start_of_a_session_reopens(tmp_path):
    final = FinalLine(at="", keys=["verifier/v/0/0", "verifier/w/0/1"])
    written(tmp_path, final, SessionLine(event="stop", at=""))
    with CallsReader(tmp_path / CALLS) as reader:
        ledger = reader.ledger(plan())
        assert state(ledger) == "cooc"
        written(tmp_path, SessionLine(event="start", at=""))
        reader.update(ledger)
        assert state(ledger) == "oooo"
        assert (ledger.n_lines, ledger.end) == (3, (tmp_path / CALLS).stat().st_size)


def test_a_damaged_line_is_named_by_its_number_in_the_file(tmp_path):
    first, second = written(tmp_path, call("verifier/v/0/0"), call("verifier/v/0/1"))
    with CallsReader(tmp_path / CALLS) as reader:
        ledger = reader.ledger(plan())
        with (tmp_path / CALLS).open("ab") as file:
            file.write(b"junk\n")
        with pytest.raises(JournalError, match=rf"{CALLS}:3 has no seal"):
            reader.update(ledger)
        with pytest.raises(JournalError, match=rf"{CALLS}:3 has no seal"):  # it is not passed over when asked again
            reader.update(ledger)
        with pytest.raises(JournalError, match=rf"{CALLS}:3 has no seal"):
            list(reader.facts())
        with pytest.raises(JournalError, match=rf"{CALLS}:3 has no seal"):
            list(reader.lines())
        with pytest.raises(JournalError, match=rf"{CALLS}:3 has no seal"):
            list(reader.lines(second, lines_before=1))
    assert first == 0


# ---------------------------------------------------------------- reading


def test_a_file_that_is_not_there_reads_as_empty(tmp_path):
    reader = CallsReader(tmp_path / CALLS)
    assert list(reader.lines()) == list(reader.facts()) == list(reader.raw_lines()) == []
    assert state(reader.ledger(plan())) == "oooo"
    reader.close()
    reader.close()


def test_lines_with_their_places(tmp_path):
    offsets = written(tmp_path, call("verifier/v/0/0", "a"), call("verifier/v/0/1", "b"), call("verifier/w/0/0", "c"))
    with CallsReader(tmp_path / CALLS) as reader:
        assert [(at, line.text) for at, line in reader.lines()] == list(zip(offsets, "abc", strict=True))
        assert [line.text for _, line in reader.lines(offsets[1])] == ["b", "c"]
        assert [at for at, _ in reader.raw_lines(offsets[2])] == [offsets[2]]
        assert [fact.repeat for fact in reader.facts()] == [0, 1, 0]
    reader.close()  # closed already


@pytest.mark.parametrize("size", [0, 16_200, 16_384, 16_385, 65_536, 300_000])
def test_a_call_of_any_length_is_read_at_its_place(tmp_path, size):
    _, at, _ = written(tmp_path, call("verifier/v/0/0"), call("verifier/v/0/1", "x" * size), call("verifier/w/0/0"))
    with CallsReader(tmp_path / CALLS) as reader:
        assert reader.call_at(at).text == "x" * size
        assert reader.call_at(0).repeat == 0


def test_a_line_that_ends_with_what_was_read_is_whole(tmp_path):
    (overhead,) = written(tmp_path, call("verifier/v/0/0", ""), call("verifier/v/0/0", ""))[1:]
    for fill in (16_384 - overhead - 1, 16_384 - overhead, 16_384 - overhead + 1):
        (tmp_path / CALLS).unlink()
        written(tmp_path, call("verifier/v/0/0", "x" * fill))
        with CallsReader(tmp_path / CALLS) as reader:
            assert len(reader.call_at(0).text) == fill


@pytest.mark.parametrize(
    ("place", "said"),
    [("inside", "no call at byte"), ("session", "no call at byte"), ("end", "no whole line at byte")],
)
def test_a_place_where_no_call_begins(tmp_path, place, said):
    offsets = written(tmp_path, call("verifier/v/0/0"), SessionLine(event="start", at=""))
    at = {"inside": 3, "session": offsets[1], "end": (tmp_path / CALLS).stat().st_size}[place]
    with (
        CallsReader(tmp_path / CALLS) as reader,
        pytest.raises(JournalError, match=f"{said} {at}; the file was changed"),
    ):
        reader.call_at(at)


# ---------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (2**64 - 1, 2**64 - 1),
        (2**64, None),
        (-(2**63), -(2**63)),
        (-(2**63) - 1, None),
        (True, True),
        (1.5, 1.5),
        (None, None),
        ([2**64, "a\ud800"], [None, "a\ufffd"]),
        ({7: "x"}, {"7": "x"}),
    ],
)
def test_values_with_a_place_in_json(value, stored):
    assert storable_value(value) == stored


def test_nesting_is_kept_as_far_as_readers_follow():
    def nested(depth: int) -> Any:
        value: Any = "deep"
        for _ in range(depth):
            value = [value]
        return value

    assert storable_value(nested(32)) == nested(32)
    kept = storable_value(nested(33))
    for _ in range(32):
        (kept,) = kept
    assert kept is None


def test_exact_texts_beside_what_readers_take():
    exact = base64.b64encode("a\ud800".encode("utf-8", "surrogatepass")).decode()
    line = call("verifier/v/0/0", "a\ufffd", text_b64=exact, reasoning="r\ufffd", reasoning_b64=exact)
    assert exact_text(line) == exact_reasoning(line) == "a\ud800"
    plain = call("verifier/v/0/0", "text", reasoning="thought")
    assert (exact_text(plain), exact_reasoning(plain)) == ("text", "thought")
    assert exact_reasoning(call("verifier/v/0/0")) is None


@pytest.mark.parametrize("damaged", ["####", "YQ", "/w=="])
def test_an_exact_text_that_was_changed_is_named_by_its_call(damaged):
    with pytest.raises(JournalError, match="verifier/v/0/1: a text in base64 cannot be read"):
        exact_text(call("verifier/v/0/1", "a", text_b64=damaged))


# ---------------------------------------------------------------- writing


def test_offsets_are_places_in_the_file(tmp_path):
    first = written(tmp_path, call("verifier/v/0/0"), call("verifier/v/0/1"))
    then = written(tmp_path, call("verifier/w/0/0"))
    assert first[0] == 0
    data = (tmp_path / CALLS).read_bytes()
    assert [data[at : at + 1] for at in (*first, *then)] == [b"{"] * 3
    assert all(data[at - 1 : at] == b"\n" for at in (first[1], then[0]))


def test_a_write_in_pieces_is_whole(tmp_path, monkeypatch):
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, bytes(data)[:7], at))
    written(tmp_path, call("verifier/v/0/0", "text"), call("verifier/v/0/1", "more"))
    with CallsReader(tmp_path / CALLS) as reader:
        assert [line.text for _, line in reader.lines()] == ["text", "more"]


def test_a_refused_write_leaves_nothing_behind_and_a_later_one_may_do(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    at = journal.append(call("verifier/v/0/0"))
    size = (tmp_path / CALLS).stat().st_size
    real = os.pwrite

    def torn(fd: int, data: bytes, offset: int) -> int:
        if offset > size:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, bytes(data)[:5], offset)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", torn)
        with pytest.raises(JournalError, match=r"No space left on device\. What was saved before is whole"):
            journal.append(call("verifier/v/0/1"))
    assert (tmp_path / CALLS).stat().st_size == size
    assert journal.append(call("verifier/w/0/0")) == size
    journal.close()
    journal.close()  # does nothing twice
    with CallsReader(tmp_path / CALLS) as reader:
        assert [line.key.text for _, line in reader.lines()] == ["verifier/v/0/0", "verifier/w/0/0"]
    assert at == 0


def test_closing_syncs_what_was_appended_and_only_that(tmp_path, monkeypatch):
    synced: list[int] = []
    real = os.fsync
    journal, idle = Journal(tmp_path), Journal(tmp_path)
    own = (tmp_path / CALLS).stat().st_ino

    def fsync(fd: int) -> None:
        if os.fstat(fd).st_ino == own:
            synced.append(fd)
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    idle.close()
    assert synced == []
    journal.append(call("verifier/v/0/0"))
    assert synced == []
    journal.close()
    assert len(synced) == 1


def test_a_new_file_survives_a_power_cut_with_its_name(tmp_path, monkeypatch):
    folders: list[Path] = []
    monkeypatch.setattr(journal_module, "sync_folder", folders.append)
    Journal(tmp_path).close()
    assert folders == [tmp_path]


def test_who_waits_for_the_disk_is_told_what_it_says(tmp_path, monkeypatch):
    async def main() -> None:
        journal = Journal(tmp_path)
        journal.append(call("verifier/v/0/0"))
        await journal.sync()
        journal.append(call("verifier/v/0/1"))

        def refuse(fd: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(JournalError, match="Input/output error"):
            await journal.sync()
        monkeypatch.undo()
        for later in (journal.sync(), journal.aclose()):
            with pytest.raises(JournalError, match="Input/output error"):
                await later
        with pytest.raises(JournalError):
            journal.append(call("verifier/w/0/0"))

    asyncio.run(main())


def test_a_file_is_replaced_when_its_content_is_on_the_disk_and_its_folder_is_synced_then(tmp_path, monkeypatch):
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(fd: int) -> None:
        done.append(
            f"sync {os.fstat(fd).st_size}" if os.path.samestat(os.fstat(fd), os.stat(tmp_path / "f.tmp")) else "?"
        )
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", lambda self, target: (done.append("replace"), replace(self, target))[1])
    monkeypatch.setattr(disk_module, "sync_folder", lambda folder: done.append(f"folder {folder.name}"))
    with replacing(tmp_path / "f") as file:
        file.write(b"new")
        assert not (tmp_path / "f").exists()
    assert done == ["sync 3", "replace", f"folder {tmp_path.name}"]
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_whatever_ends_a_replacement_the_old_content_stands(tmp_path):
    write_whole(tmp_path / "f", b"old")

    def stop() -> None:
        with replacing(tmp_path / "f") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"old")]


def test_lines_to_begin_with(tmp_path):
    write_lines(tmp_path, [call("verifier/v/0/0", "a"), call("verifier/v/0/1", "b")])
    with CallsReader(tmp_path / CALLS) as reader:
        assert [line.text for _, line in reader.lines()] == ["a", "b"]
    assert (tmp_path / CALLS).read_bytes().count(b"\n") == 2


# ---------------------------------------------------------------- the lock


def test_the_lock_names_its_owner_and_is_gone_when_it_is_given_back(tmp_path):
    lock = RunLock(tmp_path)
    assert json.loads((tmp_path / LOCK).read_text()) == {"host": socket.gethostname(), "pid": os.getpid()}
    assert writer(tmp_path) == f"process {os.getpid()} on {socket.gethostname()}"
    with pytest.raises(JournalError, match=f"is being written by process {os.getpid()} on "):
        RunLock(tmp_path)
    (tmp_path / LOCK).unlink()
    lock.release()  # a lock file that is gone is no fault
    assert writer(tmp_path) is None


def test_a_longer_name_that_was_there_leaves_nothing_behind(tmp_path):
    (tmp_path / LOCK).write_text(json.dumps({"host": "h" * 500, "pid": 1}) + "\n")
    lock = RunLock(tmp_path)
    assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    lock.release()


def test_one_open_file_at_a_time_holds_a_lock(tmp_path):
    first, second = (os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert try_lock(first) is True
    assert try_lock(second) is False
    os.close(first)
    assert try_lock(second) is True
    os.close(second)


def no_locks(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOLCK) -> None:
    def flock(fd: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK])
def test_where_there_are_no_locks_an_owner_on_another_host_is_believed(tmp_path, monkeypatch, number):
    (tmp_path / LOCK).write_text(json.dumps({"host": "elsewhere", "pid": 1}))
    no_locks(monkeypatch, number)
    assert writer(tmp_path) == "process 1 on elsewhere"
    with pytest.raises(JournalError, match="is being written by process 1 on elsewhere; wait for it"):
        RunLock(tmp_path)


def test_where_there_are_no_locks_a_dead_owner_here_is_no_obstacle(tmp_path, monkeypatch):
    no_locks(monkeypatch)
    monkeypatch.setattr(os, "kill", lambda pid, number: (_ for _ in ()).throw(ProcessLookupError()))
    (tmp_path / LOCK).write_text(json.dumps({"host": socket.gethostname(), "pid": 4_000_000}))
    assert writer(tmp_path) is None
    RunLock(tmp_path).release()


def test_an_owner_of_another_user_lives(tmp_path, monkeypatch):
    no_locks(monkeypatch)
    monkeypatch.setattr(os, "kill", lambda pid, number: (_ for _ in ()).throw(PermissionError()))
    (tmp_path / LOCK).write_text(json.dumps({"host": socket.gethostname(), "pid": 1}))
    assert writer(tmp_path) == f"process 1 on {socket.gethostname()}"
    with pytest.raises(JournalError, match="is being written by process 1"):
        RunLock(tmp_path)


def test_another_fault_of_the_lock_is_told_as_one_of_the_disk(tmp_path, monkeypatch):
    no_locks(monkeypatch, errno.EIO)
    with pytest.raises(JournalError, match=rf"cannot write .*{LOCK}: Input/output error"):
        RunLock(tmp_path)


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    real, taken = lock_module.try_lock, []

    def lock(fd: int) -> bool:
        if not taken:
            (tmp_path / LOCK).unlink()  # as its owner does who lets it go just now
        taken.append(fd)
        return real(fd)

    monkeypatch.setattr(lock_module, "try_lock", lock)
    held = RunLock(tmp_path)
    assert len(taken) == 2
    monkeypatch.undo()
    assert writer(tmp_path) is not None
    held.release()
