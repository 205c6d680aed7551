"""How a data file is described to people."""

from typing import Any

from proverbench.cli.pages import WIDTH, beside, printable


def described(found: dict[str, Any]) -> str:
    """A data file in a few lines: what :func:`~proverbench.inputs.data.describe` found, and ``file`` and ``kind``."""
    lines = [f"{found['file']}: valid"]
    if found["kind"] == "proofs":
        labels = found["labels"]
        lines += [
            f"  {found['rows']} proofs of {found['problems']} problems, {found['steps']} steps (VerifierBench)",
            f"  labels    {labels['correct']} correct, {labels['fatal']} with a fatal error, "
            f"{labels['only_recoverable']} with recoverable errors only",
        ]
    else:
        lines.append(f"  {found['rows']} problems (ProverBench)")
    lines.append(f"  reference {found['with_reference_solution']} of {found['rows']} rows have a reference solution")
    for name, key in (("domain", "domains"), ("subject", "subjects"), ("policy", "policies")):
        if set(found.get(key, {})) - {"(none)"} or key == "domains":
            lines.append(_tally_line(name, found[key]))
    lines.append(f"  sha256    {found['sha256']}")
    return "\n".join(lines)


def _tally_line(name: str, tally: dict[str, int]) -> str:
    text = ", ".join(f"{printable(value)} {count}" for value, count in tally.items())
    return "\n".join(beside(f"  {name:<9} ", text, WIDTH))
