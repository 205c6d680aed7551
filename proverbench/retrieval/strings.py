"""The fixed sentences of a release, read from a file of the user's: this project ships the rules, not the sentences."""

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proverbench.errors import ConfigError
from proverbench.retrieval.reading import read_bytes

HEADERS = ("header_theorem", "header_definition", "header_instance", "header_other")
QUERY_INSTRUCTION = "query_instruction"
RERANKER_FRAME = ("reranker_prefix", "reranker_suffix")
KEYS = (QUERY_INSTRUCTION, *RERANKER_FRAME, *HEADERS)


@dataclass(frozen=True)
class Strings:
    """Fixed sentences by key; a key of :data:`KEYS` may be absent until something needs it."""

    path: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    def need(self, keys: Sequence[str], what: str) -> list[str]:
        """Return the sentences of ``keys``.

        Raises:
            ConfigError: Names everything that is missing, and what needs it.
        """
        missing = [key for key in keys if key not in self.texts]
        if missing and not self.path:
            raise ConfigError(f"{what} needs the release's fixed sentences ({', '.join(missing)}); give --strings FILE")
        if missing:
            raise ConfigError(f"{self.path}: {what} needs {', '.join(missing)} too")
        return [self.texts[key] for key in keys]


NO_STRINGS = Strings()


def load_strings(path: Path | None) -> Strings:
    """Load a file of fixed sentences: a JSON object of key to text, or to ``{"text": ..., "sha256": ...}``.

    Raises:
        DataError: If the file cannot be read.
        ConfigError: Lists every fault: not an object, an unknown key, a text that is not a string, a wrong hash.
    """
    if path is None:
        return NO_STRINGS
    try:
        rows = json.loads(read_bytes(path).decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as exc:
        raise ConfigError(f"{path}: is not JSON: {exc}") from exc
    if not isinstance(rows, dict):
        raise ConfigError(f"{path}: must be an object of {', '.join(KEYS)}; found {type(rows).__name__}")
    texts: dict[str, str] = {}
    faults = []
    for key, value in rows.items():
        text, wanted = (value.get("text"), value.get("sha256")) if isinstance(value, dict) else (value, None)
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            faults.append(f"{path}: {key} is unknown{f', did you mean {near[0]}?' if near else ''}")
        elif not isinstance(text, str) or not text:
            faults.append(f"{path}: {key} must be a text, found {text!r}")
        elif wanted is not None and hashlib.sha256(text.encode()).hexdigest() != wanted:
            faults.append(f"{path}: {key} does not have its SHA-256 ({wanted}); get the file anew")
        else:
            texts[key] = text
    if faults:
        raise ConfigError.of(faults)
    return Strings(str(path), texts)
