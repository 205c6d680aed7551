"""What these tests share: a small world of documents, an embedder without a model, a server that counts."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from proverbench.retrieval.corpus import Corpus
from proverbench.retrieval.records import Document, GoldQuery, Ranking
from proverbench.retrieval.render import TextTemplate, render_own
from proverbench.retrieval.systems.base import Context, System
from proverbench.retrieval.vectors import MissingTexts, Vectors


def make_corpus(*texts: str) -> Corpus:
    """A corpus whose documents are d0, d1, ... with these texts."""
    documents = [Document(id=f"d{i}", name=f"d{i}", text=text) for i, text in enumerate(texts)]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return Corpus(name="small", revision="1", sha256=digest, documents=documents)


def make_context(cache: Path, *texts: str) -> Context:
    """Corpus, rendered texts and cache of a test."""
    corpus = make_corpus(*texts)
    return Context(corpus, [render_own(document) for document in corpus.documents], cache)


def make_query(query_id: str, text: str, *units: list[str], cluster: str = "") -> GoldQuery:
    """A query whose units are in the corpus."""
    return GoldQuery(
        id=query_id,
        text=text,
        cluster=cluster or query_id,
        units=list(units),
        units_left_out=0,
        overlapping=False,
    )


async def lists_of(system: System, queries: Sequence[GoldQuery], k: int = 200) -> dict[str, list[str]]:
    """Every list that a system returns; a query that it cannot answer is an error."""
    found = {}
    async for outcome in system.search(queries, k):
        assert isinstance(outcome, Ranking), outcome
        found[outcome.query_id] = outcome.doc_ids
    return found


class HashEmbedder:
    """Vectors from a hash of the text: an embedder without a model, which counts what it is asked."""

    name = "hash"
    licence = ""
    concurrency = 1

    def __init__(
        self, template: TextTemplate | None = None, *, batch_size: int = 4, fail_at: int | None = None
    ) -> None:
        self.template = template or TextTemplate.plain()
        self.batch_size = batch_size
        self.asked: list[str] = []
        self._fail_at = fail_at
        self._calls = 0

    def identity(self) -> dict[str, Any]:
        return {"embedder": "hash"}

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        self._calls += 1
        if self._calls == self._fail_at:
            raise RuntimeError("killed")
        written = [self.template.for_query(t) if is_query else self.template.for_document(t) for t in texts]
        self.asked += written
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in written]
        return np.array([np.random.Generator(np.random.PCG64(seed)).normal(size=16) for seed in seeds])

    def notes(self) -> list[str]:
        return []

    def forecast(self, missing: MissingTexts) -> str:
        return f"{missing.texts} texts of {missing.characters} characters"

    async def aclose(self) -> None:
        pass


@dataclass
class Seen:
    """One request as the server received it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    at: float


Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class CountingServer:
    """A local server that keeps every request and answers by a function of it."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)


@contextmanager
def serve(
    answer: Callable[[Seen], Answer], clock: Callable[[], float] = time.time, *, alone: bool = True
) -> Iterator[CountingServer]:
    """Serve on 127.0.0.1 at a free port. An answer is status, body (str as is, else JSON) and perhaps headers.

    ``alone``: whether one request is answered at a time.
    """
    state = CountingServer()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            with lock:
                seen = Seen(self.command, self.path, dict(self.headers), json.loads(raw) if raw else None, clock())
                state.seen.append(seen)
                if alone:
                    status, body, *headers = answer(seen)
            if not alone:
                status, body, *headers = answer(seen)
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in headers[0].items() if headers else ():
                self.send_header(name, value)
            with suppress(BrokenPipeError, ConnectionResetError):  # the caller may have gone
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = _handle  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
