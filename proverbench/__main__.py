"""``python -m proverbench``, and what each installed command calls.

Ctrl-C, SIGTERM and a closed terminal end a command quietly also while its modules are loaded, and Ctrl-C after its work
is done, so nothing that takes time to load is imported before that is arranged: ``_signal`` is ``signal`` without its
enums.
"""

import atexit
import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    import click

_signal = import_module("_signal")
ENDS = {_signal.SIGINT: (b"Ctrl-C", 130), _signal.SIGTERM: (b"SIGTERM", 143), _signal.SIGHUP: (b"SIGHUP", 129)}
"""Signal → its name in messages, and how the process then ends (cli/signals.py)."""


def proverbench() -> None:
    """Run ``proverbench``."""
    quiet = _end_at_signals()
    from proverbench.cli import main

    _run(main, "proverbench", quiet)


def verifierbench() -> None:
    """Run ``verifierbench``, which is ``proverbench verify``."""
    quiet = _end_at_signals()
    from proverbench.cli.verify import command

    _run(command, "verifierbench", quiet)


def retrievalbench() -> None:
    """Run ``retrievalbench``."""
    quiet = _end_at_signals()
    from proverbench.retrieval.cli import main

    _run(main, "retrievalbench", quiet)


def compressionbench() -> None:
    """Run ``compressionbench``."""
    quiet = _end_at_signals()
    from proverbench.compression.cli import main

    _run(main, "compressionbench", quiet)


def _end_at_signals() -> bool:
    """Have signals end the process; as an exception in the midst of an import, Ctrl-C may turn into another or vanish.

    Returns:
        Whether Ctrl-C does so now. What is ignored, as behind nohup or in a script's background, stays ignored.
    """
    ours = bool(_signal.getsignal(_signal.SIGINT) is _signal.default_int_handler)
    for number in ENDS:
        if _signal.getsignal(number) in (_signal.SIG_DFL, _signal.default_int_handler):
            _signal.signal(number, _stop)
    return ours


def _run(command: "click.Command", name: str, quiet: bool) -> None:
    try:
        if quiet:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        command(prog_name=name)
    except KeyboardInterrupt:  # between two lines of what handles it otherwise
        _stop(_signal.SIGINT)
    except SystemExit as ended:
        if quiet:
            _let_it_end(ended.code if isinstance(ended.code, int) else 0)
        raise


def _let_it_end(code: int) -> None:
    """The work is done and its exit code settled; what is left is Python taking itself apart."""
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(code))
    atexit.register(_signal.signal, _signal.SIGINT, _signal.SIG_IGN)  # later on, Python forgets its handlers


def _stop(number: int, *_: object) -> None:
    name, code = ENDS[number]
    try:
        os.write(2, b"stopped by %s\n" % name)
    finally:
        os._exit(code)


if __name__ == "__main__":
    proverbench()
