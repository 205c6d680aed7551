"""A verdict's fields for people: references and CDATA decoded, the errors that a field lists."""

import re
from collections.abc import Iterator
from functools import lru_cache

_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CDATA_OPEN, _CDATA_CLOSE = "<![CDATA[", "]]>"
_ITEM_TAG = re.compile(r"</?(?:error|item|li)(?:\s[^<>]*+)?>", re.IGNORECASE)
_NUMBERED = re.compile(r"^[^\S\n]*+[0-9]{1,3}+[.)][^\S\n]++", re.MULTILINE)
_BULLETED = re.compile(r"^[^\S\n]*+[-*•][^\S\n]++", re.MULTILINE)


def decode_field(raw: str) -> str:
    """What a verdict's field says, for people: character references and CDATA sections decoded, once.

    All else stays as it is, so that ``a<b`` and a matrix's ``&`` survive; an unknown reference stays as written.
    """
    return "".join(part if literal else _decode_references(part) for literal, part in _sections(raw))


def error_items(raw: str) -> list[str]:
    """The single errors that an ``<errors>`` field lists, decoded and stripped; empty when it lists none.

    An item is an ``<error>``, ``<item>`` or ``<li>`` element; without these, a numbered or bulleted line with the
    lines that follow it; without these too, the whole field. No text is dropped.
    """
    items: list[list[str]] = [[]]
    for literal, part in _sections(raw):
        if literal:
            items[-1].append(part)
            continue
        first, *others = _ITEM_TAG.split(part)
        items[-1].append(_decode_references(first))
        items.extend([_decode_references(other)] for other in others)
    texts = ["".join(item).strip() for item in items]
    if len(texts) == 1:
        texts = _list_lines(texts[0])
    return [text for text in texts if text]


def _list_lines(text: str) -> list[str]:
    """Split a text that starts with a list marker at its markers; leave any other whole."""
    for marker in (_NUMBERED, _BULLETED):
        if marker.match(text):
            return [item.strip() for item in marker.split(text)]
    return [text]


def _sections(raw: str) -> Iterator[tuple[bool, str]]:
    """``raw`` in order as (literal, text): a CDATA section's content is literal; an unclosed one is text."""
    position = 0
    while (start := raw.find(_CDATA_OPEN, position)) >= 0:
        content = start + len(_CDATA_OPEN)
        end = raw.find(_CDATA_CLOSE, content)
        if end < 0:
            break
        yield False, raw[position:start]
        yield True, raw[content:end]
        position = end + len(_CDATA_CLOSE)
    yield False, raw[position:]


def _decode_references(text: str) -> str:
    return _REFERENCE.sub(lambda match: _decode_reference(match[0]), text)


@lru_cache(maxsize=1024)
def _decode_reference(reference: str) -> str:
    """One reference such as ``&lt;`` or ``&#8804;`` decoded by lxml; what stands for no character stays as it is."""
    # One by one, and not the field as a document: libxml2 drops what it takes for a broken tag, "<b" in "a<b".
    from lxml import etree  # only reports and exports come here

    paragraph = etree.fromstring(f"<p>{reference}</p>", etree.HTMLParser()).find(".//p")
    decoded = None if paragraph is None else paragraph.text
    return decoded if decoded and decoded != "\ufffd" else reference
