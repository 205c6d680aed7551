"""A model that scores each document with the query by itself; the first results of a system sorted by that score."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Answered, Priority, Request
from proverbench.endpoints.caller import EndpointCaller
from proverbench.errors import FatalEndpointError
from proverbench.retrieval.records import GoldQuery, Unanswered
from proverbench.retrieval.settings import OWN_INSTRUCTION, RerankerSettings
from proverbench.retrieval.strings import QUERY_INSTRUCTION, RERANKER_FRAME, Strings
from proverbench.retrieval.systems.base import Context, System
from proverbench.retrieval.systems.rerank import Reranking
from proverbench.retrieval.systems.scores import ROLE, Frame, ScoreCache, ScoreEndpoint

PROBE = (
    "addition of natural numbers is commutative",
    "theorem Nat.add_comm (m n : ℕ) : m + n = n + m. The sum of two natural numbers does not depend on their order.",
    "structure SimpleGraph: a graph without loops, given by a symmetric and irreflexive relation on its vertices.",
)
"""A query, a document that answers it and one that does not: a server that scores them the other way lacks the
model's template, and would order everything about at random."""


def frame_of(settings: RerankerSettings, strings: Strings) -> Frame:
    """Return what stands around query and document.

    Raises:
        ConfigError: If the release's frame is wanted without its sentences.
    """
    instruction = settings.instruction or strings.texts.get(QUERY_INSTRUCTION) or OWN_INSTRUCTION
    frame = settings.frame or ("none" if settings.scoring in ("tei", "sglang") else "released")
    if frame == "none" and settings.scoring != "chat":
        return Frame(instruction, bare=True)
    prefix, suffix = strings.need(RERANKER_FRAME, f"[reranker.{settings.name}] with scoring {settings.scoring}")
    return Frame(instruction, prefix, suffix)


class PointwiseSystem(Reranking):
    """The first results of another system, sorted by a model's score of each; equal scores keep their order.

    A reply without a score for each document is asked again, and at last leaves the query unanswered: never the old
    order in silence.

    Args:
        spec: How the command line names it.
        settings: The model's table of the config.
        access: Key and headers.
        base: The system whose results are reordered.
        context: Corpus and cache.
    """

    def __init__(self, spec: str, settings: RerankerSettings, access: Access, base: System, context: Context) -> None:
        super().__init__(spec, settings, base, context)
        self._frame = frame_of(settings, context.strings)
        self._per_request = 1 if settings.scoring == "chat" else settings.batch_size
        self._lists = asyncio.Semaphore(settings.concurrency)
        self._checking = asyncio.Lock()
        self._checked = False
        self._asked = 0
        self._bounded = 0
        self._scores = ScoreCache(context.cache / "answers" / "scores.sqlite", self._decides())
        self._caller = EndpointCaller(
            ScoreEndpoint(settings, self._frame, access=access),
            name=settings.name,
            concurrency=settings.concurrency,
            max_retries=settings.max_retries,
            timeout_s=settings.timeout_s,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            normal_stops=None,
            missing_finish_accepted=True,
        )

    def _decides(self) -> dict[str, Any]:
        """Return what decides a score apart from query and document."""
        return {
            "model": self.settings.model,
            "scoring": self.settings.scoring,
            "generation": self.settings.generation,
            "max_tokens": self.settings.max_tokens,
            "query_frame": self._frame.query("{query}"),
            "document_frame": self._frame.document("{document}"),
            "instruction": self._frame.instruction,
        }

    def identity(self) -> dict[str, Any]:
        """Return style, model, way, frame, depth and the base's identity."""
        return {
            "kind": "rerank",
            "style": "pointwise",
            **self._decides(),
            "depth": self.settings.seen,
            "base": self.base.identity(),
        }

    @property
    def requests_a_list(self) -> int:
        """Return how many requests score one list."""
        return -(-self.settings.seen // self._per_request)

    async def acquire(self) -> bool:
        """Wait until a list may be worked on."""
        await self._lists.acquire()
        return True

    def release(self) -> None:
        """Let another list be worked on."""
        self._lists.release()

    async def order(self, query: GoldQuery, candidates: Sequence[str]) -> Sequence[int] | Unanswered:
        """Score what has no score yet, then sort."""
        try:
            known = self._scores.read(query.text, candidates)
            missing = [at for at, score in enumerate(known) if score is None]
            size = self._per_request
            if missing:
                await self._check()
            parts = [missing[start : start + size] for start in range(0, len(missing), size)]
            failed = await asyncio.gather(*(self._fill(query, candidates, known, part) for part in parts))
        finally:
            self.release()
        for failure in failed:
            if failure is not None:
                return failure
        scores = [score for score in known if score is not None]
        self._bounded += sum(bounded for _, bounded in scores)
        return sorted(range(len(scores)), key=lambda at: -scores[at][0])

    async def _fill(
        self,
        query: GoldQuery,
        candidates: Sequence[str],
        known: list[tuple[float, bool] | None],
        part: Sequence[int],
    ) -> Unanswered | None:
        """Ask for the scores of some candidates, keep them, and put them where they belong."""
        documents = [candidates[at] for at in part]
        scores = await self._ask(query.id, query.text, documents)
        if isinstance(scores, Unanswered):
            return scores
        self._scores.write(query.text, documents, scores)
        for at, score in zip(part, scores, strict=True):
            known[at] = score
        return None

    async def _ask(self, query_id: str, query: str, documents: Sequence[str]) -> list[tuple[float, bool]] | Unanswered:
        self._asked += 1
        prompt = json.dumps({"query": query, "documents": documents})
        await self._caller.acquire(Priority.POLICY)
        outcome = await self._caller.call(Request(role=ROLE, prompt=prompt, key=f"{ROLE}/{query_id}/{self._asked}"))
        if not isinstance(outcome, Answered):
            return Unanswered(query_id, outcome.error_kind, outcome.message)
        if outcome.reply.refused:
            return Unanswered(query_id, f"refused_{outcome.reply.refused}", f"refused: {outcome.reply.refused}")
        found = json.loads(outcome.reply.text)
        return [(score, found["bounded"]) for score in found["scores"]]

    async def _check(self) -> None:
        """Send a pair that fits and one that does not, once.

        Raises:
            FatalEndpointError: If the second scores as high as the first.
        """
        async with self._checking:
            if self._checked:
                return
            query, fits, does_not = PROBE
            scores: list[float] = []
            for document in (fits, does_not):
                found = await self._ask("probe", query, [document])
                if isinstance(found, Unanswered):
                    raise FatalEndpointError(f"reranker {self.settings.name!r}: {found.message}", kind=found.kind)
                scores += [score for score, _ in found]
            if scores[0] <= scores[1]:
                raise FatalEndpointError(
                    f"reranker {self.settings.name!r} scores a document that does not fit ({scores[1]:.4f}) as high as "
                    f"one that does ({scores[0]:.4f}): the server lacks the model's template, or frame is not the one "
                    "that the model was trained with",
                    kind="reversed_scores",
                )
            self._checked = True

    def notes(self) -> list[str]:
        """Return how many scores are bounds, and the endpoint's remarks."""
        notes = [*self.base.notes(), *self._caller.state.notes]
        if self._bounded:
            notes.append(f"{self._bounded} scores are bounds: yes or no was not among the likeliest tokens")
        return notes

    async def aclose(self) -> None:
        """Close connections and cache; who made the base closes it."""
        await self._caller.aclose()
        self._scores.close()
