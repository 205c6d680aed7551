"""Files of the Hugging Face hub, by its own library: its cache, its login, its mirrors and its offline mode.

``HF_ENDPOINT`` names a mirror, ``HF_HUB_OFFLINE=1`` keeps to the cache, ``HF_TOKEN`` or a saved login (``hf auth
login``) is the token. The token goes to the hub itself and to no other host: neither to a mirror nor where the hub
redirects to.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proverbench.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

HUB = "https://huggingface.co"
NEEDS = "the hub's files come through huggingface_hub; install it: pip install 'proverbench[hub]'"


def hub_address(endpoint: str | None = None) -> str:
    """The hub's address: ``endpoint``, else the mirror of ``HF_ENDPOINT``, else the hub itself."""
    return (endpoint or os.environ.get("HF_ENDPOINT", "").strip() or HUB).rstrip("/")


def hub_file(repository: str, path: str, revision: str, *, endpoint: str | None = None, anew: bool = False) -> Path:
    """A file of a dataset, in the hub library's cache; what broke off is continued.

    Args:
        repository: ``OWNER/NAME``.
        path: Within it.
        revision: A commit.
        endpoint: A mirror's address.
        anew: Whether to download it though the cache has it.

    Raises:
        ConfigError: If the library is not installed.
        EndpointError: If the file could not be had.
    """
    with _mapped(repository, revision, endpoint):
        return Path(
            _api(endpoint).hf_hub_download(
                repository, path, repo_type="dataset", revision=revision, force_download=anew
            )
        )


def hub_listing(repository: str, revision: str, *, endpoint: str | None = None) -> list[str]:
    """Paths of all files of a dataset; raises as :func:`hub_file`."""
    with _mapped(repository, revision, endpoint):
        return _api(endpoint).list_repo_files(repository, repo_type="dataset", revision=revision)


def _api(endpoint: str | None) -> "HfApi":
    try:
        from huggingface_hub import HfApi  # heavy, and only fetching needs it
    except ImportError as exc:
        raise ConfigError(f"{NEEDS}, or give --from URL-or-folder") from exc
    address = hub_address(endpoint)
    # None: as the user is logged in. False: no token at all.
    return HfApi(endpoint=address, token=None if address == HUB else False, library_name="proverbench")


@contextmanager
def _mapped(repository: str, revision: str, endpoint: str | None) -> Iterator[None]:
    try:
        yield
    except (ConfigError, KeyboardInterrupt):
        raise
    except Exception as exc:  # the library's transport raises classes of its own, which differ by version
        if isinstance(exc, OSError) and exc.filename is not None and type(exc).__module__ == "builtins":
            raise  # the disk, not the network
        said = str(exc.__cause__ or exc)  # that the cache lacks a file is told where the hub has failed
        reason = next((line.strip() for line in said.splitlines() if line.strip()), type(exc).__name__)
        raise EndpointError(
            f"{hub_address(endpoint)}: {repository} at {revision}: {reason}; what came is kept. Another source: "
            "--from URL-or-folder",
            kind="hub",
        ) from exc
