"""``python -m proverbench``, and what each installed command calls.

Ctrl-C ends a command quietly also while its modules are loaded and after its work is done, so nothing that takes time
to load is imported before that is arranged: ``_signal`` is ``signal`` without its enums.
"""

import atexit
import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    import click

_signal = import_module("_signal")
INTERRUPTED = 130


def proverbench() -> None:
    """Run ``proverbench``."""
    with _Loading():
        from proverbench.cli import main
    _run(main, "proverbench")


def verifierbench() -> None:
    """Run ``verifierbench``, which is ``proverbench verify``."""
    with _Loading():
        from proverbench.cli.verify import command
    _run(command, "verifierbench")


def retrievalbench() -> None:
    """Run ``retrievalbench``."""
    with _Loading():
        from proverbench.retrieval.cli import main
    _run(main, "retrievalbench")


def compressionbench() -> None:
    """Run ``compressionbench``."""
    with _Loading():
        from proverbench.compression.cli import main
    _run(main, "compressionbench")


class _Loading:
    """Ctrl-C ends the process; as an exception in the midst of an import, it may turn into another one or vanish."""

    def __enter__(self) -> None:
        self._handles = _ctrl_c_is_handled()
        if self._handles:
            _signal.signal(_signal.SIGINT, _stop)

    def __exit__(self, *_: object) -> None:
        if self._handles:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _run(command: "click.Command", name: str) -> None:
    try:
        command(prog_name=name)
    except SystemExit as ended:
        if _ctrl_c_is_handled():
            _let_it_end(ended.code if isinstance(ended.code, int) else 0)
        raise


def _let_it_end(code: int) -> None:
    """The work is done and its exit code settled; what is left is Python taking itself apart."""
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(code))
    atexit.register(_signal.signal, _signal.SIGINT, _signal.SIG_IGN)  # later on, Python forgets its handlers


def _ctrl_c_is_handled() -> bool:
    """Whether Ctrl-C does what Python makes of it; a command behind nohup or in a script's background ignores it."""
    return bool(_signal.getsignal(_signal.SIGINT) is _signal.default_int_handler)


def _stop(*_: object) -> None:
    try:
        os.write(2, b"stopped by Ctrl-C\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    proverbench()
