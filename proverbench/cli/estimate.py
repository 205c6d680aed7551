"""What `--dry-run` prints: the call budget, and what it may cost under stated assumptions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from proverbench.ask.cache_first import WAIT_FROM_CHARS
from proverbench.ask.forewarn import forewarnings, given_proofs, no_room, reader_of
from proverbench.ask.parts import PreparedRun
from proverbench.benchmark import benchmark_of
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.endpoints.network import unreachable
from proverbench.errors import ConfigError, InvalidReply
from proverbench.protocols.prompts import render_meta, render_policy, render_verifier
from proverbench.records import GIVEN, CallFacts, CallKey, CallLine, Generation, Proof, Role, Row, Verdict
from proverbench.run.extent import Plan, row_id
from proverbench.run.reading import proof_steps
from proverbench.run.sources import Sources
from proverbench.spending.forecast import CacheSaving, Forecast, cache_saving, learn, shown
from proverbench.spending.money import (
    CHARS_PER_TOKEN,
    DEFAULT_OUTPUT_TOKENS,
    Cost,
    Estimate,
    assumptions,
    estimate,
    output_limit,
)
from proverbench.spending.usage import Usage, normalise_usage


@dataclass(frozen=True)
class RoleEstimate:
    """What the calls of one role that a run lacks may use."""

    role: Role
    prepared: PreparedRun
    found: Estimate
    """At the most, under stated assumptions."""
    learnt: Forecast | None
    """Expected, learnt from the answers that are there; None where these are too few."""
    warning: str | None
    saving: CacheSaving | None = None
    """What the server's prompt cache may save of it; None where nothing is known to be saved, or it is learnt."""

    @property
    def usage(self) -> Usage:
        """Tokens."""
        return self.found.usage if self.learnt is None else self.learnt.usage

    @property
    def cost(self) -> Cost:
        """Of the calls."""
        return self.found.cost if self.learnt is None else self.learnt.cost

    @property
    def priced(self) -> bool:
        """Whether the config states prices."""
        return self.prepared.config.roles[self.role].effective_prices is not None

    def words(self, more: str = "") -> str:
        """Calls, tokens and cost."""
        settings, learnt = self.prepared.config.roles[self.role], self.learnt
        cost = ", no prices in the config"
        if self.priced:
            cost = f", {self.cost if learnt is None else shown(learnt.cost, [learnt.half_width_usd])}"
        source = "" if learnt is None else f"; learnt from {learnt.answers:,} answers"
        return (
            f"at most {self.found.calls:,}{more} calls to {settings.model!r}, about {self.usage.input:,} input and "
            f"{self.usage.output:,} output tokens{cost}{source}"
        )


def role_estimates(prepared: PreparedRun, sources: Sources | None) -> Iterator[RoleEstimate]:
    """What each role that is asked may still use.

    Args:
        prepared: What would be run.
        sources: The run that would be resumed; what it has answered is left out.
    """
    observed = _observed(sources)
    for role, identity in prepared.draft.identity.roles.items():
        if identity.kind == GIVEN:
            continue  # given proofs are not asked for
        settings = prepared.config.roles[role]
        chars = list(_prompt_chars(prepared, role, sources))
        prices = settings.effective_prices
        found = estimate(chars, prices=prices, output_limit=output_limit(settings.generation))
        learnt = learn(observed[role], found.calls, prices)
        if role in prepared.batched and prices is not None and prices.batch is not None:
            found = replace(found, cost=Cost(found.cost.usd * prices.batch, found.cost.at_least))
            learnt = learnt and learnt.scaled(prices.batch)
        saving = None if learnt is not None or role != "verifier" else _cache_saving(prepared, chars)
        yield RoleEstimate(role, prepared, found, learnt, no_room(role, prepared, chars), saving)


def _cache_saving(prepared: PreparedRun, prompt_chars: list[int]) -> CacheSaving | None:
    """What the verifier's endpoint may save by its prompt cache."""
    settings, repeats = prepared.config.roles["verifier"], prepared.draft.extent.verifier_repeats
    endpoint, prices = settings.endpoint, settings.effective_prices
    on = find_kind(endpoint.kind).caches_prompts if endpoint.cache_first is None else endpoint.cache_first
    if not on or repeats < 2 or prices is None or "verifier" in prepared.batched:
        return None
    return cache_saving([chars for chars in prompt_chars if chars >= WAIT_FROM_CHARS], repeats, prices)


def refuse_unreachable(prepared: PreparedRun) -> None:
    """Find what keeps endpoints from being reached.

    Raises:
        ConfigError: Names everything.
    """
    asked = [role for role, identity in prepared.draft.identity.roles.items() if identity.kind != GIVEN]
    if faults := list(unreachable(prepared.config, asked)):
        raise ConfigError.of(faults)


def print_estimate(prepared: PreparedRun, resumed: Path | None = None, *, calibration: str | None = None) -> None:
    """Calls, tokens and cost of each role at the most; on stdout. Calls nothing, writes nothing.

    Args:
        prepared: What would be run.
        resumed: The run that would be resumed; what it has answered is left out.
        calibration: The command that would measure the judge of a ProverBench run.
    """
    sources = None if resumed is None else Sources(resumed)
    more = " more" if sources else ""
    extent = prepared.draft.extent
    warnings = list(forewarnings(prepared))
    refuse_unreachable(prepared)
    click.echo(f"selected rows: {extent.rows}, samples: {extent.samples}, verifier repeats: {extent.verifier_repeats}")
    if given_proofs(prepared):
        click.echo(_given_found(prepared))
    found = list(role_estimates(prepared, sources))
    for of in found:
        click.echo(f"{of.role}: {of.words(more)}")
    print_total({of.role: of for of in found})
    for of in found:
        if of.saving is not None:
            click.echo(_saving_words(of.role, of.saving, extent.verifier_repeats))
    for warning in [*warnings, *(of.warning for of in found if of.warning is not None)]:
        click.echo(f"warning: {warning}")
    if benchmark_of(prepared.draft.identity.task).samples and extent.rows > 1:
        click.echo(_expected_width(extent.rows, extent.samples))
    if calibration is not None:
        click.echo(f"to correct the score for the judge's own errors, measure them on annotated proofs: {calibration}")
    click.echo("dry run: everything but keys was checked; nothing was called, nothing was written")


def print_total(found: Mapping[str, RoleEstimate]) -> None:
    """What all of it costs, and what that rests on; names are shown with the assumptions."""
    total = sum((of.cost for of in found.values()), Cost(0.0))
    widths = [of.learnt.half_width_usd for of in found.values() if of.learnt is not None]
    if any(of.priced for of in found.values()):
        click.echo(f"in all: {shown(total, widths) if len(widths) == len(found) else total}")
    if estimates := {name: of.found for name, of in found.items() if of.learnt is None}:
        click.echo(assumptions(estimates))
    else:
        click.echo("learnt from the answers that are there; the range holds in 95 % of cases, were calls independent")


def _saving_words(role: Role, saving: CacheSaving, repeats: int) -> str:
    """What the prompt cache may save, by which rule, and what that assumes."""
    return (
        f"{role}: of this a prompt cache may save {Cost(max(0.0, saving.low_usd))} to {Cost(saving.high_usd)} "
        f"(cache_first: the first of {repeats} judgments of a proof is asked alone, and 80 to 100 % of the tokens of "
        f"the other {repeats - 1} are read from the cache; assumed of prompts of {WAIT_FROM_CHARS:,} characters or "
        "more, and that the server keeps them until then; one without a cache saves nothing)"
    )


def _observed(sources: Sources | None) -> dict[str, list[Usage]]:
    """Role → what each of its answered calls used, as far as that was told."""
    found: dict[str, list[Usage]] = defaultdict(list)
    for line in sources.calls.facts() if sources is not None else ():
        if isinstance(line, CallFacts) and (usage := normalise_usage(line.usage)) is not None:
            found[line.role].append(usage)
    return found


def _prompt_chars(prepared: PreparedRun, role: Role, sources: Sources | None) -> Iterator[int]:
    """The length of each prompt that the role may be sent and that has no answer yet.

    A proof or judgment that does not exist yet is taken to be as long as its output limit allows; of one that does and
    is invalid, nothing more is asked.
    """
    draft = prepared.draft
    if draft.lines:
        yield from _given_chars(prepared)
        return
    answers = _Answers(sources)
    plan = Plan(draft.rows, draft.extent, judged_only=not benchmark_of(draft.identity.task).samples)
    assumed: dict[str, int] = {}  # by row: prompts that answers to come will be part of are all alike, and long
    for proof in range(plan.n_proofs):
        row = plan.row(proof)
        if role == "policy":
            if not answers.has(plan.key(role, proof)):
                yield len(render_policy(draft.templates[role], row))
            continue
        lacking = [key for number in plan.judgments(proof) if not answers.has(key := plan.key(role, number))]
        generation = answers.proof(row, plan.sample(proof)) if lacking else None
        if generation is None and draft.identity.proofs_sha256 is not None:
            continue  # a proof that was not given is not asked for
        if generation is not None and generation.error is not None:
            continue
        steps = ["x" * _answer_chars(prepared, "policy")] if generation is None else generation.steps
        for key in lacking:
            try:
                verdict = answers.judgment(key, len(steps)) if role == "meta" else None
            except InvalidReply:
                continue
            if generation is not None and (role == "verifier" or verdict is not None):
                yield _judge_chars(prepared, role, row, steps, verdict)
                continue
            if row_id(row) not in assumed:
                assumed[row_id(row)] = _judge_chars(prepared, role, row, steps)
            yield assumed[row_id(row)]


def _expected_width(problems: int, samples: int) -> str:
    """How precise the score will be at the least, under an assumption that the sentence states."""
    from proverbench.metrics.planning import assumed

    widest = 100 * assumed(0.5, 0.5).width(problems, samples) / 2
    return (
        f"expected precision: about ±{widest:.1f} points at a score of 50, less near 0 and 100, if a problem's proofs "
        "are alike to 0.5 (`proverbench plan` says more)"
    )


class _Answers:
    """What the run that would be resumed has; nothing without one."""

    def __init__(self, sources: Sources | None) -> None:
        self._sources = sources

    def _number(self, key: CallKey) -> int | None:
        """Of a call of the run; None when the run does not ask it."""
        sources = self._sources
        return sources.plan.number(key) if sources is not None and sources.plan.size(key.role) else None

    def _offset(self, key: CallKey) -> int | None:
        number = self._number(key)
        return None if self._sources is None or number is None else self._sources.ledger.offset(key.role, number)

    def has(self, key: CallKey) -> bool:
        return self._offset(key) is not None

    def proof(self, row: Row, sample: int) -> Generation | None:
        """The proof to be judged; None while there is none."""
        if isinstance(row, Proof):
            return Generation(row.steps, None)
        number = self._number(CallKey("policy", row.problem_id, sample))
        return None if self._sources is None or number is None else proof_steps(self._sources, number)

    def judgment(self, meta: CallKey, n_steps: int) -> Verdict | None:
        """What the meta-verifier would grade; None while there is no judgment.

        Raises:
            InvalidReply: If the judgment is no verdict.
        """
        offset = self._offset(CallKey("verifier", meta.id, meta.sample, meta.repeat))
        if self._sources is None or offset is None:
            return None
        return self._sources.reader.judgment(self._sources.calls.call_at(offset), n_steps)


def _given_found(prepared: PreparedRun) -> str:
    """What the file of given proofs holds."""
    found = given_proofs(prepared)
    sizes = sorted(len(generation.steps) for generation in found if generation.error is None)
    wanted = prepared.draft.extent.rows * prepared.draft.extent.samples
    said = f"given proofs: {len(found):,} of {wanted:,}"
    if sizes:
        middle = sizes[len(sizes) // 2]
        said += f", of {sizes[0]:,} to {sizes[-1]:,} steps (median {middle:,})"
    return f"{said}; {len(found) - len(sizes):,} invalid"


def _given_chars(prepared: PreparedRun) -> Iterator[int]:
    """The same for the verifier of proofs that were given."""
    draft = prepared.draft
    rows = {row.problem_id: row for row in draft.rows}
    reader = reader_of(draft)
    for line in draft.lines:
        if isinstance(line, CallLine) and line.id in rows and line.sample < draft.extent.samples:
            generation = reader.generation(line)
            if generation.error is None:
                chars = _judge_chars(prepared, "verifier", rows[line.id], generation.steps)
                yield from [chars] * draft.extent.verifier_repeats


def _judge_chars(prepared: PreparedRun, role: Role, row: Row, steps: list[str], verdict: Verdict | None = None) -> int:
    draft = prepared.draft
    options = {"use_reference": draft.identity.use_reference_solution, "neutralise": draft.identity.neutralise}
    if role == "verifier" or not isinstance(row, Proof):
        return len(render_verifier(draft.templates["verifier"], row, steps, **options).text)
    graded = verdict or Verdict(-1, "x" * _answer_chars(prepared, "verifier"), "")
    return len(render_meta(draft.templates[role], row, steps, graded, **options).text)


def _answer_chars(prepared: PreparedRun, role: Role) -> int:
    settings = prepared.config.roles.get(role)
    limit = output_limit(settings.generation) if settings is not None else None
    return round((limit or DEFAULT_OUTPUT_TOKENS) * CHARS_PER_TOKEN)
