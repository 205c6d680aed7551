"""Kind ``embedded``: a small model inside the installation."""

from proverbench.endpoints.kinds.kind import Kind


def _ready() -> None:
    from proverbench.endpoints.embedded import load_xllamacpp  # loads what sends requests

    load_xllamacpp()


EMBEDDED = Kind(
    name="embedded",
    opens="proverbench.endpoints.embedded:open_embedded",
    normal_stops=frozenset({"stop"}),
    caches_prompts=False,
    keys=frozenset({"threads", "context"}),
    defaults={"concurrency": 2},
    ready=_ready,
    costs=False,
)
