import pytest

from proverbench.errors import ConfigError
from proverbench.retrieval.records import Document
from proverbench.retrieval.render import TextTemplate, render_own


def test_the_renderer_shows_every_field_once_and_leaves_out_empty_ones() -> None:
    document = Document(id="1", name="Nat.a", kind="theorem", signature="1 = 1", informal="One is one.")
    assert render_own(document) == "theorem Nat.a\n1 = 1\nOne is one."
    assert render_own(Document(id="1", name="x", text="free")) == "x\nfree"


def test_instruction_aware_models_take_the_instruction_on_the_query_and_nothing_on_documents() -> None:
    template = TextTemplate.instruct("Find it")
    assert template.for_query("q {text}") == "Instruct: Find it\nQuery: q {text}"
    assert template.for_document("d") == "d"
    with pytest.raises(ConfigError, match="takes its documents bare"):
        TextTemplate("instruct", "Instruct: x\nQuery: {text}", "passage: {text}")


def test_e5_like_models_take_their_prefixes() -> None:
    template = TextTemplate.prefix()
    assert (template.for_query("a"), template.for_document("a")) == ("query: a", "passage: a")


def test_a_template_without_its_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="exactly once"):
        TextTemplate("plain", "query", "{text}")


def test_templates_have_identities() -> None:
    templates = [TextTemplate.plain(), TextTemplate.prefix(), TextTemplate.instruct("a"), TextTemplate.instruct("b")]
    assert len({template.sha256() for template in templates}) == 4
