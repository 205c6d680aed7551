"""The commands. One file each, loaded when it is called, so that ``--help`` stays quick."""

from importlib import import_module

import click

from proverbench.cli.common import HandlesErrors

# Name → (module, one-line help). The help stands here so that listing the commands imports none of them.
_COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "A first project: config, data, study file, five commands."),
    "doctor": ("doctor", "Check config, keys, servers, disk and clock before a run."),
    "run": ("run", "ProverBench: a policy writes proofs, a verifier judges them."),
    "verify": ("verify", "VerifierBench: a verifier judges human-annotated proofs."),
    "study": ("study", "Several policies and judges on one data set, from one file; asked once, resumed, grown."),
    "runs": ("runs", "List saved runs and studies: what, when, complete, size, score, cost."),
    "score": ("score", "Rebuild records, summary and timing of a saved run; calls nothing."),
    "inspect": ("inspect", "Look into a saved run: scores, proofs, judgments, prompts, replies."),
    "analyse": ("analyse", "Voting rules, agreement and breakdowns of saved runs."),
    "compare": ("compare", "Paired differences between runs, with intervals and p-values."),
    "plan": ("plan", "What width, power and cost to expect of problems, samples and repeats."),
    "label": ("label", "Label a draw of a run's proofs in the browser, for `correct --labels`."),
    "correct": ("correct", "Correct a ProverBench score for the judge's own error."),
    "report": ("report", "One page (HTML or Markdown) of one or more runs."),
    "view": ("view", "Serve a run's page on localhost, also while it is going."),
    "export": ("export", "Runs to CSV, Parquet, XLSX or LaTeX."),
    "verify-run": ("verify_run", "Check that a saved run is whole and its figures follow from it."),
    "merge": ("merge", "Join the shards of a run."),
    "protocol": ("protocol", "Check a judging protocol of your own, and what it reads in a saved run."),
    "data": ("data", "Fetch, validate, show or import data files."),
    "rehearse": ("rehearse", "A local endpoint that plays latencies and faults, to try a run for nothing."),
}


class _LazyGroup(HandlesErrors, click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        command: click.Command = import_module(f"proverbench.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """Measure how well language models write and judge natural-language proofs.

    \b
    Start:   proverbench run --config shipped:embedded --data shipped:proverbench --samples 2
    Look:    proverbench inspect runs/NAME
    Share:   proverbench report runs/NAME -o report.html
    """
