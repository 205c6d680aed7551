"""`study --init`: a first study file from configs that are there."""

import re
import shlex
from pathlib import Path

from proverbench.cli.streams import say
from proverbench.errors import ConfigError
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.inputs.config_file import load_config
from proverbench.inputs.study import load_study
from proverbench.inputs.toml_writing import assignments
from proverbench.run.disk import write_whole

_HEAD = """\
# A study: every policy's proofs are judged by every judge (docs/studies.md).
#
#   proverbench study {file} --dry-run      what it asks and costs
#   proverbench study {file}                ask it; the same again goes on

[study]
data = "data/proverbench.jsonl"             # problems; complete this path
samples = 1                                 # S, proofs a problem
verifier_repeats = 4                        # R, judgments of each proof
# calibration = "data/verifierbench.jsonl"  # annotated proofs that every judge judges too
# max_cost = 10.0                           # US dollars over all runs and sessions; needs prices
"""


def write_study(file: Path, configs: tuple[Path, ...]) -> None:
    """Write a study's file with each config's policy and verifier, for people to complete.

    Raises:
        ConfigError: If the file is there, or a config cannot be read.
    """
    if file.exists():
        raise ConfigError(f"{file} exists; give a new file")
    read = [load_config(path) for path in configs]
    endpoints: dict[str, EndpointConfig] = {}
    text = [_HEAD.format(file=file)]
    members: list[str] = []
    taken: set[str] = set()
    for config in read:
        for role, table in (("policy", "policy"), ("verifier", "judge")):
            if role in config.roles:
                settings = config.roles[role]
                name = _free(_name(settings), {other for other in taken if other.startswith(f"{table}.")}, table)
                taken.add(f"{table}.{name}")
                members.append(_role(f"{table}.{name}", settings, _endpoint(endpoints, settings.endpoint)))
    meta = next((config.roles["meta"] for config in read if "meta" in config.roles), None)
    if meta is not None:
        said = _role("meta", meta, _endpoint(endpoints, meta.endpoint)).replace("\n", "\n# ")
        members.append(f"# Grades the explanations of a calibration:\n# {said}")
    for name, endpoint in endpoints.items():
        stated = endpoint.model_dump(mode="json", exclude_unset=True, exclude={"name", "options"}) | endpoint.options
        text.append("\n".join([f"[endpoint.{name}]", *assignments(stated)]) + "\n")
    write_whole(file, "\n".join([*text, *members]).encode())
    load_study(file)
    say(f"wrote {file}; complete it, then: proverbench study {shlex.quote(str(file))} --dry-run")


def _name(settings: RoleConfig) -> str:
    safe = re.sub(r"[^A-Za-z0-9._]+|-+", "-", settings.model.rsplit("/", 1)[-1]).strip("-._")
    return safe or "model"


def _free(name: str, taken: set[str], table: str) -> str:
    found, n = name, 1
    while f"{table}.{found}" in taken:
        n += 1
        found = f"{name}-{n}"
    return found


def _endpoint(endpoints: dict[str, EndpointConfig], endpoint: EndpointConfig) -> str:
    """Its name in the study; one that is there already is shared."""
    for name, other in endpoints.items():
        if other.model_copy(update={"name": endpoint.name}) == endpoint:
            return name
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", endpoint.name).strip("-") or "endpoint"
    name, n = stem, 1
    while name in endpoints:
        n += 1
        name = f"{stem}-{n}"
    endpoints[name] = endpoint
    return name


def _role(where: str, settings: RoleConfig, endpoint: str) -> str:
    quoted = where if "." not in where.partition(".")[2] else f'{where.partition(".")[0]}."{where.partition(".")[2]}"'
    stated = {"endpoint": endpoint, "model": settings.model}
    prices = {} if settings.prices is None else {"prices": settings.prices.model_dump(mode="json", exclude_unset=True)}
    tables = {**({"generation": settings.generation} if settings.generation else {}), **prices}
    return "\n".join([f"[{quoted}]", *assignments({**stated, **tables})]) + "\n"
