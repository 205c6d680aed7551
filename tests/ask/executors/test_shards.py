"""A run cut into shards and put together again, also after a crash in between."""

import shutil
from pathlib import Path

import pytest

from proverbench.ask.executors import shards as shards_module
from proverbench.ask.executors.shards import SHARDS, Absorber, make_shards, take_back
from proverbench.ask.parts import Options
from proverbench.ask.prepare import prepare_new
from proverbench.records import AttemptLine, CallKey, CallLine, SessionLine
from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS
from proverbench.run.journal import now
from proverbench.run.session import Session
from tests.support import problem_rows, proof_rows, write_config, write_rows

PROOF = "<step>First.</step><step>Second.</step>"


@pytest.fixture
def run(tmp_path):
    """A ProverBench run of 12 problems, S=2, R=2, open for writing, with nothing answered."""
    data = write_rows(tmp_path / "problems.jsonl", problem_rows(12))
    config = write_config(tmp_path / "config.toml", "http://127.0.0.1:9/v1")
    prepared = prepare_new("prover", Options(data=data, config=config, samples=2, repeats=2))
    session = Session.create(tmp_path / "r", prepared.draft)
    yield session
    session.release()


def answer(session: Session, *keys: CallKey, text: str = PROOF) -> None:
    for key in keys:
        line = CallLine(role=key.role, id=key.id, sample=key.sample, repeat=key.repeat, text=text, finish_reason="stop")
        session.answered(line)


def calls(folder: Path) -> list:
    with CallsReader(folder / CALLS) as reader:
        return [line for _, line in reader.lines()]


def test_shards_hold_every_row_once_and_whole_problems(run):
    shards = make_shards(run, 4)
    rows = []
    for shard in shards:
        part = Session(shard.path)
        place = part.sources.manifest.shard_place
        assert place.of == 12
        assert [run.sources.rows[i] for i in place.positions] == list(part.sources.rows)
        assert part.sources.manifest.identity == run.sources.manifest.identity
        assert part.sources.manifest.extent.samples == 2
        rows += place.positions
        part.release()
    assert sorted(rows) == list(range(12))
    assert {shard.path.parent for shard in shards} == {run.path / SHARDS}


def test_shards_know_what_is_answered_and_those_without_a_question_are_not_made(run):
    every = [CallKey("policy", f"p{i}", j) for i in range(12) for j in range(2)]
    answer(run, *every[:-1])
    judged = [CallKey("verifier", f"p{i}", j, r) for i in range(11) for j in range(2) for r in range(2)]
    answer(run, *judged)
    (shard,) = make_shards(run, 50)
    assert shard.known["policy"] == 1
    assert shard.known["verifier"] == 0
    assert [line.key for line in calls(shard.path)] == [CallKey("policy", "p11", 0)]


def test_of_verifierbench_all_proofs_of_a_problem_are_together(tmp_path):
    rows = proof_rows(4)
    rows += [{**row, "proof_id": f"{row['proof_id']}b"} for row in rows]
    data = write_rows(tmp_path / "proofs.jsonl", rows)
    config = write_config(tmp_path / "config.toml", "http://127.0.0.1:9/v1")
    session = Session.create(tmp_path / "r", prepare_new("verifier", Options(data=data, config=config)).draft)
    for shard in make_shards(session, 3):
        part = Session(shard.path)
        ids = [row.proof_id for row in part.sources.rows]
        assert {f"{i}b" for i in ids if not i.endswith("b")} == {i for i in ids if i.endswith("b")}
        part.release()
    session.release()


def fill(shard: Path) -> list[CallLine | AttemptLine]:
    """Answer a shard's policy calls but the first, which fails."""
    part = Session(shard)
    part.start()
    first, *others = [CallKey("policy", row.problem_id, j) for row in part.sources.rows for j in range(2)]
    answer(part, *others)
    part.unanswered(
        AttemptLine(role="policy", id=first.id, sample=first.sample, error="timeout", at=now(), abandoned=1)
    )
    part.release()
    return [line for line in calls(shard) if not isinstance(line, SessionLine)]


async def test_what_happened_comes_back_once(run):
    shards = make_shards(run, 3)
    lines = [line for shard in shards for line in fill(shard.path)]
    absorber = Absorber(run)
    for shard in shards:
        assert await absorber.absorb(shard.path)
        assert not shard.path.exists()
    assert calls(run.path) == lines
    assert run.sources.ledger.count("policy") == 24 - len(shards)


async def test_taking_back_after_a_crash_in_the_middle_adds_nothing_twice(run, tmp_path):
    shards = make_shards(run, 3)
    lines = [line for shard in shards for line in fill(shard.path)]
    shutil.copytree(run.path / SHARDS, tmp_path / "before")
    absorber = Absorber(run)
    await absorber.absorb(shards[0].path)
    # The crash: lines were appended, the shard's folder is still there; of another, making it was cut short.
    shutil.rmtree(run.path / SHARDS)
    shutil.copytree(tmp_path / "before", run.path / SHARDS)
    (run.path / SHARDS / "9-of-9").mkdir()
    assert await take_back(run)
    assert sorted(map(repr, calls(run.path))) == sorted(map(repr, lines))
    assert not (run.path / SHARDS).exists()
    assert not await take_back(run)


async def test_a_shard_that_is_still_written_is_waited_for(run, monkeypatch):
    monkeypatch.setattr(shards_module, "_LOCK_WAIT_S", 0.5)
    shards = make_shards(run, 2)
    fill(shards[0].path)
    holder = Session(shards[0].path)  # a worker on another machine whose lock the file server never frees
    told: list[str] = []
    assert not await shards_module.is_free(shards[0].path, within_s=0.0)
    assert await take_back(run, told.append)
    holder.sources.close()
    assert run.sources.ledger.count("policy") > 0
