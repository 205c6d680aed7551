"""Answers of outside services, kept for good: asked once, read ever after."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proverbench.errors import JournalError
from proverbench.run.disk import disk, write_whole
from proverbench.run.journal import now
from proverbench.run.texts import storable


class AnswerCache:
    """One file an answer, named by the hash of the request.

    Args:
        folder: Where the answers of one service lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, request: Mapping[str, Any]) -> str | None:
        """Return the body that once answered ``request``, or None.

        Raises:
            JournalError: If the file is damaged.
        """
        path = self._path(request)
        try:
            kept = json.loads(path.read_bytes())
            return str(kept["body"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise JournalError(f"{path}: damaged ({exc}); delete it to ask again") from exc

    def write(self, request: Mapping[str, Any], body: str) -> None:
        """Keep an answer, before anyone looks into it.

        Raises:
            JournalError: If the disk refuses it.
        """
        path = self._path(request)
        with disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"request": request, "at": now(), "body": storable(body)[0]}
        write_whole(path, json.dumps(kept, ensure_ascii=False).encode())

    def _path(self, request: Mapping[str, Any]) -> Path:
        canonical = json.dumps(request, sort_keys=True, ensure_ascii=True).encode()
        digest = hashlib.sha256(canonical).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"
