"""What the figures of a run are figures of: what must stand beside them wherever they leave the tool. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from proverbench.benchmark import benchmark_of
from proverbench.records import GIVEN, PROTOCOL, Manifest, Role, Summary
from proverbench.run.looks import Looks
from proverbench.run.manifest import pretty
from proverbench.version import __version__

COLUMNS: dict[str, str] = {
    "benchmark": "string",
    "protocol": "string",
    "accept_from": "Float64",
    "policy": "string",
    "judge": "string",
    "meta_verifier": "string",
    "rows": "Int64",
    "samples": "Int64",
    "repeats": "Int64",
    "prompts": "string",
    "reference_shown": "boolean",
    "neutralised": "boolean",
    "closed_unanswered": "Int64",
    "look": "Int64",
    "data_sha256": "string",
    "run_id": "string",
    "seal": "string",
    "quote": "string",
}
"""Columns that name it in tables, and their types."""


def provenance(manifest: Manifest, summary: Summary, *, looks: Looks, seal: str | None = None) -> dict[str, Any]:
    """The values of :data:`COLUMNS` for a run; None where there is none, as of the policy of labelled proofs.

    Args:
        manifest: What was asked.
        summary: What came of it.
        looks: How often it was looked at.
        seal: ``LINES:HEAD`` of the replies (docs/run-format.md, "Seals").
    """
    identity, extent = manifest.identity, manifest.extent
    benchmark = benchmark_of(identity.task)
    return {
        "benchmark": benchmark.name,
        "protocol": identity.protocol,
        "accept_from": None if identity.accept_from is UNSET else identity.accept_from,
        "policy": _model(manifest, "policy"),
        "judge": _model(manifest, "verifier"),
        "meta_verifier": _model(manifest, "meta"),
        "rows": extent.rows,
        "samples": extent.samples if benchmark.samples else None,
        "repeats": extent.verifier_repeats,
        "prompts": prompts_of(manifest),
        "reference_shown": identity.use_reference_solution,
        "neutralised": identity.neutralise,
        "closed_unanswered": summary.closed_unanswered,
        "look": looks.number,
        "data_sha256": identity.data_sha256,
        "run_id": manifest.run_id,
        "seal": seal,
        "quote": None if seal is None else quote(summary, seal),
    }


def quote(summary: Summary, seal: str, said: str = "") -> str:
    """One line that a paper can quote, by which whoever has the run's folder can check a figure.

    Args:
        summary: What the figure is of.
        seal: ``LINES:HEAD`` of the replies.
        said: A word on what this version did with the run.
    """
    lines, _, head = seal.partition(":")
    return (
        f"proverbench {__version__} {said}run {summary.run_id[:16]}: {lines} lines, seal {head}, "
        f"summary sha256 {hashlib.sha256(pretty(summary)).hexdigest()[:16]}"
    )


def provenance_words(manifest: Manifest) -> str:
    """The same in a sentence: who was judged by whom, on how much, and what the judges were shown."""
    identity, extent = manifest.identity, manifest.extent
    benchmark = benchmark_of(identity.task)
    policy, judge, meta = (_model(manifest, role) for role in ("policy", "verifier", "meta"))
    who = [f"{policy} writes"] if benchmark.samples else []
    who += [f"{judge} judges"] + ([f"{meta} grades"] if extent.meta else [])
    size = [f"{extent.rows} {benchmark.unit}{'' if extent.rows == 1 else 's'}"]
    size += [f"S = {extent.samples}"] if benchmark.samples else []
    return "; ".join(
        [
            ", ".join(who),
            ", ".join([*size, f"R = {extent.verifier_repeats}"]),
            *_protocol_words(manifest),
            f"prompts: {prompts_of(manifest) or 'not kept'}",
            f"reference solution {'shown' if identity.use_reference_solution else 'not shown'}",
            f"neutralising {'on' if identity.neutralise else 'off'}",
        ]
    )


def _protocol_words(manifest: Manifest) -> list[str]:
    """How judges were asked, where not as published, and from which grade they accept, where not the protocol's own."""
    identity = manifest.identity
    if identity.protocol == PROTOCOL:
        return []
    accepts = "" if identity.accept_from is UNSET else f", accepted from {identity.accept_from:g}"
    return [f"protocol {identity.protocol}{accepts}"]


def prompts_of(manifest: Manifest) -> str:
    """Whose prompts were used: ``own`` (this project's), or the start of a template's SHA-256, by role."""
    own = manifest.identity.own_prompts
    hashes: Mapping[Role, str] = manifest.identity.prompt_sha256
    return ", ".join(f"{role} {'own' if role in own else digest[:12]}" for role, digest in hashes.items())


def _model(manifest: Manifest, role: Role) -> str | None:
    settings = manifest.identity.roles.get(role)
    if settings is None:
        return None
    return "(proofs given)" if settings.kind == GIVEN else settings.model
