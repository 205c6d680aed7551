"""What `inspect` shows of a run, as text: overview, table, one proof, one call."""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from msgspec import UNSET

from proverbench.benchmark import benchmark_of
from proverbench.cli.pages import (
    beside,
    cells,
    cut,
    cut_middle,
    flowing,
    one_line,
    padded,
    printable,
    right,
    rule,
    section,
)
from proverbench.endpoints.base import STOPPED
from proverbench.metrics.registry import unit_note
from proverbench.metrics.shown import shown_interval, split_footnotes
from proverbench.protocols.fields import decode_field, error_items
from proverbench.protocols.protocol import Protocol
from proverbench.records import (
    LEVEL_SCORES,
    CallKey,
    CallLine,
    HumanGrade,
    Judgment,
    Manifest,
    Proof,
    ProofRecord,
    Row,
    Summary,
)
from proverbench.run.extent import row_id
from proverbench.run.folder import RunFolder
from proverbench.run.looks import Looks, looks_in
from proverbench.run.remarks import remarks, shown_metrics
from proverbench.run.texts import exact_text
from proverbench.run.timing import timing
from proverbench.show.browsing import Call, Disagreement, Entry, Missing, Overview, hidden_texts, judgment_words
from proverbench.spending.money import used

# Columns of the judgments of one proof in a table: enough for a reason code, and for eight signs or so.
_REASON = 18
_STRIP = 20


def _symbols() -> tuple[str, str]:
    """Marks of acceptance and of an error, such as the terminal can show."""
    try:
        "✓✗".encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "+", "x"
    return "✓", "✗"


# --- overview


def head(run: RunFolder, state: str) -> list[str]:
    """Which run it is, and in what state."""
    manifest = run.manifest
    extent, roles = manifest.extent, manifest.identity.roles
    models = ", ".join(f"{role} {one_line(identity.model)}" for role, identity in roles.items())
    benchmark = benchmark_of(manifest.identity.task)
    size = [f"{extent.rows} {benchmark.unit}s"]
    if benchmark.samples:
        size.append(f"{extent.samples} {'proof' if extent.samples == 1 else 'proofs'} each")
    size.append(f"{extent.verifier_repeats} {'judgment' if extent.verifier_repeats == 1 else 'judgments'} a proof")
    chosen = [
        f"{name} {one_line(str(value))}"
        for name, value in (("domain", extent.domain), ("limit", extent.limit))
        if value
    ]
    chosen += [f"shard {extent.shard}"] if extent.shard else []
    return [
        click.style(f"{benchmark.name}: {one_line(str(run.path))}", bold=True),
        models,
        ", ".join([*size, *(["explanations graded"] if extent.meta else []), *chosen]),
        state,
    ]


def scores(summary: Summary, columns: int) -> list[str]:
    """A line a score; the interval is that of all rows."""
    shown = {name: split for name, split in summary.splits.items() if split.selected_rows or name == "all"}
    others = [name for name in shown if name != "all"]
    names = list(dict.fromkeys(metric for split in shown.values() for metric in shown_metrics(split) or ()))
    label = max([len(name) for name in names] + [7]) + 1
    wide = 24
    fit = max(0, (columns - label - wide) // 9)
    others, left_out = others[:fit], others[fit:]
    lines = ["".ljust(label) + "all".ljust(wide) + "".join(" " + right(one_line(name), 8) for name in others)]
    done = [f"{split.completed_records}/{split.expected_records}" for split in shown.values()]
    counts = dict(zip(shown, done, strict=True))
    lines.append("records".ljust(label) + counts["all"].ljust(wide) + "".join(counts[n].rjust(9) for n in others))
    for name in names:
        whole = shown["all"]
        interval = (whole.intervals or {}).get(name)
        cell = _number(name, (whole.metrics or {}).get(name) if whole.metrics else None, whole.metrics is not None)
        ends = shown_interval(interval)
        if whole.metrics and ends is not None:
            cell += f" [{ends.low:.3f}, {ends.high:.3f}]"
        rest = [_number(name, (shown[n].metrics or {}).get(name), shown[n].metrics is not None) for n in others]
        lines.append(name.ljust(label) + cell.ljust(wide) + "".join(part.rjust(9) for part in rest))
    if units := unit_note(names):
        lines += flowing(f"Not shares: {units}.", columns)
    for note in split_footnotes({"all": shown["all"].intervals}):
        lines += flowing(note, columns)
    if not summary.splits["all"].selected_rows:
        lines.append("this shard has no problems: there is nothing to ask or to score")
    elif not names:
        lines.append("no scores yet: a split has scores once all its records are complete")
    if left_out:
        lines.append(f"not shown: {', '.join(left_out)} (see summary.json)")
    return [line.rstrip() for line in lines]


def _number(name: str, value: float | int | None, scored: bool) -> str:
    if value is None:
        return "-" if scored else "…"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def troubles(manifest: Manifest, summary: Summary, missing: Missing, looks: Looks, columns: int) -> list[str]:
    """What is missing, what is invalid, and what a reader should know before quoting a score."""
    lines: list[str] = []
    if missing.proofs:
        calls = ", ".join(f"{count} {role}" for role, count in missing.by_role.items())
        why = ", ".join(
            f"{count} waited to be asked again when the run stopped" if error == STOPPED else f"{error} {count}"
            for error, count in missing.errors.items()
        )
        lines += beside("missing  ", f"{missing.proofs} proofs; calls to ask: {calls or 'none'}", columns)
        lines += beside("         ", f"last failures: {why}", columns) if why else []
    if summary.closed_unanswered:
        lines += beside("closed   ", f"{summary.closed_unanswered} unanswered calls count as zero (--final)", columns)
    for role, reasons in summary.invalid.items():
        if reasons:
            said = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
            lines += beside("invalid  ", f"{role}: {said}", columns)
    for remark in remarks(manifest, summary, looks):
        lines += beside("note     ", remark, columns)
    return lines


def first_page(run: RunFolder, found: Overview, state: str, columns: int) -> str:
    """Scores, and what is missing or invalid."""
    scored = f"scored by {found.summary.scored_by}, protocol {found.summary.protocol}"
    times = timing(run.sources)
    spent = used(found.summary.usage, times["roles"])
    parts = [
        [*head(run, state), scored, *([f"used {spent}"] if spent else [])],
        scores(found.summary, columns),
        troubles(run.manifest, found.summary, found.missing, looks_in(times), columns),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


# --- table


def table(entries: Iterable[Entry], repeats: int, columns: int, *, labelled: bool) -> str:
    """A line a proof."""
    right, _ = _symbols()
    strip = max(_REASON, min(_STRIP, 2 * repeats - 1))
    name = columns - (5 + 2 + 2 + 8 + 2 + strip + 2 + 5) - (8 if labelled else 0)
    human = f"{'human':<8}" if labelled else ""
    lines = [f"{'#':>5}  {'proof':<{name}}  {'domain':<8}  {'judgments':<{strip}}  {human}score"]
    for entry in entries:
        record = entry.record
        label = ""
        if labelled:
            label = padded(_human(record, right), 8)
        score = "…" if record.score is None else f"{record.score:.2f}"
        proof = padded(cut_middle(one_line(record.key), name), name)
        domain = padded(one_line(record.domain or "-"), 8)
        lines.append(f"{entry.number:>5}  {proof}  {domain}  {_strip(record, repeats, strip)}  {label}{score:>5}")
    return "\n".join(lines)


def _strip(record: ProofRecord, repeats: int, columns: int) -> str:
    """The judgments of one proof in a few columns: one sign each, or their counts."""
    right, wrong = _symbols()
    if record.generation_error is not None:
        return padded(record.generation_error, columns)
    by_repeat = {judgment.repeat: judgment for judgment in record.judgments}
    signs = [_sign(by_repeat.get(repeat), right, wrong) for repeat in range(repeats)]
    text = " ".join(signs)
    if cells(text) > columns:
        accepts, invalid, none = signs.count(right), signs.count("!"), signs.count(".")
        parts = [(accepts, right), (len(signs) - accepts - invalid - none, wrong), (invalid, "!"), (none, ".")]
        text = " ".join(f"{count}{sign}" for count, sign in parts if count)
    return padded(text, columns)


def _sign(judgment: Judgment | None, right: str, wrong: str) -> str:
    if judgment is None:
        return "."
    if not judgment.valid:
        return "!"
    if judgment.grade is not UNSET:
        return f"{judgment.grade:g}"
    if judgment.accepting:
        return right
    return wrong if judgment.first_error_step is None else str(judgment.first_error_step)


def legend(protocol: Protocol) -> str:
    """What the signs of a table mean."""
    right, wrong = _symbols()
    if protocol.verdict == "grade":
        said = f"a number is a grade of {protocol.max_grade:g}, accepted from {protocol.accept_from:g}"
    elif protocol.verdict == "label":
        said = f"{right} accepts, {wrong} rejects"
    else:
        said = f"{right} accepts, a number is the first wrong step"
    return f"judgments: {said}, ! invalid, . not there"


def disagreement_words(found: Disagreement, record: ProofRecord) -> str:
    """How far judges disagree, in words."""
    accepting = [judgment.accepting for judgment in record.judgments if judgment.valid]
    words = f"{sum(accepting)} of {len(accepting)} valid judgments accept"
    if found.human is not None and record.is_correct is not None:
        words += f"; the human {'accepts' if record.is_correct else 'rejects'}"
    return words


# --- one proof


def proof_page(run: RunFolder, entry: Entry, columns: int) -> str:
    """A proof: its steps, with the first wrong one marked, and every judgment beside it."""
    record = entry.record
    row = run.sources.plan.row(entry.number)
    title = click.style(rule(f"Proof {entry.number}: {one_line(record.key)}", columns), bold=True)
    parts = ["\n".join([title, *_facts(run, entry, row, columns)])]
    parts.append(section("Problem", row.problem, columns))
    parts += [_step(record, n, columns) for n in range(len(record.steps))]
    if record.generation_error is not None:
        parts += _raw_reply(run, CallKey("policy", row.problem_id, record.sample_index), "Reply of the policy", columns)
    for judgment in record.judgments:
        parts += _judgment(run, entry, judgment, row, columns)
    parts += _annotation(record, row, columns)
    if isinstance(row.rubric, str) and row.rubric.strip():
        parts.append(section("Marking scheme", row.rubric, columns))
    parts.append(section("Reference solution", row.reference_solution.strip() or "(none)", columns))
    return "\n\n".join(parts)


def _facts(run: RunFolder, entry: Entry, row: Row, columns: int) -> list[str]:
    record = entry.record
    where = ", ".join(filter(None, [record.domain, record.subject]))
    facts = [("problem", f"{row.problem_id}{f' ({where})' if where else ''}")]
    written = record.policy or "unknown"
    if benchmark_of(run.manifest.identity.task).samples:
        written += f"; the call is policy/{row.problem_id}/{record.sample_index}/0"
    facts.append(("written by", written))
    if record.generation_error is not None:
        facts.append(("generation", f"invalid: {record.generation_error}; it scores 0 and was not judged"))
    elif not record.complete:
        facts.append(("state", "incomplete: some of its calls are unanswered"))
    if record.score is not None:
        found = "find no error" if run.sources.reader.protocol.verdict == "first-error-step" else "accept it"
        verdict = f"accepted: all judgments are valid and {found}" if entry.accepted else "rejected"
        facts.append(("score", f"{record.score:g} ({verdict})" if record.is_correct is None else f"{record.score:g}"))
    if record.is_correct is not None:
        facts.append(("human", _human_words(record)))
        facts += [("", f"{given.grader}: {given.grade:g}") for given in _grades(row)]
    if record.judgments:
        facts.append(("judges", disagreement_words(entry.disagreement, record)))
        facts += [("", f"{judgment.repeat}: {judgment_words(judgment)}") for judgment in record.judgments]
    facts += [
        ("unseen", f"{count} characters{of} that a person cannot see; here they are spelled out")
        for of, count in hidden_texts(record, row)
    ]
    if record.neutralised:
        facts.append(("shown", f"to judges with {record.neutralised} tags neutralised; here it is as written"))
    return [line for label, text in facts for line in beside(f"{label:<12}", text, columns)]


def _step(record: ProofRecord, n: int, columns: int) -> str:
    """A step, and what judges and human say of it."""
    _, wrong = _symbols()
    judges = [judgment for judgment in record.judgments if judgment.valid and judgment.first_error_step == n]
    marks = []
    if record.annotation is not None:
        if record.annotation.first_fatal_error_step == n:
            marks.append("human: fatal error")
        elif n in record.annotation.recoverable_error_steps:
            marks.append("human: recoverable error")
    if judges:
        marks.append(f"judgment {', '.join(str(judgment.repeat) for judgment in judges)}: first wrong step")
    if not marks:
        return section(f"Step {n}", record.steps[n], columns)
    text = section(f"Step {n}  {wrong} {'; '.join(marks)}", record.steps[n], columns)
    heading, _, body = text.partition("\n")
    lines = [click.style(heading, fg="red"), body]
    for judgment in judges:
        said = "; ".join(error_items(judgment.errors or "")) or decode_field(judgment.assessment or "")
        lines += [f"  ┃ {line}" for line in flowing(f"{judgment.repeat}: {said}", columns - 4)]
    return "\n".join(lines)


def _judgment(run: RunFolder, entry: Entry, judgment: Judgment, row: Row, columns: int) -> list[str]:
    right, wrong = _symbols()
    key = CallKey("verifier", row_id(row), entry.record.sample_index, judgment.repeat)
    title = f"Judgment {judgment.repeat}: {judgment_words(judgment)}"
    if not judgment.valid:
        return _raw_reply(run, key, title, columns)
    title += f" {right if judgment.accepting else wrong}"
    lines = [decode_field(judgment.assessment or "")]
    items = error_items(judgment.errors or "")
    lines += ["", "Errors:", *(f"- {item}" for item in items)] if items else []
    if judgment.meta is not None:
        level = judgment.meta.level
        graded = f"{level} ({LEVEL_SCORES[level]:g})" if level is not None else f"invalid: {judgment.meta.reason}"
        lines += ["", f"Explanation graded: {graded}"]
    return [section(title, "\n".join(lines), columns)]


def _raw_reply(run: RunFolder, key: CallKey, title: str, columns: int) -> list[str]:
    line = run.call(key)
    if line is None:
        return [section(title, "(no reply)", columns)]
    ended = f"It ended with {line.finish_reason!r}. " if line.finish_reason else ""
    return [section(title, f"{ended}As it came:\n\n{exact_text(line) or '(empty)'}", columns)]


def _human(record: ProofRecord, right: str) -> str:
    """What people said of a proof, in a few columns."""
    if record.grade is not UNSET:
        return f"{record.grade:.3g}/{record.max_grade}"
    return right if record.is_correct else _place(record)


def _human_words(record: ProofRecord) -> str:
    verdict = "correct" if record.is_correct else _first_wrong(record)
    if record.grade is UNSET:
        return verdict
    if record.first_error_step is None:
        verdict = "counts as incorrect"
    elif record.annotation is not None and record.annotation.first_fatal_error_step is None:
        verdict = "counts as correct"
    return f"{record.grade:g} of {record.max_grade} points; {verdict}"


def _grades(row: Row) -> Sequence[HumanGrade]:
    return row.grades if isinstance(row, Proof) and isinstance(row.grades, list) else ()


def _place(record: ProofRecord) -> str:
    return "wrong" if record.first_error_step is None else f"step {record.first_error_step}"


def _first_wrong(record: ProofRecord) -> str:
    if record.first_error_step is None:
        return "incorrect; the step is not known, the proof was judged as a whole"
    return f"first wrong step {record.first_error_step}"


def _annotation(record: ProofRecord, row: Row, columns: int) -> list[str]:
    found = record.annotation
    if found is None:
        return []
    said = "correct: no error" if record.is_correct else _first_wrong(record)
    if record.grade is not UNSET:
        said = _human_words(record)
        said += "".join(
            f"\n\n{given.grader}, {given.grade:g}: {given.comment}" for given in _grades(row) if given.comment
        )
    if found.first_fatal_error_step is not None:
        said += (
            f"\nfirst fatal error {found.first_fatal_error_step}, recoverable errors {found.recoverable_error_steps}"
        )
    for label, text in (
        ("Comment", found.reviewer_comment),
        ("Reason of the first error", found.first_error_reason),
        ("Remark", found.remark),
    ):
        said += f"\n\n{label}: {text}" if text.strip() else ""
    return [section("Human annotation", said, columns)]


# --- one call


def call_page(call: Call, columns: int) -> str:
    """A call: how it went and how it was read, the prompt and the reply."""
    facts: list[tuple[str, str]] = []
    if call.line is None:
        facts.append(("answered", "no"))
    else:
        facts += list(_answer_facts(call.line))
        facts.append(("read as", call.reading or ""))
    facts += [
        ("failed", f"{attempt.at}: {attempt.error}, {attempt.what}: {attempt.message}") for attempt in call.attempts
    ]
    lines = [line for label, text in facts for line in beside(f"{label:<12}", text, columns)]
    parts = ["\n".join([click.style(rule(f"Call {one_line(call.key.text)}", columns), bold=True), *lines])]
    parts.append(section("Prompt", call.prompt if call.prompt is not None else f"({call.prompt_unknown})", columns))
    if call.line is not None:
        if call.line.reasoning:
            parts.append(section("Reasoning, kept apart and never read for a verdict", call.line.reasoning, columns))
        parts.append(section("Reply", exact_text(call.line) or "(empty)", columns))
    parts.append(cut("Exact texts, byte for byte: --json", columns))
    return "\n\n".join(parts)


def _answer_facts(line: CallLine) -> Iterator[tuple[str, str]]:
    took = f"after {line.latency_s:.1f} s, " if line.latency_s else ""
    attempts = f"{line.attempts} attempt{'s' if line.attempts != 1 else ''}"
    yield "answered", f"{line.at or 'at an unknown time'}, {took}{attempts}"
    if line.model is not None:
        yield "model", f"{line.model}{f', {line.fingerprint}' if line.fingerprint else ''}"
    yield "finish", f"refused: {line.refused}" if line.refused else str(line.finish_reason)
    if line.usage:
        counts = {name: count for name, count in line.usage.items() if isinstance(count, int | float)}
        yield "usage", ", ".join(f"{name} {count}" for name, count in counts.items())


def hints(path: Path, entry: Entry | None) -> str:
    """The next command to type."""
    name = printable(shlex.quote(str(path)))
    if entry is None:
        return f"Read a proof, by its number or id: proverbench inspect {name} NUMBER"
    record = entry.record
    item = record.proof_id if record.proof_id is not None else record.problem_id
    role = "verifier" if record.judgments else "policy"
    return (
        "The exact prompt and reply of a call:\n"
        f"  proverbench inspect {name} --call {printable(shlex.quote(f'{role}/{item}/{record.sample_index}/0'))}"
    )
