"""The option that shows published figures, of `report` and `view`."""

import click

published_option = click.option(
    "--published",
    metavar="[NAME]",
    is_flag=False,
    flag_value="advancedmathbench",
    help="Show published figures beside the runs: Table 1, or those of another benchmark (docs/report.md).",
)
