"""A language model that reorders the first results of any system, through the endpoints of this program."""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from proverbench.concurrency import Ready, bounded_map
from proverbench.endpoints.base import Answered, Caller, Priority, Request
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.inputs.config import Config
from proverbench.retrieval.answers import AnswerCache
from proverbench.retrieval.forecast import CHARACTERS_A_TOKEN, effort
from proverbench.retrieval.records import GoldQuery, Ranking, Unanswered
from proverbench.retrieval.settings import RerankerSettings
from proverbench.retrieval.systems.base import Context, Outcome, System, forecast_of
from proverbench.shipped import shipped

_PLACEHOLDER = re.compile(r"\{(query|candidates)\}")
_RANKING = re.compile(r"<ranking>([^<]*)</ranking>", re.IGNORECASE)
_TAG = re.compile(r"<(?=\s*/?\s*ranking)", re.IGNORECASE)
_ROLE = "reranker"


def load_prompt() -> str:
    """Return this project's own prompt."""
    return shipped("prompts/rerank.txt").read_text(encoding="utf-8")


def render_prompt(template: str, query: str, candidates: Sequence[str]) -> str:
    """Fill the template in one pass; the answer's tag in a query or a document is shown with ``&lt;``."""

    def shown(text: str) -> str:
        return _TAG.sub("&lt;", text)

    listed = "\n\n".join(f"[{number}] {shown(text)}" for number, text in enumerate(candidates, start=1))
    filled = {"query": shown(query), "candidates": listed}
    return _PLACEHOLDER.sub(lambda match: filled[match[1]], template)


def parse_order(reply: str, n_candidates: int) -> list[int] | None:
    """Read the order that a model gave.

    Args:
        reply: Its text; what precedes the last ``</think>`` is ignored.
        n_candidates: How many there were.

    Returns:
        Indices from 0, each once: those that the model named, at their first place, then the others in their old
        order. None when there is not exactly one ``<ranking>`` that names a candidate.
    """
    final = reply.rpartition("</think>")[2]
    found = _RANKING.findall(final)
    if len(found) != 1:
        return None
    numbers = [int(number) for number in re.findall(r"[0-9]{1,6}", found[0])]
    named = list(dict.fromkeys(number - 1 for number in numbers if 1 <= number <= n_candidates))
    if not named:
        return None
    return named + [index for index in range(n_candidates) if index not in set(named)]


def texts_by_result(context: Context) -> dict[str, str]:
    """Return the document text for every row id, and for every full name that of its first row."""
    texts: dict[str, str] = {}
    for document, text in zip(context.corpus.documents, context.texts, strict=True):
        texts[document.id] = text
        texts.setdefault(document.name or document.id, text)
    return texts


class Reranking(ABC):
    """The list of another system, its first results reordered by a model.

    Args:
        spec: How the command line names it.
        settings: The model's table of the config.
        base: The system whose results are reordered.
        context: Corpus and cache.
    """

    def __init__(self, spec: str, settings: RerankerSettings, base: System, context: Context) -> None:
        self.spec = spec
        self.external = base.external
        self.own_corpus = base.own_corpus
        self.own_missing = base.own_missing
        self.licence = ", ".join(dict.fromkeys(part for part in (base.licence, settings.licence) if part))
        self.context = context
        self.settings = settings
        self.base = base
        self._text_of = texts_by_result(context)

    @property
    def requests_a_list(self) -> int:
        """How many requests one list takes."""
        return 1

    @abstractmethod
    async def acquire(self) -> bool:
        """Wait until a list may be worked on; False when nothing new should be asked."""

    @abstractmethod
    def release(self) -> None:
        """Give back what :meth:`acquire` took."""

    @abstractmethod
    async def order(self, query: GoldQuery, candidates: Sequence[str]) -> Sequence[int] | Unanswered:
        """Order candidates' texts, best first, as indices; gives back the slot that is held."""

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Search with the base, then ask the model about each list as slots become free."""
        asked = {query.id: query for query in queries}

        async def lists() -> AsyncGenerator[Ranking | Ready[Outcome], None]:
            async with aclosing(self.base.search(queries, k)) as outcomes:
                async for outcome in outcomes:
                    yield outcome if isinstance(outcome, Ranking) else Ready(outcome)

        async def acquire() -> bool:
            if not await self.acquire():
                return False
            if self.context.stopping():
                self.release()
                return False
            return True

        async def work(ranking: Ranking) -> Outcome:
            return await self._reordered(asked[ranking.query_id], ranking)

        async with aclosing(bounded_map(lists(), work, acquire=acquire)) as results:
            async for result in results:
                yield result

    def forecast(self, queries: Sequence[GoldQuery]) -> list[str]:
        """Return the base's forecast, how much the model may be asked, and what that takes."""
        n, seen = len(queries), self.settings.seen
        listwise = self.settings.style == "listwise"
        asked = f"{n:,} lists" if listwise else f"{n * seen:,} documents"
        queries_read = sum(len(query.text) for query in queries) * (1 if listwise else seen)
        documents_read = n * seen * sum(map(len, self.context.texts)) // max(1, len(self.context.texts))
        tokens = (queries_read + documents_read) // CHARACTERS_A_TOKEN
        takes = effort(self.settings, tokens=tokens, requests=n * self.requests_a_list)
        said = f"{self.spec}: up to {asked} go to {self.settings.model}, about {tokens:,} tokens"
        return [*forecast_of(self.base, queries), f"{said} ({CHARACTERS_A_TOKEN} characters each), {takes}"]

    async def _reordered(self, query: GoldQuery, ranking: Ranking) -> Outcome:
        """Reorder one list in the slot that is held."""
        head = list(dict.fromkeys(ranking.doc_ids))[: self.settings.seen]
        rest = [row for row in ranking.doc_ids if row not in set(head)]
        if len(head) < 2:
            self.release()
            return ranking
        order = await self.order(query, [self._text_of.get(row, row) for row in head])
        if isinstance(order, Unanswered):
            return order
        return Ranking(query.id, [*(head[index] for index in order), *rest])


class RerankSystem(Reranking):
    """A language model that is shown the first results and orders them.

    An unreadable reply is data: the order stays as it was and the reply is counted in ``notes``.
    """

    def __init__(self, spec: str, settings: RerankerSettings, base: System, context: Context) -> None:
        super().__init__(spec, settings, base, context)
        self._unreadable = 0
        self._template = load_prompt()
        self._callers: dict[str, Caller] = {}
        self._answers = AnswerCache(context.cache / "answers" / "rerank")

    def identity(self) -> dict[str, Any]:
        """Return model, request parameters, prompt, depth and the base's identity."""
        return {
            "kind": "rerank",
            "model": self.settings.role.identity().model,
            "endpoint_kind": self.settings.kind,
            "generation": self.settings.generation,
            "depth": self.settings.seen,
            "prompt_sha256": hashlib.sha256(self._template.encode()).hexdigest(),
            "base": self.base.identity(),
        }

    async def acquire(self) -> bool:
        """Wait for a slot of the model."""
        await (await self._caller()).acquire(Priority.POLICY)
        return True

    def release(self) -> None:
        """Give a slot back."""
        self._callers[_ROLE].release()

    async def order(self, query: GoldQuery, candidates: Sequence[str]) -> Sequence[int] | Unanswered:
        """Ask the model, or read what it once said."""
        prompt = render_prompt(self._template, query.text, candidates)
        kept = {"model": self.settings.model, "generation": self.settings.generation, "prompt": prompt}
        reply = self._answers.read(kept)
        if reply is None:
            caller = await self._caller()
            outcome = await caller.call(Request(role=_ROLE, prompt=prompt, key=f"{_ROLE}/{query.id}/0/0"))
            if not isinstance(outcome, Answered):
                return Unanswered(query.id, outcome.error_kind, outcome.message)
            reply = outcome.reply.text
            self._answers.write(kept, reply)
        else:
            self.release()
        order = parse_order(reply, len(candidates))
        if order is None:
            self._unreadable += 1
            return range(len(candidates))
        return order

    async def _caller(self) -> Caller:
        if not self._callers:
            config = Config(path=Path("--config"), roles={_ROLE: self.settings.role})
            self._callers = await open_callers(config, [_ROLE])
        return self._callers[_ROLE]

    def notes(self) -> list[str]:
        """Return how many replies could not be read, and the endpoint's remarks."""
        notes = [*self.base.notes(), *(note for caller in self._callers.values() for note in caller.state.notes)]
        if self._unreadable:
            replies = "1 reply" if self._unreadable == 1 else f"{self._unreadable} replies"
            notes.append(f"{replies} could not be read; the order stayed as it was")
        return notes

    async def aclose(self) -> None:
        """Close the model's connections; who made the base closes it."""
        await close_callers(self._callers)
        self._callers = {}
