"""Joins the stages: call, append, parse, in that order. The only module that knows the whole chain."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing

from msgspec import UNSET

from proverbench.ask.batching import Batches
from proverbench.ask.judging import Event, ToJudge, grade_judgments, judge_proofs
from proverbench.ask.progress import Progress, StageCount
from proverbench.ask.reserve import Afford
from proverbench.ask.sampling import Job, sample_proofs
from proverbench.ask.stage import LARGE_CHARS, BatchesOf, Stage
from proverbench.ask.systematic import PREFIX
from proverbench.endpoints.base import (
    Caller,
    Outcome,
    Request,
    Unanswered,
)
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.endpoints.seeds import call_seed
from proverbench.errors import (
    EndpointError,
    InvalidReply,
    JournalError,
    ProverBenchError,
    TransientError,
)
from proverbench.protocols.prompts import Rendered, prompt_sha256
from proverbench.records import GIVEN, AttemptLine, CallKey, CallLine, Role, RoleIdentity
from proverbench.run.batches import open_batches
from proverbench.run.extent import ROLES
from proverbench.run.journal import now
from proverbench.run.reading import proof_steps, render
from proverbench.run.session import Session
from proverbench.run.texts import storable, storable_value

GRACE_S = 5.0
"""After a fault that would hit every call: how long answers of other endpoints that are in flight are waited for."""


OnAnswer = Callable[[CallLine | AttemptLine], None]
Tell = Callable[[str], None]


class Pipeline:
    """Asks what a session's run still lacks.

    Args:
        session: The run, open for writing.
        callers: Role → its endpoint; roles that share an endpoint share the caller. A policy without one is not asked.
        on_answer: Told of every answer, and of every reply that was broken off, after it is saved, e.g. to add up its
            cost; may call :meth:`stop`.
        clients: The endpoints' batches. Also needed without ``batched`` where an earlier session left batches open,
            because what is in a batch is not asked in another way.
        batched: Roles whose calls go in batches.
        tell: Takes what batches have to say to the user.
        afford: Asked before each call whether a cap leaves room for it; None: there is no cap.

    Raises:
        ConfigError: If a role's endpoint has no batches but needs them.
    """

    def __init__(
        self,
        session: Session,
        callers: Mapping[Role, Caller],
        on_answer: OnAnswer | None = None,
        *,
        clients: BatchClients | None = None,
        batched: Collection[Role] = (),
        tell: Tell | None = None,
        afford: Afford | None = None,
    ) -> None:
        self.session = session
        self.afford = afford
        self._callers = callers
        self._on_answer = on_answer or (lambda line: None)
        self.batched = batched
        self.tell: Tell = tell or (lambda message: None)
        self._roles = session.sources.manifest.identity.roles
        self._prompt: tuple[int, Rendered, str, int] | None = None
        self.reason: str | None = None
        """Why nothing new is asked, None while the run goes."""
        self.systematic: str | None = None
        """Why nothing new is asked, where every reply of a role was bad for one reason."""
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
        self.leaving = asyncio.Event()
        """Set when batches are not waited for any more."""
        self._stages: dict[Role, Stage] = {}
        self._batches: dict[Role, BatchesOf] = {}
        left = open_batches(session.sources)
        for role in self._roles:
            if clients is not None and (role in batched or role in left):
                client, found = clients.of(role), left.get(role, [])
                self._batches[role] = lambda stage, client=client, found=found: Batches(stage, client, found)  # type: ignore[misc]

    def stopping(self) -> bool:
        """True once nothing new is asked."""
        return self.reason is not None

    def stop(self, reason: str) -> None:
        """Ask nothing new; what is in flight is saved as it comes."""
        if self.reason is None:
            self.reason = reason
            self._stop_callers()

    def heed(self, role: Role, why: str | None) -> None:
        """Ask nothing new where a role's replies are all bad for one reason."""
        if why is not None and not self.stopping():
            self.systematic = why
            self.stop(f"{PREFIX}{role}: {why}")

    def _stop_callers(self) -> None:
        """Nobody waits for a slot any more, nor for another attempt, nor for room under a cap."""
        for stage in self._stages.values():
            if stage.first_look is not None:
                stage.first_look.open()
        if self.afford is not None:
            self.afford.wake()
        for caller in self._callers.values():
            caller.stop()

    def leave(self) -> None:
        """Wait for no batch any more; they go on at the provider, and a later session collects them."""
        self.leaving.set()

    async def cancel_batches(self, *, give_up: bool = False) -> None:
        """Have the providers stop every batch that earlier sessions left, and save what they did.

        Args:
            give_up: Whether batches that a provider does not know are given up.
        """
        self.stop("batches cancelled")
        stages = [Stage(self, role, None, batches, polite=False) for role, batches in self._batches.items()]
        asked = [stage.batches.cancel(give_up=give_up) for stage in stages if stage.batches is not None]
        for fault in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(fault, EndpointError | JournalError):
                self.fail(fault)
            elif fault is not None:
                raise fault

    def fail(self, fault: ProverBenchError) -> None:
        """Stop for a fault; what is in flight elsewhere is waited for :data:`GRACE_S` seconds, batches are not."""
        self.leave()
        if self.fault is None:
            self.fault = fault
            self.reason = f"fatal: {fault}"
            self._stop_callers()
            asyncio.get_running_loop().call_later(GRACE_S, self._give_up)

    def _give_up(self) -> None:
        self.given_up = set(self.asking)
        for task in self.given_up:
            if task is not None:
                task.cancel()

    def identity(self, role: Role) -> RoleIdentity:
        """What the manifest says of a role."""
        return self._roles[role]

    def keep(self, key: CallKey, prompt_sha256: str, outcome: Outcome, *, batch: str | None = None) -> CallLine | None:
        """Append what a call came to; the reply is on disk when this returns.

        Returns:
            The line of an answer; None of a call that got none.
        """
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
                    asked_in=outcome.asked_in or UNSET,
                )
            )
            return None
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
            batch=batch,
            asked_in=outcome.asked_in or UNSET,
        )
        self.session.answered(line)
        self._on_answer(line)
        return line

    def broken(self, key: str, exc: TransientError) -> None:
        """Keep what came of a reply that was broken off; the call itself goes on."""
        partial = exc.partial
        if partial is None:
            return
        of = CallKey.parse(key)
        line = AttemptLine(
            role=of.role,
            id=of.id,
            sample=of.sample,
            repeat=of.repeat,
            error=storable(exc.kind)[0],
            message=storable(str(exc))[0],
            status=exc.status,
            attempts=0,
            at=now(),
            finish_reason=storable_value(partial.finish_reason),
            text_chars=partial.text_chars,
            usage=storable_value(partial.usage),
        )
        try:
            self.session.unanswered(line)
        except JournalError as fault:
            self.fail(fault)
            return
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
            role: Stage(self, role, self._callers[role], self._batches.get(role), polite=self._shares(role, asked))
            for role in asked
            if self._roles[role].kind != GIVEN and role in self._callers
        }
        if "policy" in stages:
            proofs = sample_proofs(plan, ledger, lambda proof: self.job("policy", proof), stages["policy"])
        else:
            proofs = self._all_proofs()
        events = judge_proofs(self._to_judge(proofs), plan, ledger, stages["verifier"])
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
                if generation is not None and sum(map(len, generation.steps)) > LARGE_CHARS:
                    await asyncio.sleep(0)
                yield ToJudge(proof, self._judge_jobs(proof) if valid else (), judged=valid)

    def _lacks_something(self, proof: int) -> bool:
        plan, ledger = self.session.sources.plan, self.session.sources.ledger
        roles: tuple[Role, ...] = ("verifier", "meta") if plan.meta else ("verifier",)
        return any(ledger.is_open(role, number) for role in roles for number in plan.judgments(proof))

    def _judge_jobs(self, proof: int) -> Iterator[Job]:
        sources = self.session.sources
        for number in sources.plan.judgments(proof):
            if sources.ledger.is_open("verifier", number):
                yield self.job("verifier", number)

    def _meta_job(self, number: int) -> Job | None:
        ledger = self.session.sources.ledger
        if not ledger.is_open("meta", number) or ledger.offset("verifier", number) is None:
            return None
        try:
            return self.job("meta", number)
        except InvalidReply:
            return None

    def job(self, role: Role, number: int) -> Job:
        """A call of the run.

        Raises:
            KeyError: If the run lacks the reply that its prompt is made from.
        """
        sources = self.session.sources
        key = sources.plan.key(role, number)
        rendered, digest, n_steps = self._rendered(role, number, key)
        base = self._roles[role].generation.get("seed")
        request = Request(
            role=role,
            prompt=rendered.text,
            key=key.text,
            seed=None if base is None else call_seed(base, key.text),
            cacheable_chars=rendered.cacheable_chars,
        )
        return Job(number, request, digest, n_steps)

    def _rendered(self, role: Role, number: int, key: CallKey) -> tuple[Rendered, str, int]:
        """The prompt, its hash and how many steps it shows; the repeats on one proof share them."""
        sources = self.session.sources
        if role != "verifier":
            rendered = render(sources, key)
            return rendered, prompt_sha256(rendered.text), 0
        proof = number // sources.plan.repeats
        if self._prompt is None or self._prompt[0] != proof:
            rendered = render(sources, key)
            generation = proof_steps(sources, proof)
            self._prompt = (proof, rendered, prompt_sha256(rendered.text), len(generation.steps) if generation else 0)
        return self._prompt[1:]
