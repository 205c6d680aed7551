"""A policy's proofs in the runs of a study: which there are, and copied from run to run, so that each is asked once."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import UNSET

from proverbench.records import GIVEN, CallKey, CallLine, Identity
from proverbench.run.extent import Plan
from proverbench.run.session import Draft, Session
from proverbench.run.sources import Sources


class OpenSources:
    """Sources that are opened one after the other and closed together."""

    def __init__(self) -> None:
        self._open: list[Sources] = []

    def __enter__(self) -> "OpenSources":
        return self

    def open(self, path: Path) -> Sources:
        """Those of a run."""
        self._open.append(Sources(path))
        return self._open[-1]

    def __exit__(self, *_: object) -> None:
        for sources in self._open:
            sources.close()


def has_proofs(draft: Draft, there: list[Sources]) -> bool:
    """Whether the policy's answers that a run wants are all there, in one run or the other."""
    if draft.identity.roles["policy"].kind == GIVEN:
        return True
    plan = Plan(draft.rows, draft.extent, judged_only=False)
    same = [sources for sources in there if _wrote_the_same(sources.manifest.identity, draft.identity)]
    keys = (plan.key("policy", number) for number in range(plan.size("policy")))
    return all(any(_offset(sources, key) is not None for sources in same) for key in keys)


def _offset(sources: Sources, key: CallKey) -> int | None:
    """Where a run's journal has the answer to a policy's call."""
    number = sources.plan.number(key)
    return None if number is None else sources.ledger.offset("policy", number)


def copy_proofs(session: Session, name: str, there: Mapping[str, Sources]) -> None:
    """Append to a run the answered policy calls that it lacks and another run of the policy has."""
    plan, ledger = session.sources.plan, session.sources.ledger
    mine = session.sources.manifest.identity
    others = [sources for other, sources in there.items() if other != name]
    same = [sources for sources in others if _wrote_the_same(sources.manifest.identity, mine)]
    for number in range(plan.size("policy")):
        if ledger.offset("policy", number) is None:
            for line in _answers(plan.key("policy", number), same, {id(s): n for n, s in there.items()}):
                session.start()
                asked_in = UNSET if line.asked_in == name else line.asked_in
                session.answered(msgspec.structs.replace(line, asked_in=asked_in))
                break


def _answers(key: CallKey, sources: list[Sources], names: Mapping[int, str]) -> Iterator[CallLine]:
    """The answers to a call that other runs have; each says which run asked it."""
    for other in sources:
        if (offset := _offset(other, key)) is not None:
            line = other.calls.call_at(offset)
            asked_in = names[id(other)] if line.asked_in is UNSET else line.asked_in
            yield msgspec.structs.replace(line, asked_in=asked_in)


def _wrote_the_same(one: Identity, other: Identity) -> bool:
    """Whether the policy's calls of two runs are the same ones."""

    def calls(identity: Identity) -> tuple[object, ...]:
        return identity.roles.get("policy"), identity.prompt_sha256.get("policy"), identity.data_sha256

    return calls(one) == calls(other)
