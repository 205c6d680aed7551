"""Prompts of a run's calls, the proofs that judges see, and the calls that it still lacks; writes nothing."""

from collections.abc import Iterator

from proverbench.errors import InvalidReply
from proverbench.protocols.prompts import Rendered, render_meta, render_policy, render_verifier
from proverbench.records import (
    CallKey,
    Generation,
    Proof,
    Role,
)
from proverbench.run.sources import Sources


def render(sources: Sources, key: CallKey) -> Rendered:
    """The exact prompt of a call.

    Raises:
        KeyError: If the run has no template for the role, or lacks the reply that the prompt is made from.
    """
    identity = sources.manifest.identity
    number = sources.plan.number(key)
    if number is None:
        raise KeyError(key.text)
    template = sources.templates.get(key.role)
    if template is None:
        return Rendered(_kept_prompt(sources, key, number), 0, 0)
    proof = number if key.role == "policy" else number // sources.plan.repeats
    row = sources.plan.row(proof)
    if key.role == "policy":
        return Rendered(render_policy(template, row), 0, 0)
    options = {"use_reference": identity.use_reference_solution, "neutralise": identity.neutralise}
    generation = proof_steps(sources, proof)
    if generation is None:
        raise KeyError(key.text)
    if key.role == "verifier":
        return render_verifier(template, row, generation.steps, **options)
    if not isinstance(row, Proof):
        raise KeyError(key.text)
    offset = sources.ledger.offset("verifier", number)
    if offset is None:
        raise KeyError(key.text)
    verdict = sources.reader.judgment(sources.calls.call_at(offset), len(generation.steps))
    return render_meta(template, row, generation.steps, verdict, **options)


def _kept_prompt(sources: Sources, key: CallKey, number: int) -> str:
    """The prompt of an imported run's call, which came with its answer, or with another judgment's of the same proof.

    Raises:
        KeyError: If none is there.
    """
    repeats = sources.plan.repeats
    first = number // repeats * repeats
    same = (number, *range(first, first + repeats)) if key.role == "verifier" else (number,)
    for other in same:
        offset = sources.ledger.offset(key.role, other)
        prompt = None if offset is None else sources.calls.call_at(offset).prompt
        if prompt is not None:
            return prompt
    raise KeyError(key.text)


def proof_steps(sources: Sources, proof: int) -> Generation | None:
    """The proof with that number, as the verifier gets it; None while it is unanswered."""
    row = sources.plan.row(proof)
    if isinstance(row, Proof):
        return Generation(row.steps, None)
    if sources.latest_proof is None or sources.latest_proof[0] != proof:
        offset = sources.ledger.offset("policy", proof)
        if offset is None:
            return None
        read = sources.reader.generation(sources.calls.call_at(offset))
        sources.latest_proof = (proof, read)
    return sources.latest_proof[1]


def open_calls(sources: Sources, *, closed_too: bool = False) -> Iterator[CallKey]:
    """The calls that the run lacks and that could be asked now, in data order.

    Calls that wait for one of them (judgments of a proof that is not there yet) are not among them.

    Args:
        sources: The run.
        closed_too: Also those that ``--final`` closed, which a session that asks would ask again.
    """
    plan, ledger = sources.plan, sources.ledger

    def lacks(role: Role, number: int) -> bool:
        return ledger.is_open(role, number) or (closed_too and ledger.is_closed(role, number))

    for proof in range(plan.n_proofs):
        if not plan.judged_only and ledger.offset("policy", proof) is None:
            if lacks("policy", proof):
                yield plan.key("policy", proof)
            continue
        lacking = [number for number in plan.judgments(proof) if lacks("verifier", number)]
        ungraded = [number for number in plan.judgments(proof) if plan.meta and lacks("meta", number)]
        if not lacking and not ungraded:
            continue
        generation = proof_steps(sources, proof)
        if generation is None or generation.error is not None:
            continue
        yield from (plan.key("verifier", number) for number in lacking)
        for number in ungraded:
            offset = ledger.offset("verifier", number)
            if offset is None:
                continue
            try:
                sources.reader.judgment(sources.calls.call_at(offset), len(generation.steps))
            except InvalidReply:
                continue
            yield plan.key("meta", number)
