"""The mutants of `make mutants`: what is changed, what is not, and that its lists are true. None is run here."""

import pytest

from tests.mutants import ELSEWHERE, ROOT, DropStatement, known_survivors, meaning, mirror_of, modules, mutants


def test_every_module_has_tests_that_must_notice():
    assert {"metrics/rates", "spending/money", "run/journal"} <= set(modules())
    assert not [module for module in modules() if not (ROOT / "proverbench" / f"{module}.py").is_file()]
    assert not [module for module in modules() if not all(path.exists() for path in mirror_of(module))]
    assert set(ELSEWHERE) <= set(modules())


def test_what_may_survive_is_a_line_of_its_module_and_says_why():
    for (module, was, becomes), why in known_survivors().items():
        source = (ROOT / "proverbench" / f"{module}.py").read_text(encoding="utf-8")
        assert was in {line.strip() for line in source.splitlines()}, (module, was)
        assert becomes != was
        assert len(why) > 20


def test_mutants_of_a_small_module():
    changes = {(mutant.was, mutant.becomes) for mutant in mutants("metrics/checks")}
    assert ("if value < 1:", "if value <= 1:") in changes
    assert ("if len(record.judgments) > repeats:", "if len(record.judgments) >= repeats:") in changes
    assert ('raise ValueError(f"{name} is {value}; it must be at least 1")', "pass") in changes
    assert len(changes) == len({mutant.text for mutant in mutants("metrics/checks")})


@pytest.mark.parametrize(
    ("was", "becomes", "same"),
    [
        ("def f(a: int) -> int: ...", "def f(a: str) -> None: ...", True),
        ("def f(*, a: int = 1): ...", "def f(a=1): ...", True),
        ("class A:\n    x: int = 1", "class A:\n    x: str = 1", True),
        ("@dataclass(frozen=True)\nclass A: ...", "@dataclass(frozen=False)\nclass A: ...", True),
        ("class A(B, frozen=True): ...", "class A(B, frozen=False): ...", True),
        ('def f():\n    """One."""\n    return 1', 'def f():\n    """Two."""\n    return 1', True),
        ("def f(a=1): ...", "def f(a=2): ...", False),
        ("x = a < b", "x = a <= b", False),
    ],
)
def test_annotations_docstrings_and_guards_are_no_change(was, becomes, same):
    assert (meaning(was) == meaning(becomes)) is same
    assert meaning("x = (") is None


def test_statements_are_dropped():
    from cosmic_ray.mutating import mutate_code

    source = "def f(x):\n    check(x)\n    y = 1\n    if x:\n        raise E\n"
    dropped = [mutate_code(source, DropStatement(), n) for n in range(3)]
    assert dropped[0] == source.replace("check(x)", "pass")
    assert dropped[1] == source.replace("y = 1", "pass")
    assert dropped[2] == source.replace("raise E", "pass")
    assert mutate_code(source, DropStatement(), 3) is None
