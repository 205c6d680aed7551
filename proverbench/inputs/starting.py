"""The files of a first project, as text; writing them is the command's work (cli/init.py)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from proverbench.shipped import shipped, shipped_names

CONFIG, STUDY, README = "config.toml", "study.toml", "README.md"
_LIMIT_SHARES = {"policy": 0.4, "verifier": 0.4, "meta": 0.1}
"""Of the context: a judge's prompt holds the proof, so the limits of policy and verifier add up, with room to spare."""


@dataclass(frozen=True)
class LocalServer:
    """A server that runs already, and what it said."""

    base_url: str
    models: Sequence[str]
    context: int | None


def config_text(sort: str, server: LocalServer | None = None) -> str:
    """A config of all roles.

    Args:
        sort: Name of the shipped config that it is made from.
        server: For ``local``: whose address, model and context it gets.
    """
    text = shipped_names("configs")[sort].read_text(encoding="utf-8")
    if server is None:
        return text
    model, others = server.models[0], server.models[1:]
    body = text[text.index("[endpoint.server]") :]
    body = re.sub(
        r'^base_url = "[^"]*"', lambda _: f"base_url = {json.dumps(server.base_url)}", body, flags=re.MULTILINE
    )
    body = re.sub(r'^model = "[^"]*"', lambda _: f"model = {json.dumps(model)}", body, flags=re.MULTILINE)
    if server.context is None:
        body = re.sub(r"^context = \d+ ", "# context = 40960 ", body, flags=re.MULTILINE)
    else:
        body = re.sub(r"^context = \d+", f"context = {server.context}", body, flags=re.MULTILINE)
        for role, share in _LIMIT_SHARES.items():
            limit = max(256, int(server.context * share))
            body = re.sub(rf"(\[{role}\.generation\][^\[]*?max_tokens = )\d+", rf"\g<1>{limit}", body)
    listed = f"# The server also has: {', '.join(map(json.dumps, others))}.\n" if others else ""
    return f"# A server that you run yourself, as it described itself when this file was written.\n{listed}\n{body}"


def study_text(config: str) -> str:
    """A study of the policy and the judge of a config, with its calibration; add tables for more of either."""
    body = config[min(i for i in (config.find("[endpoint."), config.find("[policy]")) if i >= 0) :]
    for role, table in (("policy", "policy"), ("verifier", "judge")):
        found = re.search(rf'^\[{role}\][^\[]*?^model = "([^"]*)"', body, flags=re.MULTILINE)
        name = safe_name(found[1]) if found else role
        body = re.sub(rf"^(# )?\[{role}(\.\w+)*\]", lambda m: _renamed(m[0], role, f"{table}.{name}"), body, flags=re.M)  # noqa: B023
    return (
        "# Every judge judges every policy's proofs. Add [policy.NAME] and [judge.NAME] tables and type the command\n"
        "# again: only what is new is asked.\n#\n#   proverbench study study.toml --dry-run\n\n"
        '[study]\ndata = "data/proverbench.jsonl"\nlimit = 3\nsamples = 2\nverifier_repeats = 4\n'
        'calibration = "data/verifierbench.jsonl"\ncalibration_repeats = 4\n\n' + body
    )


def _renamed(header: str, old: str, new: str) -> str:
    return header.replace(f"[{old}", f"[{new}", 1)


def safe_name(model: str) -> str:
    """A model's name as the name of a table and a folder: letters, digits, single hyphens, underscores."""
    last = model.rstrip("/").rpartition("/")[2]
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9_]+", "-", last)).strip("-") or "model"


def readme_text(sort: str) -> str:
    """Five commands, in the order in which one types them."""
    key = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}.get(sort)
    before = f"Set your key first: `export {key}=...`\n\n" if key else ""
    if sort == "embedded":
        before = "The embedded model is far too small to prove or judge anything; it shows that everything works.\n\n"
    return f"""# A first proverbench project

{before}1. Is everything there?

       proverbench doctor

2. Have a model write proofs, and a judge judge them; `--dry-run` first says what it would ask:

       proverbench run --data data/proverbench.jsonl --config {CONFIG} --limit 3 --samples 2 --verifier-repeats 4

3. How good is the judge? It judges proofs that people annotated:

       verifierbench --data data/verifierbench.jsonl --config {CONFIG} --use-reference-solution --verifier-repeats 4

4. One page of everything in runs/:

       proverbench report runs/* -o report.html

5. Several models and judges, each calibrated:

       proverbench study {STUDY}

The data in data/ is proverbench's own small set, and so are the prompts: scores made with them are not comparable with
published tables. `proverbench data fetch all` gets the published data.
"""


def project_files(sort: str, server: LocalServer | None = None) -> dict[str, bytes]:
    """Path in the project → content."""
    config = config_text(sort, server)
    files = {CONFIG: config, STUDY: study_text(config), README: readme_text(sort)}
    data = {
        f"data/{name}.jsonl": shipped(f"data/{name}.jsonl").read_bytes() for name in ("proverbench", "verifierbench")
    }
    return {name: text.encode() for name, text in files.items()} | data
