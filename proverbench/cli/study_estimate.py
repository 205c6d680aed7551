"""What `study --dry-run` prints: what each run would ask, and what all of it may cost."""

from contextlib import closing

import click

from proverbench.ask.forewarn import forewarnings
from proverbench.ask.study_plan import PlannedRun, StudyPlan
from proverbench.cli.estimate import RoleEstimate, print_total, refuse_unreachable, role_estimates
from proverbench.run.sources import Sources


def print_study_estimate(plan: StudyPlan) -> None:
    """Calls, tokens and cost of what the study's file wants and its folder lacks; calls nothing, writes nothing.

    Raises:
        ConfigError: If an endpoint cannot be reached as configured.
    """
    asked: dict[str, RoleEstimate] = {}
    writing: dict[str, RoleEstimate] = {}
    warnings: dict[str, None] = {}
    for run in plan.runs:
        refuse_unreachable(run.prepared)
        warnings |= dict.fromkeys(f"{run.cell.name}: {warning}" for warning in forewarnings(run.prepared))
        state = "there" if run.cell.exists else "new"
        parts = []
        for of in _estimates(run):
            warnings |= dict.fromkeys([f"{run.cell.name}: {of.warning}"] if of.warning else [])
            if of.role == "policy":
                # What one run of the policy has, the others get from it.
                name = run.roles["policy"]
                if name not in writing or of.found.calls < writing[name].found.calls:
                    writing[name] = of
                continue
            asked[f"{run.cell.name} {of.role}"] = of
            parts.append(f"{of.role}: {of.words()}")
        click.echo(f"{run.cell.name} ({state}): {'; '.join(parts)}")
    for name, of in writing.items():
        click.echo(f"{name}, once for all its judges: {of.words()}")
    for cell in plan.others:
        click.echo(f"{cell.name}: not in {plan.file.path} any more; stays as it is")
    print_total(writing | asked)
    for warning in warnings:
        click.echo(f"warning: {warning}")
    click.echo("dry run: everything but keys was checked; nothing was called, nothing was written")


def _estimates(run: PlannedRun) -> list[RoleEstimate]:
    if not run.cell.exists:
        return list(role_estimates(run.prepared, None))
    with closing(Sources(run.cell.path)) as sources:
        return list(role_estimates(run.prepared, sources))
