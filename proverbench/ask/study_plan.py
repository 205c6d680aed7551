"""From a study's file to its runs: each is prepared as it would be alone, all faults at once, before any call."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from proverbench.ask.parts import EVERY_ROLE, NO_ROLE, Faults, Options, PreparedRun, refuse_blind_budget
from proverbench.ask.prepare import Rows, prepare_new
from proverbench.benchmark import benchmark_of
from proverbench.errors import ConfigError, ProverBenchError, RunMismatchError
from proverbench.inputs.data import load_rows
from proverbench.inputs.study import META, StudyFile, role_name
from proverbench.records import GIVEN, Manifest, Role, RoleIdentity, Task
from proverbench.run.manifest import MANIFEST, read_manifest
from proverbench.run.session import Draft, growth_faults
from proverbench.run.sources import Sources
from proverbench.run.study import Cell, cells_of

_IN_BATCHES = ("verifier", "meta")
_KINDS: Mapping[Role, str] = {"policy": "policy", "verifier": "judge"}


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study, checked."""

    cell: Cell
    prepared: PreparedRun

    @property
    def task(self) -> Task:
        """Which benchmark."""
        return self.prepared.draft.identity.task

    @property
    def roles(self) -> dict[Role, str]:
        """Role that calls go to → what it is called among all roles of the study."""
        named: dict[Role, str] = {
            "policy": role_name("policy", self.cell.policy or ""),
            "verifier": role_name("judge", self.cell.judge),
            "meta": META,
        }
        asked = self.prepared.draft.identity.roles
        return {role: named[role] for role, identity in asked.items() if identity.kind != GIVEN}


@dataclass(frozen=True)
class StudyPlan:
    """Everything that a study's file wants."""

    file: StudyFile
    folder: Path
    runs: tuple[PlannedRun, ...]

    @property
    def others(self) -> list[Cell]:
        """Runs of the folder that the file does not want any more; they stay as they are."""
        wanted = {run.cell.path for run in self.runs}
        return [cell for cell in cells_of(self.folder) if cell.path not in wanted]


def plan_study(file: StudyFile, folder: Path, *, shard: str | None = None, batch: str | None = None) -> StudyPlan:
    """Prepare every run of a study, and make sure that those which are there may become what is wanted.

    Args:
        file: The study's file.
        folder: Its folder, which need not be there.
        shard: ``i/n``, where other machines ask the rest.
        batch: Roles whose calls go in batches: ``verifier``, ``meta``, or both; the policies are asked directly.

    Raises:
        UserInputError: Lists every fault of data, prompts, proofs and saved runs.
        JournalError: If a saved run is damaged.
    """
    faults, settings = Faults(), file.settings
    batched = faults.attempt(lambda: _batched(batch)) or ()
    problems = faults.attempt(lambda: load_rows(benchmark_of("prover"), settings.data))
    proofs, calibration, least = None, settings.calibration, settings.correct_from
    if calibration is not None:
        proofs = faults.attempt(lambda: load_rows(benchmark_of("verifier"), calibration, correct_from=least))
    faults.lines += _changed(file, folder) if folder.is_dir() else []
    if (cap := settings.max_cost) is not None:
        whole = file.whole_config()
        roles = [*whole.roles]
        faults.attempt(lambda: refuse_blind_budget(whole, roles, Options(max_cost_usd=cap)))
    runs = []
    for cell in _wanted(file, folder):
        dataset = problems if cell.policy is not None else proofs
        if dataset is not None:
            run = faults.attempt(lambda: _planned(file, cell, dataset, shard, batched))  # noqa: B023
            runs += [] if run is None else [run]
    faults.refuse_if_any()
    return StudyPlan(file, folder, tuple(runs))


def _wanted(file: StudyFile, folder: Path) -> Iterator[Cell]:
    for policy in file.policies:
        yield from (Cell(folder, policy, judge) for judge in file.judges)
    if file.settings.calibration is not None:
        yield from (Cell(folder, None, judge) for judge in file.judges)


def _batched(wanted: str | None) -> tuple[str, ...]:
    """The roles that ``--batch`` names.

    Raises:
        ConfigError: If the policies are among them, for each of their calls is asked once for several runs.
    """
    if wanted is None or wanted == NO_ROLE:
        return ()
    if wanted == EVERY_ROLE:
        return _IN_BATCHES
    named = tuple(name.strip() for name in wanted.split(",") if name.strip())
    if "policy" in named:
        raise ConfigError(
            f"--batch {wanted}: a study asks its policies directly, for each proof is written once for all judges. "
            "Name verifier, meta or all (both). To have proofs written in batches, ask for them by themselves "
            '(proverbench run --batch policy) and give the policy run = "runs/THAT" in the file'
        )
    if not named or set(named) - set(_IN_BATCHES):
        raise ConfigError(f"--batch {wanted}: name verifier, meta, or {EVERY_ROLE} or {NO_ROLE}")
    return named


def _planned(file: StudyFile, cell: Cell, dataset: Rows, shard: str | None, batched: Collection[str]) -> PlannedRun:
    task: Task = "verifier" if cell.policy is None else "prover"
    options = _options(file, cell, shard)
    asked = benchmark_of(task).asked(meta=options.meta, given=options.proofs is not None)
    if here := [role for role in asked if role in batched]:
        options = replace(options, batch=",".join(here))
    prepared = prepare_new(task, options, config=file.config(cell.policy, cell.judge), dataset=dataset)
    if cell.exists:
        with closing(Sources(cell.path)) as sources:
            draft = _at_least(prepared.draft, sources)
            if faults := growth_faults(sources, draft):
                raise RunMismatchError("\n".join([f"{cell.path} cannot become what {file.path} wants:", *faults]))
            prepared = replace(prepared, draft=draft)
    return PlannedRun(cell, prepared)


def _options(file: StudyFile, cell: Cell, shard: str | None) -> Options:
    settings, judge = file.settings, file.judges[cell.judge]
    prompts: dict[Role, Path | None] = {"verifier": judge.prompt or settings.verifier_prompt}
    if cell.policy is not None:
        policy = file.policies[cell.policy]
        prompts["policy"] = policy.prompt or settings.generation_prompt
        options = Options(
            data=settings.data,
            samples=settings.samples,
            repeats=settings.verifier_repeats,
            domain=settings.domain,
            limit=settings.limit,
            proofs=policy.proofs,
        )
    else:
        if file.meta is not None:
            prompts["meta"] = file.meta.prompt or settings.meta_prompt
        repeats = max(settings.verifier_repeats, settings.calibration_repeats or 1)
        options = Options(
            data=settings.calibration,
            limit=settings.calibration_limit,
            repeats=repeats,
            meta=file.meta is not None,
            correct_from=settings.correct_from,
        )
    shows = settings.use_reference_solution
    return replace(
        options,
        shard=shard,
        use_reference_solution=benchmark_of("prover").reference_shown if shows is None else shows,
        neutralise=settings.neutralise,
        protocol=settings.protocol,
        accept_from=settings.accept_from,
        prompts={role: path for role, path in prompts.items() if path is not None},
    )


def _at_least(draft: Draft, sources: Sources) -> Draft:
    """The draft, no smaller than the run is: what a study's file no longer wants is neither asked nor deleted."""
    old, new = sources.manifest.extent, draft.extent
    extent = msgspec.structs.replace(
        new,
        samples=max(old.samples, new.samples),
        verifier_repeats=max(old.verifier_repeats, new.verifier_repeats),
    )
    rows, place = draft.rows, draft.shard_place
    had, wanted = {str(row) for row in sources.rows}, {str(row) for row in rows}
    if wanted <= had:
        rows, place = list(sources.rows), sources.manifest.shard_place
        extent = msgspec.structs.replace(extent, rows=old.rows, domain=old.domain, limit=old.limit, shard=old.shard)
    return replace(draft, extent=extent, rows=rows, shard_place=place, format_version=sources.manifest.format_version)


def _changed(file: StudyFile, folder: Path) -> Iterator[str]:
    """Names that meant another model, or the same one asked otherwise, when the folder's runs were made."""
    told = set()
    for cell in cells_of(folder):
        manifest = read_manifest(cell.path)
        for role, kind in _KINDS.items():
            name = cell.policy if role == "policy" else cell.judge
            members = file.policies if role == "policy" else file.judges
            if name is None or name not in members or (kind, name) in told:
                continue
            for what, was, is_now in _differences(file, role, name, manifest):
                told.add((kind, name))
                yield (
                    f"{file.path}: {kind}.{name}: {what} is {is_now!r}, and {cell.path / MANIFEST} has {was!r}: "
                    "a name stays what it is; give the new one a new name"
                )


def _differences(file: StudyFile, role: Role, name: str, manifest: Manifest) -> Iterator[tuple[str, object, object]]:
    """What of a policy or judge differs from what a saved run was made with: its name, then and now."""
    member = file.policies[name] if role == "policy" else file.judges[name]
    saved = manifest.identity.roles.get(role)
    if saved is None or member.role is None or member.role.endpoint.run is not None:
        if saved is not None and (saved.kind == GIVEN) != (member.role is None):
            yield (
                "proofs",
                "given" if saved.kind == GIVEN else "asked for",
                "given" if member.role is None else "asked for",
            )
        return
    try:
        now = member.role.identity()
    except ProverBenchError:
        return  # told when its runs are prepared
    for field in RoleIdentity.__struct_fields__:
        if getattr(saved, field) != getattr(now, field):
            yield field, getattr(saved, field), getattr(now, field)
