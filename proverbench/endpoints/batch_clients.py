"""The batch clients of a config's endpoints."""

from proverbench.endpoints.batch import BatchClient
from proverbench.endpoints.factory import read_access
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.inputs.config import Config


class BatchClients:
    """The clients of a config's endpoints, made when they are first needed.

    Args:
        config: The config file as read; the variables that hold its keys are set.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: dict[str, BatchClient] = {}

    def of(self, role: str) -> BatchClient:
        """The client of the role's endpoint.

        Raises:
            ConfigError: If endpoints of its kind have no batches.
        """
        endpoint = self._config.roles[role].endpoint
        if endpoint.name not in self._made:
            self._config.require_batches([role])
            roles = {name: r for name, r in self._config.roles.items() if r.endpoint.name == endpoint.name}
            self._made[endpoint.name] = find_kind(endpoint.kind).open_batches(endpoint, roles, read_access(endpoint))
        return self._made[endpoint.name]

    async def aclose(self) -> None:
        """Release connections."""
        for client in self._made.values():
            await client.aclose()
