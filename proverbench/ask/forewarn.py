"""What can be seen before the first call that would make a run's score say nothing of its models.

None of it is a fault that stops a run: a server may know a parameter that we do not, and given proofs may really hold
no steps. Said are sentences for people, by a dry run and at the start of a run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from proverbench.ask.parts import PreparedRun
from proverbench.endpoints.classify import near_parameter
from proverbench.protocols.basic_v1 import FIELDS
from proverbench.records import GIVEN, PROTOCOL, CallLine, Generation, Role
from proverbench.run.replies import ReplyReader
from proverbench.run.session import Draft
from proverbench.spending.money import CHARS_PER_TOKEN, output_limit


def forewarnings(prepared: PreparedRun) -> Iterator[str]:
    """Everything of the kind that config, prompts and given proofs show by themselves."""
    yield from _misspelt(prepared)
    yield from _untagged(prepared)
    yield from _without_steps(prepared)


def _misspelt(prepared: PreparedRun) -> Iterator[str]:
    """Parameters that a server would refuse, or ignore in silence."""
    for role in prepared.draft.identity.roles:
        settings = prepared.config.roles.get(role)
        if settings is None:
            continue
        extra = settings.generation.get("extra_body")
        tables = {f"{role}.generation": settings.generation, f"{role}.generation.extra_body": extra}
        for where, table in tables.items():
            for name in table if isinstance(table, Mapping) else ():
                meant = near_parameter(name)
                if meant is not None and meant not in settings.generation:
                    yield (
                        f"{where}.{name} is sent as it is; did you mean {meant!r}? Many servers ignore a parameter "
                        "that they do not know"
                    )


def _untagged(prepared: PreparedRun) -> Iterator[str]:
    """A judge's prompt that does not ask for the tags which its verdict is read from."""
    template = prepared.draft.templates.get("verifier")
    if template is None or prepared.draft.identity.protocol != PROTOCOL:
        return
    lacking = [f"<{name}>" for name in FIELDS if name not in template.text]
    if lacking:
        yield (
            f"the verifier's prompt never mentions {', '.join(lacking)}: verdicts are read from these tags, and a "
            "reply without one of them is invalid"
        )


def _without_steps(prepared: PreparedRun) -> Iterator[str]:
    """Given proofs that no judge will see."""
    generations = given_proofs(prepared)
    reasons = Counter(generation.error for generation in generations if generation.error is not None)
    for reason, count in reasons.most_common():
        remedy = ""
        if "step" in reason:
            remedy = "; put each step into <step>…</step>, give it as a list under steps, or cut texts by --split"
        yield (
            f"{count:,} of {len(generations):,} given proofs are invalid ({reason}): they are never judged and score "
            f"0{remedy}"
        )


def given_proofs(prepared: PreparedRun) -> list[Generation]:
    """The proofs that were given to a run, as its judges will see them; none where a policy writes them."""
    draft = prepared.draft
    policy = draft.identity.roles.get("policy")
    if policy is None or policy.kind != GIVEN:
        return []
    wanted = {row.problem_id for row in draft.rows}
    reader = reader_of(draft)
    return [
        reader.generation(line)
        for line in draft.lines
        if isinstance(line, CallLine) and line.id in wanted and line.sample < draft.extent.samples
    ]


def reader_of(draft: Draft) -> ReplyReader:
    """How the replies of a run that is not there yet will be read."""
    template = draft.templates.get("verifier")
    return ReplyReader(draft.manifest, template.protocol if template is not None else None)


def no_room(role: Role, prepared: PreparedRun, prompt_chars: list[int]) -> str | None:
    """Which prompts of a role would not fit into its model's context beside the output limit; None where all do.

    Args:
        role: Whose.
        prepared: The run; says the context and the limit, where they are known.
        prompt_chars: Length of each of its prompts in characters.
    """
    settings = prepared.config.roles[role]
    context, limit = settings.endpoint.context, output_limit(settings.generation)
    if context is None or limit is None or not prompt_chars:
        return None
    tokens = [round(chars / CHARS_PER_TOKEN) for chars in prompt_chars]
    over = sum(1 for prompt in tokens if prompt + limit > context)
    if not over:
        return None
    longest = max(tokens)
    fits = f"with max_tokens = {context - longest:,} all fit" if longest < context else "the longest fits with no limit"
    return (
        f"{role}: {over:,} of {len(tokens):,} prompts do not fit into the context beside the output limit, and would "
        f"be refused: the longest has about {longest:,} tokens, max_tokens is {limit:,}, "
        f"the context {context:,}; {fits}"
    )
