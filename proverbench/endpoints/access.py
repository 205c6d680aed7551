"""What an endpoint's environment variables hold: the secrets, kept together so that they can be kept out of texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from proverbench.redact import Redactor


@dataclass(frozen=True, slots=True)
class Access:
    """A key and further headers, as values."""

    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def redact(self) -> Redactor:
        """Removes these secrets from texts."""
        return Redactor([self.key or "", *self.headers.values()])
