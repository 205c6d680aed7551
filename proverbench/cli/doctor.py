"""`proverbench doctor`: is everything there that a run needs?"""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.run_options import FILE


@click.command(cls=HandlesErrors, name="doctor", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=FILE,
    default=Path("config.toml"),
    show_default=True,
    metavar="FILE",
    help="Config to check, or shipped:NAME.",
)
@click.option("--offline", is_flag=True, help="Ask no server: config, keys, disk only.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="In seconds, in all.",
)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def command(**given: Any) -> int:
    """Check config, keys, servers, disk and clock before a run.

    Each role is asked one tiny question (at most 64 tokens), to tell its model, context, finish reason, usage, cache,
    streaming and reasoning. Takes ten seconds at the most.

    \b
    Try:  proverbench doctor --config shipped:embedded --offline

    Exit codes: 0 all is there (warnings may stand); 1 a server does not answer as it should; 2 bad config or keys.
    """
    from proverbench.cli.bodies.doctor import doctor

    return doctor(**given)
