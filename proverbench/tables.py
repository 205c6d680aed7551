"""Tables that people write: how they are declared, and read back from where a run keeps them. Pure."""

from typing import TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError

from proverbench.errors import JournalError


class Table(BaseModel):
    """A table of a config: unknown keys are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


T = TypeVar("T", bound=Table)


def read_saved(model: type[T], table: object, where: str) -> T:
    """Read back a table of a config that a run's manifest keeps.

    Args:
        model: What it is.
        table: As it stands there.
        where: Which it is, for messages.

    Raises:
        JournalError: If it is none, which somebody's hand must have done.
    """
    try:
        return model.model_validate_json(msgspec.json.encode(table))
    except ValidationError as exc:
        faults = "; ".join(".".join(map(str, (where, *fault["loc"]))) + f": {fault['msg']}" for fault in exc.errors())
        raise JournalError(f"{faults}; the manifest was changed") from None
