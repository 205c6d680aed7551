import json
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request

import pytest
from click.testing import CliRunner

from proverbench.cli.rehearse import command
from tests.support import HUNG_S


@pytest.fixture
def running():
    started = []

    def start(*options):
        code = "from proverbench.cli.rehearse import command; command()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        origin = re.search(r"http://\S+:\d+", process.stderr.readline())[0]
        return process, origin

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_prints_a_config_and_answers_and_sums_up(running):
    process, origin = running("--seed", "3", "--vary", "seed")
    ask = {"model": "m", "messages": [{"role": "user", "content": "Judge: <assessment>"}], "seed": 5}
    reply = _post(f"{origin}/v1/chat/completions", ask)
    assert "<first_error_step>" in reply["choices"][0]["message"]["content"]
    assert _post(f"{origin}/rehearse/control", {"model": "other"})["answered"] == 1
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HUNG_S)
    config = tomllib.loads(out)
    assert config["endpoint"]["rehearse"]["base_url"] == f"{origin}/v1"
    assert {"policy", "verifier", "meta"} < set(config)
    assert config["policy"]["generation"]["seed"] == 1
    assert json.loads(err)["answered_by_role"] == {"verifier": 1}
    assert process.returncode == 0


def test_config_is_one_that_a_run_takes(running, tmp_path):
    from proverbench.inputs.config_file import load_config

    for kind in ("openai", "anthropic"):
        process, _ = running("--kind", kind)
        process.send_signal(signal.SIGTERM)
        (tmp_path / "rehearse.toml").write_text(process.communicate(timeout=HUNG_S)[0])
        assert load_config(tmp_path / "rehearse.toml").roles["meta"].endpoint.kind == kind


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--latency", "slow"], "lognormal:MEDIAN,SIGMA"),
        (["--faults", "rest=1"], "fault 'rest'"),
        (["--replies", "nowhere"], "calls.jsonl"),
        (["--accept-rate", "2"], "--accept-rate"),
    ],
)
def test_bad_options(options, found):
    result = CliRunner().invoke(command, options)
    assert result.exit_code == 2
    assert found in result.output


def test_dialects_are_listed_and_played(running, tmp_path):
    listed = CliRunner().invoke(command, ["--dialect", "list"])
    assert listed.exit_code == 0
    assert "vllm_abort_then_done" in listed.output
    _, origin = running("--dialect", "eos_for_a_normal_end")
    reply = _post(
        f"{origin}/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Prove it."}]}
    )
    assert reply["choices"][0]["finish_reason"] == "eos_token"
    assert "<step>" in reply["choices"][0]["message"]["content"]
    assert reply["model"] == "m"


def test_an_unknown_dialect_is_refused():
    ended = CliRunner().invoke(command, ["--dialect", "vllm_abort_then_don"])
    assert ended.exit_code == 2
    assert "'vllm_abort_then_done'" in ended.output
