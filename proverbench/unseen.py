"""Characters that a reader cannot see, or that turn what is around them; a judge reads them all the same. Pure.

Every text of foreign origin passes this gate on its way to people: in the terminal, in exports, and, with the same
characters, in the page (show/report/script/shell/visible.ts; a test compares the two).
"""

import re

_ASCII = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
_OTHERS = (
    "\x80-\x9f"  # the second set of control characters
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, selectors
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line and paragraph separators, directions, isolates
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"  # fillers, selectors, byte order mark, annotations
    "\ud800-\udfff"  # half of a pair
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # controls of shorthand and of music
    "\U000e0000-\U000e0fff"  # tags, and more selectors
)
_SELECTORS = r"(?<![\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
"""Text and emoji style, but for where a symbol is before them."""

_RUN = re.compile(rf"([{_OTHERS}]|{_SELECTORS})\1*")
_ONE = re.compile(rf"[{_ASCII}{_OTHERS}]|{_SELECTORS}")
_MAYBE = re.compile(f"[{_ASCII}{_OTHERS}\ufe0e\ufe0f]")
"""As ``_ONE``, whatever is before: found 4 times faster, and nearly all texts have none."""
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_ASCII_BYTES = bytes(code for code in range(128) if code in _PICTURES)


def unseen(text: str) -> int:
    """How many characters of a text a reader cannot see."""
    if text.isascii():
        data = text.encode()
        return len(data) - len(data.translate(None, _ASCII_BYTES))
    first = _MAYBE.search(text)
    return 0 if first is None else sum(1 for _ in _ONE.finditer(text, first.start()))


def visible(text: str) -> str:
    """The text with each such character spelled out.

    A control character is its picture (``␀``), another one ``⟨U+202E⟩``, and a run of one ``⟨U+200B×57⟩``.
    """
    return text if unseen(text) == 0 else _RUN.sub(_shown, text.translate(_PICTURES))


def is_unseen(char: str) -> bool:
    """Whether one character, alone, is of those that cannot be seen."""
    return _ONE.match(char) is not None


def _shown(match: re.Match[str]) -> str:
    run = match[0]
    times = f"×{len(run)}" if len(run) > 1 else ""
    return f"⟨U+{ord(run[0]):04X}{times}⟩"
