"""What ``proverbench init`` does."""

import asyncio
import shlex
from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.streams import echo
from proverbench.endpoints.access import Access
from proverbench.endpoints.served import ask_served
from proverbench.errors import ConfigError, DataError, EndpointError
from proverbench.inputs.config import EndpointConfig
from proverbench.inputs.starting import LocalServer, project_files


def init(folder: Path, sort: str | None, local: str | None) -> int:
    """Write a first project into a folder: config, data, study file, and a README of five commands."""
    if (sort is None) == (local is None):
        raise click.UsageError("say where your model is: one of --openai, --anthropic, --local URL, --embedded")
    files = project_files(sort or "local", _local_server(local) if local else None)
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise ConfigError(f"{folder}: has {', '.join(there)} already; nothing was written. Give another DIR")
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
    except OSError as exc:
        raise DataError(f"{exc.filename or folder}: cannot be written: {exc.strerror}") from exc
    for name in files:
        echo(str(folder / name))
    step = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    echo(f"next: {step}proverbench doctor")
    return EXIT_COMPLETE


def _local_server(url: str) -> LocalServer:
    """Ask the server at ``url`` for its models; where only ``url``/v1 has them, that is its address."""
    base = url.rstrip("/").removesuffix("/chat/completions")
    said = ""
    for candidate in dict.fromkeys([base, base if base.endswith("/v1") else f"{base}/v1"]):
        try:
            endpoint = EndpointConfig(name="server", base_url=candidate)
        except ValueError as exc:
            raise ConfigError(f"--local {url!r}: is no http(s) address like http://127.0.0.1:8000/v1") from exc
        try:
            served = asyncio.run(ask_served(endpoint, Access()))
        except EndpointError as exc:
            raise ConfigError(f"--local {url}: {exc}") from exc
        if served is not None and served.models:
            models = [model.name for model in served.models]
            return LocalServer(candidate, models, served.models[0].context)
        said = f"HTTP {served.status}" if served is not None else "nothing"
    raise ConfigError(f"--local {url}: the server lists no models ({said}); give the address of its API, often …/v1")
