"""`proverbench view`."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.errors import ConfigError
from proverbench.run.study import expanded


@click.command(cls=HandlesErrors, name="view", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8766,
    show_default=True,
    help="Port of localhost; 0 takes a free one.",
)
@click.option("--published", is_flag=True, help="Show the published Table 1 beside the runs.")
def command(runs: tuple[Path, ...], port: int, published: bool) -> int:
    """Show RUNS in the browser: the page of `proverbench report`, served on localhost.

    It reads proofs only when they are looked at, so a run may be of any size, and it follows a run that is still going.
    Changes nothing in the runs. Ctrl-C ends it.
    """
    runs = tuple(expanded(runs, calibrations=True))
    from proverbench.show.report.serve import Followed, make_server

    followed = Followed(runs, published=published)
    try:
        server = make_server(followed, port)
    except OSError as exc:
        followed.close()
        raise ConfigError(f"--port {port}: {exc.strerror}; name another, or 0 for a free one") from exc
    with server:
        try:
            click.echo(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)")
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            followed.close()
    return EXIT_COMPLETE
