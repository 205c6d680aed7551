"""What a config file sets for retrievalbench: embedders, rerankers, engines (docs/retrieval.md, "Config")."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The tables of a config file."""
