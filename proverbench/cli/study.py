"""`proverbench study`."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.run_options import FILE, on_clusters
from proverbench.errors import ConfigError


@click.command(cls=HandlesErrors, name="study", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=FILE, metavar="FILE")
@click.option("--output", type=FILE, metavar="DIR", help="Folder of the study. [default: studies/NAME, of NAME.toml]")
@click.option("--dry-run", is_flag=True, help="Check everything, print what is to be asked and its cost; call nothing.")
@click.option("--shard", metavar="i/n", help="Only this part of the problems (1-based); join with merge.")
@on_clusters
@click.option(
    "--init",
    "configs",
    type=FILE,
    multiple=True,
    metavar="CONFIG",
    help="Write FILE from this config, to be completed by hand; may be repeated. Asks nothing.",
)
def command(
    file: Path,
    output: Path | None,
    dry_run: bool,
    shard: str | None,
    executor: str,
    ray_address: str | None,
    configs: tuple[Path, ...],
) -> int:
    """Several policies and several judges on one data set: FILE says which, one command asks all of it.

    Each proof is written once and judged by every judge. The folder holds an ordinary run for each pair,
    runs/POLICY--JUDGE, and for each judge calibration/JUDGE, so that every command works on them and on the folder.
    All runs share each endpoint's limits and one budget. The same command again asks only what the file now wants and
    the folder lacks: a new policy or judge, more samples, repeats or rows. FILE is explained in docs/studies.md.

    \b
    Begin:   proverbench study study.toml --init shipped:openai    (writes study.toml)
    Check:   proverbench study study.toml --dry-run
    Ask:     proverbench study study.toml           (the same again after a stop, or when the file has grown)
    Look:    proverbench inspect studies/study

    Exit codes: 0 complete; 1 incomplete; 2 bad input, nothing called or written; 129/130/143 stopped by a signal.
    """
    if configs:
        from proverbench.cli.study_init import write_study

        write_study(file, configs)
        return EXIT_COMPLETE
    from proverbench.ask.study_plan import plan_study
    from proverbench.inputs.study import load_study
    from proverbench.run.study import STUDY_FILE, is_study

    if ray_address is not None and executor != "ray":
        raise ConfigError("--ray-address names a Ray cluster, so it needs --executor ray")
    if file.is_dir() and is_study(file):
        file = file / STUDY_FILE
    folder = output or (file.parent if _is_kept(file) else Path("studies") / file.stem)
    plan = plan_study(load_study(file), folder, shard=shard)
    if dry_run:
        from proverbench.cli.study_estimate import print_study_estimate

        print_study_estimate(plan)
        return EXIT_COMPLETE
    from proverbench.cli.study_session import StudyExecution  # loads what calls models

    return StudyExecution(plan, spread=executor == "ray", ray_address=ray_address).main()


def _is_kept(file: Path) -> bool:
    """Whether it is the file that a study's folder keeps."""
    from proverbench.run.study import STUDY_FILE, is_study

    return file.name == STUDY_FILE and is_study(file.parent)
