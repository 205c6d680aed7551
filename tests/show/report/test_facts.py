"""Published figures of other benchmarks: facts with a source, shown and never ranked."""

import pytest

from proverbench.errors import UserInputError
from proverbench.show.report.facts import TABLE_1, facts_of, known_published, published_figures
from tests.show.report.conftest import DATA, make_page


@pytest.mark.parametrize("name", published_figures())
def test_every_figure_has_who_what_value_and_source(name):
    facts = facts_of(name)
    assert facts["title"]
    assert facts["source"]
    assert facts["figures"]
    for figure in facts["figures"]:
        assert all(isinstance(text, str) and text for text in figure.values())
        assert any(char.isdigit() for char in figure["value"])


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(UserInputError, match="did you mean imo-proofbench"):
        known_published("imo-proof-bench")
    assert known_published(TABLE_1) == TABLE_1


def test_the_page_shows_them_apart_from_runs(opened, tmp_path):
    page = opened(make_page(tmp_path, DATA / "judge", published="imo-proofbench"))
    section = page.page.locator("section[aria-labelledby=facts]")
    shown = section.inner_text()
    assert "Published figures: IMO-ProofBench" in shown
    assert "Source: arXiv 2511.22570." in shown
    assert "Nothing here is ranked with them." in shown
    assert section.locator("tbody tr").count() == 4
    assert "judge" not in section.locator("tbody").inner_text()
    assert page.page.locator("section[aria-labelledby=published]").count() == 0


def test_the_command_takes_a_name_or_none(command):
    ended = command("report", DATA / "judge", "--published", "processbench", "--format", "md")
    assert ended.code == 0, ended.err
    assert "Published figures: ProcessBench (QwenLM/ProcessBench, revision e802463)" in ended.out
    assert "o1-mini" in ended.out
    table1 = command("report", DATA / "judge", "--format", "md", "--published")
    assert "arXiv 2607.11849, Table 1" in table1.out
    refused = command("report", DATA / "judge", "--published", "procesbench")
    assert refused.code == 2
    assert "did you mean processbench?" in refused.err
