"""Ray clusters: the one that the user names is joined, else one is started on this machine for this run alone.

Ray trusts whoever reaches it: who can connect to a cluster without authentication can run code on it, as its user. So
no cluster is joined because it was found, one of our own listens on the loopback address alone and asks for a token
that this user alone can read, and keys are handed to clusters that ask for a token (docs/many-machines.md).
"""

import ipaddress
import logging
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from proverbench.errors import ConfigError

_ADDRESS = "RAY_ADDRESS"
_MODE, _TOKEN, _TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Where it is 0, Ray takes the loopback address for that of this machine, and listens nowhere else."""
_OBJECT_STORE_BYTES = 80_000_000
"""The least that Ray takes; nothing large goes through it."""
_PROBE_S = 60.0
_PROBE = """
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1]).internal_kv_keys(b"", None, timeout=10)
except AuthenticationError:
    print("refused")
else:
    print("taken")
"""
"""In a process of its own, for Ray reads its credentials once."""

Greeting = Literal["taken", "refused", "unreachable"]
"""What a cluster does with somebody who comes with certain credentials."""


class Membership:
    """A Ray cluster that this process has joined or started.

    Attributes:
        ray: Ray's package.
        guarded: Whether the cluster asks for a token, so that keys may be handed to its workers.
    """

    def __init__(self, ray: Any, *, guarded: bool, own: "_OwnCluster | None" = None) -> None:
        self.ray = ray
        self.guarded = guarded
        self._own = own

    def leave(self) -> None:
        """Leave the cluster; one that was started here is ended, and its token with it."""
        self.ray.shutdown()
        if self._own is not None:
            self._own.forget()


class _OwnCluster:
    """What a cluster of our own is started with: a folder that only this user may enter, and a new token in it."""

    def __init__(self) -> None:
        # Short, for paths of Unix sockets are; and closed, for Ray lets everybody into those that it makes.
        self.folder = Path(tempfile.mkdtemp(prefix="pb-ray-", dir="/tmp" if os.path.isdir("/tmp") else None))
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self._before = {name: os.environ.pop(name, None) for name in (_MODE, _TOKEN, _TOKEN_PATH, _LOOPBACK)}
        os.environ |= {_MODE: "token", _TOKEN_PATH: str(token), _LOOPBACK: "0"}

    def forget(self) -> None:
        """Remove the folder, and set the environment back."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, value in self._before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def join(address: str | None, say: Callable[[str], object]) -> Membership:
    """Join the cluster at ``address`` or ``RAY_ADDRESS``; where neither is given, start one on this machine.

    Args:
        address: Of ``--ray-address``: HOST:PORT.
        say: Told which it was.

    Raises:
        ConfigError: Ray is not installed, the address is none, or the cluster cannot be joined.
    """
    said = "--ray-address" if address else _ADDRESS
    address = address or os.environ.get(_ADDRESS)
    # Ray would tell its makers of each cluster that is started.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if not address or address == "local":
        return _start(say)
    _check_address(address, said)
    ray = _import_ray()
    guarded = _is_guarded(address, f"{said} {address}")
    try:
        ray.init(address=address, **_quiet())
    except (ConnectionError, ray.exceptions.RayError) as exc:
        raise ConfigError(
            f"cannot join the Ray cluster at {said} {address}: {last_line(exc)}. Is Ray running on this machine as "
            "part of that cluster (see: ray status)?"
        ) from exc
    except (RuntimeError, ValueError) as exc:  # other versions of Ray or Python than the cluster has, among others
        raise ConfigError(f"cannot join the Ray cluster at {said} {address}: {last_line(exc)}") from exc
    say(f"joined the Ray cluster at {ray.get_runtime_context().gcs_address}")
    return Membership(ray, guarded=guarded)


def last_line(exc: BaseException) -> str:
    """The line of one of Ray's errors that says what was wrong."""
    return str(exc).strip().rsplit("\n", 1)[-1].strip()


def _start(say: Callable[[str], object]) -> Membership:
    own = _OwnCluster()
    try:
        ray = _import_ray()
        say("a Ray cluster is started on this machine alone (to join one: --ray-address or RAY_ADDRESS)")
        try:
            ray.init(
                address="local",
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                _node_ip_address="127.0.0.1",
                _temp_dir=str(own.folder / "ray"),
                **_quiet(),
            )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as exc:
            raise ConfigError(f"cannot start Ray on this machine: {last_line(exc)}") from exc
        found = [node["NodeManagerAddress"] for node in ray.nodes()]
        if not all(map(_is_loopback, found)):
            ray.shutdown()
            raise ConfigError(f"Ray listens on {', '.join(found)} instead of this machine alone; try a newer Ray")
    except BaseException:
        own.forget()
        raise
    return Membership(ray, guarded=True, own=own)


def _check_address(address: str, said: str) -> None:
    host, _, port = address.rpartition(":")
    if "/" in address or not host or not port.isdecimal():
        raise ConfigError(
            f"{said} {address}: the address of a Ray cluster is wanted, as HOST:PORT (ray start --head prints it). "
            "Clusters that happen to run are not searched for: they may be anybody's"
        )


def _is_guarded(address: str, named: str) -> bool:
    """Whether a cluster asks for a token.

    Raises:
        ConfigError: It cannot be reached, or ours is not the right one.
    """
    bare = {name: value for name, value in os.environ.items() if name not in (_MODE, _TOKEN, _TOKEN_PATH)}
    greeting = greeted(address, bare | {_MODE: "disabled"})
    if greeting == "taken":
        return False
    if greeting == "refused":
        os.environ[_MODE] = "token"
        greeting = greeted(address, os.environ)
    if greeting == "refused":
        raise ConfigError(
            f"the Ray cluster at {named} refuses this machine's token: set RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) to "
            "what the cluster was started with"
        )
    if greeting == "unreachable":
        raise ConfigError(
            f"no Ray cluster answers at {named}: is it running, with the same version of Ray as here? "
            "Without an address, a cluster is started on this machine alone"
        )
    return True


def greeted(address: str, environ: Mapping[str, str]) -> Greeting:
    """What a cluster does with somebody who has the credentials of ``environ``."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, ValueError, OverflowError, subprocess.TimeoutExpired):
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()  # Ray would try for a minute
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, address],
            env=environ,
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
            start_new_session=True,  # Ctrl-C is this process's matter
        )
        if done.stdout.strip() == "taken":
            return "taken"
        if done.stdout.strip() == "refused":
            return "refused"
    return "unreachable"


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _quiet() -> dict[str, Any]:
    return {"log_to_driver": False, "logging_level": logging.ERROR}


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as exc:
        raise ConfigError(
            "--executor ray needs Ray, which is not installed; install it on every machine: "
            "pip install 'proverbench[ray]'"
        ) from exc
    return ray
