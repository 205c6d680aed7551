"""Joins the stages: call, append, parse, in that order. The only module that knows the whole chain."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from proverbench.endpoints.base import Answered, Caller, Outcome, Priority, Request, Unanswered
from proverbench.endpoints.seeds import call_seed
from proverbench.errors import FatalEndpointError, InvalidReply, JournalError, ProverBenchError
from proverbench.journal import now, storable, storable_value
from proverbench.judging import Event, ToJudge, grade_judgments, judge_proofs
from proverbench.plan import ROLES
from proverbench.prompts import Rendered
from proverbench.reading import proof_steps, read_judgment, render
from proverbench.records import GIVEN, AttemptLine, CallKey, CallLine, Role
from proverbench.sampling import Job, sample_proofs
from proverbench.session import Session

_PRIORITY = {"policy": Priority.POLICY, "verifier": Priority.VERIFIER, "meta": Priority.META}
GRACE_S = 5.0
"""After a fault that would hit every call: how long answers of other endpoints that are in flight are waited for."""


@dataclass(slots=True)
class StageCount:
    """Progress of one role, for the display."""

    wanted: int
    """Calls that the role may need in all; fewer when generations turn out invalid."""
    answered: int
    """Answered calls, of earlier sessions too."""
    asked: int = 0
    """Calls asked by this session."""
    got: int = 0
    """Calls answered in this session."""
    in_flight: int = 0
    valid: int = 0
    """Valid replies of this session."""
    unanswered: int = 0


@dataclass(slots=True)
class Progress:
    """What the display reads while a run goes."""

    stages: dict[Role, StageCount] = field(default_factory=dict)


OnAnswer = Callable[[CallLine], None]


class _Stage:
    """One role's way to its endpoint: acquire, call, append."""

    def __init__(self, pipeline: "Pipeline", role: Role, caller: Caller, *, polite: bool) -> None:
        self._pipeline = pipeline
        self._caller = caller
        self._priority = _PRIORITY[role]
        self.polite = polite
        self.count = pipeline.progress.stages[role]
        self.fresh: set[int] = set()
        """Calls answered in this session that nobody has parsed yet."""

    def stopping(self) -> bool:
        return self._pipeline.stopping()

    async def acquire(self) -> bool:
        pipeline = self._pipeline
        if pipeline.stopping():
            return False
        await self._caller.acquire(self._priority)
        if pipeline.stopping():
            self._caller.release()
            return False
        return True

    async def ask(self, job: Job) -> None:
        pipeline, key = self._pipeline, CallKey.parse(job.request.key)
        task = asyncio.current_task()
        pipeline.asking.add(task)
        self.count.asked += 1
        self.count.in_flight += 1
        try:
            pipeline.session.start()
            outcome = await self._caller.call(job.request)
            pipeline.keep(key, job.prompt_sha256, outcome)
            if isinstance(outcome, Answered):
                self.count.answered += 1
                self.count.got += 1
                self.fresh.add(job.number)
            else:
                self.count.unanswered += 1
        except (FatalEndpointError, JournalError) as exc:
            pipeline.fail(exc)
        except asyncio.CancelledError:
            pipeline.abandoned(key)
            # After a fault the pipeline itself gives these calls up, and the chain should end as usual.
            if task not in pipeline.given_up:
                raise
        finally:
            self.count.in_flight -= 1
            pipeline.asking.discard(task)


class Pipeline:
    """Asks what a session's run still lacks.

    Args:
        session: The run, open for writing.
        callers: Role → its endpoint; roles that share an endpoint share the caller.
        on_answer: Told of every answer after it is saved, e.g. to add up its cost; may call :meth:`stop`.
    """

    def __init__(self, session: Session, callers: Mapping[Role, Caller], on_answer: OnAnswer | None = None) -> None:
        self.session = session
        self._callers = callers
        self._on_answer = on_answer or (lambda line: None)
        self._roles = session.sources.manifest.identity.roles
        self._prompt: tuple[int, Rendered, str] | None = None
        self._stages: dict[Role, _Stage] = {}
        self.reason: str | None = None
        """Why nothing new is asked, None while the run goes."""
        self.fault: ProverBenchError | None = None
        """What ended the run, if a fault did."""
        plan, ledger = session.sources.plan, session.sources.ledger
        self.progress = Progress(
            {role: StageCount(plan.size(role), ledger.count(role)) for role in self._roles if plan.size(role)}
        )
        self.asking: set[asyncio.Task[None] | None] = set()
        """Tasks with a call in flight or backing off."""
        self.given_up: set[asyncio.Task[None] | None] = set()
        """Those that were cancelled when the grace after a fault was over."""

    def stopping(self) -> bool:
        """True once nothing new is asked."""
        return self.reason is not None

    def stop(self, reason: str) -> None:
        """Ask nothing new; what is in flight is saved as it comes."""
        if self.reason is None:
            self.reason = reason

    def fail(self, fault: ProverBenchError) -> None:
        """Stop for a fault; what is in flight elsewhere is waited for :data:`GRACE_S` seconds."""
        if self.fault is None:
            self.fault = fault
            self.reason = f"fatal: {fault}"
            asyncio.get_running_loop().call_later(GRACE_S, self._give_up)

    def _give_up(self) -> None:
        self.given_up = set(self.asking)
        for task in self.given_up:
            if task is not None:
                task.cancel()

    def keep(self, key: CallKey, prompt_sha256: str, outcome: Outcome) -> None:
        """Append what a call came to; the reply is on disk when this returns."""
        at = now()
        if isinstance(outcome, Unanswered):
            self.session.unanswered(
                AttemptLine(
                    role=key.role,
                    id=key.id,
                    sample=key.sample,
                    repeat=key.repeat,
                    error=outcome.error_kind,
                    message=storable(outcome.message)[0],
                    status=outcome.status,
                    attempts=outcome.attempts,
                    abandoned=outcome.abandoned,
                    at=at,
                )
            )
            return
        reply = outcome.reply
        text, text_b64 = storable(reply.text)
        reasoning, reasoning_b64 = (None, None) if reply.reasoning is None else storable(reply.reasoning)
        line = CallLine(
            role=key.role,
            id=key.id,
            sample=key.sample,
            repeat=key.repeat,
            prompt_sha256=prompt_sha256,
            text=text,
            text_b64=text_b64,
            reasoning=reasoning,
            reasoning_b64=reasoning_b64,
            finish_reason=storable_value(reply.finish_reason),
            refused=reply.refused,
            usage=storable_value(reply.usage),
            model=storable_value(reply.model),
            fingerprint=storable_value(reply.fingerprint),
            response_id=storable_value(reply.response_id),
            latency_s=round(outcome.latency_s, 4),
            attempts=outcome.attempts,
            abandoned=outcome.abandoned,
            at=at,
        )
        self.session.answered(line)
        self._on_answer(line)

    def abandoned(self, key: CallKey) -> None:
        """Note a call that was in flight when the run was stopped at once; the provider may bill it."""
        try:
            self.session.unanswered(
                AttemptLine(
                    role=key.role,
                    id=key.id,
                    sample=key.sample,
                    repeat=key.repeat,
                    error="cancelled",
                    message="in flight when the run was stopped",
                    abandoned=1,
                    at=now(),
                )
            )
        except JournalError as exc:
            self.fail(exc)

    async def run(self) -> AsyncGenerator[int, None]:
        """Ask until everything is answered, or :meth:`stop` or :meth:`fail` was called.

        Yields:
            Numbers of proofs whose calls are all done, answered or not, in order of completion.
        """
        waiting: dict[int, int] = {}
        if not self.session.sources.plan.n_proofs:
            return  # an empty shard
        repeats = self.session.sources.plan.repeats
        async with aclosing(self._events()) as events:
            async for event in events:
                if event.judgment is None:
                    yield event.proof
                    continue
                left = waiting.pop(event.proof, repeats) - 1
                if left:
                    waiting[event.proof] = left
                else:
                    yield event.proof

    def _events(self) -> AsyncGenerator[Event, None]:
        plan, ledger = self.session.sources.plan, self.session.sources.ledger
        asked = [role for role in reversed(ROLES) if role in self.progress.stages]
        stages = self._stages = {
            role: _Stage(self, role, self._callers[role], polite=self._shares(role, asked))
            for role in asked
            if self._roles[role].kind != GIVEN
        }
        if "policy" in stages:
            proofs = sample_proofs(plan, ledger, lambda proof: self._job("policy", proof), stages["policy"])
        else:
            proofs = self._all_proofs()
        events = judge_proofs(self._to_judge(proofs), plan, ledger, stages["verifier"])
        events = self._parsed(events)
        return grade_judgments(events, self._meta_job, plan, stages["meta"]) if plan.meta else events

    def _shares(self, role: Role, asked: Sequence[Role]) -> bool:
        """Whether a role of higher priority asks the same endpoint."""
        return any(self._callers.get(other) is self._callers.get(role) for other in asked[: asked.index(role)])

    async def _all_proofs(self) -> AsyncGenerator[int, None]:
        for proof in range(self.session.sources.plan.n_proofs):
            if self.stopping():
                return
            yield proof

    async def _to_judge(self, proofs: AsyncGenerator[int, None]) -> AsyncGenerator[ToJudge, None]:
        """Parse each generation; only valid ones go on to the verifier."""
        sources = self.session.sources
        async with aclosing(proofs):
            async for proof in proofs:
                # A finished proof is not even read: opening a large run to resume takes no longer than it must.
                generation = proof_steps(sources, proof) if self._lacks_something(proof) else None
                valid = generation is not None and generation.error is None
                self._count_parsed("policy", proof, valid)
                yield ToJudge(proof, self._judge_jobs(proof) if valid else (), judged=valid)

    def _lacks_something(self, proof: int) -> bool:
        plan, ledger = self.session.sources.plan, self.session.sources.ledger
        roles: tuple[Role, ...] = ("verifier", "meta") if plan.meta else ("verifier",)
        return any(ledger.is_open(role, number) for role in roles for number in plan.judgments(proof))

    def _count_parsed(self, role: Role, number: int, valid: bool) -> None:
        stage = self._stages.get(role)
        if stage is not None and number in stage.fresh:
            stage.fresh.remove(number)
            stage.count.valid += valid

    def _judge_jobs(self, proof: int) -> Iterator[Job]:
        sources = self.session.sources
        for number in sources.plan.judgments(proof):
            if sources.ledger.is_open("verifier", number):
                yield self._job("verifier", number)

    async def _parsed(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Parse each new judgment on its way, for the valid rate that is shown while the run goes."""
        stage = self._stages["verifier"]
        async with aclosing(events):
            async for event in events:
                if event.judgment in stage.fresh:
                    self._count_parsed("verifier", event.judgment, self._is_valid(event.proof, event.judgment))
                yield event

    def _is_valid(self, proof: int, judgment: int) -> bool:
        sources = self.session.sources
        offset = sources.ledger.offset("verifier", judgment)
        generation = proof_steps(sources, proof)
        if offset is None or generation is None:
            return False
        try:
            read_judgment(sources.calls.call_at(offset), self._roles["verifier"], len(generation.steps))
        except InvalidReply:
            return False
        return True

    def _meta_job(self, number: int) -> Job | None:
        ledger = self.session.sources.ledger
        if not ledger.is_open("meta", number) or ledger.offset("verifier", number) is None:
            return None
        try:
            return self._job("meta", number)
        except InvalidReply:
            return None

    def _job(self, role: Role, number: int) -> Job:
        sources = self.session.sources
        key = sources.plan.key(role, number)
        rendered, digest = self._rendered(role, number, key)
        base = self._roles[role].generation.get("seed")
        request = Request(
            role=role,
            prompt=rendered.text,
            key=key.text,
            seed=None if base is None else call_seed(base, key.text),
            cacheable_chars=rendered.cacheable_chars,
        )
        return Job(number, request, digest)

    def _rendered(self, role: Role, number: int, key: CallKey) -> tuple[Rendered, str]:
        """The prompt and its hash; the repeats on one proof share them."""
        if role != "verifier":
            rendered = render(self.session.sources, key)
            return rendered, _sha256(rendered.text)
        proof = number // self.session.sources.plan.repeats
        if self._prompt is None or self._prompt[0] != proof:
            rendered = render(self.session.sources, key)
            self._prompt = (proof, rendered, _sha256(rendered.text))
        return self._prompt[1:]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
