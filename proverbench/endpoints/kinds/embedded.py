"""Kind ``embedded``: a small model inside the installation."""

from proverbench.endpoints.kinds.kind import Kind

EMBEDDED = Kind(
    name="embedded",
    opens="proverbench.endpoints.embedded:open_embedded",
    normal_stops=frozenset({"stop"}),
    caches_prompts=False,
    keys=frozenset({"threads", "context"}),
    defaults={"concurrency": 2},
    needs="proverbench.endpoints.embedded:load_xllamacpp",
    costs=False,
)
