"""One saved run as a page sees it: what it holds constant, what it is called, what it may be ranked with."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import UNSET

from proverbench.retrieval.derive import derive, service_cap
from proverbench.retrieval.records import GoldQuery, Positions, RunManifest
from proverbench.retrieval.render import OWN_V1, modern_sha256


@dataclass(frozen=True)
class RunData:
    """One saved run, loaded."""

    label: str
    """How the page calls it; unique."""
    manifest: RunManifest
    queries: list[GoldQuery]
    positions: Mapping[str, Positions]
    ranked: Mapping[str, list[str]]
    saved_at: str = ""
    """When its last answer came, as far as the folder tells."""

    @property
    def corpus_title(self) -> str:
        """The corpus that was searched, for people."""
        corpus = self.manifest.corpus
        if self.manifest.own_corpus:
            return self.manifest.own_corpus
        revision = f" at {corpus.revision}" if corpus.revision else ""
        sample = f", a sample of {corpus.sampled_from:,}" if corpus.sampled_from else ""
        return f"{corpus.name}{revision} ({corpus.documents:,} documents{sample}; {corpus.sha256[:12]})"

    @property
    def short_corpus(self) -> str:
        """The corpus in a word."""
        return self.manifest.own_corpus or f"corpus {self.manifest.corpus.name}"

    @property
    def benchmark_title(self) -> str:
        """The queries that were asked, for people."""
        return f"{self.manifest.task} ({self.manifest.benchmark.file})"

    @property
    def corpus_key(self) -> str:
        """Equal for runs that searched the same documents."""
        return self.manifest.own_corpus or self.manifest.corpus.key

    @property
    def task_key(self) -> tuple[str, str]:
        """Equal for runs of the same benchmark file."""
        return self.manifest.task, self.manifest.benchmark.sha256

    @property
    def renderer(self) -> tuple[str, str]:
        """Name and hash of what made the documents' text."""
        name = self.manifest.renderer
        return OWN_V1 if name is UNSET else name, modern_sha256(self.manifest.renderer_sha256)

    @property
    def shared_key(self) -> tuple[Any, ...]:
        """Equal for runs that may be ranked together on shared queries."""
        return (*self.task_key, self.manifest.k_max, self.pool, self.query_text, self.missing_gold)

    @property
    def board_key(self) -> tuple[Any, ...]:
        """Equal for runs that may be ranked together: everything but the system is the same."""
        # Of a system with a corpus of its own the text of the documents is its own too.
        text = () if self.manifest.own_corpus else self.renderer
        return (*self.shared_key, self.corpus_key, self.manifest.queries_sha256, text)

    @property
    def pool(self) -> str:
        """``accessible`` (LeanDojo) or the whole corpus."""
        return "all" if self.manifest.pool is UNSET else self.manifest.pool

    @property
    def query_text(self) -> str:
        """Which text of a row was asked."""
        text = self.manifest.benchmark.query_text
        return "formal" if text is UNSET else text

    @property
    def missing_gold(self) -> str:
        """Whether queries without gold in the corpus are ``dropped`` or count ``zero``."""
        missing = self.manifest.benchmark.missing_gold
        return "dropped" if missing is UNSET else missing

    @property
    def part(self) -> str:
        """Which part of the benchmark's queries was asked; empty for all of them."""
        benchmark = self.manifest.benchmark
        parts = [f"split {benchmark.split}" if benchmark.split else "", benchmark.subset]
        if benchmark.sampled_n is not None:
            parts.append(
                f"a sample of {benchmark.sampled_n} of {benchmark.sampled_from} (seed {benchmark.sample_seed})"
            )
        return ", ".join(part for part in parts if part)

    @property
    def is_slice(self) -> bool:
        """Whether only a part of the corpus was searched."""
        corpus = self.manifest.corpus
        sliced = bool(corpus.sampled_from) or corpus.whole_documents is not UNSET
        return sliced and not self.manifest.own_corpus

    @property
    def kind(self) -> str:
        """``own``; ``engine`` (a published one, of a corpus of its own) or ``run file``."""
        if self.manifest.system_identity.get("kind") == "runfile":
            return "run file"
        return "engine" if self.manifest.own_corpus else "own"

    @property
    def not_known(self) -> str:
        """What of the things held constant is only known from what others say; empty if nothing."""
        if self.kind == "run file":
            return "lists made elsewhere; the text of its documents is not known here"
        if self.kind == "engine":
            return "searches a corpus and texts of its own"
        if self.manifest.system_identity.get("kind") == "vectors":
            return "vectors made elsewhere; the text of its documents is as their makers say"
        return ""

    @property
    def complete(self) -> bool:
        """Whether every query that counts is answered."""
        return all(query.dropped or query.id in self.positions for query in self.queries)

    @cached_property
    def derived(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Summary and curves, as in the run's folder."""
        return derive(self.manifest, self.queries, self.positions)

    @property
    def service_cap(self) -> int | None:
        """How many results a system from outside returns at most; None where that is not a limit."""
        return service_cap(self.manifest, list(self.positions.values()))

    @property
    def latency_p95_s(self) -> float | None:
        """Seconds within which 95 % of the answers came, where the run knows."""
        seconds = sorted(line.seconds for line in self.positions.values() if line.seconds is not UNSET)
        return seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))] if seconds else None

    def held_constant(self, *, shared: bool) -> list[str]:
        """Say what every run of a board has in common with this one."""
        benchmark = self.manifest.benchmark
        text = f" (asked: the {self.query_text} statement)" if self.manifest.task == "mathlibmpr" else ""
        gold = "dropped and counted" if self.missing_gold == "dropped" else "scored 0, as in the release"
        searched = "what the theorem can use" if self.pool != "all" else "the whole corpus"
        lines = [
            f"queries: {benchmark.file}, SHA-256 {benchmark.sha256[:12]}{text}",
            f"queries without gold in the corpus: {gold}",
            f"searched: {searched}; lists are cut at {self.manifest.k_max}",
        ]
        if not shared:
            lines.append(f"corpus: {self.corpus_title}")
        if self.kind == "own":
            lines.append(f"text of the documents, where it was made here: {self.renderer[0]} ({self.renderer[1][:12]})")
        return lines
