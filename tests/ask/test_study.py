"""Whole studies against the rehearsal endpoint: asked once, equal to runs that are alone, killed, grown, refused."""

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proverbench.rehearse import GeneratedReplies, Latency, Profile, RehearseServer
from proverbench.run.study import cells_of
from tests.studies import asked, assert_each_asked_once, derived, on_disk, seed_of, study_file
from tests.support import HUNG_S, Gate, problem_rows, proof_rows, run_process, wait_for, wait_for_words, write_rows

SLOW = Profile(latency=Latency("lognormal", 0.01, 0.5))


@pytest.fixture
def server() -> Iterator[RehearseServer]:
    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=0.1)) as running:
        yield running


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "problems.jsonl", problem_rows(60))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(6))
    return tmp_path


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "proverbench", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class TestAsked:
    def test_each_proof_is_written_once_and_every_run_is_what_it_would_be_alone(self, inputs, server):
        server.profile = SLOW
        ended = run_process("study", study_file(server.base_url), cwd=inputs)
        assert ended.code == 0, ended.err
        assert [cell.name for cell in cells_of(Path("studies/study"))] == [
            *(f"{policy}--{judge}" for policy in ("alpha", "beta", "gamma") for judge in ("mild", "strict")),
            "calibration/mild",
            "calibration/strict",
        ]
        calls = asked(server)
        assert len(calls) == len(set(calls))
        roles = Counter(model.partition("-")[0] for model, _, _ in calls)
        assert roles["policy"] == 3 * 12 * 2
        assert 0 < server.ledger.max_in_flight["all"] <= 5
        assert set(calls) == on_disk(Path("studies/study"))
        assert_each_asked_once(Path("studies/study"))
        self.compare_with_one_that_is_alone(server)

    @staticmethod
    def compare_with_one_that_is_alone(server: RehearseServer) -> None:
        models = {"policy": "policy-beta", "verifier": "judge-mild"}
        roles = "".join(
            f'[{role}]\nbase_url = "{server.base_url}"\nmodel = "{model}"\n'
            f"generation = {{ max_tokens = 500, seed = {seed_of(model)} }}\n"
            for role, model in models.items()
        )
        Path("alone.toml").write_text(roles, encoding="utf-8")
        options = ("--data", "problems.jsonl", "--config", "alone.toml", "--limit", "12", "--samples", "2")
        ended = run_process("run", *options, "--verifier-repeats", "2", "--output", "alone", cwd=Path.cwd())
        assert ended.code == 0, ended.err
        for name in ("records.jsonl", "summary.json"):
            assert Path("alone", name).read_bytes() == Path("studies/study/runs/beta--mild", name).read_bytes()
        ids = [
            json.loads(Path(run, "manifest.json").read_bytes())["run_id"]
            for run in ("alone", "studies/study/runs/beta--mild")
        ]
        assert ids[0] == ids[1]

    def test_the_same_command_again_asks_and_writes_nothing(self, inputs, server):
        file = study_file(server.base_url, rows=2)
        assert run_process("study", file, cwd=inputs).code == 0
        server.reset()
        before = {path: path.read_bytes() for path in Path("studies").rglob("*") if path.is_file()}
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 0
        assert "nothing is left to ask" in ended.err
        assert before == {path: path.read_bytes() for path in Path("studies").rglob("*") if path.is_file()}
        assert not server.log

    def test_what_the_grown_file_wants_and_the_folder_lacks_is_asked(self, inputs, server):
        study = Path("studies/study")
        small = {"policies": ("alpha", "beta"), "judges": ("strict",), "rows": 4, "samples": 1, "repeats": 1}
        assert run_process("study", study_file(server.base_url, **small), cwd=inputs).code == 0
        steps = (
            {"rows": 6},
            {"judges": ("strict", "mild")},
            {"repeats": 2},
            {"policies": ("beta", "gamma")},
            {"samples": 2},
        )
        for step in steps:
            small |= step
            before = on_disk(study)
            server.reset()
            dry = run_process("study", study_file(server.base_url, **small), "--dry-run", cwd=inputs)
            assert dry.code == 0
            assert not server.log
            ended = run_process("study", study_file(server.base_url, **small), cwd=inputs)
            assert ended.code == 0, ended.err
            calls = asked(server)
            assert calls
            assert len(calls) == len(set(calls))
            assert not set(calls) & before
            assert_each_asked_once(study)
        names = [cell.name for cell in cells_of(study)]
        assert "alpha--strict" in names  # what the file no longer wants stays
        fresh = study_file(server.base_url, **small, name="fresh.toml")
        assert run_process("study", fresh, cwd=inputs).code == 0
        found, wanted = derived(study), derived(Path("studies/fresh"))
        assert {name: found[name] for name in wanted} == wanted

    def test_a_smaller_file_asks_nothing_and_deletes_nothing(self, inputs, server):
        assert run_process("study", study_file(server.base_url, rows=4), cwd=inputs).code == 0
        before = derived(Path("studies/study"))
        server.reset()
        ended = run_process("study", study_file(server.base_url, rows=2, samples=1, repeats=1), cwd=inputs)
        assert ended.code == 0, ended.err
        assert derived(Path("studies/study")) == before
        assert not server.log


class TestDisturbed:
    def kill_and_finish(self, server: RehearseServer, rng: random.Random, *steps: dict[str, Any], kills: int) -> None:
        """Kill a study so often at each step of its growth, then let it end; it equals one that was asked at once."""
        study, grown = Path("studies/study"), {}
        for step in steps:
            grown |= step
            file = study_file(server.base_url, **grown)
            for _ in range(kills):
                before = on_disk(study)
                server.reset()
                process = start("study", str(file))
                n = rng.randrange(1, 40)
                wait_for(lambda process=process, n=n: len(server.log) >= n or process.poll() is not None)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                assert not set(asked(server)) & before
                assert server.ledger.max_in_flight["all"] <= 5
        before = on_disk(study)
        server.reset()
        server.profile = Profile()
        ended = run_process("study", file, cwd=Path.cwd())
        assert ended.code == 0, ended.err
        assert not set(asked(server)) & before
        assert_each_asked_once(study)
        undisturbed = study_file(server.base_url, **grown, name="undisturbed.toml")
        assert run_process("study", undisturbed, cwd=Path.cwd()).code == 0
        assert derived(study) == derived(Path("studies/undisturbed"))

    def test_killed_a_few_times(self, inputs, server):
        server.profile = SLOW
        self.kill_and_finish(server, random.Random(3), {}, kills=3)

    @pytest.mark.torture
    def test_killed_ten_times_with_faults_while_it_grows_by_a_policy_a_judge_and_repeats(self, inputs, server):
        server.profile = Profile(
            latency=Latency("lognormal", 0.01, 0.5),
            faults={"429": 0.03, "reset": 0.01, "cut": 0.01},
            retry_after="0.01",
        )
        self.kill_and_finish(
            server,
            random.Random("torture"),
            {"policies": ("alpha", "beta"), "judges": ("strict",), "rows": 60, "repeats": 2},
            {"policies": ("alpha", "beta", "gamma")},
            {"judges": ("strict", "mild")},
            {"repeats": 3},
            {"repeats": 4},
            kills=2,
        )

    def test_ctrl_c_saves_what_is_in_flight(self, inputs, server):
        file = study_file(server.base_url, rows=6)
        server.script = gate = Gate(after=9)
        process = start("study", str(file))
        wait_for(lambda: len(server.log) >= 14, process)
        process.send_signal(signal.SIGINT)
        wait_for_words(process, "asking nothing new; 5 calls in flight")
        gate.open()
        _, err = process.communicate(timeout=HUNG_S)
        assert process.returncode == 130, err
        assert "go on with: proverbench study study.toml" in err
        assert len(server.log) == 14
        assert set(asked(server)) == on_disk(Path("studies/study"))

    def test_a_judge_or_policy_that_fails_does_not_stop_the_others(self, inputs, server):
        good = {"policy-alpha", "policy-beta", "judge-strict"}
        server.profile = Profile(models=frozenset(good))
        file = study_file(server.base_url, rows=3)
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 1
        assert "error: alpha--mild" in ended.err
        complete = {
            cell.name
            for cell in cells_of(Path("studies/study"))
            if json.loads((cell.path / "summary.json").read_bytes())["complete"]
        }
        assert complete == {"alpha--strict", "beta--strict", "calibration/strict"}
        server.profile = Profile()
        before = on_disk(Path("studies/study"))
        server.reset()
        assert run_process("study", file, cwd=inputs).code == 0
        assert not set(asked(server)) & before

    def test_the_budget_is_of_the_whole_study_and_of_all_sessions(self, inputs, server):
        prices = "prices = { input = 0, output = 1000000 }"
        server.replies = GeneratedReplies(vary="seed")
        file = study_file(server.base_url, rows=6, calibration=False, endpoint=prices)
        assert run_process("study", file, "--output", "whole", cwd=inputs).code == 0
        whole = cost_of(Path("whole"))
        text = file.read_text().replace("[endpoint", f"max_cost = {whole / 2}\n[endpoint", 1)
        file.write_text(text)
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 1
        assert "--max-cost" in ended.err
        # A call in flight may cost more than 95 % of those before it did, so a cap may be overstepped by that.
        assert 0 < cost_of(Path("studies/study")) <= 1.1 * whole / 2
        server.reset()
        assert run_process("study", file, cwd=inputs).code == 1
        assert cost_of(Path("studies/study")) <= 1.1 * whole / 2
        file.write_text(text.replace(f"max_cost = {whole / 2}", f"max_cost = {whole * 2}"))
        assert run_process("study", file, cwd=inputs).code == 0
        assert cost_of(Path("studies/study")) == pytest.approx(whole)


def cost_of(study: Path) -> float:
    """What all runs cost together; a shared call counts once."""
    costs = [json.loads((cell.path / "timing.json").read_bytes())["roles"] for cell in cells_of(study)]
    return sum(role["cost_usd"] for roles in costs for role in roles.values())


class TestProofsThatExist:
    def test_a_judge_is_added_without_the_keys_and_servers_of_the_policies(self, inputs, server, monkeypatch):
        elsewhere = f'[endpoint.theirs]\nbase_url = "{server.base_url}"\napi_key_env = "POLICY_KEY"\n'
        monkeypatch.setenv("POLICY_KEY", "sk-of-nobody")

        def file_of(*judges: str, rows: int = 3) -> Path:
            file = study_file(server.base_url, judges=judges, rows=rows, calibration=False, more=elsewhere)
            policies, between, judged = file.read_text().partition("[judge.")
            file.write_text(policies.replace('endpoint = "here"', 'endpoint = "theirs"') + between + judged)
            return file

        assert run_process("study", file_of("strict"), cwd=inputs).code == 0
        monkeypatch.delenv("POLICY_KEY")
        server.reset()
        ended = run_process("study", file_of("strict", "mild"), cwd=inputs)
        assert ended.code == 0, ended.err
        assert {model for model, _, _ in asked(server)} == {"judge-mild"}
        assert_each_asked_once(Path("studies/study"))
        ended = run_process("study", file_of("strict", "mild", rows=4), cwd=inputs)
        assert ended.code == 2
        assert "POLICY_KEY" in ended.err

    def test_of_a_run_and_of_a_file(self, inputs, server):
        assert run_process("study", study_file(server.base_url, rows=3, calibration=False), cwd=inputs).code == 0
        server.reset()
        given = [{"problem_id": f"p{i}", "sample": j, "steps": ["One.", "Two."]} for i in range(3) for j in range(2)]
        write_rows(Path("given.jsonl"), given)
        more = '[policy.old]\nrun = "studies/study/runs/alpha--mild"\n[policy.given]\nproofs = "given.jsonl"\n'
        file = study_file(
            server.base_url, policies=(), judges=("strict",), rows=3, calibration=False, more=more, name="later.toml"
        )
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 0, ended.err
        assert {model for model, _, _ in asked(server)} == {"judge-strict"}
        again = derived(Path("studies/later"))["old--strict/records.jsonl"]
        assert again == derived(Path("studies/study"))["alpha--strict/records.jsonl"]


class TestRefused:
    @pytest.mark.parametrize(
        ("was", "now", "said"),
        [
            ('model = "policy-beta"', 'model = "other"', "policy.beta: model is 'other'"),
            ("limit = 2", "limit = 2\nneutralise = false", "neutralise"),
        ],
    )
    def test_what_changed_under_a_name(self, inputs, server, was, now, said):
        file = study_file(server.base_url, rows=2)
        assert run_process("study", file, cwd=inputs).code == 0
        server.reset()
        file.write_text(file.read_text().replace(was, now))
        before = derived(Path("studies/study"))
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 2
        assert said in ended.err
        assert not server.log
        assert derived(Path("studies/study")) == before

    def test_all_faults_of_a_file_at_once(self, inputs):
        Path("bad.toml").write_text(
            '[study]\ndatta = "x"\nsamples = 0\n[policy."a--b"]\nmodel = "m"\nbase_url = "http://h/v1"\n'
            '[policy.c]\nproofs = "f"\nmodel = "m"\n[judge.j]\nendpoint = "nowhere"\nmodel = "m"\n[meta]\nmodel = 1\n'
        )
        ended = run_process("study", "bad.toml", cwd=inputs)
        assert ended.code == 2
        for said in (
            "study.datta is unknown; did you mean study.data?",
            "study.data is missing",
            "study.samples is 0",
            "policy.a--b is no name",
            "policy.c.model has no meaning beside proofs",
            "judge.j.endpoint is 'nowhere'",
            "meta.model is 1",
        ):
            assert said in ended.err
        assert not Path("studies").exists()

    def test_a_key_that_is_not_set_leaves_nothing_behind(self, inputs, server):
        file = study_file(server.base_url, rows=2, endpoint='api_key_env = "NO_SUCH_KEY_HERE"')
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 2
        assert "NO_SUCH_KEY_HERE" in ended.err
        assert not Path("studies/study").exists()

    def test_two_processes_never_drive_one_study(self, inputs, server):
        file = study_file(server.base_url, rows=2)
        server.script = gate = Gate(after=1)
        process = start("study", str(file))
        wait_for(lambda: len(server.log) >= 3, process)
        ended = run_process("study", file, cwd=inputs)
        assert ended.code == 1
        assert "is being written by" in ended.err
        gate.open()
        process.communicate(timeout=HUNG_S)
        assert process.returncode == 0
