"""The published data files, fetched at their pinned revision: resumed after a break, checked by SHA-256.

They come from the hub by its own library (hub.py), or from a plain web server or a folder that holds them.

What is not the pinned file never stands under its name: bytes go to ``NAME.part``, which becomes ``NAME`` only when
its hash is right, and is deleted when it is wrong.
"""

import hashlib
import http.client
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from proverbench.benchmark import BENCHMARKS
from proverbench.errors import DataError, EndpointError, TransientError
from proverbench.inputs.hub import hub_address, hub_file

REPOSITORY = "debouter/AdvancedMathBench"
REVISION = "80abe34097edf2531e3d5b07337c4cc0710bfb24"

_TIMEOUT_S = 60.0
_ATTEMPTS = 6
_BLOCK = 1 << 18
_TEMPORARY = (408, 425, 429, 500, 502, 503, 504)

Progress = Callable[[int, int | None], None]
"""Called with the bytes on disk so far, and the file's size if known."""


@dataclass(frozen=True)
class PinnedFile:
    """A published file."""

    name: str
    """What it is called here, without its suffix."""
    path: str
    """Within the dataset."""
    sha256: str
    suffix: str = ".jsonl"

    @property
    def filename(self) -> str:
        """What it is called here."""
        return self.name + self.suffix


PINNED = {
    file.name: file
    for file in (
        PinnedFile(
            "proverbench",
            "data/proverbench/test.jsonl",
            BENCHMARKS["prover"].published_sha256,
        ),
        PinnedFile(
            "verifierbench",
            "data/verifierbench/test.jsonl",
            BENCHMARKS["verifier"].published_sha256,
        ),
    )
}


def fetch(
    file: PinnedFile,
    folder: Path,
    *,
    source: str | None = None,
    progress: Progress | None = None,
    wait_s: float = 1.0,
) -> tuple[Path, bool]:
    """Get a pinned file.

    Args:
        file: Which.
        folder: Where it goes; made if absent.
        source: A web server's address below which the dataset's files are, or a local folder that holds them; None:
            the hub.
        progress: Told how far it is, but for the hub, whose library shows it.
        wait_s: First wait between two attempts; later ones are longer.

    Returns:
        The file's path, and whether it was fetched (False: it was there already).

    Raises:
        ConfigError: If the hub's library is missing.
        DataError: If the source does not have the pinned file, or another file stands under its name.
        EndpointError: If the source could not be read to the end; what came is kept for the next try.
    """
    target = folder / file.filename
    if target.exists():
        if _sha256(target) == file.sha256:
            return target, False
        raise DataError(f"{target}: is another file than the pinned one; give another --output, or delete it")
    part = target.with_name(target.name + ".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if source is None:
            _from_hub(file, part)
        else:
            resumed = part.exists()
            _get(file, part, source, progress, wait_s)
            if resumed and _sha256(part) != file.sha256:  # the earlier part may have been of something else
                part.unlink()
                _get(file, part, source, progress, wait_s)
        found = _sha256(part)
        if found != file.sha256:
            part.unlink()
            raise DataError(
                f"{source or hub_address()}: {file.path} has SHA-256 {found}; wanted {file.sha256}. Nothing was kept; "
                "try another source"
            )
        part.replace(target)
    except OSError as exc:
        raise DataError(f"{exc.filename or target}: {exc.strerror or exc}") from exc
    return target, True


def _from_hub(file: PinnedFile, part: Path) -> None:
    """Put the hub's file under ``part``; what the cache holds is fetched anew if it is another."""
    cached = hub_file(REPOSITORY, file.path, REVISION)
    if _sha256(cached) != file.sha256:
        cached = hub_file(REPOSITORY, file.path, REVISION, anew=True)
    shutil.copyfile(cached, part)


def _get(file: PinnedFile, part: Path, source: str, progress: Progress | None, wait_s: float) -> None:
    if not source.lower().startswith(("http://", "https://")):
        shutil.copyfile(_local(file, Path(source)), part)
        return
    download(f"{source.rstrip('/')}/{file.path}", part, progress=progress, wait_s=wait_s)


def download(url: str, part: Path, *, progress: Progress | None = None, wait_s: float = 1.0) -> None:
    """Get a file of a plain web server, going on where ``part`` ends; no token is sent.

    Raises:
        DataError: If the address holds a password, or the disk is full.
        EndpointError: If it could not be read to the end; what came is kept.
    """
    if "@" in urlsplit(url).netloc:
        raise DataError("--from holds a user or password; give the plain address")
    retrying = Retrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=wait_s, max=30),
        retry=retry_if_exception_type(TransientError),
        retry_error_callback=_last_error,
    )
    retrying(_attempt, url, part, progress)


def _last_error(state: RetryCallState) -> None:
    if state.outcome is not None:
        state.outcome.result()


def _local(file: PinnedFile, folder: Path) -> Path:
    candidates = [folder / file.path, folder / file.path.removeprefix("data/"), folder / file.filename]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise DataError(f"{folder}: has none of {', '.join(str(path.relative_to(folder)) for path in candidates)}")


def _attempt(url: str, part: Path, progress: Progress | None) -> None:
    """One request: the rest of the file, appended to what is there."""
    have = part.stat().st_size if part.exists() else 0
    # The identity encoding keeps the byte counts of Range and of the file the same.
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            start = have if response.status == 206 else 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length and length.isdigit() else None
            _append(response, part, start, total, progress)
    except urllib.error.HTTPError as exc:
        with exc:
            _refused(exc, url, part)
    except (OSError, http.client.HTTPException) as exc:
        if isinstance(exc, OSError) and exc.filename is not None:
            raise  # the disk, not the network
        reason = getattr(exc, "reason", None) or exc or type(exc).__name__
        raise TransientError(f"{_shown(url)}: {reason}; what came is kept, so run it again", kind="network") from exc


def _append(
    response: http.client.HTTPResponse, part: Path, start: int, total: int | None, progress: Progress | None
) -> None:
    with part.open("r+b" if start else "wb") as out:
        have = out.seek(start)
        while block := response.read(_BLOCK):
            try:
                out.write(block)
            except OSError as exc:  # the disk, not the network: another attempt would not help
                raise DataError(f"{part}: cannot be written: {exc.strerror}") from exc
            have += len(block)
            if progress is not None:
                progress(have, total)
    if total is not None and have < total:
        raise TransientError(
            f"{_shown(response.url)}: the connection broke after {have:,} of {total:,} bytes; what came is kept, so "
            "run it again",
            kind="cut",
        )


def _refused(exc: urllib.error.HTTPError, url: str, part: Path) -> None:
    if exc.code == 416:  # the part is as long as the file, or longer: its hash will tell, or it starts anew
        size = (exc.headers.get("Content-Range") or "").rpartition("/")[2]
        if size.isdigit() and int(size) == part.stat().st_size:
            return
        part.unlink()
        raise TransientError(f"{_shown(url)}: another length than before", kind="http_416", status=416) from exc
    message = f"{_shown(url)}: HTTP {exc.code} {exc.reason}"
    if exc.code in _TEMPORARY:
        raise TransientError(f"{message}; run it again later", kind=f"http_{exc.code}", status=exc.code) from exc
    raise EndpointError(f"{message}; another source: --from URL-or-folder", kind=f"http_{exc.code}", status=exc.code)


def _shown(url: str) -> str:
    """The URL without a query: redirects carry signatures there."""
    return url.split("?", 1)[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
