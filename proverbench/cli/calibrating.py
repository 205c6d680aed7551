"""The command that measures the judge of a ProverBench run on annotated proofs, for `proverbench correct`."""

import shlex
from pathlib import Path

from msgspec import UNSET

from proverbench.records import PROTOCOL, Identity, Manifest
from proverbench.run.manifest import PROMPTS, PROTOCOL_FILE
from proverbench.run.sources import PROMPT_FILES

DATA = "PROOFS.jsonl"
CONFIG = "CONFIG.toml"


def calibration_command(
    identity: Identity,
    repeats: int,
    *,
    prompt: Path | None = None,
    protocol: Path | None = None,
    config: Path | None = None,
    data: Path | None = None,
) -> str:
    """A `verifierbench` command whose run fits, every path quoted.

    Args:
        identity: Of the ProverBench run.
        repeats: Its R.
        prompt: The verifier's template, where it is not the tool's own.
        protocol: The file of a declared protocol.
        config: The config of the run; :data:`CONFIG` stands for one that is not known.
        data: The annotated proofs; :data:`DATA` stands for them.
    """
    words = ["verifierbench", "--data", str(data or DATA), "--config", str(config or CONFIG)]
    words += ["--verifier-repeats", str(repeats)]
    words += ["--use-reference-solution" if identity.use_reference_solution else "--no-use-reference-solution"]
    words += ["--verifier-prompt", str(prompt)] if prompt is not None else []
    words += [] if identity.neutralise else ["--no-neutralise"]
    if protocol is not None or identity.protocol != PROTOCOL:
        words += ["--protocol", str(protocol or identity.protocol)]
    words += [] if identity.accept_from is UNSET else ["--accept-from", f"{identity.accept_from:g}"]
    return shlex.join(words)


def command_for_run(path: Path, manifest: Manifest, *, config: Path | None = None, data: Path | None = None) -> str:
    """The same for a saved run, with the templates that it keeps."""
    prompt, protocol = path / PROMPTS / PROMPT_FILES["verifier"], path / PROMPTS / PROTOCOL_FILE
    return calibration_command(
        manifest.identity,
        manifest.extent.verifier_repeats,
        prompt=prompt if prompt.is_file() else None,
        protocol=protocol if protocol.is_file() else None,
        config=config,
        data=data,
    )
