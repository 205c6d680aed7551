"""What comes with the program: prompts, configs and data of our own, in a wheel inside the package, else beside it.

Wherever a config or a data file is wanted, ``shipped:NAME`` names one of these, from any folder.
"""

import difflib
from pathlib import Path
from typing import Literal

from proverbench.errors import ConfigError, DataError, UserInputError

PREFIX = "shipped:"
_PACKAGE = Path(__file__).parent
_SUFFIXES = {"configs": (".toml", ".json"), "data": (".jsonl",)}


def shipped(path: str) -> Path:
    """Where a shipped file or folder is.

    Args:
        path: As in the repository, such as ``prompts/verifier.txt``.

    Raises:
        UserInputError: If this installation lacks it.
    """
    for root in (_PACKAGE / "_shipped", _PACKAGE.parent):
        if (root / path).exists():
            return root / path
    raise UserInputError(f"{path} is missing from this installation; reinstall proverbench")


def shipped_names(sort: Literal["configs", "data"]) -> dict[str, Path]:
    """The shipped configs or data files, by the name that follows ``shipped:``."""
    folder = shipped(sort)
    return {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES[sort]}


def resolve(path: Path | str, sort: Literal["configs", "data"]) -> Path:
    """The file that ``path`` means: a shipped one for ``shipped:NAME``, else itself.

    Raises:
        ConfigError: If no shipped config has that name; the known ones are listed.
        DataError: The same of data.
    """
    text = str(path)
    if not text.startswith(PREFIX):
        return Path(path)
    known = shipped_names(sort)
    name = text.removeprefix(PREFIX)
    found = known.get(name) or next((file for file in known.values() if file.name == name), None)
    if found is not None:
        return found
    near = difflib.get_close_matches(name, known, n=1)
    guess = f"; did you mean {PREFIX}{near[0]}?" if near else ""
    error = ConfigError if sort == "configs" else DataError
    raise error(f"{text}: nothing of that name is shipped; there are {', '.join(PREFIX + key for key in known)}{guess}")
