"""What `--dry-run` prints: the call budget, and what it may cost under stated assumptions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from proverbench.endpoints.money import (
    CHARS_PER_TOKEN,
    DEFAULT_OUTPUT_TOKENS,
    Cost,
    Estimate,
    assumptions,
    estimate,
    output_limit,
)
from proverbench.plan import Plan
from proverbench.prepare import Prepared
from proverbench.prompts import render_meta, render_policy, render_verifier
from proverbench.reading import read_generation
from proverbench.records import GIVEN, CallKey, CallLine, Proof, Role, Row, Verdict
from proverbench.sources import Sources


def print_estimate(prepared: Prepared, resumed: Path | None = None) -> None:
    """Calls, tokens and cost of each role at the most; on stdout. Calls nothing, writes nothing.

    Args:
        prepared: What would be run.
        resumed: The run that would be resumed; what it has answered is left out.
    """
    sources = None if resumed is None else Sources(resumed)
    more = " more" if sources else ""
    extent = prepared.draft.extent
    estimates: dict[str, Estimate] = {}
    click.echo(f"selected rows: {extent.rows}, samples: {extent.samples}, verifier repeats: {extent.verifier_repeats}")
    for role, identity in prepared.draft.identity.roles.items():
        if identity.kind == GIVEN:
            continue  # given proofs are not asked for
        settings = prepared.config.roles[role]
        limit = output_limit(settings.generation)
        chars = _prompt_chars(prepared, role, sources)
        found = estimate(chars, prices=settings.effective_prices, output_limit=limit)
        share = settings.effective_prices.batch if settings.effective_prices is not None else None
        if role in prepared.batched and share is not None:
            found = replace(found, cost=Cost(found.cost.usd * share, found.cost.at_least))
        estimates[role] = found
        cost = f", {found.cost}" if settings.effective_prices is not None else ", no prices in the config"
        click.echo(
            f"{role}: at most {found.calls:,}{more} calls to {settings.model!r}, about {found.usage.input:,} input and "
            f"{found.usage.output:,} output tokens{cost}"
        )
    total = sum((found.cost for found in estimates.values()), Cost(0.0))
    if any(prepared.config.roles[role].effective_prices is not None for role in estimates):
        click.echo(f"in all: {total}")
    click.echo(assumptions(estimates))
    click.echo("dry run: everything but keys was checked; nothing was called, nothing was written")


def _prompt_chars(prepared: Prepared, role: Role, sources: Sources | None) -> Iterator[int]:
    """The length of each prompt that the role may be sent and that has no answer yet.

    A proof or judgment that does not exist yet is taken to be as long as its output limit allows.
    """
    draft = prepared.draft
    if draft.lines:
        yield from _given_chars(prepared)
        return
    plan = Plan(draft.rows, draft.extent, judged_only=draft.identity.task == "verifier")
    each = draft.extent.samples * (1 if role == "policy" else draft.extent.verifier_repeats)
    for i, row in enumerate(draft.rows):
        keys = [plan.key(role, number) for number in range(i * each, (i + 1) * each)]
        lacking = sum(1 for key in keys if sources is None or not _is_answered(sources, key))
        if lacking:
            policy = role == "policy"
            chars = len(render_policy(draft.templates[role], row)) if policy else _judge_chars(prepared, role, row)
            yield from [chars] * lacking


def _is_answered(sources: Sources, key: CallKey) -> bool:
    number = sources.plan.number(key) if sources.plan.size(key.role) else None
    return number is not None and sources.ledger.offset(key.role, number) is not None


def _given_chars(prepared: Prepared) -> Iterator[int]:
    """The same for the verifier of proofs that were given."""
    draft = prepared.draft
    rows = {row.problem_id: row for row in draft.rows}
    for line in draft.lines:
        if isinstance(line, CallLine) and line.id in rows and line.sample < draft.extent.samples:
            generation = read_generation(line, draft.identity.roles["policy"])
            if generation.error is None:
                chars = _verifier_chars(prepared, rows[line.id], generation.steps)
                yield from [chars] * draft.extent.verifier_repeats


def _verifier_chars(prepared: Prepared, row: Row, steps: list[str]) -> int:
    draft = prepared.draft
    return len(
        render_verifier(
            draft.templates["verifier"],
            row,
            steps,
            use_reference=draft.identity.use_reference_solution,
            neutralise=draft.identity.neutralise,
        ).text
    )


def _judge_chars(prepared: Prepared, role: Role, row: Row) -> int:
    draft = prepared.draft
    options = {"use_reference": draft.identity.use_reference_solution, "neutralise": draft.identity.neutralise}
    steps = row.steps if isinstance(row, Proof) else ["x" * _answer_chars(prepared, "policy")]
    if role == "verifier" or not isinstance(row, Proof):
        return _verifier_chars(prepared, row, steps)
    verdict = Verdict(-1, "x" * _answer_chars(prepared, "verifier"), "")
    return len(render_meta(draft.templates[role], row, steps, verdict, **options).text)


def _answer_chars(prepared: Prepared, role: Role) -> int:
    settings = prepared.config.roles.get(role)
    limit = output_limit(settings.generation) if settings is not None else None
    return round((limit or DEFAULT_OUTPUT_TOKENS) * CHARS_PER_TOKEN)
