"""Lines of what comes in chunks. Pure."""


class LineBuffer:
    """Cuts chunks into lines at ``\\n`` alone; a line in many chunks is joined once, so long lines take linear time."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without their ``\\n``."""
        self._pending.append(chunk)
        if b"\n" not in chunk:
            return []
        lines = b"".join(self._pending).split(b"\n")
        self._pending = [lines.pop()]
        return lines

    @property
    def rest(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._pending)
