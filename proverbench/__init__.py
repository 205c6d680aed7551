"""Language-model proofs, written and judged: ProverBench and VerifierBench.

The names below are what a notebook needs; each is loaded when it is first used, so that importing the package, or
asking a command for its help, loads nothing heavy.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose own import takes longer than this one
if TYPE_CHECKING:
    from typing import Any

    from proverbench.api import run_prover, run_verifier
    from proverbench.endpoints.base import Reply, Request
    from proverbench.errors import (
        ConfigError,
        DataError,
        EndpointError,
        InvalidReply,
        JournalError,
        PromptError,
        ProverBenchError,
        RunMismatchError,
        UserInputError,
    )
    from proverbench.inputs.data import load_problems, load_proofs
    from proverbench.metrics.scores import score_prover, score_verifier
    from proverbench.protocols.basic_v1 import parse_level, parse_steps, parse_verdict
    from proverbench.protocols.prompts import render_prompt
    from proverbench.show.frames import load

_HOMES = {
    "ConfigError": "errors",
    "DataError": "errors",
    "EndpointError": "errors",
    "InvalidReply": "errors",
    "JournalError": "errors",
    "PromptError": "errors",
    "ProverBenchError": "errors",
    "Reply": "endpoints.base",
    "Request": "endpoints.base",
    "RunMismatchError": "errors",
    "UserInputError": "errors",
    "load": "show.frames",
    "load_problems": "inputs.data",
    "load_proofs": "inputs.data",
    "parse_level": "protocols.basic_v1",
    "parse_steps": "protocols.basic_v1",
    "parse_verdict": "protocols.basic_v1",
    "render_prompt": "protocols.prompts",
    "run_prover": "api",
    "run_verifier": "api",
    "score_prover": "metrics.scores",
    "score_verifier": "metrics.scores",
}

__all__ = [
    "ConfigError",
    "DataError",
    "EndpointError",
    "InvalidReply",
    "JournalError",
    "PromptError",
    "ProverBenchError",
    "Reply",
    "Request",
    "RunMismatchError",
    "UserInputError",
    "load",
    "load_problems",
    "load_proofs",
    "parse_level",
    "parse_steps",
    "parse_verdict",
    "render_prompt",
    "run_prover",
    "run_verifier",
    "score_prover",
    "score_verifier",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
