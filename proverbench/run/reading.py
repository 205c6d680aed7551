"""What replies mean, by protocol basic-v1, and which calls a run still lacks. Writes nothing, scores nothing."""

from collections.abc import Iterator

from proverbench.endpoints.kinds.registry import find_kind
from proverbench.errors import InvalidReply
from proverbench.protocols.basic_v1 import check_finish, parse_level, parse_steps, parse_verdict, read_steps
from proverbench.protocols.prompts import Rendered, render_meta, render_policy, render_verifier
from proverbench.records import (
    GIVEN,
    CallKey,
    CallLine,
    Generation,
    MetaJudgment,
    Proof,
    Role,
    RoleIdentity,
    Verdict,
)
from proverbench.run.sources import Sources


def _check(line: CallLine, role: RoleIdentity) -> str:
    """The text of a reply that ended as it should.

    Read is the stored text: where the exact one held lone surrogates, they are replaced, so that steps and verdicts
    can be written and sent on.
    """
    if line.refused is not None:
        raise InvalidReply(f"refused:{line.refused}")
    if role.kind != GIVEN:
        check_finish(line.finish_reason, find_kind(role.kind).normal_stops, role.accept_missing_finish)
    return line.text


def read_generation(line: CallLine, role: RoleIdentity, *, strip_start: bool) -> Generation:
    """Read a policy call's reply by protocol basic-v1.

    Args:
        line: The call.
        role: The policy.
        strip_start: ``Manifest.strips_steps`` of the run: whether steps are stripped at their start too.
    """
    if line.steps is not None:
        return Generation(line.steps, None if line.steps else "no_proof_steps")
    try:
        return Generation(parse_steps(_check(line, role), strip_start=strip_start), None)
    except InvalidReply as exc:
        return Generation(read_steps(line.text, strip_start=strip_start), exc.reason)


def read_judgment(line: CallLine, role: RoleIdentity, n_steps: int) -> Verdict:
    """Read a verifier call's reply.

    Raises:
        InvalidReply: With the reason code.
    """
    return parse_verdict(_check(line, role), n_steps)


def read_level(line: CallLine, role: RoleIdentity) -> MetaJudgment:
    """Read a meta-verifier call's reply."""
    try:
        return MetaJudgment(True, level=parse_level(_check(line, role)))
    except InvalidReply as exc:
        return MetaJudgment(False, reason=exc.reason)


def is_valid(line: CallLine, role: RoleIdentity, n_steps: int) -> bool:
    """Whether a reply is valid; ``n_steps`` counts only for a judgment."""
    if line.role == "policy":
        return read_generation(line, role, strip_start=True).error is None
    if line.role == "meta":
        return read_level(line, role).valid
    try:
        read_judgment(line, role, n_steps)
    except InvalidReply:
        return False
    return True


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
    verdict = read_judgment(sources.calls.call_at(offset), identity.roles["verifier"], len(generation.steps))
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
        manifest = sources.manifest
        read = read_generation(
            sources.calls.call_at(offset), manifest.identity.roles["policy"], strip_start=manifest.strips_steps
        )
        sources.latest_proof = (proof, read)
    return sources.latest_proof[1]


def open_calls(sources: Sources, *, closed_too: bool = False) -> Iterator[CallKey]:
    """The calls that the run lacks and that could be asked now, in data order.

    Calls that wait for one of them (judgments of a proof that is not there yet) are not among them.

    Args:
        sources: The run.
        closed_too: Also those that ``--final`` closed, which a session that asks would ask again.
    """
    plan, ledger, roles = sources.plan, sources.ledger, sources.manifest.identity.roles

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
                read_judgment(sources.calls.call_at(offset), roles["verifier"], len(generation.steps))
            except InvalidReply:
                continue
            yield plan.key("meta", number)
