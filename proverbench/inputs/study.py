"""Reading the file of a study: several policies, several judges, one data set (docs/studies.md)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from proverbench.errors import ConfigError
from proverbench.inputs.config import Config, RoleConfig
from proverbench.inputs.config_fields import Count
from proverbench.inputs.config_file import ConfigReader, read_tables
from proverbench.redact import shown
from proverbench.run.study import SEPARATOR
from proverbench.tables import Table

META = "meta"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_LONGEST_NAME = 80
_OWN_KEYS = {"policy": ("run", "proofs", "prompt"), "judge": ("prompt",), META: ("prompt",)}
"""Keys of a table that are not those of a config's role."""
_FILE = Annotated[Path, Field(strict=False)]


class StudySettings(Table):
    """The table ``[study]``: what all runs of the study share."""

    data: _FILE
    domain: str | None = None
    limit: Count | None = None
    samples: Count = 1
    verifier_repeats: Count = 8
    calibration: _FILE | None = None
    """VerifierBench rows that every judge judges too."""
    calibration_limit: Count | None = None
    """Only the first so many of them."""
    calibration_repeats: Count | None = None
    """Judgments of each of them; at least ``verifier_repeats`` are asked."""
    use_reference_solution: bool | None = None
    neutralise: bool = True
    protocol: str | None = None
    accept_from: Annotated[float, Field(strict=False)] | None = None
    """Points from which a judge that grades accepts a proof."""
    correct_from: Annotated[float, Field(strict=False)] | None = None
    """Points from which a graded proof of the calibration is correct."""
    generation_prompt: _FILE | None = None
    verifier_prompt: _FILE | None = None
    meta_prompt: _FILE | None = None
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)] | None = None
    """In US dollars, over all runs and sessions."""
    max_tokens_total: Count | None = None


@dataclass(frozen=True)
class Member:
    """A policy, a judge or the meta-verifier of a study."""

    name: str
    role: RoleConfig | None
    """None of a policy whose proofs are given."""
    prompt: Path | None = None
    proofs: Path | None = None
    """Of a policy whose proofs exist already as a file."""


@dataclass(frozen=True)
class StudyFile:
    """A study's file, read and checked."""

    path: Path
    settings: StudySettings
    policies: Mapping[str, Member]
    judges: Mapping[str, Member]
    meta: Member | None

    def config(self, policy: str | None, judge: str) -> Config:
        """The config of one run: what would be in its file if it were alone."""
        roles: dict[str, RoleConfig] = {}
        if policy is not None and (role := self.policies[policy].role) is not None:
            roles["policy"] = role
        if (role := self.judges[judge].role) is not None:
            roles["verifier"] = role
        if policy is None and self.meta is not None and self.meta.role is not None:
            roles["meta"] = self.meta.role
        return Config(path=self.path, roles=roles)

    def whole_config(self) -> Config:
        """All roles, by the names of :func:`role_name`."""
        members = [
            *((role_name("policy", name), member) for name, member in self.policies.items()),
            *((role_name("judge", name), member) for name, member in self.judges.items()),
            *([(META, self.meta)] if self.meta is not None else []),
        ]
        return Config(path=self.path, roles={name: member.role for name, member in members if member.role is not None})


def role_name(kind: str, name: str) -> str:
    """What a member of a study is called among all of its roles: ``policy.NAME`` or ``judge.NAME``."""
    return f"{kind}.{name}"


def load_study(path: Path) -> StudyFile:
    """Read and check the file of a study; the files that it names are not looked into.

    Raises:
        ConfigError: Lists all faults, each with the file and the key.
    """
    data, published = read_tables(path)
    if published:
        raise ConfigError(f"{path}: is JSON; a study's file is TOML (a commented one: configs/study.toml)")
    reader = _StudyReader(path, published=False)
    study = reader.study(data)
    if reader.faults or study is None:
        raise ConfigError.of(dict.fromkeys(reader.faults))
    return study


class _StudyReader(ConfigReader):
    """Turns the tables of a study into its parts, collecting every fault on the way."""

    def study(self, data: dict[str, Any]) -> StudyFile | None:
        self._refuse_unknown(data, ("study", "endpoint", "policy", "judge", META), "")
        self._refuse_credentials(data.get("endpoint", {}), "endpoint")
        self._refuse_credentials(data.get("study", {}), "study")
        self._read_endpoints(data.get("endpoint", {}))
        settings = self._settings(data.get("study"))
        policies, judges = self._members("policy", data.get("policy")), self._members("judge", data.get("judge"))
        meta = self._member(META, META, data[META]) if META in data else None
        if META in data and settings is not None and settings.calibration is None:
            self._fault(META, "grades the explanations of a calibration, and study.calibration is missing")
        if self.faults or settings is None:
            return None
        return StudyFile(self.path, settings, policies, judges, meta)

    def _settings(self, table: object) -> StudySettings | None:
        if table is None:
            self._fault("study", 'is missing; wanted a table [study] with data = "FILE"')
            return None
        if not self._is_table(table, "study"):
            return None
        assert isinstance(table, dict)
        known = tuple(StudySettings.model_fields)
        self._refuse_unknown(table, known, "study")
        if "data" not in table:
            self._fault("study.data", "is missing; give the file of problems")
            table = {**table, "data": "-"}
        stated = {key: value for key, value in table.items() if key in known}
        return self._model(StudySettings, "study", stated)

    def _members(self, kind: str, tables: object) -> dict[str, Member]:
        found: dict[str, Member] = {}
        if not tables and tables in (None, {}):
            self._fault(kind, f"is missing; wanted at least one table [{kind}.NAME]")
            return found
        if not self._is_table(tables, kind):
            return found
        assert isinstance(tables, dict)
        alike: dict[str, str] = {}
        for name, table in tables.items():
            where = role_name(kind, name)
            if (fault := _name_fault(name)) is not None:
                self._fault(where, f"is no name for a folder: {fault}")
            elif (other := alike.setdefault(name.lower(), name)) != name:
                self._fault(
                    where, f"differs from {kind}.{other} in case alone; some file systems cannot tell them apart"
                )
            if (member := self._member(kind, where, table)) is not None:
                found[name] = member
        return found

    def _member(self, kind: str, where: str, table: object) -> Member | None:
        if not self._is_table(table, where):
            return None
        assert isinstance(table, dict)
        self._refuse_credentials(table, where)
        own = {key: table[key] for key in _OWN_KEYS[kind] if key in table}
        for key, value in own.items():
            if not isinstance(value, str) or not value:
                self._fault(f"{where}.{key}", f"is {shown(value)}; wanted a path")
                return None
        name = where.partition(".")[2] or where
        prompt = Path(own["prompt"]) if "prompt" in own else None
        if "proofs" in own:
            for key in sorted(set(table) - {"proofs"}):
                self._fault(f"{where}.{key}", "has no meaning beside proofs, for nobody is asked; delete it")
            return Member(name, None, proofs=Path(own["proofs"]))
        rest = {key: value for key, value in table.items() if key not in _OWN_KEYS[kind]}
        if "run" in own:
            rest = {**rest, "kind": rest.get("kind", "replay"), "run": own["run"]}
        role = self._role(where, rest)
        return None if role is None else Member(name, role, prompt)


def _name_fault(name: str) -> str | None:
    if SEPARATOR in name:
        return f"{SEPARATOR!r} stands between the names of a policy and a judge"
    if len(name) > _LONGEST_NAME:
        return f"it has {len(name)} characters; wanted at most {_LONGEST_NAME}"
    if _NAME.fullmatch(name) is None:
        return "wanted letters, digits, '.', '_' and '-', the first and the last a letter or digit"
    return None
