"""Places, averages and missing scores."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.compression.ranking import RankedTask, Run, best_runs, rank, rank_tracks


def run(agent: str, task: str, count: int | None, submission: str = "") -> Run:
    return Run(agent=agent, task=task, count=count, submission=submission)


TASKS = [RankedTask(task, task.upper(), 100, 90) for task in "st"]


def test_a_worked_example() -> None:
    """Task s: a 10; b and c tie at 20 for places 2 and 3; d none, so place 4.
    Task t: c 5; a, b and d have none and share places 2, 3, 4.
    Averages: a (1+3)/2, b (2.5+3)/2, c (2.5+1)/2, d (4+3)/2.
    """
    ranking = rank(
        [
            run("a", "s", 10),
            run("a", "s", 11),
            run("b", "s", 20),
            run("c", "s", 20),
            run("c", "t", 5),
            run("d", "t", None),
            run("d", "t", None),
            run("e", "elsewhere", 1),
        ],
        TASKS,
    )
    assert [task.name for task in ranking.tasks] == ["S", "T"]
    found = {
        line.agent: (line.average_rank, line.no_score, line.places["s"], line.places["t"]) for line in ranking.standings
    }
    assert found == {"a": (2.0, 0, 1, 3), "b": (2.75, 0, 2.5, 3), "c": (1.75, 0, 2.5, 1), "d": (3.5, 2, 4, 3)}
    assert [line.agent for line in ranking.standings] == ["c", "a", "b", "d"]
    assert ranking.standings[1].counts == {"s": 10, "t": None}


def test_one_agent() -> None:
    (line,) = rank([run("a", "s", None)], TASKS[:1]).standings
    assert (line.average_rank, line.no_score) == (1.0, 1)


def test_the_set_of_tasks_decides_the_columns_and_the_average() -> None:
    runs = [run("a", "s", 3), run("b", "forged", 1)]
    ranking = rank(runs, TASKS)
    assert [line.agent for line in ranking.standings] == ["a"]
    assert ranking.standings[0].counts == {"s": 3, "t": None}


def test_each_track_has_its_table() -> None:
    fast = Run("a", "s", 9, "x", ("open", "agent-60", "agent-120"))
    any_means = Run("b", "s", 7, "y")
    tables = rank_tracks([fast, any_means], TASKS[:1])
    found = {track: [line.agent for line in table.standings] for track, table in tables.items()}
    assert found == {"open": ["b", "a"], "agent-60": ["a"], "agent-120": ["a"]}
    assert list(rank_tracks([any_means], TASKS)) == ["open"]


def test_the_best_run_of_a_task() -> None:
    runs = [run("a", "s", 9, "x"), run("b", "s", 7, "z"), run("c", "s", 7, "y"), run("d", "t", None)]
    assert best_runs(runs) == {"s": runs[2]}


runs = st.lists(
    st.builds(run, st.sampled_from("abcd"), st.sampled_from("st"), st.none() | st.integers(1, 5)), min_size=1
)


@given(runs)
def test_places_of_a_task_add_up(given_runs: list[Run]) -> None:
    ranking = rank(given_runs, TASKS)
    agents = len(ranking.standings)
    for task in (task.sha256 for task in ranking.tasks):
        assert sum(line.places[task] for line in ranking.standings) == pytest.approx(agents * (agents + 1) / 2)


@given(runs, st.randoms())
def test_the_order_of_receipts_does_not_matter(given_runs: list[Run], chance: random.Random) -> None:
    shuffled = list(given_runs)
    chance.shuffle(shuffled)
    assert rank(shuffled, TASKS) == rank(given_runs, TASKS)


@given(runs)
def test_fewer_nodes_never_rank_lower(given_runs: list[Run]) -> None:
    ranking = rank(given_runs, TASKS)
    for task in (task.sha256 for task in ranking.tasks):
        scored = [(line.counts[task], line.places[task]) for line in ranking.standings]
        known = sorted((count, place) for count, place in scored if count is not None)
        assert [place for _, place in known] == sorted(place for _, place in known)
        for _, place in known:
            assert all(place < other for count, other in scored if count is None)
