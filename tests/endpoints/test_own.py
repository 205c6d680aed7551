"""Endpoints that a Python program brings along."""

import json
import re
import subprocess
import sys

import pytest

from proverbench import ConfigError, EndpointError, Reply, RunMismatchError, load_problems, run_prover, run_verifier
from proverbench.errors import CallFailedError
from tests.support import ROOT, every, problem_rows, proof_rows, run_process, write_config, write_rows

VERDICT = "<assessment>Read.</assessment><errors></errors><first_error_step>-1</first_error_step>"


class Own:
    """Answers by role, or raises; counts its calls."""

    def __init__(self, *, fails=None, model="mine"):
        self.model = model
        self.asked = 0
        self._fails = fails

    async def ask(self, request):
        self.asked += 1
        if self._fails is not None and (fault := self._fails(self.asked)) is not None:
            raise fault
        return Reply("<step>One.</step>" if request.role == "policy" else VERDICT, finish_reason="stop")


@pytest.fixture
def problems(tmp_path):
    return load_problems(write_rows(tmp_path / "problems.jsonl", problem_rows(4))).rows


def test_the_documented_example(tmp_path):
    page = (ROOT / "docs" / "python.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (printed,) = re.findall(r"it prints `(.*?)`", page)
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    (tmp_path / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, printed), done.stderr
    shown = run_process("inspect", "mine", cwd=tmp_path)
    assert "writer-1" in shown.out
    assert run_process("score", "mine", cwd=tmp_path).code == 0


async def test_one_role_of_a_config_is_replaced(problems, server, tmp_path):
    config = write_config(tmp_path / "config.toml", server.base_url)
    own = Own()
    records = [r async for r in run_prover(problems, config, endpoints={"verifier": own}, verifier_repeats=2)]
    assert own.asked == 2 * sum(record.generation_error is None for record in records)
    assert server.stats()["answered_by_role"] == {"policy": 4}


async def test_roles_that_share_an_object_share_its_limits(problems):
    own = Own()
    own.concurrency = 2
    records = [r async for r in run_prover(problems, endpoints={"policy": own, "verifier": own}, verifier_repeats=2)]
    assert all(record.complete for record in every(records))
    assert own.asked == 4 + 8


async def test_a_run_is_continued_by_the_same_model_alone(problems, tmp_path):
    async def run(own, repeats):
        endpoints = {"policy": own, "verifier": own}
        return [
            r async for r in run_prover(problems, endpoints=endpoints, verifier_repeats=repeats, folder=tmp_path / "r")
        ]

    await run(Own(), 1)
    again = Own()
    await run(again, 2)
    assert again.asked == 4
    with pytest.raises(RunMismatchError, match=r"roles\.policy"):
        await run(Own(model="another"), 3)
    identity = json.loads((tmp_path / "r" / "manifest.json").read_bytes())["identity"]
    assert identity["roles"]["policy"]["kind"] == "own"
    resumed = run_process("run", "--resume", tmp_path / "r", "--verifier-repeats", "3", cwd=tmp_path)
    assert resumed.code == 2
    assert "docs/python.md" in resumed.err


async def test_faults(problems, tmp_path):
    endpoints = {"policy": Own(), "verifier": Own(fails=lambda n: OSError("gone") if n == 1 else None)}
    records = [r async for r in run_prover(problems, endpoints=endpoints, verifier_repeats=1)]
    assert all(record.complete for record in records)  # asked again

    failing = Own(fails=lambda n: CallFailedError("no", kind="no") if n == 2 else None)
    records = [r async for r in run_prover(problems, endpoints={"policy": Own(), "verifier": failing})]
    assert sum(record.complete for record in records) == 3

    broken = {"policy": Own(fails=lambda n: ZeroDivisionError()), "verifier": Own()}
    with pytest.raises(EndpointError, match=r"Own.ask raised ZeroDivisionError"):
        async for _ in run_prover(problems, endpoints=broken):
            pass


@pytest.mark.parametrize(
    ("own", "said"),
    [(object(), "without ask"), (type("No", (), {"ask": 1})(), "without ask")],
)
async def test_what_is_no_endpoint_is_refused(tmp_path, own, said):
    proofs = write_rows(tmp_path / "proofs.jsonl", proof_rows(1))
    from proverbench import load_proofs

    with pytest.raises(ConfigError, match=said):
        async for _ in run_verifier(load_proofs(proofs).rows, endpoints={"verifier": own}):
            pass


async def test_another_reply_is_refused(problems):
    class Wrong:
        async def ask(self, request):
            return "<step>One.</step>"

    with pytest.raises(EndpointError, match=r"returned a str; wanted a proverbench\.Reply"):
        async for _ in run_prover(problems, endpoints={"policy": Wrong(), "verifier": Own()}):
            pass


def test_a_config_cannot_name_the_kind(command, tmp_path):
    (tmp_path / "own.toml").write_text('[verifier]\nmodel = "m"\nkind = "own"\n')
    write_rows(tmp_path / "proofs.jsonl", proof_rows(1))
    ended = command("verify", "--data", "proofs.jsonl", "--config", "own.toml", "--dry-run")
    assert ended.code == 2
    assert "verifier.kind is 'own', which is for endpoints that a Python program passes" in ended.err
