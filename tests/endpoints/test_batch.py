"""One batch at a provider: what its results mean, how it is found again, what its requests are."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.batch import BatchClient, BatchState, Found, UnknownBatchError
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.endpoints.factory import open_callers
from proverbench.errors import (
    CallFailedError,
    ConfigError,
    FatalEndpointError,
    RateLimitedError,
    ServerEndedError,
    TransientError,
)
from proverbench.inputs.config import Config, EndpointConfig, RoleConfig
from proverbench.rehearse import BatchProfile, Play, Profile, RehearseServer
from proverbench.spending.money import Spending
from proverbench.spending.prices import Prices
from proverbench.spending.usage import Usage

NOW = datetime.now(UTC)
NAMES = {f"policy-{i}" for i in range(3)}


@pytest.fixture
async def server():
    async with RehearseServer() as running:
        yield running


def config(server, kind, **endpoint):
    url = server.origin if kind == "anthropic" else server.base_url
    where = EndpointConfig(name="here", kind=kind, base_url=url, **endpoint)
    generation = (
        {"max_tokens": 50} if kind == "anthropic" else {"max_tokens": 50, "seed": 1, "extra_body": {"top_k": 3}}
    )
    role = RoleConfig(model="m", generation=generation, endpoint=where)
    return Config(path="config.toml", roles={"policy": role, "verifier": role})


@pytest.fixture
async def clients(server):
    """``clients("openai")`` is a client, closed at the end."""
    made = []

    def make(kind, **endpoint):
        made.append(BatchClients(config(server, kind, **endpoint)))
        return made[-1].of("policy")

    yield make
    for each in made:
        await each.aclose()


def request(i=0, prompt=None):
    return Request(role="policy", prompt=prompt or f"prompt {i}", key=f"policy/p{i}/0/0", cacheable_chars=3)


async def submit(client, batch_id="pb-1", names=NAMES):
    lines = b"".join(client.line(name, request(i)) for i, name in enumerate(sorted(names)))
    return await client.submit(batch_id, io.BytesIO(lines))


def completion(text="<step>a</step>", finish="stop"):
    return {"id": "c1", "choices": [{"index": 0, "message": {"content": text}, "finish_reason": finish}], "model": "m"}


def message(text="<step>a</step>", stop="end_turn"):
    return {"type": "message", "id": "c1", "content": [{"type": "text", "text": text}], "stop_reason": stop}


def openai_line(response=None, error=None, status=200):
    response = None if response is None else {"status_code": status, "request_id": "r", "body": response}
    return json.dumps({"id": "x", "custom_id": "policy-0", "response": response, "error": error})


def anthropic_line(kind, **fields):
    return json.dumps({"custom_id": "policy-0", "result": {"type": kind, **fields}})


def error(status_type, text):
    return {"type": "error", "error": {"type": status_type, "message": text}}


REPLIES = [
    pytest.param("openai", openai_line(completion()), ("<step>a</step>", "stop", None), id="openai-answer"),
    pytest.param("openai", openai_line(completion("", "length")), ("", "length", None), id="openai-cut-off"),
    pytest.param(
        "openai",
        openai_line(error("invalid_request_error", "This model's maximum context length is 9 tokens."), status=400),
        ("", None, "context_length"),
        id="openai-context-length",
    ),
    pytest.param(
        "openai",
        openai_line({"error": {"code": "content_policy_violation", "message": "no"}}, status=400),
        ("", None, "content_policy"),
        id="openai-content-policy",
    ),
    pytest.param(
        "openai", openai_line(completion("\ud800\u2028\x85")), ("\ud800\u2028\x85", "stop", None), id="openai-surrogate"
    ),
    pytest.param("anthropic", anthropic_line("succeeded", message=message()), ("<step>a</step>", "end_turn", None)),
    pytest.param(
        "anthropic",
        anthropic_line("succeeded", message=message("", "refusal")),
        ("", "refusal", "content_policy"),
        id="anthropic-refusal",
    ),
    pytest.param(
        "anthropic",
        anthropic_line("errored", error=error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")),
        ("", None, "context_length"),
        id="anthropic-context-length",
    ),
    pytest.param(
        "anthropic",
        anthropic_line("succeeded", message=message("\udc00")),
        ("\udc00", "end_turn", None),
        id="surrogate",
    ),
]
ERRORS = [
    ("openai", openai_line(error("server_error", "no"), status=500), TransientError, "http_500"),
    ("openai", openai_line({"error": "slow down"}, status=429), RateLimitedError, "http_429"),
    ("openai", openai_line(error("x", "Unsupported parameter: 'top_k'"), status=400), CallFailedError, "http_400"),
    ("openai", openai_line(error("x", "Incorrect API key"), status=401), FatalEndpointError, "http_401"),
    ("openai", openai_line([1, "no error"], status=503), TransientError, "http_503"),
    ("openai", openai_line({"choices": None}), TransientError, "bad_reply"),
    ("openai", openai_line(completion("x", "error")), ServerEndedError, "server_ended:error"),
    ("openai", openai_line(error={"code": "batch_expired", "message": "late"}), TransientError, "batch_expired"),
    ("openai", openai_line(error={"code": "batch_cancelled", "message": "so"}), CallFailedError, "batch_cancelled"),
    ("openai", openai_line(error={"code": "odd", "message": "so"}), TransientError, "http_500"),
    ("openai", openai_line(), TransientError, "http_500"),
    ("anthropic", anthropic_line("errored", error=error("overloaded_error", "busy")), RateLimitedError, "http_529"),
    ("anthropic", anthropic_line("errored", error=error("api_error", "no")), TransientError, "http_500"),
    ("anthropic", anthropic_line("errored", error=error("invalid_request_error", "x")), CallFailedError, "http_400"),
    ("anthropic", anthropic_line("errored", error=error("billing_error", "x")), FatalEndpointError, "http_402"),
    ("anthropic", anthropic_line("errored"), TransientError, "http_500"),
    ("anthropic", anthropic_line("expired"), TransientError, "batch_expired"),
    ("anthropic", anthropic_line("canceled"), CallFailedError, "batch_cancelled"),
    ("anthropic", anthropic_line("succeeded", message={"type": "message"}), TransientError, "bad_reply"),
    ("anthropic", anthropic_line("succeeded"), TransientError, "bad_reply"),
]


async def outcomes(server, client, *lines):
    """What a client makes of a file with these lines, among others that are none."""
    body = "\n".join(["", "no JSON", *lines, '{"custom_id": 3}', "[]"]).encode()
    server.script = lambda received: Play(body=body) if received.path.endswith(("content", "results")) else None
    state = BatchState("batch_1", "ended", files=("file-1",))
    return [result.outcome async for result in client.results(state, "policy") if result.custom_id == "policy-0"]


class TestResults:
    @pytest.mark.parametrize(("kind", "line", "expected"), REPLIES)
    async def test_replies(self, server, clients, kind, line, expected):
        (found,) = await outcomes(server, clients(kind), line)
        assert isinstance(found, Reply)
        assert (found.text, found.finish_reason, found.refused) == expected

    @pytest.mark.parametrize(("kind", "line", "type_", "word"), ERRORS)
    async def test_errors(self, server, clients, kind, line, type_, word):
        (found,) = await outcomes(server, clients(kind), line)
        assert type(found) is type_
        assert found.kind == word

    async def test_errors_mean_the_same_as_to_a_direct_call(self, server, clients):
        for status in (400, 401, 402, 404, 408, 422, 429, 500, 503, 529):
            body = error("x", "words")
            (batched,) = await outcomes(server, clients("openai"), openai_line(body, status=status))
            play = Play(status=status, body=body)
            server.script = lambda received, play=play: play
            opened = await open_callers(config(server, "openai"), ["policy"])
            try:
                with pytest.raises(type(batched)) as direct:
                    await opened["policy"]._endpoint.complete(request())
            finally:
                await opened["policy"].aclose()
            assert (str(batched), batched.kind) == (str(direct.value), direct.value.kind)


class TestRequests:
    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    async def test_bodies_are_those_of_direct_calls(self, server, clients, kind):
        opened = await open_callers(config(server, kind), ["policy"])
        await opened["policy"].acquire(0)
        await opened["policy"].call(request(7))
        await opened["policy"].aclose()
        line = json.loads(clients(kind).line("policy-7", request(7)))
        body = line["params"] if kind == "anthropic" else line["body"]
        assert body == server.log[0].json
        assert line["custom_id"] == "policy-7"

    async def test_lone_surrogates_and_every_line_end(self, server, clients):
        for kind in ("openai", "anthropic"):
            client = clients(kind)
            prompt = "a\ud800\n\r\u2028\x85\x00b"
            line = client.line("policy-0", request(prompt=prompt))
            assert line.count(b"\n") == 1
            state = await client.submit("pb-1", io.BytesIO(line))
            found = [result async for result in client.results(state, "policy")]
            assert isinstance(found[0].outcome, Reply)


class TestFinding:
    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    async def test_among_many(self, server, clients, kind, monkeypatch):
        monkeypatch.setattr(BatchClient, "page", 2)
        client = clients(kind)
        wanted = await submit(client)
        for i in range(5):
            await submit(client, f"pb-{i + 2}", {f"policy-{i}{j}" for j in range(3)})
        found = await client.find("pb-1", NAMES, NOW, set())
        assert found.state == await client.look(wanted.remote)

    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    async def test_none(self, server, clients, kind):
        client = clients(kind)
        await submit(client, "pb-2", {"policy-a", "policy-b", "policy-c"})
        assert await client.find("pb-1", NAMES, NOW, set()) == Found(None, [] if kind == "anthropic" else ())

    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    async def test_what_is_too_old_is_not_looked_at(self, server, clients, kind, monkeypatch):
        monkeypatch.setattr(BatchClient, "page", 1)
        client = clients(kind)
        for i in range(4):
            await submit(client, f"pb-{i + 2}", {"policy-a", "policy-b", "policy-c"})
        server.reset()
        await client.find("pb-1", NAMES, NOW + timedelta(days=1), set())
        assert len(server.log) == 1

    async def test_anthropic_tells_only_by_results(self, server, clients):
        client = clients("anthropic")
        server.profile = Profile(batch=BatchProfile(duration_s=3600))
        going = await submit(client)
        await submit(client, "pb-2", {"policy-a", "policy-b"})
        assert await client.find("pb-1", NAMES, NOW, set()) == Found(None, [going.remote])
        assert await client.find("pb-1", NAMES, NOW, {going.remote}) == Found(None, [])
        await client.cancel(going.remote)
        found = await client.find("pb-1", NAMES, NOW, set())
        assert (found.state.remote, found.state.status) == (going.remote, "cancelled")


class TestStates:
    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    async def test_cancelling_what_is_over_or_unknown(self, server, clients, kind):
        client = clients(kind)
        state = await submit(client)
        server.script = lambda received: Play(status=409, body={}) if received.path.endswith("cancel") else None
        assert (await client.cancel(state.remote)).status == "ended"
        server.script = None
        for ask in (client.cancel, client.look):
            with pytest.raises(UnknownBatchError):
                await ask("batch_999")

    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    @pytest.mark.parametrize("body", [b"", b"<html></html>", b"[]", b'{"id": 3}', b'{"data": null}'])
    async def test_what_is_no_batch(self, server, clients, kind, body):
        client = clients(kind)
        server.script = lambda received: Play(body=body)
        for ask in (submit(client), client.look("batch_1"), client.find("pb-1", NAMES, NOW, set())):
            with pytest.raises(TransientError, match="what came is none"):
                await ask

    async def test_nobody_there(self, server, clients):
        client = clients("openai")
        await server.stop()
        with pytest.raises(TransientError, match="batch batch_1"):
            await client.look("batch_1")

    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    async def test_a_key_is_never_told(self, server, clients, kind, monkeypatch):
        monkeypatch.setenv("SECRET", "sk-abcdefghijklmnop")
        client = clients(kind, api_key_env="SECRET")
        server.revoke()
        with pytest.raises(FatalEndpointError) as told:
            await submit(client)
        assert "abcdefgh" not in str(told.value)


def test_kinds_without_batches():
    role = RoleConfig(model="m", endpoint=EndpointConfig(name="here", kind="embedded"))
    with pytest.raises(ConfigError, match="'embedded' have no batches"):
        BatchClients(Config(path="config.toml", roles={"policy": role})).of("policy")


def test_batches_cost_their_share():
    million = Usage(input=1_000_000, cached_input=0, cache_write=0, output=1_000_000)
    for share, expected in ((0.5, 10 + 5), (None, 20), (0.0, 10)):
        spending = Spending(prices=Prices(input=2.0, output=8.0, batch=share))
        spending.add(million)
        spending.add(million, batch=True)
        assert spending.cost.usd == expected
        assert spending.forecast(4).usd == 2 * expected
        assert spending.usage.total == 4_000_000
