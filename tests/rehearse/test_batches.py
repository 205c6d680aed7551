import json

import anthropic
import openai
import pytest

from proverbench.rehearse import BatchProfile, Play, Profile, RehearseServer
from proverbench.rehearse.batches import PlayedBatches

N = 20
IDS = [f"policy/p{i}/0/0" for i in range(N)]


def _body(i):
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": f"prompt {i}"}]}


@pytest.fixture
async def server():
    async with RehearseServer() as running:
        yield running


class _OpenAI:
    """Submits, and reads results as ``{custom_id: [kind, …]}``."""

    def __init__(self, server):
        self.client = openai.AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0)

    async def submit(self, ids=range(N)):
        lines = [{"custom_id": IDS[i], "method": "POST", "url": "/v1/chat/completions", "body": _body(i)} for i in ids]
        content = "\n".join(json.dumps(line) for line in lines).encode()
        file = await self.client.files.create(file=("in.jsonl", content), purpose="batch")
        return await self.client.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"run": "r1"},
        )

    async def get(self, batch):
        return await self.client.batches.retrieve(batch.id)

    async def results(self, batch):
        batch = await self.get(batch)
        found = []
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            text = (await self.client.files.content(file_id)).text
            for line in map(json.loads, text.splitlines()):
                if line["error"]:
                    kind = line["error"]["code"].removeprefix("batch_").replace("cancelled", "canceled")
                else:
                    kind = "succeeded" if line["response"]["status_code"] == 200 else "errored"
                    if kind == "succeeded":
                        assert line["response"]["body"]["choices"][0]["finish_reason"] == "stop"
                found.append((line["custom_id"], kind))
        return found

    async def cancel(self, batch):
        return await self.client.batches.cancel(batch.id)

    @staticmethod
    def ended(batch):
        return batch.status in ("completed", "expired", "cancelled", "failed")

    async def listed(self):
        return [batch.id async for batch in self.client.batches.list(limit=2)]


class _Anthropic:
    def __init__(self, server):
        self.client = anthropic.AsyncAnthropic(base_url=server.origin, api_key="k", max_retries=0)

    async def submit(self, ids=range(N)):
        requests = [{"custom_id": IDS[i], "params": _body(i)} for i in ids]
        return await self.client.messages.batches.create(requests=requests)

    async def get(self, batch):
        return await self.client.messages.batches.retrieve(batch.id)

    async def results(self, batch):
        found = []
        async for line in await self.client.messages.batches.results(batch.id):
            if line.result.type == "succeeded":
                assert line.result.message.stop_reason == "end_turn"
            found.append((line.custom_id, line.result.type))
        return found

    async def cancel(self, batch):
        return await self.client.messages.batches.cancel(batch.id)

    @staticmethod
    def ended(batch):
        return batch.processing_status == "ended"

    async def listed(self):
        return [batch.id async for batch in self.client.messages.batches.list(limit=2)]


@pytest.fixture(params=[_OpenAI, _Anthropic], ids=["openai", "anthropic"])
async def api(request, server):
    made = request.param(server)
    yield made
    await made.client.close()


async def test_every_item_once_in_another_order(server, api):
    batch = await api.submit()
    assert api.ended(await api.get(batch))
    results = await api.results(batch)
    assert sorted(results) == sorted((name, "succeeded") for name in IDS)
    assert [name for name, _ in results] != IDS
    assert sorted(server.ledger.answers.values()) == [1] * N


async def test_missing_errored_and_twice(server, api):
    server.profile = Profile(batch=BatchProfile(missing=0.1, errored=0.1, duplicate=0.05))
    results = await api.results(await api.submit())
    names = [name for name, _ in results]
    lost = set(IDS) - set(names)
    failed = {name for name, kind in results if kind == "errored"}
    assert (len(lost), len(failed), len(names) - len(set(names))) == (2, 2, 1)
    # Asked again, they are answered.
    again = await api.submit([IDS.index(name) for name in lost | failed])
    assert {kind for _, kind in await api.results(again)} >= {"succeeded"}


async def test_expires_at_60_percent_once(server, api):
    server.profile = Profile(batch=BatchProfile(expire_at=0.6))
    first, second = await api.submit(), await api.submit()
    kinds = [kind for _, kind in await api.results(first)]
    assert (kinds.count("succeeded"), kinds.count("expired")) == (12, 8)
    assert [kind for _, kind in await api.results(second)] == ["succeeded"] * N


async def test_cancel_keeps_what_is_done(server, api):
    server.profile = Profile(batch=BatchProfile(duration_s=3600))
    batch = await api.submit()
    assert not api.ended(await api.get(batch))
    assert api.ended(await api.cancel(batch))
    assert {kind for _, kind in await api.results(batch)} == {"canceled"}
    assert not server.ledger.answers


async def test_news_of_a_submission_is_lost_but_the_batch_is_listed(server, api):
    server.script = lambda received: Play(ending="reset") if received.path.endswith("/batches") else None
    with pytest.raises((openai.APIConnectionError, anthropic.APIConnectionError)):
        await api.submit()
    server.script = None
    await api.submit()
    await api.submit()
    listed = await api.listed()
    assert len(listed) == server.batches.submitted == 3
    assert listed == sorted(listed, reverse=True)


async def test_metadata_comes_back(server):
    api = _OpenAI(server)
    batch = await api.submit()
    assert (await api.get(batch)).metadata == {"run": "r1"}
    await api.client.close()


async def test_unreadable_item_is_an_error_of_its_own(server):
    api = _Anthropic(server)
    requests = [{"custom_id": "a", "params": {"model": "m", "messages": []}}, {"custom_id": "b", "params": _body(1)}]
    batch = await api.client.messages.batches.create(requests=requests)
    assert sorted(await api.results(batch)) == [("a", "errored"), ("b", "succeeded")]
    await api.client.close()


async def test_batch_that_is_refused(server):
    server.profile = Profile(batch=BatchProfile(reject="no"))
    api = _OpenAI(server)
    batch = await api.get(await api.submit())
    assert (batch.status, batch.errors.data[0].message) == ("failed", "no")
    await api.client.close()


def test_slow_progress():
    now = [0.0]
    answered = []
    desk = PlayedBatches(lambda ask: answered.append(ask.prompt) or (200, {}), clock=lambda: now[0])
    requests = [{"custom_id": str(i), "params": _body(i)} for i in range(10)]
    batch = desk.create_anthropic({"requests": requests}, BatchProfile(duration_s=100))
    seen = []
    for now[0] in (0, 35, 99, 100):
        seen.append((desk.show(batch["id"])["request_counts"]["succeeded"], len(answered)))
    assert seen == [(0, 0), (3, 3), (9, 9), (10, 10)]
    with pytest.raises(KeyError):
        desk.results("msgbatch_9")
