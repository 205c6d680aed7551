import asyncio
import shutil
import ssl
import subprocess
import sys
import textwrap

import pytest
from aiohttp import web

from proverbench.endpoints.base import Answered, Request
from proverbench.endpoints.factory import check_endpoints, close_callers, open_callers
from proverbench.endpoints.network import proxy_for
from proverbench.errors import ConfigError, FatalEndpointError
from proverbench.inputs.config_file import load_config
from proverbench.rehearse.plays import answer, failure, hang
from tests.endpoints.conftest import ask, request
from tests.support import until

TWO = """
[endpoint.shared]
base_url = "{url}"
api_key_env = "JUDGE_KEY"
extra_headers_env = {{ "X-Tenant" = "JUDGE_TENANT" }}
concurrency = 3

[policy]
endpoint = "shared"
model = "writer"
generation = {{ max_tokens = 11 }}

[verifier]
endpoint = "shared"
model = "judge"
generation = {{ max_tokens = 22 }}

[meta]
base_url = "{url}"
model = "grader"
"""


@pytest.fixture
def config(tmp_path, bench, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", " sk-key \n")
    monkeypatch.setenv("JUDGE_TENANT", "t1")
    path = tmp_path / "config.toml"
    path.write_text(TWO.format(url=bench.server.base_url))
    return load_config(path)


async def test_roles_share_an_endpoint_and_keep_their_own_parameters(config, bench):
    callers = await open_callers(config, ["policy", "verifier", "meta"])
    assert callers["policy"] is callers["verifier"] is not callers["meta"]
    await ask(callers["policy"], role="policy")
    await ask(callers["verifier"], role="verifier")
    await ask(callers["meta"], role="meta")
    await close_callers(callers)
    sent = [(got.json["model"], got.json.get("max_tokens"), got.key) for got in bench.server.log]
    assert sent == [("writer", 11, "sk-key"), ("judge", 22, "sk-key"), ("grader", None, "")]
    assert bench.server.log[0].headers["X-Tenant"] == "t1"
    assert "Authorization" not in bench.server.log[2].headers


async def test_concurrency_is_overridden_for_each(config):
    callers = await open_callers(config, ["verifier", "meta"], concurrency=5)
    assert [caller.state.concurrency for caller in callers.values()] == [5, 5]
    await close_callers(callers)


async def test_an_unset_key_is_named(config, monkeypatch):
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(ConfigError, match="JUDGE_KEY, which is not set"):
        await open_callers(config, ["verifier"])


async def test_a_value_that_no_header_can_carry(config, monkeypatch):
    monkeypatch.setenv("JUDGE_TENANT", "a\nb“")
    with pytest.raises(ConfigError, match="JUDGE_TENANT holds characters") as caught:
        await open_callers(config, ["verifier"])
    assert "a\nb" not in str(caught.value)


def test_seeds_are_refused_where_there_are_none(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(
        '[verifier]\nkind = "anthropic"\napi_key_env = "K"\nmodel = "m"\ngeneration = { max_tokens = 5, seed = 1 }\n'
    )
    with pytest.raises(ConfigError, match=r"verifier.generation.seed: kind 'anthropic' knows no seeds"):
        check_endpoints(load_config(path), ["verifier"])


@pytest.mark.parametrize(
    ("kind", "api", "path"),
    [
        ("openai", "chat", "/v1/chat/completions"),
        ("openai", "responses", "/v1/responses"),
        ("anthropic", "", "/v1/messages"),
    ],
)
async def test_each_kind_asks_its_own_path(tmp_path, bench, kind, api, path):
    file = tmp_path / "c.toml"
    file.write_text(
        f'[verifier]\nkind = "{kind}"\nbase_url = "{bench.server.origin}/v1"\nmodel = "m"\n'
        + (f'api = "{api}"\n' if api else "")
        + f"generation = {{ {'max_output_tokens' if api == 'responses' else 'max_tokens'} = 50 }}\n"
    )
    callers = await open_callers(load_config(file), ["verifier"])
    assert isinstance(await ask(callers["verifier"]), Answered)
    assert bench.server.log[0].path == path
    await close_callers(callers)


def test_opening_loads_no_sdk():
    script = textwrap.dedent("""
        import sys
        from proverbench.endpoints import factory, openai, anthropic, responses
        print([name for name in ("openai", "anthropic", "pandas", "scipy", "numpy") if name in sys.modules])
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({"https_proxy": "http://p:1"}, "https://h/v1", "http://p:1"),
        ({"https_proxy": "http://p:1"}, "http://h/v1", None),
        ({"http_proxy": "http://p:1", "no_proxy": "h"}, "http://h/v1", None),
        ({"http_proxy": "http://p:1", "no_proxy": "other"}, "http://h:8000/v1", "http://p:1"),
        ({"all_proxy": "http://p:1"}, "https://h/v1", "http://p:1"),
        ({}, "https://h/v1", None),
    ],
)
def test_proxy_of_the_environment(monkeypatch, environment, url, proxy):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == proxy


async def test_calls_go_through_the_proxy(bench, monkeypatch):
    monkeypatch.setenv("http_proxy", bench.server.origin)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    bench.server.script = [answer("through")]
    outcome = await ask(bench.caller(base_url="http://no-such-host.invalid/v1"))
    assert outcome.reply.text == "through"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with the openssl command")
class TestPrivateAuthority:
    @pytest.fixture
    async def url(self, tmp_path):
        make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
        files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
        made = await asyncio.create_subprocess_exec("openssl", *make.split(), *files, stderr=subprocess.DEVNULL)
        assert await made.wait() == 0
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

        async def answer_all(_):
            return web.json_response({"choices": [{"message": {"content": "safe"}, "finish_reason": "stop"}]})

        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer_all)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "localhost", 0, ssl_context=context).start()
        yield f"https://localhost:{runner.addresses[0][1]}/v1"
        await runner.cleanup()

    async def test_trusted_when_named(self, bench, url, tmp_path, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert (await ask(bench.caller(base_url=url))).reply.text == "safe"

    async def test_else_the_message_says_how(self, bench, url, monkeypatch):
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(FatalEndpointError, match=r"certificate of localhost is not trusted.*SSL_CERT_FILE"):
            await ask(bench.caller(base_url=url))


async def test_release_gives_an_unused_slot_back(config):
    callers = await open_callers(config, ["verifier"], concurrency=1)
    caller = callers["verifier"]
    for _ in range(3):
        await caller.acquire(1)
        caller.release()
    await caller.acquire(1)
    assert isinstance(await caller.call(request()), Answered)
    assert caller.state.in_flight == 0
    await close_callers(callers)


async def test_a_cancelled_call_frees_its_slot(config, bench):
    callers = await open_callers(config, ["verifier"], concurrency=1)
    caller = callers["verifier"]
    bench.server.script = lambda got: hang()
    await caller.acquire(1)
    task = asyncio.create_task(caller.call(Request("verifier", "p", "verifier/p/0/0")))
    await until(lambda: bench.server.log)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (caller.state.in_flight, caller.state.abandoned) == (0, 1)
    await close_callers(callers)


async def test_answers_of_earlier_sessions_count_for_every_role_of_their_endpoint(config, bench):
    bench.server.script = lambda got: failure(400, "no")
    callers = await open_callers(config, ["policy", "verifier", "meta"], answered_before={"policy": 3})
    assert (await ask(callers["verifier"], role="verifier")).status == 400
    with pytest.raises(FatalEndpointError):
        await ask(callers["meta"], role="meta")
    await close_callers(callers)
