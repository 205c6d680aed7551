"""Runs to a report: plain data for the page and for Markdown. Chooses what to show; computes no metric of its own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from proverbench.errors import RunMismatchError
from proverbench.metrics.shown import LITTLE_EVIDENCE
from proverbench.records import ProofRecord
from proverbench.run.folder import RunFolder
from proverbench.run.saved import call_cost, names_of
from proverbench.run.study import expanded, is_study
from proverbench.show.report.beside import boards_head
from proverbench.show.report.facts import TABLE_1, facts_of
from proverbench.show.report.index import ProofIndex
from proverbench.show.report.overview import ShownRun, answered_calls, metric_words, missing_calls, overview
from proverbench.show.report.several import comparisons, published_results
from proverbench.show.report.texts import annotation, judged, problem_texts
from proverbench.show.study import study_head
from proverbench.version import SCORED_BY


class Report:
    """What a page or a summary shows of one or more runs.

    Args:
        runs: Name and folder of each, in the order to show them; names differ.
        published: Whose published figures to show beside them (:mod:`.facts`); None for none.

    Attributes:
        head: Everything but the texts of proofs and judgments, as JSON-ready data (docs/report.md).
        runs: As given.
        n_chunks: How many pieces the texts come in.
    """

    def __init__(self, runs: Sequence[tuple[str, RunFolder]], *, published: str | None = None) -> None:
        self._index = ProofIndex()
        self.runs = [self._take(number, name, folder) for number, (name, folder) in enumerate(runs)]
        self._chunks = self._index.chunks()
        self.n_chunks = len(self._chunks)
        self.head: dict[str, Any] = {
            "made_by": SCORED_BY,
            "little_evidence": LITTLE_EVIDENCE,
            "reasons": _reasons(self.runs),
            "metrics": {task: metric_words(task) for task in dict.fromkeys(run.arrays.task for run in self.runs)},
            "runs": [overview(run) for run in self.runs],
            "comparisons": list(comparisons(self.runs)),
            **boards_head({run.name: run.entry for run in self.runs}),
            "published": published_results(self.runs) if published == TABLE_1 else None,
            "facts": None if published in (None, TABLE_1) else facts_of(published),
            "index": self._index.as_json(self._chunks),
        }

    def chunk(self, number: int) -> dict[str, Any]:
        """The texts of some proofs: ``problems``, and for each proof its steps, annotation, judgments and calls."""
        problems: dict[int, dict[str, Any]] = {}
        proofs = []
        for item in self._chunks[number]:
            proof: dict[str, Any] = {"problem": item.problem, "runs": []}
            for run_number, *_ in item.runs:
                run = self.runs[run_number]
                row = run.folder.row(item.id)
                record = run.folder.record(item.id, item.sample)
                if record is None:
                    continue
                problems.setdefault(item.problem, problem_texts(row))
                proof.setdefault("steps", record.steps)
                if record.annotation is not None:
                    proof["annotation"] = annotation(record, row)
                proof["runs"].append(judged(run.folder, run_number, item, record))
            proofs.append(proof)
        return {"problems": problems, "proofs": proofs}

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Every chunk in turn."""
        return map(self.chunk, range(self.n_chunks))

    def _take(self, number: int, name: str, folder: RunFolder) -> ShownRun:
        manifest = folder.manifest
        missing: Counter[str] = Counter()
        answered: Counter[str] = Counter()

        def see(record: ProofRecord) -> None:
            missing.update(missing_calls(record, manifest))
            answered.update(answered_calls(record, manifest))
            self._index.see(number, record, folder.row(record.proof_id or record.problem_id), manifest)

        summary, arrays = folder.scored(see)
        scored = any(split.metrics for split in summary.splits.values())
        return ShownRun(
            name, folder, summary, arrays, dict(missing), dict(answered), call_cost(folder) if scored else None
        )


def _reasons(runs: Sequence[ShownRun]) -> dict[str, str]:
    """What the reason codes of the runs' protocols mean."""
    found: dict[str, str] = {}
    for run in runs:
        found |= run.folder.sources.reader.protocol.reasons
    return found


@contextmanager
def open_runs(paths: Sequence[Path], *, published: str | None = None) -> Iterator[Report]:
    """The report of the runs in some folders, named after them; the folders stay open as long as it is used.

    Raises:
        RunMismatchError: If a folder is no run, or is given twice.
        JournalError: If a run is damaged.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise RunMismatchError("a run is given twice")
    with ExitStack() as stack:
        folders = []
        for path in paths:
            folder = RunFolder(path)
            stack.callback(folder.close)
            folders.append(folder)
        yield Report(list(zip(names_of(paths), folders, strict=True)), published=published)


@contextmanager
def open_report(paths: Sequence[Path], *, published: str | None = None) -> Iterator[Report]:
    """The report of runs and studies; of one study also what is computed over its runs.

    Raises:
        RunMismatchError: If a folder is neither, or is given twice.
        JournalError: If a run is damaged.
    """
    with open_runs(expanded(paths, calibrations=True), published=published) as report:
        if len(paths) == 1 and is_study(paths[0]):
            shown = {run.folder.path: (run.folder.manifest, run.summary, run.arrays) for run in report.runs}
            report.head["study"] = study_head(paths[0], shown)
        yield report
