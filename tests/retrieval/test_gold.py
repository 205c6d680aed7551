from proverbench.retrieval.gold import find_positions, resolve_gold
from proverbench.retrieval.records import Query

ROWS = {"A": ["a1", "a2"], "a1": ["a1"], "a2": ["a2"], "B": ["B"], "C": ["C"]}


def resolved(gold: list[list[str]]) -> tuple[list[list[str]], int, bool]:
    found = resolve_gold(Query(id="q", text="t", gold=gold, cluster="c"), ROWS)
    return found.units, found.units_left_out, found.overlapping


def test_a_name_means_all_its_rows_and_an_id_only_its_own() -> None:
    assert resolved([["A"], ["a2"]]) == ([["a1", "a2"], ["a2"]], 0, True)


def test_a_unit_without_a_member_is_left_out_and_counted() -> None:
    assert resolved([["B", "gone"], ["gone"], ["lost"]]) == ([["B"]], 2, False)


def test_a_query_left_without_units_is_dropped() -> None:
    query = resolve_gold(Query(id="q", text="t", gold=[["gone"]], cluster="c"), ROWS)
    assert query.dropped
    assert query.units_left_out == 1


def test_units_that_share_a_document_are_kept_as_written_and_flagged() -> None:
    assert resolved([["B", "C"], ["B"]]) == ([["B", "C"], ["B"]], 0, True)
    assert resolved([["B"], ["B"]]) == ([["B"], ["B"]], 0, True)


def test_a_repeated_row_counts_at_its_first_place_and_others_do_not_move_up() -> None:
    found = find_positions("q", ["x", "a1", "a1", "B"], [["a1", "a2"], ["B"], ["C"]])
    assert found.positions == [2, 4, None]
    assert found.n_retrieved == 4


def test_the_list_is_cut_at_k_max_but_its_length_is_kept() -> None:
    ranked = [*(f"x{i}" for i in range(200)), "B"]
    found = find_positions("q", ranked, [["B"]])
    assert found.positions == [None]
    assert found.n_retrieved == 201
