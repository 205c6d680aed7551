"""Shards are disjoint, complete and stable; joined, they are the run that was never split."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.errors import JournalError, RunMismatchError
from proverbench.rehearse import GeneratedReplies, Profile
from proverbench.run.lock import RunLock
from proverbench.run.merge import Shards
from proverbench.selection import shard_of
from tests.support import every, problem_rows, proof_rows, write_config, write_rows

PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "2")
VERIFIER = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--meta", "--verifier-repeats", "2")


@pytest.fixture
def inputs(tmp_path, server):
    server.replies = GeneratedReplies(vary="seed", invalid_rate=0.1)
    write_rows(tmp_path / "problems.jsonl", problem_rows(9))
    rows = proof_rows(9)
    for row in rows[6:]:  # several proofs of one problem, far apart in the file
        row["problem_id"], row["problem"] = rows[0]["problem_id"], rows[0]["problem"]
    write_rows(tmp_path / "proofs.jsonl", rows)
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


def derived(folder: str) -> tuple[bytes, bytes]:
    return Path(folder, "records.jsonl").read_bytes(), Path(folder, "summary.json").read_bytes()


def split(command, task: tuple[str, ...], n: int, *more: str) -> list[str]:
    names = [f"part{i}" for i in range(1, n + 1)]
    for i, name in enumerate(names, start=1):
        command(*task, "--shard", f"{i}/{n}", *more, "--output", name)
    return names


@given(st.lists(st.text(min_size=1), unique=True, max_size=30), st.integers(1, 7), st.integers(1, 7))
def test_every_problem_is_in_one_shard_whatever_else_there_is(ids, count, fewer):
    places = {problem_id: shard_of(problem_id, count) for problem_id in ids}
    assert all(1 <= place <= count for place in places.values())
    assert all(shard_of(problem_id, count) == places[problem_id] for problem_id in ids[:fewer])


class TestEqualsTheUnsplitRun:
    @pytest.mark.parametrize("task", [PROVER, VERIFIER], ids=["prover", "verifier"])
    @pytest.mark.parametrize("n", [1, 3])
    def test_byte_for_byte(self, command, inputs, server, task, n):
        names = split(command, task, n)
        asked = server.stats()["requests"]
        ended = command("merge", *reversed(names), "--output", "merged")
        assert ended.code == 0, ended.err
        assert server.stats()["requests"] == asked
        command(*task, "--output", "whole")
        assert server.stats()["requests"] == 2 * asked
        assert derived("merged") == derived("whole")
        for name in ("inputs.jsonl", "prompts/verifier.txt"):
            assert Path("merged", name).read_bytes() == Path("whole", name).read_bytes()
        manifests = [json.loads(Path(run, "manifest.json").read_bytes()) for run in ("merged", "whole")]
        assert manifests[0]["run_id"] == manifests[1]["run_id"]

    def test_with_domain_and_limit(self, command, inputs):
        names = split(command, PROVER, 2, "--domain", "ugd", "--limit", "3")
        command("merge", *names, "--output", "merged")
        command(*PROVER, "--domain", "ugd", "--limit", "3", "--output", "whole")
        assert derived("merged") == derived("whole")

    def test_a_shard_without_rows(self, command, inputs):
        names = split(command, PROVER, 40, "--limit", "2")
        with_rows = [name for name in names if json.loads(Path(name, "manifest.json").read_bytes())["extent"]["rows"]]
        assert len(with_rows) == 2
        command(*PROVER, "--limit", "2", "--output", "whole")
        command("merge", *names, "--output", "all")
        command("merge", *with_rows, "--output", "enough")
        (empty, *_) = [name for name in names if name not in with_rows]
        for ended in (command("run", "--resume", empty), command("score", empty)):
            assert ended.code == 0
            told = ended.out.split("\n")
            assert "ProverBench  (shares from 0 to 1, [95 % interval])" in told
            wanted = (
                "This shard has no problems: there is nothing to ask. `proverbench merge` works with it or without."
            )
            assert wanted in told
            assert "A split has scores" not in ended.out
        assert "this shard has no problems: there is nothing to ask or to score" in command("inspect", empty).out
        ended = command("analyse", empty)
        assert (ended.code, "this shard has no problems" in ended.err) == (2, True)
        assert derived("all") == derived("enough") == derived("whole")

    def test_grown_and_resumed_shards(self, command, inputs, server):
        server.profile = Profile(faults={"500": 0.2})
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        names = split(command, PROVER, 2, "--limit", "4")
        incomplete = command("merge", *names, "--output", "incomplete")
        assert incomplete.code == 1
        assert incomplete.err.rstrip().endswith("proverbench run --resume incomplete")
        server.profile = Profile()
        assert command("run", "--resume", "incomplete").code == 0
        for name in every(names):
            growth = ("--limit", "9", "--data", "problems.jsonl", "--verifier-repeats", "3")
            assert command("run", "--resume", name, *growth).code == 0
        command("merge", *names, "--output", "merged")
        command(*PROVER[:-1], "3", "--output", "whole")
        assert derived("merged") == derived("whole")
        assert command("run", "--resume", "incomplete", *growth).code == 0
        assert derived("incomplete") == derived("whole")

    def test_closed_calls_stay_closed(self, command, inputs, server):
        server.profile = Profile(faults={"500": 0.3})
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        names = split(command, PROVER, 2)
        closed = 0
        for name in names:
            command("run", "--resume", name, "--final")
            closed += json.loads(Path(name, "summary.json").read_bytes())["closed_unanswered"]
        assert command("merge", *names, "--output", "merged").code == 0
        assert json.loads(Path("merged", "summary.json").read_bytes())["closed_unanswered"] == closed > 0
        server.profile = Profile()
        assert command("run", "--resume", "merged").code == 0
        command(*PROVER, "--output", "whole")
        assert derived("merged") == derived("whole")

    def test_given_proofs(self, command, inputs):
        write_rows(
            inputs / "given.jsonl", [{"problem_id": f"p{i}", "sample": 0, "steps": [f"proof {i}"]} for i in range(9)]
        )
        task = (*PROVER[:5], "--proofs", "given.jsonl", "--verifier-repeats", "2")
        names = split(command, task, 2)
        command("merge", *names, "--output", "merged")
        command(*task, "--output", "whole")
        assert derived("merged") == derived("whole")


def test_the_whole_has_no_limit_of_a_part(command, inputs, server):
    """What each of two processes might spend would stop the one that goes on with both."""
    names = split(command, PROVER, 2, "--max-tokens-total", "50", "--concurrency", "2")
    ended = command("merge", *names, "--output", "merged")
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == "incomplete; go on with: proverbench run --resume merged"
    assert command("run", "--resume", "merged").code == 0
    assert command("run", "--resume", "part1").err.splitlines()[-1].endswith("--resume part1 --max-tokens-total MORE")


class TestRefused:
    @pytest.fixture
    def parts(self, command, inputs) -> list[str]:
        return split(command, PROVER, 3)

    def refused(self, command, *names: str) -> str:
        ended = command("merge", *names, "--output", "merged")
        assert ended.code == 2
        assert not Path("merged").exists()
        return ended.err

    def test_a_missing_shard_is_named(self, command, parts):
        told = self.refused(command, parts[0], parts[2])
        assert "shards missing: 2/3" in told

    def test_one_twice(self, command, parts):
        assert "given more than once: part1" in self.refused(command, parts[0], parts[0], *parts[1:])

    def test_a_copy_of_one(self, command, parts):
        command(*PROVER, "--shard", "1/3", "--output", "again")
        assert "part1 and again are both shard 1/3" in self.refused(command, *parts, "again")

    def test_what_is_no_shard(self, command, parts):
        command(*PROVER, "--output", "whole")
        assert "whole is no shard" in self.refused(command, *parts, "whole")

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (("--verifier-repeats", "3"), "verifier_repeats: the first has 3, the second 2"),
            (("--samples", "1"), "samples: the first has 1, the second 2"),
            (("--no-neutralise",), "neutralise"),
            (("--limit", "8"), "limit: the first has 8, the second None"),
            (("--config", "other.toml"), "roles.policy"),
            (("--data", "other.jsonl"), "data_sha256"),
            (("--shard", "2/4"), "one of 4"),
        ],
    )
    def test_another_run(self, command, inputs, server, parts, change, named):
        write_config(inputs / "other.toml", server.base_url, model="other")
        write_rows(inputs / "other.jsonl", problem_rows(10))
        command(*PROVER, "--shard", "2/3", *change, "--output", "other")
        told = self.refused(command, parts[0], "other", parts[2])
        assert "other and part1 differ in" in told
        assert named in told

    def test_a_shard_being_written(self, command, parts):
        lock = RunLock(Path(parts[1]))
        try:
            with pytest.raises(JournalError, match="part2 is being written by process"):
                Shards([Path(name) for name in parts])
        finally:
            lock.release()

    def test_a_shard_whose_workers_answers_are_not_taken_in(self, command, parts):
        (Path(parts[1]) / "shards" / "1-of-4").mkdir(parents=True)
        told = self.refused(command, *parts)
        assert "part2: take them in with: proverbench run --resume part2" in told

    def test_an_output_inside_a_shard(self, command, parts):
        ended = command("merge", *parts, "--output", "part1/whole")
        assert ended.code == 2
        assert "part1/whole lies inside part1" in ended.err
        assert not Path("part1/whole").exists()

    def test_an_output_that_exists(self, command, parts):
        assert command("merge", *parts, "--output", "part1").code == 2

    def test_all_reasons_at_once(self, command, parts):
        command(*PROVER, "--shard", "1/3", "--output", "again")
        with pytest.raises(RunMismatchError, match=r"(?s)both shard 1/3.*shards missing: 2/3, 3/3"):
            Shards([Path("part1"), Path("again")])
