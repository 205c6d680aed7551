"""Whether a run made with the published prompts may stand beside published tables, and what is against it. Pure."""

from collections.abc import Iterator

from proverbench.benchmark import benchmark_of
from proverbench.records import Manifest

PUBLISHED_PROMPTS = "published"
"""What ``operation.prompts`` says of a run made with ``--prompts published``."""
PUBLISHED_JUDGES = {"prover": ("verifier", "AdvancedMathBench-AutoVerifier"), "verifier": ("meta", "gpt-oss-120b")}
"""Task → the role whose model the published tables share, and a part of its name."""


def beside_published(manifest: Manifest, *, closed: int, neutralised: int) -> str | None:
    """A sentence for the summary; None for a run that was not made with ``--prompts published``.

    Args:
        manifest: What was asked.
        closed: Calls that count as zero without an answer.
        neutralised: Proofs of which judges saw a text that was changed.
    """
    if manifest.operation.get("prompts") != PUBLISHED_PROMPTS:
        return None
    against = list(_against(manifest, closed, neutralised))
    if not against:
        return "comparable with published tables: prompts, data, judge, protocol, R and reference are as published"
    return f"published prompts were used, but not comparable with published tables: {'; '.join(against)}"


def _against(manifest: Manifest, closed: int, neutralised: int) -> Iterator[str]:
    identity, extent = manifest.identity, manifest.extent
    benchmark = benchmark_of(identity.task)
    if identity.own_prompts:
        yield f"the prompts of {', '.join(identity.own_prompts)} are proverbench's own"
    if identity.data_sha256 != benchmark.published_sha256:
        yield "the data are not the published file"
    if extent.limit is not None or extent.shard is not None:
        yield "only some of its rows were asked"
    if identity.protocol != "basic-v1":
        yield f"the protocol is {identity.protocol}"
    if extent.verifier_repeats != benchmark.repeats:
        yield f"R is {extent.verifier_repeats}, published is {benchmark.repeats}"
    if identity.use_reference_solution != benchmark.reference_shown:
        yield f"judges {'saw' if identity.use_reference_solution else 'did not see'} the reference solution"
    role, judge = PUBLISHED_JUDGES[identity.task]
    used = next((settings.model for name, settings in identity.roles.items() if name == role), None)
    if used is not None and judge not in used:
        yield f"the {role} is {used}, published is {judge}"
    if identity.proofs_sha256 is not None:
        yield "the proofs were given"
    if any(settings.accept_missing_finish for settings in identity.roles.values()):
        yield "replies without a finish reason were accepted"
    if neutralised:
        yield f"tags were neutralised in {neutralised} proofs (--no-neutralise shows them as they are)"
    if closed:
        yield f"{closed} calls without an answer count as zero"
