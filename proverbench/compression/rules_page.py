"""The rules as the report shows them, with an example whose numbers the counter gives when the page is made."""

from dataclasses import dataclass
from importlib.resources import files

from proverbench.compression.bundle import BUDGETS
from proverbench.compression.charges import Charge, charge
from proverbench.compression.export import Export
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.tasks import ALLOWED_AXIOMS

EXAMPLE_TARGETS = ("zero_add", "two_succ")
EXAMPLE_BACKGROUND = ("Eq", "Eq.rec", "Eq.trans", "congrArg")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, some sentences, and a table."""

    title: str
    text: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    code: str = ""


def example() -> tuple[Export, Charge, str]:
    """The example's kernel terms, what they are charged, and the source that they were compiled from."""
    here = files("proverbench.compression") / "page"
    lines = (here / "example.ndjson").read_bytes().splitlines(keepends=True)
    export = read_export_lines(lines, source="example.ndjson")
    source = (here / "example.lean").read_text(encoding="utf-8")
    return export, charge(export, EXAMPLE_TARGETS, EXAMPLE_BACKGROUND), source


def rules_sections() -> list[Section]:
    """The rules, in the order in which a reader needs them."""
    _, charged, source = example()
    return [*_RULES, *_CHANGES, _example_section(charged, source), _tracks(), *_RECEIPTS, _GLOSSARY]


def _example_section(charged: Charge, source: str) -> Section:
    rows: list[tuple[str, ...]] = []
    for item in charged.items:
        parts = " + ".join(f"{part.label} {part.nodes}" for part in item.parts)
        rows.append((item.name, item.kind, parts, str(item.nodes)))
    rows.append(("together", "", "", str(charged.count)))
    return Section(
        "A complete example",
        (
            "Two targets: one uses the helper lemma succ_congr twice and the library's Eq.trans once. The helper is "
            "paid once, the library costs one node a use and its levels. The counter gave these numbers as the page "
            "was made; the same terms can be opened node by node below.",
        ),
        ("Declaration", "Kind", "Parts", "Nodes"),
        tuple(rows),
        source,
    )


def _tracks() -> Section:
    rows = [("open", "any kind, any time", "every valid run")]
    rows += [
        (track, "agent: a model alone", f"more than 0, at most {budget} minutes")
        for track, budget in BUDGETS.items()
        if budget is not None
    ]
    return Section(
        "Tracks",
        (
            "A run is a record (any means) or an agent's. An agent's run within 60 minutes counts on agent-120 and "
            "open too. Minutes are the participant's own word.",
        ),
        ("Track", "Kind", "Counts"),
        tuple(rows),
    )


_RULES = (
    Section(
        "The rules in short",
        ("N is the number of nodes in the kernel proof terms of everything charged. Fewer wins.",),
        ("", ""),
        (
            ("A task", "target theorems in a Lean library; you compress their proofs"),
            ("Cannot change", "the background, and the target: its statements and the definitions they use"),
            ("Counted once each", "the target proofs and every other declaration they reach, statement and proof"),
            ("Free", "target statements, running tactics, a library's own proofs"),
            ("Valid", "the kernel re-checks everything; only allowed imports and axioms"),
        ),
    ),
    Section(
        "What is charged",
        (),
        ("Kind", "What counts"),
        (
            ("target", "its proof; its statement is free"),
            ("helper lemma", "statement and proof, once however often it is used"),
            ("definition", "type and value, once"),
            (
                "inductive type",
                "its type, every constructor's type, the recursor's type and rules, once any is used",
            ),
            ("what Lean generates", "like any declaration, when something charged uses it"),
            ("library", "one node a use, and the universe levels"),
        ),
    ),
    Section(
        "Nodes of a term",
        (),
        ("Kernel constructor", "Counts as"),
        (
            ("f a", "1 + N(f) + N(a)"),
            ("fun x : T => b, ∀ x : T, b", "1 + N(T) + N(b)"),
            ("let x : T := v; b (also have)", "1 + N(T) + N(v) + N(b)"),
            ("constant c.{u}", "1 + the nodes of its levels"),
            ("Sort u", "1 + the nodes of u"),
            ("projection e.i", "1 + N(e)"),
            ("bound variable; literal of any size", "1"),
            ("metadata, names of binders", "0"),
            ("level: zero, parameter; successor; max, imax", "1; 1 more than its level; 1 more than both"),
            ("a subterm that occurs twice", "counted twice"),
        ),
    ),
    Section(
        "Validity",
        ("Any failed check means no score. Time, memory, disk and processes only stop a check, without a verdict.",),
        ("Rule", "What it asks"),
        (
            ("kernel replay", "Lean's kernel accepts every declaration, each within the task's heartbeats"),
            ("statements", "identical to the original's"),
            ("definitions of the target", "type and value as recorded, proofs inside left out"),
            ("background", "the organiser's constants, by the hash of type and value; none declared again"),
            ("imports", "editable files and the background only"),
            ("axioms", f"{', '.join(sorted(ALLOWED_AXIOMS))} only"),
        ),
    ),
)
_CHANGES = (
    Section(
        "Kinds of change",
        (),
        ("Change", "Allowed"),
        (
            ("a proof, anywhere, even inside the target's definitions", "yes"),
            ("a helper added, renamed or removed", "yes"),
            ("any Lean code, metaprograms included", "yes; it runs in a sandbox, and only the terms it leaves count"),
            ("names of binders and of universe parameters", "yes; the kernel ignores them"),
            ("type or value of a definition that a statement uses", "no: frozen definition changed"),
            ("a predicate (a term of type Prop) inside such a definition", "no: it is not a proof"),
            ("a target's statement", "no: statement changed"),
            ("a background file, or a name that it declares", "no"),
            ("an axiom of one's own", "no"),
        ),
    ),
)
_RECEIPTS = (
    Section(
        "Receipts",
        (
            "A receipt is what a verification found: task, submission, sources, terms, scores, verdict and verifier, "
            "each hashed together with the hash before it. The last hash is the root: changing any part changes it. "
            "It does not depend on when it was made. The signature covers root and time.",
            "Only receipts signed by a trusted key, of the organiser's tasks, made in isolation, have places. The "
            "others are listed apart with the reason.",
        ),
    ),
)
_GLOSSARY = Section(
    "Glossary",
    (),
    ("Word", "Meaning"),
    (
        ("target", "a theorem that the task names, with the definitions its statement uses"),
        ("helper", "a declaration of the task's own files, other than a target, that a target reaches"),
        ("background", "the pinned libraries; free but for each use"),
        ("kernel", "Lean's small trusted checker; the terms it checks are what is counted"),
        ("heartbeat", "the kernel's own unit of work, the same on every machine"),
        ("universe level", "the level of a Sort, also given to constants such as congrArg.{1,1}"),
        ("recursor", "the eliminator that Lean generates for an inductive type"),
        ("automatic sharing", "a fixed program that writes each repeated subterm once with let: a reference"),
        ("no score", "runs without a verified score"),
    ),
)
