"""Runs written without a server: rows, replies by call, and what their folder then says."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proverbench.protocols.prompts import Template
from proverbench.records import (
    Annotation,
    CallKey,
    CallLine,
    Extent,
    Identity,
    Line,
    Manifest,
    Problem,
    Proof,
    Role,
    RoleIdentity,
    Row,
)
from proverbench.run.inputs import INPUTS, encode_rows
from proverbench.run.journal import Journal
from proverbench.run.manifest import FORMAT_VERSION, MANIFEST, PROMPTS, pretty, run_id
from proverbench.run.sources import PROMPT_FILES, Sources
from tests.support import ROOT

PROOF = "<step>one</step><step>two</step>"


def verdict(step: int | str) -> str:
    """A verifier's reply."""
    return f"<assessment>A</assessment><errors>E</errors><first_error_step>{step}</first_error_step>"


def problem(name: str, **more: Any) -> Problem:
    """A row of ProverBench."""
    return Problem(problem_id=name, problem=f"Prove {name}.", **more)


def proof(name: str, label: int = -1, **more: Any) -> Proof:
    """A row of VerifierBench, of a proof of two steps."""
    return Proof(
        problem_id=f"p-{name}",
        proof_id=name,
        problem=f"Prove {name}.",
        steps=["one", "two"],
        annotation=Annotation(label, [-1]),
        is_correct=label == -1,
        first_error_step=label,
        **more,
    )


def call(key: str, text: str, **more: Any) -> CallLine:
    """An answered call; ``key`` as CallKey.text, e.g. ``verifier/v0/0/1``."""
    named = CallKey.parse(key)
    fields = {"finish_reason": "stop", "model": "m", "prompt_sha256": "0" * 64} | more
    return CallLine(role=named.role, id=named.id, sample=named.sample, repeat=named.repeat, text=text, **fields)


def make_run(
    folder: Path,
    rows: list[Row],
    lines: list[Line],
    *,
    samples: int = 1,
    repeats: int = 1,
    meta: bool = False,
    roles: Mapping[Role, RoleIdentity] | None = None,
    templates: bool = True,
    format_version: int = FORMAT_VERSION,
    operation: dict[str, Any] | None = None,
    **identity: Any,
) -> Sources:
    """Write a run with these lines in its journal, and open it."""
    task = "verifier" if isinstance(rows[0], Proof) else "prover"
    names: list[Role] = [*(["policy"] if task == "prover" else []), "verifier", *(["meta"] if meta else [])]  # type: ignore[list-item]
    (folder / PROMPTS).mkdir(parents=True)
    hashes = {}
    for name in names:
        source = ROOT / "prompts" / PROMPT_FILES[name]
        hashes[name] = Template.load(name, source).sha256
        if templates:
            (folder / PROMPTS / PROMPT_FILES[name]).write_bytes(source.read_bytes())
    known = {name: RoleIdentity(model=f"{name}-model", kind="openai") for name in names}
    who = Identity(task=task, roles=known | dict(roles or {}), prompt_sha256=hashes, **identity)
    extent = Extent(rows=len(rows), samples=samples, verifier_repeats=repeats, meta=meta)
    manifest = Manifest(
        format_version=format_version,
        run_id=run_id(who, extent),
        identity=who,
        extent=extent,
        inputs_sha256=hashlib.sha256(encode_rows(rows)).hexdigest(),
        operation=operation or {},
    )
    (folder / INPUTS).write_bytes(encode_rows(rows))
    (folder / MANIFEST).write_bytes(pretty(manifest))
    journal = Journal(folder)
    for line in lines:
        journal.append(line)
    journal.close()
    return Sources(folder)
