"""`doctor` says what it found of each role's server, and what is missing before a run."""

import json

import pytest

from proverbench.cli.bodies.doctor import _of_clock
from proverbench.endpoints.served import Served, _models
from proverbench.rehearse import Profile, RehearseServer
from tests.support import write_config


def _found(out: str) -> dict[str, dict[str, object]]:
    return {check["check"]: check for check in json.loads(out)}


def test_a_server_that_works(command, server, tmp_path):
    write_config(tmp_path / "config.toml", server.base_url)
    ended = command("doctor", "--json")
    assert ended.code == 0, ended.err
    found = _found(ended.out)
    assert set(found) == {"config", "keys", "policy", "verifier", "meta", "clock", "disk"}
    assert found["policy"]["model"] == "m-policy"
    assert found["verifier"]["finish_reason"] == "stop"
    assert found["verifier"]["streaming"] is True
    assert found["meta"]["usage"]["output"] > 0  # type: ignore[index]
    assert abs(found["clock"]["server_ahead_s"]) < 60  # type: ignore[arg-type]
    assert len([r for r in server.log if r.method == "POST"]) == 3
    assert {json.loads(r.body)["max_tokens"] for r in server.log if r.method == "POST"} == {64}


def test_for_people(command, server, tmp_path):
    write_config(tmp_path / "config.toml", server.base_url)
    ended = command("doctor")
    assert "policy     model m-policy, context not told, finish reason stop, usage" in ended.out


def test_an_unset_key_and_a_bad_config(command, tmp_path, monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    write_config(tmp_path / "config.toml", "http://127.0.0.1:1/v1", more='api_key_env = "SOME_KEY"')
    ended = command("doctor")
    assert ended.code == 2
    assert "SOME_KEY" in ended.out
    (tmp_path / "config.toml").write_text("[policy]\nmodle = 1\n")
    ended = command("doctor")
    assert ended.code == 2
    assert "modle" in ended.out


def test_a_server_that_is_not_there(command, tmp_path):
    write_config(tmp_path / "config.toml", "http://127.0.0.1:1/v1")
    ended = command("doctor", "--json")
    assert ended.code == 1
    assert _found(ended.out)["policy"]["state"] == "fault"
    assert command("doctor", "--offline").code == 0


def test_a_model_that_the_server_does_not_have(command, tmp_path):
    with RehearseServer.in_thread(profile=Profile(models=frozenset({"other"}))) as server:
        write_config(tmp_path / "config.toml", server.base_url)
        ended = command("doctor", "--json")
    assert ended.code == 1
    assert "m-policy" in str(_found(ended.out)["policy"]["said"])


def test_a_server_that_never_answers_is_told_in_time(command, tmp_path):
    with RehearseServer.in_thread(profile=Profile(faults={"hang": 1.0})) as server:
        write_config(tmp_path / "config.toml", server.base_url)
        ended = command("doctor", "--json", "--timeout", "1")
    assert ended.code == 1
    assert "no answer within" in str(_found(ended.out)["verifier"]["said"])


@pytest.mark.parametrize(("ahead", "state"), [(119.0, "ok"), (121.0, "warning"), (-121.0, "warning")])
def test_a_clock_that_is_off(ahead, state):
    assert [check.state for check in _of_clock([Served(200, (), 0.0), Served(200, (), ahead)])] == [state]


@pytest.mark.parametrize(
    ("row", "context"),
    [
        ({"id": "m", "max_model_len": 40960}, 40960),
        ({"id": "m", "meta": {"n_ctx": 4096}}, 4096),
        ({"id": "m", "context_length": "many"}, None),
        ({"id": "m"}, None),
    ],
    ids=["vllm", "llama.cpp", "not a number", "not told"],
)
def test_contexts_as_servers_tell_them(row, context):
    assert _models(json.dumps({"data": [row, {"no": "id"}]}).encode())[0].context == context


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b'{"data": 3}'])
def test_no_list_of_models(raw):
    assert _models(raw) == ()
