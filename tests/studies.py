"""Studies at the rehearsal endpoint: their file, and what was asked and saved."""

import hashlib
import json
from collections import Counter
from pathlib import Path

from proverbench.endpoints.seeds import call_seed
from proverbench.records import CallLine
from proverbench.rehearse import RehearseServer
from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS
from proverbench.run.study import cells_of

Asked = tuple[str, int, str]
"""A call: its model, its seed, its prompt's digest."""


def study_file(
    base_url: str,
    *,
    policies: tuple[str, ...] = ("alpha", "beta", "gamma"),
    judges: tuple[str, ...] = ("strict", "mild"),
    rows: int = 12,
    samples: int = 2,
    repeats: int = 2,
    calibration: bool = True,
    more: str = "",
    name: str = "study.toml",
    endpoint: str = "",
    folder: Path = Path(),
) -> Path:
    """A study of models at one endpoint; each has its own seed."""
    calibrated = 'calibration = "proofs.jsonl"\n' if calibration else ""
    tables = [("policy", policy) for policy in policies] + [("judge", judge) for judge in judges]
    members = "".join(
        f'[{kind}.{member}]\nendpoint = "here"\nmodel = "{kind}-{member}"\n'
        f"generation = {{ max_tokens = 500, seed = {seed_of(f'{kind}-{member}')} }}\n"
        for kind, member in tables
    )
    path = folder / name
    path.write_text(
        f'[study]\ndata = "problems.jsonl"\nlimit = {rows}\nsamples = {samples}\nverifier_repeats = {repeats}\n'
        f'{calibrated}[endpoint.here]\nbase_url = "{base_url}"\nconcurrency = 5\n{endpoint}\n{members}{more}',
        encoding="utf-8",
    )
    return path


def seed_of(model: str) -> int:
    """A base seed of each model's own."""
    return int.from_bytes(hashlib.sha256(model.encode()).digest()[:3], "big")


def saved(study: Path) -> list[tuple[str, str, CallLine]]:
    """Every answered call: run, model, line."""
    found = []
    for cell in cells_of(study):
        roles = json.loads((cell.path / "manifest.json").read_bytes())["identity"]["roles"]
        with CallsReader(cell.path / CALLS) as reader:
            for _, line in reader.lines():
                if isinstance(line, CallLine):
                    found.append((cell.name, roles[line.role]["model"], line))
    return found


def on_disk(study: Path) -> set[Asked]:
    return {(model, call_seed(seed_of(model), line.key.text), line.prompt_sha256) for _, model, line in saved(study)}


def asked(server: RehearseServer) -> list[Asked]:
    return [
        (of.json["model"], of.json["seed"], hashlib.sha256(of.json["messages"][-1]["content"].encode()).hexdigest())
        for of in list(server.log)
        if of.ask is not None
    ]


def derived(study: Path) -> dict[str, bytes]:
    """Run and file → content, of everything that scores are read from."""
    return {
        f"{cell.name}/{name}": (cell.path / name).read_bytes()
        for cell in cells_of(study)
        for name in ("records.jsonl", "summary.json")
    }


def assert_each_asked_once(study: Path) -> None:
    """Of every policy call one run counts the cost, and no run has a call twice."""
    counted: Counter[tuple[str, str]] = Counter()
    for name in {name for name, _, _ in saved(study)}:
        keys = [line.key.text for other, _, line in saved(study) if other == name]
        assert len(keys) == len(set(keys)), name
    for name, model, line in saved(study):
        if line.role == "policy":
            counted[model, line.key.text] += isinstance(line.asked_in, str) is False
            if isinstance(line.asked_in, str):
                assert line.asked_in != name
    assert set(counted.values()) <= {1}
