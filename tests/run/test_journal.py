"""calls.jsonl and the lock: torn tails, refused writes, exact texts, growth by lines that come later."""

import asyncio
import errno
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonlines
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bench_journal import measure_appends
from proverbench.errors import JournalError
from proverbench.lines import LineBuffer
from proverbench.records import AttemptLine, CallKey, CallLine, Extent, FinalLine, Problem, SessionLine
from proverbench.run import calls as calls_module
from proverbench.run import journal as journal_module
from proverbench.run.calls import CallsReader, Ledger
from proverbench.run.disk import CALLS, LOCK, SEAL, replacing, write_whole
from proverbench.run.extent import Plan
from proverbench.run.journal import Journal
from proverbench.run.lock import RunLock, writer
from proverbench.run.texts import exact_text, storable, storable_value
from tests.support import grows_too_fast, until

ANY_TEXT = st.text(alphabet=st.characters(), max_size=30)


def call(sample: int, text: str = "t", role: str = "policy", item: str = "p") -> CallLine:
    stored, exact = storable(text)
    return CallLine(role=role, id=item, sample=sample, text=stored, text_b64=exact)  # type: ignore[arg-type]


def plan(samples: int = 50) -> Plan:
    return Plan([Problem(problem_id="p", problem="P")], Extent(rows=1, samples=samples), judged_only=False)


def written(folder: Path, *lines) -> list[int]:
    journal = Journal(folder)
    offsets = [journal.append(line) for line in lines]
    journal.close()
    return offsets


def read(folder: Path) -> list:
    with CallsReader(folder / CALLS) as reader:
        return [line for _, line in reader.lines()]


class TestTornTail:
    def test_cut_at_every_byte_of_the_last_line(self, tmp_path):
        lines = [call(0, "first ℝ"), call(1, "second\nwith \x00 and \ud800"), call(2, "last ∀ \ufffe")]
        written(tmp_path, *lines[:2])
        synced = (tmp_path / SEAL).read_bytes()
        written(tmp_path, lines[2])
        whole = (tmp_path / CALLS).read_bytes()
        start = whole.rindex(b"\n", 0, -1) + 1
        for end in range(start, len(whole)):
            (tmp_path / CALLS).write_bytes(whole[:end])
            (tmp_path / SEAL).write_bytes(synced)  # a line that is torn was not synced
            with CallsReader(tmp_path / CALLS) as reader:  # a reader passes the torn line over ...
                ledger = reader.ledger(plan())
            assert [ledger.is_open("policy", n) for n in range(3)] == [False, False, True]
            written(tmp_path, lines[2])  # ... a writer cuts it off before it appends
            assert (tmp_path / CALLS).read_bytes() == whole

    def test_a_file_of_one_torn_line_becomes_empty(self, tmp_path):
        (tmp_path / CALLS).write_bytes(b'{"type":"call","rol')
        written(tmp_path)
        assert (tmp_path / CALLS).read_bytes() == b""

    def test_a_torn_line_longer_than_a_block(self, tmp_path):
        written(tmp_path, call(0))
        whole = (tmp_path / CALLS).read_bytes()
        with open(tmp_path / CALLS, "ab") as file:
            file.write(b"x" * 300_000)
        written(tmp_path)
        assert (tmp_path / CALLS).read_bytes() == whole

    JUNK = (
        *(b"nonsense", b"", b'{"type":"other"}', b'{"type":"call"}', b"\xff", b"\x00"),
        b'{"type":"call","role":"verifier","id":"p0","text":"\xff\xfe"}',
        b'{"type":"call","role":"verifier","id":"p0","text":null}',
        b'{"type":"call","role":"verifier","id":"p0","latency_s":"long"}',
        b'{"type":"final","at":"","keys":["bad"]}',
        b'{"type":"final","at":"","keys":["verifier/p0/x/0"]}',
    )

    @pytest.mark.parametrize("junk", JUNK)
    def test_a_damaged_line_elsewhere_is_named_and_nothing_is_changed(self, tmp_path, junk):
        written(tmp_path, call(0))
        with open(tmp_path / CALLS, "ab") as file:
            file.write(junk + b"\n")
        written(tmp_path, call(1))
        before = (tmp_path / CALLS).read_bytes()
        with CallsReader(tmp_path / CALLS) as reader, pytest.raises(JournalError, match=f"{CALLS}:2"):
            reader.ledger(plan())
        if b'"final"' not in junk:  # only who looks at the keys can tell
            with pytest.raises(JournalError, match=f"{CALLS}:2"):
                read(tmp_path)
        assert (tmp_path / CALLS).read_bytes() == before


class TestTexts:
    """Row 25: what models write is stored without loss, in files that every reader takes."""

    HOSTILE = ("\ud800 lone", "NUL \x00", "\ufffe\uffff", "\u2028 \u2029 \x85", "😀 astral", "\x7f\x1b[31m", "")

    @given(ANY_TEXT)
    def test_any_text_is_stored_without_loss(self, text):
        stored, exact = storable(text)
        stored.encode()
        assert exact_text(CallLine(role="policy", id="p", text=stored, text_b64=exact)) == text
        assert (exact is None) == (stored == text)

    def test_each_lone_surrogate_is_one_replacement_character(self):
        assert storable("a\ud800b\udfff\ud83dc")[0] == "a\ufffdb\ufffd\ufffdc"
        assert storable("\U0001f600 astral") == ("\U0001f600 astral", None)

    def test_every_reader_takes_the_file(self, tmp_path):
        written(tmp_path, *(call(n, text) for n, text in enumerate(self.HOSTILE)))
        path = tmp_path / CALLS
        with jsonlines.open(path) as lines:
            by_jsonlines = [line["text"] for line in lines]
        by_pandas = pd.read_json(path, lines=True, dtype=False)["text"].tolist()
        wanted = [storable(text)[0] for text in self.HOSTILE]
        assert by_jsonlines == by_pandas == [json.loads(line)["text"] for line in path.read_bytes().split(b"\n")[:-1]]
        assert by_jsonlines == wanted
        assert [exact_text(line) for line in read(tmp_path)] == list(self.HOSTILE)

    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            pytest.param({"a": 1, "b": [True, None, 1.5]}, {"a": 1, "b": [True, None, 1.5]}, id="as it is"),
            pytest.param(
                {"n": 10**30, "m": -(10**30), "x": 2**64 - 1}, {"n": None, "m": None, "x": 2**64 - 1}, id="int"
            ),
            pytest.param({"\ud800": "\udfff"}, {"\ufffd": "\ufffd"}, id="surrogates"),
        ],
    )
    def test_usage_as_any_server_may_send_it(self, tmp_path, value, stored):
        assert storable_value(value) == stored
        written(tmp_path, CallLine(role="policy", id="p", usage=storable_value(value)))
        assert read(tmp_path)[0].usage == stored

    def test_nesting_beyond_every_reader(self, tmp_path):
        value: dict = {}
        for _ in range(5_000):
            value = {"deeper": value}
        written(tmp_path, CallLine(role="policy", id="p", usage=storable_value(value)))
        assert len(read(tmp_path)) == 1


class TestRefusals:
    """Row 26: a disk that takes no more."""

    def test_a_full_disk_leaves_whole_lines(self, tmp_path):
        code = f"""
import resource, signal, sys
from pathlib import Path
from proverbench.errors import JournalError
from proverbench.run.journal import Journal
from proverbench.records import CallLine
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
journal = Journal(Path({str(tmp_path)!r}))
n = 0
try:
    while True:
        journal.append(CallLine(role="policy", id="p", sample=n, text="x" * 700))
        n += 1
except JournalError as exc:
    print(n, exc)
try:
    journal.append(CallLine(role="policy", id="p", sample=n, text=""))
    print("a shorter one fits")
except JournalError as exc:
    print("no", exc)
journal.close()
"""
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        n, _, message = told.partition(" ")
        assert str(tmp_path / CALLS) in message
        samples = [line.sample for line in read(tmp_path)]
        assert samples == list(range(int(n) + ("fits" in told)))
        assert (tmp_path / CALLS).read_bytes().endswith(b"\n")

    def test_nothing_is_appended_after_a_refused_sync(self, tmp_path, monkeypatch):
        monkeypatch.setattr(journal_module, "SYNC_INTERVAL_S", 0.01)
        real, refused = os.fsync, []

        def fsync(fd: int) -> None:
            if refused:
                return real(fd)
            refused.append(fd)
            raise OSError(errno.EIO, "Input/output error")

        async def main() -> None:
            journal = Journal(tmp_path)
            monkeypatch.setattr(os, "fsync", fsync)
            journal.append(call(0))
            await until(lambda: journal._syncing.done())
            with pytest.raises(JournalError, match="Input/output error"):
                journal.append(call(1))
            with pytest.raises(JournalError, match="Input/output error"):
                await journal.aclose()

        asyncio.run(main())
        assert [line.sample for line in read(tmp_path)] == [0]

    def test_a_file_that_cannot_be_replaced_stays(self, tmp_path):
        write_whole(tmp_path / "f", b"old")

        def write() -> None:
            with replacing(tmp_path / "f") as file:
                file.write(b"new")
                raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.raises(JournalError, match="No space left"):
            write()
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"old")]

    def test_a_folder_that_is_gone(self, tmp_path):
        with pytest.raises(JournalError, match="nowhere"):
            Journal(tmp_path / "nowhere")


class TestSync:
    def test_answers_are_synced_soon_and_at_the_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr(journal_module, "SYNC_INTERVAL_S", 0.02)
        synced = []
        real = os.fsync

        async def main() -> None:
            journal = Journal(tmp_path)
            own = (tmp_path / CALLS).stat().st_ino

            def fsync(fd: int) -> None:
                if os.fstat(fd).st_ino == own:
                    synced.append(os.fstat(fd).st_size)
                real(fd)

            monkeypatch.setattr(os, "fsync", fsync)
            journal.append(call(0))
            assert synced == []  # an answer never waits for the disk
            await until(lambda: synced)
            assert synced == [journal_size(tmp_path)]
            journal.append(call(1))
            await journal.aclose()
            assert synced[-1] == journal_size(tmp_path)

        asyncio.run(main())

    def test_a_sync_that_is_due_finds_the_file_closed(self, tmp_path, monkeypatch):
        monkeypatch.setattr(journal_module, "SYNC_INTERVAL_S", 0.01)
        faults = []

        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
            journal = Journal(tmp_path)
            journal.append(call(0))
            syncing = journal._syncing
            await asyncio.sleep(0)  # it waits for its time
            journal.close()
            await syncing

        asyncio.run(main())
        assert faults == []
        assert journal_size(tmp_path) > 0


def journal_size(folder: Path) -> int:
    return (folder / CALLS).stat().st_size


class TestLedger:
    def test_the_first_answer_of_a_key_counts(self, tmp_path):
        offsets = written(tmp_path, call(3, "first"), call(3, "second"), call(99, "not asked"))
        with CallsReader(tmp_path / CALLS) as reader:
            ledger = reader.ledger(plan())
            assert ledger.offset("policy", 3) == offsets[0]
            assert reader.call_at(offsets[0]).text == "first"
        assert ledger.count("policy") == 1

    def test_final_closes_until_a_session_starts(self, tmp_path):
        keys = [CallKey("policy", "p", n) for n in range(2)]
        written(tmp_path, call(0), FinalLine(at="", keys=[key.text for key in keys]))
        with CallsReader(tmp_path / CALLS) as reader:
            ledger = reader.ledger(plan())
            assert ledger.offset("policy", 0) is not None
            assert ledger.is_closed("policy", 1)
            written(tmp_path, SessionLine(event="stop", at=""))
            reader.update(ledger)
            assert ledger.is_closed("policy", 1)
            written(tmp_path, SessionLine(event="start", at=""))
            reader.update(ledger)
            assert ledger.is_open("policy", 1)
            written(tmp_path, call(1))
            reader.update(ledger)
            assert ledger.count("policy") == 2

    @given(
        cuts=st.lists(st.integers(0, 4000), max_size=6).map(sorted), sizes=st.lists(st.integers(0, 300), max_size=12)
    )
    def test_a_growing_file_gives_the_same_ledger(self, tmp_path_factory, cuts, sizes):
        folder = tmp_path_factory.mktemp("grow")
        written(folder, *(call(n, "x" * size) for n, size in enumerate(sizes)))
        whole = (folder / CALLS).read_bytes()
        growing = tmp_path_factory.mktemp("grown") / CALLS
        growing.write_bytes(b"")
        with CallsReader(growing) as reader, CallsReader(folder / CALLS) as at_once:
            ledger = Ledger(plan())
            for cut in [*cuts, len(whole)]:
                growing.write_bytes(whole[:cut])
                reader.update(ledger)
            wanted = at_once.ledger(plan())
        assert [ledger.offset("policy", n) for n in range(50)] == [wanted.offset("policy", n) for n in range(50)]
        assert ledger.n_lines == len(sizes)

    def test_ids_with_slashes(self):
        key = CallKey("verifier", "a/b//1/2", 3, 4)
        assert CallKey.parse(key.text) == key


class TestLock:
    """Row 28."""

    def test_a_full_disk_leaves_no_lock_behind(self, tmp_path, monkeypatch):
        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", full)
            with pytest.raises(JournalError, match="No space left"):
                RunLock(tmp_path)
        RunLock(tmp_path).release()

    def hold(self, folder: Path) -> subprocess.Popen:
        code = (
            "import sys, time; from pathlib import Path; from proverbench.run.lock import RunLock\n"
            f"lock = RunLock(Path({str(folder)!r})); print('held', flush=True); time.sleep(3600)"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    def test_one_wins_and_a_dead_owner_is_no_obstacle(self, tmp_path):
        owner = self.hold(tmp_path)
        try:
            with pytest.raises(JournalError, match=f"process {owner.pid} on "):
                RunLock(tmp_path)
            assert str(owner.pid) in (writer(tmp_path) or "")
        finally:
            owner.kill()
            owner.wait()
            owner.stdout.close()
        assert (tmp_path / LOCK).exists()
        assert writer(tmp_path) is None
        RunLock(tmp_path).release()
        assert not (tmp_path / LOCK).exists()

    def test_a_file_system_without_locks(self, tmp_path, monkeypatch):
        def flock(fd: int, operation: int) -> None:
            raise OSError(errno.ENOSYS, "Function not implemented")

        owner = self.hold(tmp_path)
        try:
            monkeypatch.setattr(fcntl, "flock", flock)
            with pytest.raises(JournalError, match=f"process {owner.pid} on "):
                RunLock(tmp_path)
            assert str(owner.pid) in (writer(tmp_path) or "")
        finally:
            owner.kill()
            owner.wait()
            owner.stdout.close()
        assert writer(tmp_path) is None
        RunLock(tmp_path).release()

    @pytest.mark.parametrize("content", [b"", b"nonsense", b'{"host": 1}', b"[]"])
    def test_whatever_stands_in_the_file(self, tmp_path, content):
        (tmp_path / LOCK).write_bytes(content)
        assert writer(tmp_path) is None
        RunLock(tmp_path).release()

    def test_a_folder_without_a_lock(self, tmp_path):
        assert writer(tmp_path) is None


@pytest.mark.torture
def test_cost_of_a_call_is_flat(tmp_path):
    """Row 33; benchmarks/bench_journal.py gives the figures of 100,000 calls of 8 KB."""
    folders = itertools.count()

    def appending(calls: int) -> Callable[[], object]:
        def append_all() -> None:
            folder = tmp_path / str(next(folders))
            folder.mkdir()
            measure_appends(folder, calls=calls, chars=100)
            shutil.rmtree(folder)

        return append_all

    assert not grows_too_fast(appending(10_000), appending(20_000))


def test_an_attempt_is_kept(tmp_path):
    line = AttemptLine(role="verifier", id="p", error="timeout", message="m", attempts=3, abandoned=3, at="now")
    written(tmp_path, line)
    assert read(tmp_path) == [line]


def test_a_long_line_is_read_in_linear_time(tmp_path, monkeypatch):
    monkeypatch.setattr(calls_module, "_CHUNK", 1 << 12)
    for name, size in (("once", 1 << 21), ("twice", 1 << 22)):
        (tmp_path / name).mkdir()
        (tmp_path / name / CALLS).write_bytes(b"x" * size + b"\ny\n")

    def reading(name: str) -> Callable[[], None]:
        def read_all() -> None:
            with CallsReader(tmp_path / name / CALLS) as reader:
                assert [len(line) for _, line in reader.raw_lines()][1:] == [1]

        return read_all

    assert not grows_too_fast(reading("once"), reading("twice"))


@given(st.binary(max_size=30), st.integers(1, 5))
def test_lines_are_the_same_whatever_the_chunks(data, size):
    buffer = LineBuffer()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    lines = [line for chunk in chunks for line in buffer.feed(chunk)]
    assert [*lines, buffer.rest] == data.split(b"\n")


def test_descriptors_are_given_back(tmp_path):
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(50):
        written(tmp_path, call(0))
        read(tmp_path)
        RunLock(tmp_path).release()
        CallsReader(tmp_path / CALLS).ledger(plan())  # of one that nobody closes, too
    assert len(list(descriptors.iterdir())) == before
