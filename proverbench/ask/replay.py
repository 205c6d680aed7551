"""Kind ``replay``: answers from a saved run, for nothing.

A call is answered by the saved call of the same key, if that was made with the same prompt. So a run's proofs can be
judged by another verifier, and a pipeline can be run again as it was.
"""

from pathlib import Path

from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.kinds.kind import Opening
from proverbench.errors import CallFailedError, FatalEndpointError
from proverbench.protocols.prompts import prompt_sha256
from proverbench.records import CallKey
from proverbench.run.folder import RunFolder
from proverbench.run.texts import exact_reasoning, exact_text


class ReplayEndpoint:
    """Answers from one run's folder.

    Args:
        path: The saved run.

    Raises:
        JournalError: If it is no run, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._run = RunFolder(path)
        self._run.refresh()  # what is damaged is told before anything is asked

    async def complete(self, request: Request) -> Reply:
        """The saved reply to the same call.

        Raises:
            CallFailedError: If the run has no answer to it.
            FatalEndpointError: If its answer was to another prompt: the two runs differ in data, prompts or settings.
        """
        saved = self._run.call(CallKey.parse(request.key))
        if saved is None:
            raise CallFailedError(f"{self._path} holds no answer to {request.key}", kind="not_in_run")
        asked = prompt_sha256(request.prompt)
        if saved.prompt_sha256 and saved.prompt_sha256 != asked:
            raise FatalEndpointError(
                f"{self._path} answered {request.key} to another prompt (SHA-256 {saved.prompt_sha256[:12]}…, here "
                f"{asked[:12]}…); replay needs the data, prompts and settings of the saved run",
                kind="prompt_mismatch",
            )
        return Reply(
            text=exact_text(saved),
            finish_reason=saved.finish_reason,
            reasoning=exact_reasoning(saved),
            refused=saved.refused,
            usage=saved.usage,
            model=saved.model,
            fingerprint=saved.fingerprint,
            response_id=saved.response_id,
        )

    async def aclose(self) -> None:
        """Close the run's files."""
        self._run.close()


async def open_replay(opening: Opening) -> ReplayEndpoint:
    """Open the run that an endpoint's config names."""
    assert opening.config.run is not None, "the kind's faults say that it is missing"
    return ReplayEndpoint(opening.config.run)
