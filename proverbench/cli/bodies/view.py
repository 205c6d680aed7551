"""What `proverbench view` does."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.errors import ConfigError
from proverbench.show.report.facts import known_published
from proverbench.show.report.serve import Followed, make_server


def view(runs: tuple[Path, ...], port: int, published: str | None) -> int:
    """Serve the page."""
    published = None if published is None else known_published(published)
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
