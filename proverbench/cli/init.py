"""`proverbench init`: a first project."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.run_options import FILE


@click.command(cls=HandlesErrors, name="init", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=FILE, default=Path(), metavar="[DIR]")
@click.option("--openai", "sort", flag_value="openai", help="Models of OpenAI (needs OPENAI_API_KEY to run).")
@click.option(
    "--anthropic", "sort", flag_value="anthropic", help="Models of Anthropic (needs ANTHROPIC_API_KEY to run)."
)
@click.option("--embedded", "sort", flag_value="embedded", help="A tiny model inside the install, to see how it works.")
@click.option(
    "--local", metavar="URL", help="A server of your own, e.g. http://127.0.0.1:8000/v1; asks for its models."
)
def command(**given: Any) -> int:
    """Write a first project into DIR (default: this folder): config, data, study file, and a README of five commands.

    Nothing that is there is overwritten.

    \b
    Try:  proverbench init first --embedded
    """
    from proverbench.cli.bodies.init import init

    return init(**given)
