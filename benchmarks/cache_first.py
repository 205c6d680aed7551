"""What asking the first judgment of a proof alone saves, against asking all at once, at a modelled prompt cache.

The rehearsal endpoint answers after a fixed time and remembers prompts by time and length (rehearse/prefix_cache.py).
An ideal order would read every prompt but the first of each proof from the cache.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import run

PROMPT_CHARS = 12_000
PRICES = {
    "openai": "input = 1.0, cached_input = 0.1, output = 4.0",
    "anthropic": "input = 1.0, cached_input = 0.1, cache_write = 1.25, output = 4.0",
}
"""US dollars per million tokens: what reading and writing the cache costs is what matters."""


class Measured(NamedTuple):
    """One run."""

    cached_share: float
    """Of the prompt tokens."""
    cost_usd: float
    seconds: float
    """From the first call to the last answer."""


def measure(
    folder: Path, *, kind: str, repeats: int, in_flight: int, proofs: int, first: bool, latency_s: float
) -> Measured:
    """Judge ``proofs`` proofs ``repeats`` times each."""
    rows = [_row(number) for number in range(proofs)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "proverbench"]
    options = ["--port", "0", "--prefix-cache", "300", "--latency", f"fixed:{latency_s}", "--kind", kind]
    server = subprocess.Popen(
        [*command, "rehearse", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    try:
        found = re.search(r"http://\S+?:\d+", server.stderr.readline())
        assert found is not None
        base = found[0] + ("/v1" if kind == "openai" else "")
        (folder / "config.toml").write_text(
            f'[verifier]\nkind = "{kind}"\nbase_url = "{base}"\nmodel = "m"\nconcurrency = {in_flight}\n'
            f"cache_first = {str(first).lower()}\ngeneration = {{ max_tokens = 500 }}\nprices = {{ {PRICES[kind]} }}\n"
        )
        name = folder / f"run-{time.monotonic_ns()}"
        files = ["--data", str(folder / "rows.jsonl"), "--config", str(folder / "config.toml"), "--output", str(name)]
        done = run([*command, "verify", *files, "--verifier-repeats", str(repeats)])
        assert done.exit_code == 0, done.output
    finally:
        server.kill()
        server.communicate()
    usage = json.loads((name / "summary.json").read_bytes())["usage"]["verifier"]
    timing = json.loads((name / "timing.json").read_bytes())
    return Measured(usage["cached_input"] / usage["input"], timing["roles"]["verifier"]["cost_usd"], timing["seconds"])


def _row(number: int) -> dict[str, object]:
    return {
        "problem_id": f"p{number}",
        "proof_id": f"v{number}",
        "problem": f"Statement {number}.",
        "steps": [f"Proof {number}. " + "By induction. " * (PROMPT_CHARS // 14)],
        "annotation": {"first_fatal_error_step": -1, "recoverable_error_steps": [-1]},
    }
