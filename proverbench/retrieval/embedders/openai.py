"""Embedding models behind an OpenAI-compatible ``/embeddings``, with the retries and limits of every endpoint."""

import base64
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Answered, Priority, Reply, Request
from proverbench.endpoints.body import decode
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.error_facts import ErrorFacts, error_facts
from proverbench.endpoints.http import HttpEndpoint, Wire
from proverbench.endpoints.network import address
from proverbench.errors import FatalEndpointError
from proverbench.retrieval.forecast import CHARACTERS_A_TOKEN, cost_usd, effort
from proverbench.retrieval.settings import EmbedderSettings
from proverbench.retrieval.strings import NO_STRINGS, Strings
from proverbench.retrieval.vectors import MissingTexts, Vectors

_QUERY, _DOCUMENT = "query", "document"


class _Item(msgspec.Struct):
    embedding: list[float | None] | str
    """Numbers, or the bytes of little-endian float32 in base64."""
    index: int | None = None


class _Embeddings(msgspec.Struct):
    data: list[_Item] | None = None
    error: Any = None
    model: Any = None
    usage: Any = None


class EmbeddingsEndpoint(HttpEndpoint):
    """One attempt at a time of one batch; the request's prompt is the JSON list of its texts.

    The reply's text is the JSON list of the vectors in the order of the texts, each as little-endian float32 in base64,
    which is a third as long as numbers and takes no parsing.

    Args:
        settings: Address, model, parameters.
        access: Key and headers.
    """

    def __init__(self, settings: EmbedderSettings, *, access: Access) -> None:
        roles = {
            _QUERY: settings.role(settings.query_parameters),
            _DOCUMENT: settings.role(settings.document_parameters),
        }
        super().__init__(
            settings,
            roles,
            url=address(str(settings.base_url), "/embeddings"),
            headers={"Authorization": f"Bearer {access.key}"} if access.key else {},
            access=access,
        )
        self._encoding = settings.encoding

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """Return the request body of a batch."""
        parameters = self.roles[request.role].parameters
        return {"encoding_format": self._encoding, **parameters, "input": json.loads(request.prompt)}

    def read_reply(self, raw: bytes, wire: Wire) -> Reply:
        """Return the batch's vectors; a list that is not one vector a text is no reply."""
        try:
            found = decode(raw, _Embeddings)
        except ValueError:
            raise self.bad_reply(raw, "a 200 whose body is no list of embeddings") from None
        if found.error:
            facts = error_facts({"error": found.error}) or ErrorFacts(message=str(found.error)[:200])
            return self.refused_or_raise(200, facts, wire)
        if not found.data:
            raise self.bad_reply(raw, "a 200 without embeddings")
        items = found.data
        if all(item.index is not None for item in items):
            # Servers may answer in any order, and say so.
            if sorted(item.index or 0 for item in items) != list(range(len(items))):
                raise self.bad_reply(raw, "embeddings whose indices are not 0, 1, 2, ...")
            items = sorted(items, key=lambda item: item.index or 0)
        model = found.model if isinstance(found.model, str) else None
        usage = found.usage if isinstance(found.usage, dict) else None
        try:
            vectors = msgspec.json.encode([_packed(item.embedding) for item in items]).decode()
        except ValueError:
            raise self.bad_reply(raw, "embeddings that are no base64 of float32") from None
        return Reply(text=vectors, finish_reason=None, model=model, usage=usage)


def _packed(embedding: Sequence[float | None] | str) -> str:
    if isinstance(embedding, str):
        if len(base64.b64decode(embedding, validate=True)) % 4:
            raise ValueError
        return embedding
    numbers = np.array([np.nan if number is None else number for number in embedding], dtype="<f4")
    return base64.b64encode(numbers.tobytes()).decode()


def _unpacked(text: str) -> Vectors:
    """Return the vectors of a reply's text; one of another length than most is a row that is not finite."""
    vectors = [np.frombuffer(base64.b64decode(packed), dtype="<f4") for packed in json.loads(text)]
    dim = Counter(len(vector) for vector in vectors).most_common(1)[0][0]
    return np.array([vector if len(vector) == dim and dim else np.full(max(dim, 1), np.nan) for vector in vectors])


class OpenAIEmbedder:
    """An embedding model on a server.

    Args:
        settings: Its table of the config.
        access: Key and headers.
        strings: The release's fixed sentences, if given.
    """

    def __init__(self, settings: EmbedderSettings, access: Access, strings: Strings = NO_STRINGS) -> None:
        self.name = settings.name
        self.template = settings.template(strings)
        self.licence = settings.licence
        self._settings = settings
        self.batch_size = settings.batch_size
        self.concurrency = settings.concurrency
        self._tokens = 0
        self._asked = 0
        self._caller = EndpointCaller(
            EmbeddingsEndpoint(settings, access=access),
            name=settings.name,
            concurrency=settings.concurrency,
            max_retries=settings.max_retries,
            timeout_s=settings.timeout_s,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            normal_stops=None,  # no model's replies
        )

    def identity(self) -> dict[str, Any]:
        """Return model, revision and parameters. Where the server is may change without changing the vectors."""
        return {
            "embedder": "openai",
            "model": self._settings.model,
            "revision": self._settings.revision,
            "parameters": self._settings.parameters,
            "query_parameters": self._settings.query_parameters,
            "document_parameters": self._settings.document_parameters,
        }

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Return a vector for each text, by one request.

        Raises:
            FatalEndpointError: If it stays unanswered: without it nothing can be searched.
        """
        template = self.template
        batch = [template.for_query(text) if is_query else template.for_document(text) for text in texts]
        role = _QUERY if is_query else _DOCUMENT
        self._asked += 1
        request = Request(role=role, prompt=json.dumps(batch), key=f"{role}/{self._asked}")
        await self._caller.acquire(Priority.POLICY)
        outcome = await self._caller.call(request)
        if not isinstance(outcome, Answered):
            raise FatalEndpointError(f"embedder {self.name!r}: {outcome.message}", kind=outcome.error_kind)
        if outcome.reply.refused:
            raise FatalEndpointError(
                f"embedder {self.name!r} refused a batch of {role} texts: {outcome.reply.refused}; "
                "a shorter text or a model with more context is needed",
                kind=f"refused_{outcome.reply.refused}",
            )
        self._tokens += _prompt_tokens(outcome.reply.usage)
        return _unpacked(outcome.reply.text)

    def forecast(self, missing: MissingTexts) -> str:
        """Say how many tokens that is, what they cost, and how long the endpoint's limits make it at least."""
        tokens = missing.characters // CHARACTERS_A_TOKEN
        said = f"{missing.texts:,} texts to embed, about {tokens:,} tokens ({CHARACTERS_A_TOKEN} characters each)"
        return f"{said}, {effort(self._settings, tokens=tokens, requests=-(-missing.texts // self.batch_size))}"

    def notes(self) -> list[str]:
        """Return tokens and cost, as far as the server and the config tell, and the endpoint's remarks."""
        notes = list(self._caller.state.notes)
        if self._tokens:
            cost = cost_usd(self._settings, self._tokens)
            notes.append(f"{self._tokens:,} tokens embedded{'' if cost is None else f', ${cost:.4f}'}")
        return notes

    async def aclose(self) -> None:
        """Close the connections."""
        await self._caller.aclose()


def _prompt_tokens(usage: dict[str, Any] | None) -> int:
    for name in ("prompt_tokens", "total_tokens"):
        if isinstance(found := (usage or {}).get(name), int):
            return int(found)
    return 0
