"""`proverbench run` and `verifierbench`, as their users run them, against a real local endpoint."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from proverbench.rehearse import GeneratedReplies, Profile
from proverbench.rehearse.plays import no_credit
from proverbench.rehearse.profile import Latency
from proverbench.run.folder import RunFolder
from tests.support import SHARED, every, problem_rows, proof_rows, run_process, write_config, write_rows


@pytest.fixture
def inputs(tmp_path, server):
    """Data files and a config in the current folder."""
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(6))
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml")
VERIFIER = ("verify", "--data", "proofs.jsonl", "--config", "config.toml")


def derived(folder: Path) -> tuple[bytes, bytes]:
    """What makes two runs equal."""
    return (folder / "records.jsonl").read_bytes(), (folder / "summary.json").read_bytes()


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_bytes())


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class TestProver:
    def test_runs_from_rows_to_scores(self, command, inputs, server):
        ended = command(*PROVER, "--samples", "2", "--verifier-repeats", "3", "--output", "r")
        assert ended.code == 0
        assert "pessimistic" in ended.out
        assert ended.err.rstrip().endswith("proverbench inspect r")
        found = summary(Path("r"))
        assert found["complete"] is True
        assert [found["splits"][name]["expected_records"] for name in ("all", "ugd", "qe")] == [12, 6, 6]
        assert found["splits"]["all"]["metrics"]["proofs"] == 12
        assert found["splits"]["all"]["intervals"]["pessimistic"]["n"] == 6
        assert server.stats()["answered_by_role"] == {"policy": 12, "verifier": 36}

    def test_a_default_run_goes_to_a_named_folder(self, command, inputs):
        first = command(*PROVER, "--limit", "1", "--verifier-repeats", "1")
        second = command(*PROVER, "--limit", "1", "--verifier-repeats", "1", "--again")
        assert (first.code, second.code) == (0, 0)
        folders = sorted(path.name for path in Path("runs").iterdir())
        assert len(folders) == 2
        assert all(name.startswith("prover-m-policy-2") for name in folders)

    def test_the_same_command_twice_does_not_pay_twice(self, command, inputs, server):
        once = (*PROVER, "--limit", "2", "--verifier-repeats", "1")
        assert command(*once).code == 0
        asked = server.stats()["requests"]
        (folder,) = Path("runs").iterdir()
        twice = command(*once)
        assert twice.code == 2
        assert str(folder) in twice.err
        assert "--again" in twice.err
        assert server.stats()["requests"] == asked
        assert [path.name for path in Path("runs").iterdir()] == [folder.name]
        assert command(*once, "--output", "elsewhere").code == 0, "who names a folder means it"
        assert command(*PROVER, "--limit", "3", "--verifier-repeats", "1").code == 0, "another run"

    def test_an_incomplete_run_is_no_reason_to_refuse(self, command, inputs, server):
        once = (*PROVER, "--limit", "2", "--verifier-repeats", "1")
        server.script = lambda received: no_credit()
        assert command(*once).code == 1
        server.script = None
        assert command(*once).code == 0

    def test_invalid_replies_stay_in_every_denominator(self, command, inputs, server):
        server.replies = GeneratedReplies(vary="seed", invalid_rate=0.5)
        command(*PROVER, "--samples", "4", "--verifier-repeats", "4", "--output", "r")
        found = summary(Path("r"))
        metrics = found["splits"]["all"]["metrics"]
        records = [json.loads(line) for line in Path("r/records.jsonl").read_text().splitlines()]
        failed = sum(record["generation_error"] is not None for record in records)
        valid = sum(j["valid"] for record in records for j in record["judgments"])
        assert 0 < failed < 24
        assert metrics["generation_failure_rate"] == pytest.approx(failed / 24, abs=1e-15)
        assert metrics["verifier_valid_rate"] == pytest.approx(valid / 96, abs=1e-15)
        assert sum(found["invalid"]["policy"].values()) == failed
        assert server.stats()["answered_by_role"]["verifier"] == 4 * (24 - failed)

    def test_what_reaches_whom(self, command, inputs, server):
        command(*PROVER, "--verifier-repeats", "1", "--output", "r")
        prompts = {"policy": [], "verifier": []}
        for received in server.log:
            body = received.json
            prompts[body["model"].removeprefix("m-")].append(body["messages"][0]["content"])
        assert not any("Reference 0." in prompt or "Reference 1." in prompt for prompt in prompts["policy"])
        assert sum("Reference 0." in prompt or "Reference 1." in prompt for prompt in prompts["verifier"]) == 2

    def test_the_judge_may_be_kept_from_the_reference(self, command, inputs, server):
        command(*PROVER, "--no-use-reference-solution", "--verifier-repeats", "1", "--output", "r")
        assert not any(b"Reference 1." in received.body for received in server.log)

    def test_given_proofs_are_judged_without_a_policy(self, command, inputs, server):
        write_rows(
            inputs / "proofs_given.jsonl",
            [
                {"problem_id": "p0", "sample": 0, "steps": ["a <step> b", "c"]},
                {"problem_id": "p0", "sample": 1, "text": "<step>d</step>"},
                {"problem_id": "p1", "sample": 0, "text": "no steps"},
                {"problem_id": "p1", "sample": 1, "text": "ERROR: timeout<step>ERROR: timeout</step>"},
                {"problem_id": "p2", "sample": 0, "steps": ["only one"]},
            ],
        )
        ended = command(*PROVER, "--proofs", "proofs_given.jsonl", "--verifier-repeats", "2", "--output", "r")
        assert ended.code == 1
        found = summary(Path("r"))
        assert "policy" not in server.stats()["answered_by_role"]
        assert found["splits"]["all"]["expected_records"] == 12
        assert found["splits"]["all"]["metrics"] is None
        assert found["splits"]["all"]["completed_records"] == 5
        records = [json.loads(line) for line in Path("r/records.jsonl").read_text().splitlines()]
        assert records[0]["steps"] == ["a <step> b", "c"]
        assert records[0]["neutralised"] == 1
        assert records[2]["generation_error"] == "no_proof_steps"
        assert records[3]["steps"] == ["ERROR: timeout"]
        assert "not given: 7 of 12 proofs, the first of them p2, sample 1" in ended.err
        assert "go on with" not in ended.err, "asking again would bring nothing"
        resumed = command("run", "--resume", "r", "--final")
        assert resumed.code == 0
        assert summary(Path("r"))["splits"]["all"]["metrics"]["generation_failure_rate"] == pytest.approx(8 / 12)


class TestVerifier:
    def test_with_meta(self, command, inputs, server):
        ended = command(*VERIFIER, "--verifier-repeats", "2", "--meta", "--output", "r")
        assert ended.code == 0
        metrics = summary(Path("r"))["splits"]["all"]["metrics"]
        assert metrics["proofs"] == 6
        assert metrics["meta_valid_rate"] == 1.0
        assert server.stats()["answered_by_role"] == {"verifier": 12, "meta": 12}

    def test_ground_truth_reaches_the_meta_verifier_alone(self, command, inputs, server):
        command(*VERIFIER, "--meta", "--output", "r")
        for received in every(server.log):
            body = received.json
            text = body["messages"][0]["content"]
            assert ("Comment " in text) == (body["model"] == "m-meta")
            assert "Reference 1." not in text


class TestResume:
    def test_a_finished_run_is_left_as_it_is(self, command, inputs, server):
        command(*PROVER, "--verifier-repeats", "2", "--output", "r")
        before, asked = content(Path("r")), server.stats()["requests"]
        for final, told in (((), "nothing is left to ask"), (("--final",), "nothing is unanswered")):
            ended = command("run", "--resume", "r", *final)
            assert ended.code == 0
            assert ended.err.startswith(told)
            assert content(Path("r")) == before
            assert server.stats()["requests"] == asked

    @pytest.mark.parametrize(
        ("task", "first", "growth"),
        [
            (PROVER, ("--samples", "1", "--verifier-repeats", "4"), ("--samples", "2", "--verifier-repeats", "8")),
            (PROVER, ("--limit", "2"), ("--limit", "6", "--data", "problems.jsonl")),
            (PROVER, ("--domain", "qe", "--verifier-repeats", "1"), ("--domain", "all", "--data", "problems.jsonl")),
            (VERIFIER, (), ("--meta",)),
            (
                VERIFIER,
                ("--meta", "--limit", "3"),
                ("--limit", "5", "--data", "proofs.jsonl", "--verifier-repeats", "3"),
            ),
        ],
        ids=["samples-and-repeats", "limit", "domain", "meta", "limit-and-repeats"],
    )
    def test_a_run_grows_and_equals_one_asked_so_from_the_start(self, command, inputs, server, task, first, growth):
        command(*task, *first, "--output", "grown")
        ended = command(task[0], "--resume", "grown", *growth)
        assert ended.code == 0
        asked = server.stats()["requests"]
        options = [*first, *growth]
        whole = {
            options[i]: options[i + 1]
            for i in range(len(options))
            if options[i] in ("--samples", "--verifier-repeats", "--limit", "--domain")
        }
        flags = ["--meta"] if "--meta" in options else []
        command(*task, *(part for pair in whole.items() for part in pair), *flags, "--output", "whole")
        assert server.stats()["requests"] == 2 * asked
        assert derived(Path("grown")) == derived(Path("whole"))

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (("--samples", "1"), "samples: the run has 2, now 1"),
            (("--verifier-repeats", "1"), "verifier_repeats: the run has 2, now 1"),
            (("--no-neutralise",), "neutralise: the run has True, now False"),
            (("--no-use-reference-solution",), "use_reference_solution: the run has True, now False"),
            (("--config", "other.toml"), "roles.verifier"),
            (("--verifier-prompt", "other.txt"), "prompt_sha256.verifier"),
            (("--data", "changed.jsonl"), "data_sha256"),
            (("--data", "problems.jsonl", "--limit", "1"), "rows: 1 of the run's 2 rows"),
        ],
    )
    def test_a_changed_identity_is_refused_and_named(self, command, inputs, server, change, named):
        command(*PROVER, "--samples", "2", "--verifier-repeats", "2", "--limit", "2", "--output", "r")
        write_config(inputs / "other.toml", server.base_url, model="other")
        (inputs / "other.txt").write_text("{problem} {human_solution} {solution}")
        write_rows(inputs / "changed.jsonl", problem_rows(7))
        before, asked = content(Path("r")), server.stats()["requests"]
        ended = command("run", "--resume", "r", *change)
        assert ended.code == 2
        assert named in ended.err
        assert content(Path("r")) == before
        assert server.stats()["requests"] == asked

    def test_operation_may_change(self, command, inputs, server):
        command(*PROVER, "--verifier-repeats", "1", "--output", "r")
        write_config(inputs / "moved.toml", server.base_url.replace("127.0.0.1", "localhost"), concurrency=3)
        ended = command("run", "--resume", "r", "--config", "moved.toml", "--verifier-repeats", "2")
        assert ended.code == 0
        assert "localhost" in Path("r/manifest.json").read_text()

    def test_the_other_benchmark_says_which_command(self, command, inputs):
        command(*PROVER, "--limit", "1", "--verifier-repeats", "1", "--output", "r")
        ended = command("verify", "--resume", "r")
        assert ended.code == 2
        assert "proverbench run --resume r" in ended.err or "verifierbench --resume r" in ended.err


class TestFinal:
    def test_closes_and_a_later_resume_asks_again(self, command, inputs, server):
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        server.profile = Profile(faults={"500": 0.3})
        command(*PROVER, "--samples", "2", "--verifier-repeats", "2", "--output", "r")
        assert summary(Path("r"))["splits"]["all"]["metrics"] is None
        asked = server.stats()["requests"]
        closed = command("run", "--resume", "r", "--final")
        assert closed.code == 0
        assert server.stats()["requests"] == asked
        assert summary(Path("r"))["complete"] is True
        assert summary(Path("r"))["closed_unanswered"] > 0
        server.profile = Profile()
        assert command("run", "--resume", "r").code == 0
        assert summary(Path("r"))["closed_unanswered"] == 0
        command(*PROVER, "--samples", "2", "--verifier-repeats", "2", "--output", "undisturbed")
        assert derived(Path("r")) == derived(Path("undisturbed"))

    @pytest.mark.parametrize("change", [(), ("--concurrency", "3"), ("--verifier-repeats", "3"), ("--samples", "3")])
    def test_one_resume_asks_all_that_was_closed(self, command, inputs, server, change):
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        server.profile = Profile(faults={"500": 0.3})
        command(*PROVER, "--samples", "2", "--verifier-repeats", "2", "--output", "r")
        command("run", "--resume", "r", "--final")
        server.profile = Profile()
        assert command("run", "--resume", "r", *change).code == 0
        assert summary(Path("r"))["closed_unanswered"] == 0
        wanted = {"--samples": "2", "--verifier-repeats": "2"}
        if change and change[0] in wanted:
            wanted[change[0]] = change[1]
        command(*PROVER, *(part for pair in wanted.items() for part in pair), "--output", "undisturbed")
        assert derived(Path("r")) == derived(Path("undisturbed"))

    def test_what_nobody_can_answer_stays_closed(self, command, inputs, server):
        write_rows(inputs / "given.jsonl", [{"problem_id": "p0", "sample": 0, "steps": ["a"]}])
        command(*PROVER, "--proofs", "given.jsonl", "--limit", "2", "--verifier-repeats", "1", "--output", "r")
        assert command("run", "--resume", "r", "--final").code == 0
        before = content(Path("r"))
        assert command("run", "--resume", "r").code == 0
        assert command("score", "r").code == 0
        assert content(Path("r")) == before

    def test_asks_for_no_more_at_the_same_time(self, command, inputs):
        command(*PROVER, "--limit", "1", "--verifier-repeats", "1", "--output", "r")
        ended = command("run", "--resume", "r", "--final", "--samples", "3")
        assert ended.code == 2
        assert "--final" in ended.err


class TestBudget:
    PRICED = "prices = { input = 1.0, output = 1000.0 }\n"

    def test_a_spent_budget_buys_nothing_more(self, command, inputs, server):
        write_config(inputs / "config.toml", server.base_url, more=self.PRICED, concurrency=2)
        ended = command(*PROVER, "--samples", "2", "--max-cost", "0.01", "--output", "r")
        assert ended.code == 1
        assert "--max-cost" in ended.err
        asked = server.stats()["requests"]
        assert command("run", "--resume", "r").code == 1
        assert server.stats()["requests"] == asked
        assert command("run", "--resume", "r", "--max-cost", "1000").code == 0

    def test_calls_in_flight_do_not_overstep_it(self, command, inputs, server):
        # Each call costs at most $0.4 or so; 32 at a time would go far beyond 3 dollars.
        write_config(inputs / "config.toml", server.base_url, more=self.PRICED, concurrency=32)
        server.profile = Profile(latency=Latency("fixed", 0.02))
        options = ("--samples", "8", "--verifier-repeats", "8", "--max-cost", "3", "--output", "r")
        ended = command(*PROVER, *options)
        assert ended.code == 1
        assert "--max-cost MORE" in ended.err.splitlines()[-1]
        timing = json.loads(Path("r/timing.json").read_bytes())
        spent = sum(role["cost_usd"] for role in timing["roles"].values())
        assert 2 < spent < 3.3
        asked = server.stats()["requests"]
        assert command("run", "--resume", "r").code == 1
        assert asked == server.stats()["requests"]

    @pytest.mark.parametrize("limit", ["1", "nan", "inf"])
    def test_a_budget_that_cannot_work_is_refused(self, command, inputs, server, limit):
        ended = command(*PROVER, "--max-cost", limit, "--output", "r")
        assert ended.code == 2
        assert "--max-cost" in ended.err
        assert server.stats()["requests"] == 0


class TestGivenProofs:
    GIVEN = tuple({"problem_id": f"p{i}", "sample": j, "steps": [f"step {i} {j}"]} for i in range(3) for j in range(2))

    def test_may_grow(self, command, inputs, server):
        write_rows(inputs / "given.jsonl", list(self.GIVEN))
        command(*PROVER, "--proofs", "given.jsonl", "--samples", "1", "--limit", "1", "--verifier-repeats", "1",
                "--output", "r")  # fmt: skip
        ended = command("run", "--resume", "r", "--samples", "2", "--limit", "3", "--data", "problems.jsonl")
        assert ended.code == 0
        assert server.stats()["answered_by_role"] == {"verifier": 6}

    def test_dry_run_counts_their_judgments(self, command, inputs):
        write_rows(inputs / "given.jsonl", list(self.GIVEN))
        ended = command(*PROVER, "--proofs", "given.jsonl", "--limit", "3", "--verifier-repeats", "2", "--dry-run")
        assert ended.code == 0
        assert "at most 12 calls" in ended.out
        assert "policy" not in ended.out

    def test_money_and_estimate_know_that_they_are_not_asked_for(self, command, inputs, server):
        prices = "prices = { input = 1.0, output = 1.0, cached_input = 1.0, cache_write = 1.0 }"
        write_config(inputs / "config.toml", server.base_url, more=prices)
        write_rows(inputs / "given.jsonl", list(self.GIVEN))
        command(*PROVER, "--proofs", "given.jsonl", "--limit", "4", "--verifier-repeats", "1", "--output", "r")
        used = next(line for line in command("score", "r").out.splitlines() if line.startswith("used "))
        assert "tokens, $" in used
        assert "at least" not in used
        assert "at most 0 more calls" in command("run", "--resume", "r", "--dry-run").out

    def test_a_damaged_run_is_not_replayed(self, command, inputs, server):
        """Told before anything of the new run is written."""
        command(*PROVER, "--limit", "1", "--verifier-repeats", "1", "--output", "r")
        with Path("r/calls.jsonl").open("ab") as calls:
            calls.write(b"nonsense\n")
        (inputs / "replay.toml").write_text(
            '[policy]\nkind = "replay"\nrun = "r"\nmodel = ""\n[verifier]\nkind = "replay"\nrun = "r"\nmodel = ""\n'
        )
        ended = command("run", "--data", "problems.jsonl", "--config", "replay.toml", "--limit", "1", "--output", "r2")
        assert ended.code == 1
        assert "calls.jsonl:5 has no seal, though lines before it have one" in ended.err
        assert not Path("r2").exists()

    def test_cannot_be_replayed_as_a_policy(self, command, inputs, server):
        write_rows(inputs / "given.jsonl", list(self.GIVEN))
        command(*PROVER, "--proofs", "given.jsonl", "--limit", "1", "--verifier-repeats", "1", "--output", "r")
        (inputs / "replay.toml").write_text(
            '[policy]\nkind = "replay"\nrun = "r"\nmodel = ""\n'
            f'[verifier]\nbase_url = "{server.base_url}"\nmodel = "m"\n'
        )
        ended = command("run", "--data", "problems.jsonl", "--config", "replay.toml", "--limit", "1", "--output", "r2")
        assert ended.code == 2
        assert "--proofs" in ended.err


class TestUnanswered:
    def test_says_how_many_and_why(self, command, inputs, server):
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 0\n")
        server.profile = Profile(faults={"500": 1.0})
        ended = command(*PROVER, "--limit", "3", "--verifier-repeats", "1", "--output", "r")
        assert ended.code == 1
        assert "unanswered: 3 calls of the policy, http_500" in ended.err


class TestScore:
    def test_rebuilds_byte_for_byte_without_data_and_prompts(self, command, inputs):
        command(*VERIFIER, "--meta", "--output", "r")
        before = content(Path("r"))
        for name in ("records.jsonl", "summary.json", "timing.json"):
            Path("r", name).unlink()
        for name in ("proofs.jsonl", "problems.jsonl", "config.toml"):
            Path(name).unlink()
        Path("r").rename("moved")
        assert command("score", "moved").code == 0
        assert content(Path("moved")) == before

    def test_a_folder_that_is_no_run(self, command, inputs):
        Path("empty").mkdir()
        ended = command("score", "empty")
        assert ended.code == 2
        assert "no saved run" in ended.err
        assert list(Path("empty").iterdir()) == []


class TestDryRun:
    def test_calls_nothing_writes_nothing(self, command, inputs, server):
        before = sorted(path.name for path in inputs.iterdir())
        ended = command(*PROVER, "--samples", "2", "--verifier-repeats", "3", "--dry-run")
        assert ended.code == 0
        assert "at most 12 calls" in ended.out
        assert "at most 36 calls" in ended.out
        assert server.stats()["requests"] == 0
        assert sorted(path.name for path in inputs.iterdir()) == before

    def test_of_a_resume_counts_only_what_is_new(self, command, inputs, server):
        command(*PROVER, "--verifier-repeats", "2", "--output", "r")
        before = content(Path("r"))
        ended = command("run", "--resume", "r", "--samples", "2", "--verifier-repeats", "3", "--dry-run")
        assert ended.code == 0
        assert "policy: at most 6 more calls" in ended.out
        assert "verifier: at most 24 more calls" in ended.out
        assert content(Path("r")) == before

    def test_of_a_resume_prices_the_proofs_that_are_there(self, command, inputs, server):
        server.replies = GeneratedReplies(vary="seed", invalid_rate=0.5)
        command(*PROVER, "--samples", "4", "--verifier-repeats", "1", "--output", "r")
        with closing(RunFolder("r")) as run:
            keys = [line.key for line in run.calls() if line.role == "verifier"]
            chars = sum(len(run.prompt(key)) for key in keys)
            failed = sum(1 for record in run.records() if record.generation_error)
        assert failed
        ended = command("run", "--resume", "r", "--verifier-repeats", "3", "--dry-run")
        assert f"verifier: at most {2 * len(keys)} more calls" in ended.out
        assert f"about {round(2 * chars / 3.5):,} input" in ended.out

    def test_does_not_look_for_keys(self, command, inputs, server):
        write_config(inputs / "config.toml", server.base_url, more='api_key_env = "NO_SUCH_KEY_SET"\n')
        assert command(*PROVER, "--dry-run").code == 0


class TestBadInput:
    """Each answer is a line or two that says what to change; nothing is called, nothing is written."""

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            (("run", "--data", "missing.jsonl", "--config", "config.toml"), ["missing.jsonl"]),
            (("run", "--data", "syntax.jsonl", "--config", "config.toml"), ["syntax.jsonl:7"]),
            (
                ("verify", "--data", "range.jsonl", "--config", "config.toml"),
                ["range.jsonl:2", "first_fatal_error_step"],
            ),
            (("verify", "--data", "boolean.jsonl", "--config", "config.toml"), ["boolean.jsonl:1", "true"]),
            (("run", "--data", "twice.jsonl", "--config", "config.toml"), ["twice.jsonl:7", "line 1"]),
            (("run", "--data", "problems.jsonl", "--config", "unknown.toml"), ["unknown.toml", "tempersture"]),
            (("run", "--data", "problems.jsonl", "--config", "key.toml"), ["NO_SUCH_KEY_SET", "export"]),
            ((*PROVER, "--verifier-prompt", "short.txt"), ["short.txt", "{solution}"]),
            ((*PROVER, "--samples", "0"), ["--samples"]),
            (("run", "--config", "config.toml"), ["--data"]),
            ((*PROVER, "--final"), ["--resume"]),
            (("run", "--resume", "nowhere"), ["nowhere"]),
        ],
        ids=[
            "missing-file",
            "syntax-line-7",
            "label-range",
            "boolean-label",
            "duplicate-id",
            "unknown-key",
            "unset-variable",
            "prompt",
            "zero-samples",
            "no-data",
            "final-alone",
            "resume-nothing",
        ],
    )
    def test_one_clear_answer(self, command, inputs, server, arguments, named):
        (inputs / "syntax.jsonl").write_text((inputs / "problems.jsonl").read_text() + '{"problem_id": \n')
        rows = proof_rows(3)
        rows[1]["annotation"] = {"first_fatal_error_step": 3, "recoverable_error_steps": [-1]}
        write_rows(inputs / "range.jsonl", rows)
        rows = proof_rows(1)
        rows[0]["annotation"] = {"first_fatal_error_step": True, "recoverable_error_steps": [-1]}
        write_rows(inputs / "boolean.jsonl", rows)
        write_rows(inputs / "twice.jsonl", [*problem_rows(6), problem_rows(1)[0]])
        (inputs / "unknown.toml").write_text((inputs / "config.toml").read_text() + "tempersture = 1\n")
        write_config(inputs / "key.toml", server.base_url, more='api_key_env = "NO_SUCH_KEY_SET"\n')
        (inputs / "short.txt").write_text("{problem} {human_solution}")
        before = sorted(str(path) for path in inputs.rglob("*"))
        ended = command(*arguments)
        assert ended.code == 2
        assert "Traceback" not in ended.err
        assert len(ended.err.strip().splitlines()) <= 4
        for text in every(named):
            assert text in ended.err
        assert server.stats()["requests"] == 0
        assert sorted(str(path) for path in inputs.rglob("*")) == before

    def test_all_faults_at_once(self, command, inputs):
        (inputs / "short.txt").write_text("{problem}")
        ended = command("run", "--data", "missing.jsonl", "--config", "missing.toml", "--verifier-prompt", "short.txt")
        assert ended.code == 2
        for text in ("missing.jsonl", "missing.toml", "{solution}", "{human_solution}"):
            assert text in ended.err

    def test_an_existing_folder_is_not_written_into(self, command, inputs, server):
        Path("taken").mkdir()
        Path("taken/file").touch()
        ended = command(*PROVER, "--output", "taken")
        assert ended.code == 2
        assert "--resume" in ended.err
        assert server.stats()["requests"] == 0


class TestRealData:
    @pytest.mark.shared
    @pytest.mark.parametrize(
        ("task", "name"),
        [
            ("run", "proverbench.jsonl"),
            ("verify", "verifierbench_steps.jsonl"),
            ("verify", "verifierbench_opc.jsonl"),
            ("verify", "verifierbench_opc_whole.jsonl"),
        ],
    )
    def test_both_commands_run_on_real_files(self, command, inputs, task, name):
        ended = command(
            task,
            "--data",
            SHARED / "data/real" / name,
            "--config",
            "config.toml",
            "--verifier-repeats",
            "1",
            "--output",
            "r",
        )
        assert ended.code == 0
        assert summary(Path("r"))["complete"] is True


class TestConsole:
    def test_help_loads_no_heavy_package(self, tmp_path):
        ended = run_process("--help", cwd=tmp_path, env={"PYTHONPROFILEIMPORTTIME": "1"})
        loaded = {line.rsplit("|", 1)[-1].strip() for line in ended.err.splitlines() if line.startswith("import time:")}
        heavy = {"openai", "anthropic", "pandas", "scipy", "numpy", "aiohttp", "lxml", "rich", "pydantic", "msgspec"}
        assert ended.code == 0
        assert "proverbench.cli" in loaded
        assert loaded & heavy == set()

    def test_ascii_console_and_pipe(self, inputs):
        rows = problem_rows(2)
        rows[0]["problem"] = "Über ℝ: prove it."
        rows[0]["subject"] = "Analyse ℝ"
        write_rows(inputs / "problems.jsonl", rows)
        env = {"LC_ALL": "C", "PYTHONIOENCODING": "", "PYTHONUTF8": "0"}
        ended = run_process(*PROVER, "--verifier-repeats", "1", "--output", "ℝ", cwd=inputs, env=env)
        assert ended.code == 0
        assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("run", ["JSONL file of problems (docs/data.md)", "each proof. [default: 8]", "solution. [default: on]"]),
        ("verify", ["JSONL file of annotated proofs", "proof. [default: 1]", "solution. [default: off]"]),
    ],
)
def test_help_says_what_each_takes_and_its_own_defaults(command, task, told):
    words = " ".join(command(task, "--help").out.split())
    assert [part for part in told if part not in words] == []
