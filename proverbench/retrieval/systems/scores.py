"""What a pointwise reranker's server is asked and answers, in each of five ways; and scores kept for good."""

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.body import decode
from proverbench.endpoints.error_facts import ErrorFacts, error_facts
from proverbench.endpoints.http import HttpEndpoint, Wire
from proverbench.errors import JournalError, TransientError
from proverbench.retrieval.settings import RerankerSettings
from proverbench.run.disk import disk

ROLE = "reranker"
_PATHS = {"score": "/score", "rerank": "/rerank", "tei": "/rerank", "sglang": "/rerank", "chat": "/chat/completions"}
_SYSTEM = re.compile(r"<\|im_start\|>system\n(.*?)<\|im_end\|>", re.DOTALL)
_YES, _NO = "yes", "no"
_TOP_LOGPROBS = 20
_TABLE = "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL, bounded INTEGER)"


@dataclass(frozen=True)
class Frame:
    """What stands around a query and a document before a pointwise model reads them."""

    instruction: str = ""
    prefix: str = ""
    suffix: str = ""
    bare: bool = False
    """Whether the server's own template adds all of that."""

    def query(self, text: str) -> str:
        """Return the first half of the prompt."""
        return text if self.bare else f"{self.prefix}<Instruct>: {self.instruction}\n<Query>: {text}\n"

    def document(self, text: str) -> str:
        """Return the second half of the prompt."""
        return text if self.bare else f"<Document>: {text}{self.suffix}"

    def messages(self, query: str, document: str) -> list[dict[str, str]]:
        """Return both as messages of a chat: the server's chat template adds what stands around them."""
        found = _SYSTEM.search(self.prefix)
        pair = f"<Instruct>: {self.instruction}\n<Query>: {query}\n<Document>: {document}"
        system = found[1] if found else self.prefix
        return [{"role": "system", "content": system}, {"role": "user", "content": pair}]


class _Item(msgspec.Struct):
    index: int | None = None
    score: float | None = None
    relevance_score: float | None = None


class _Reply(msgspec.Struct):
    data: list[_Item] | None = None
    results: list[_Item] | None = None
    error: Any = None
    usage: Any = None


class _Top(msgspec.Struct):
    token: str
    logprob: float


class _Token(msgspec.Struct):
    top_logprobs: list[_Top]


class _Logprobs(msgspec.Struct):
    content: list[_Token]


class _Choice(msgspec.Struct):
    logprobs: _Logprobs


class _Chat(msgspec.Struct):
    choices: list[_Choice] = []
    error: Any = None
    usage: Any = None


class ScoreEndpoint(HttpEndpoint):
    """One attempt at a time of one request; its prompt is JSON of ``query`` and ``documents``.

    The reply's text is JSON of ``scores``, one a document in the order asked, and ``bounded``: whether the
    probability of one word was only known to be no larger than the least that the server told.

    Args:
        settings: Address, model, way of scoring.
        frame: What stands around the texts.
        access: Key and headers.
    """

    def __init__(self, settings: RerankerSettings, frame: Frame, *, access: Access) -> None:
        base = (settings.base_url or "").rstrip("/")
        super().__init__(
            settings,
            {ROLE: settings.role},
            url=base + _PATHS[settings.scoring],
            headers={"Authorization": f"Bearer {access.key}"} if access.key else {},
            access=access,
        )
        self._way = settings.scoring
        self._frame = frame
        self._max_tokens = settings.max_tokens

    async def complete(self, request: Request) -> Reply:
        """Make one attempt; another number of scores than documents is a bad reply."""
        reply = await super().complete(request)
        asked = len(json.loads(request.prompt)["documents"])
        if not reply.refused and (got := len(json.loads(reply.text)["scores"])) != asked:
            raise TransientError(f"a 200 with {got} scores for {asked} documents", kind="bad_reply")
        return reply

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """Return the request body of a query and its documents."""
        pair = json.loads(request.prompt)
        query, documents = pair["query"], pair["documents"]
        first, seconds = self._frame.query(query), [self._frame.document(text) for text in documents]
        parameters = self.roles[ROLE].parameters
        if self._way == "score":
            return {**parameters, "text_1": first, "text_2": seconds, "truncate_prompt_tokens": self._max_tokens}
        if self._way == "rerank":
            cut = {"truncate_prompt_tokens": self._max_tokens}
            return {**parameters, "query": first, "documents": seconds, "top_n": 0, **cut}
        if self._way == "tei":
            return {"query": first, "texts": seconds, "raw_scores": False, "return_text": False, "truncate": True}
        if self._way == "sglang":
            return {"query": first, "documents": seconds, "instruct": self._frame.instruction}
        return {
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": _TOP_LOGPROBS,
            "chat_template_kwargs": {"enable_thinking": False},
            **parameters,
            "messages": self._frame.messages(query, documents[0]),
        }

    def read_reply(self, raw: bytes, wire: Wire) -> Reply:
        """Return the scores; a reply that is not one finite score a document is none."""
        try:
            if self._way == "chat":
                chat = decode(raw, _Chat)
                error, usage = chat.error, chat.usage
                scores = None if error else read_chat(chat)
            else:
                listed = raw.lstrip()[:1] == b"["
                found = _Reply(results=decode(raw, list[_Item])) if listed else decode(raw, _Reply)
                error, usage = found.error, found.usage
                scores = None if error else read_items(found.results if found.data is None else found.data)
        except ValueError as exc:
            raise self.bad_reply(raw, f"a 200 without scores ({exc})") from None
        if error:
            facts = error_facts({"error": error}) or ErrorFacts(message=str(error)[:200])
            return self.refused_or_raise(200, facts, wire)
        text = json.dumps(scores)
        return Reply(text=text, finish_reason=None, usage=usage if isinstance(usage, dict) else None)


def read_items(items: Sequence[_Item] | None) -> dict[str, Any]:
    """Return the scores of a scoring server's list, in the order of the documents.

    Raises:
        ValueError: If a result is missing or comes twice, or a score is not finite.
    """
    if not items:
        raise ValueError("no results")
    if sorted(-1 if item.index is None else item.index for item in items) != list(range(len(items))):
        raise ValueError("indices that are not 0, 1, 2, ...")
    by_index = sorted(items, key=lambda item: item.index or 0)
    scores = [item.relevance_score if item.score is None else item.score for item in by_index]
    if not all(score is not None and math.isfinite(score) for score in scores):
        raise ValueError("a score that is not finite")
    return {"scores": scores, "bounded": False}


def read_chat(chat: _Chat) -> dict[str, Any]:
    """Return P(yes) / (P(yes) + P(no)) at the first token of a chat completion.

    Only the tokens ``yes`` and ``no`` themselves count. One that is not listed is at most as likely as the least that
    is, and is taken as that; where neither is, there is no score.

    Raises:
        ValueError: If there is none.
    """
    tops = chat.choices[0].logprobs.content[0].top_logprobs if chat.choices and chat.choices[0].logprobs.content else []
    known = {top.token: top.logprob for top in tops}
    if not (_YES in known or _NO in known):
        raise ValueError("neither yes nor no among the likeliest tokens")
    least = min(known.values())
    difference = known.get(_NO, least) - known.get(_YES, least)
    if not math.isfinite(difference):
        raise ValueError("a log-probability that is not finite")
    score = 1 / (1 + math.exp(difference)) if difference < 700 else 0.0  # beyond that exp overflows
    return {"scores": [score], "bounded": not (_YES in known and _NO in known)}


class ScoreCache:
    """Scores kept for good, by what was asked: one SQLite file for all rerankers.

    Args:
        path: The file.
        identity: What decides a score apart from query and document.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self._path = path
        self._identity = json.dumps(identity, sort_keys=True)
        with disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._database = sqlite3.connect(path, timeout=60)
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL, bounded INTEGER)"
            )
        except sqlite3.Error as exc:
            raise JournalError(f"{path}: damaged ({exc}); delete it to ask again") from exc

    def read(self, query: str, documents: Sequence[str]) -> list[tuple[float, bool] | None]:
        """Return what is known: score, and whether it is a bound."""
        found: list[tuple[float, bool] | None] = []
        with closing(self._database.cursor()) as cursor:
            for document in documents:
                row = cursor.execute(
                    "SELECT score, bounded FROM scores WHERE key = ?", (self._key(query, document),)
                ).fetchone()
                found.append(None if row is None else (row[0], bool(row[1])))
        return found

    def write(self, query: str, documents: Sequence[str], scores: Sequence[tuple[float, bool]]) -> None:
        """Keep scores.

        Raises:
            JournalError: If the disk refuses it.
        """
        rows = [(self._key(query, document), *score) for document, score in zip(documents, scores, strict=True)]
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?, ?)", rows)
        except sqlite3.Error as exc:
            raise JournalError(f"{self._path}: {exc}") from exc

    def _key(self, query: str, document: str) -> bytes:
        return hashlib.sha256(json.dumps([self._identity, query, document]).encode()).digest()

    def close(self) -> None:
        """Close the file."""
        self._database.close()
