"""What ``proverbench study`` does."""

from pathlib import Path

from proverbench.ask.parts import NO_ROLE
from proverbench.ask.study_plan import plan_study
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.study_estimate import print_study_estimate
from proverbench.cli.study_init import write_study
from proverbench.errors import ConfigError
from proverbench.inputs.study import load_study
from proverbench.run.study import STUDY_FILE, is_study


def study(
    file: Path,
    output: Path | None,
    dry_run: bool,
    shard: str | None,
    executor: str,
    ray_address: str | None,
    batch: str | None,
    configs: tuple[Path, ...],
) -> int:
    """Several policies and several judges on one data set: FILE says which, one command asks all of it."""
    if configs:
        write_study(file, configs)
        return EXIT_COMPLETE
    if ray_address is not None and executor != "ray":
        raise ConfigError("--ray-address names a Ray cluster, so it needs --executor ray")
    if batch not in (None, NO_ROLE) and executor == "ray":
        raise ConfigError("--batch cannot be given with --executor ray: one process is enough to ask in batches")
    if file.is_dir() and is_study(file):
        file = file / STUDY_FILE
    folder = output or (file.parent if _is_kept(file) else Path("studies") / file.stem)
    plan = plan_study(load_study(file), folder, shard=shard, batch=batch)
    if dry_run:
        print_study_estimate(plan)
        return EXIT_COMPLETE
    from proverbench.cli.study_session import StudyExecution  # loads what calls models, which a dry run can do without

    return StudyExecution(plan, spread=executor == "ray", ray_address=ray_address).main()


def _is_kept(file: Path) -> bool:
    """Whether it is the file that a study's folder keeps."""
    return file.name == STUDY_FILE and is_study(file.parent)
