"""Text for a terminal: sections of wrapped text that no reply can turn into commands, paged where there is a screen."""

import shutil
import sys
import textwrap
import unicodedata

import click

from proverbench.unseen import is_unseen, unseen

WIDTH = 80
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_RIGHT_TO_LEFT = ("R", "AL")
_MAX_WIDTH = 100


def on_terminal() -> bool:
    """Whether a person reads the results as they come; else they go into a file or to another command."""
    return sys.stdout.isatty()


def width() -> int:
    """Columns to write in: 80, or up to 100 of a wide terminal."""
    return min(_MAX_WIDTH, shutil.get_terminal_size().columns) if on_terminal() else WIDTH


def printable(text: str) -> str:
    """The text with what a reader cannot see spelled out, so that data neither commands a terminal nor hides."""
    if text.replace("\n", "").isprintable() and not unseen(text):
        return text
    return "".join(_spelled(c) for c in text)


def _spelled(char: str) -> str:
    if char == "\t":
        return " "
    return char if char == "\n" or (char.isprintable() and not is_unseen(char)) else _escaped(char)


def _escaped(char: str) -> str:
    return char if char.isspace() and char not in "\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029" else f"\\u{ord(char):04x}"


def one_line(text: str) -> str:
    """The text as one printable line."""
    return printable(" ".join(text.split()))


def isolated(line: str) -> str:
    """A line that does not turn what stands beside it: isolated where it has letters that are written right to left."""
    if line.isascii() or not any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in line):
        return line
    return f"{_ISOLATE}{line}{_END_ISOLATE}"


def cells(text: str) -> int:
    """Columns that a printable text takes; a wide character takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, columns: int) -> str:
    """The text, shortened to so many columns; a shortened one ends with ``…``."""
    if cells(text) <= columns:
        return text
    while cells(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def cut_middle(text: str, columns: int) -> str:
    """As :func:`cut`, but both ends of the text stay: ids often differ at their ends alone."""
    if cells(text) <= columns:
        return text
    half = (columns - 1) // 2
    return cut(text[: columns - half], columns - half) if half < 1 else text[: columns - 1 - half] + "…" + text[-half:]


def padded(text: str, columns: int) -> str:
    """The text cut and filled to exactly so many columns."""
    text = cut(text, columns)
    return isolated(text) + " " * (columns - cells(text))


def right(text: str, columns: int) -> str:
    """As :func:`padded`, but flush right."""
    text = cut(text, columns)
    return " " * (columns - cells(text)) + isolated(text)


def wrapped(text: str, columns: int) -> list[str]:
    """Printable lines of at most so many columns; line breaks of the text stay."""
    return [part for line in printable(text).split("\n") for part in _wrapped_line(line, columns) or [""]]


def _wrapped_line(line: str, columns: int) -> list[str]:
    if line.isascii() or cells(line) == len(line):
        return textwrap.wrap(line, columns, replace_whitespace=False)
    lines: list[str] = []
    rest = ""
    for word in line.split(" "):
        joined = f"{rest} {word}" if rest else word
        if cells(joined) <= columns:
            rest = joined
            continue
        if rest:
            lines.append(rest)
        while cells(word) > columns:
            piece = cut(word, columns + 1)[:-1]
            lines.append(piece)
            word = word[len(piece) :]
        rest = word
    return [*lines, rest] if rest else lines


def flowing(text: str, columns: int) -> list[str]:
    """As :func:`wrapped` on a terminal; elsewhere a paragraph is one line, so that ``grep`` finds whole sentences."""
    return wrapped(text, columns) if on_terminal() else printable(text).split("\n")


def beside(label: str, text: str, columns: int) -> list[str]:
    """A label, and the text beside it."""
    first, *more = map(isolated, flowing(text, columns - len(label)))
    return [label + first, *(" " * len(label) + line for line in more)]


def rule(title: str, columns: int) -> str:
    """``── title ────`` over the whole width."""
    title = cut(title, columns - 6)
    return f"── {isolated(title)} " + "─" * max(0, columns - 4 - cells(title))


def section(title: str, text: str, columns: int = WIDTH) -> str:
    """A rule with a title, and the text below it, indented by two."""
    lines = (f"  {isolated(line)}".rstrip() for line in flowing(text.strip("\n"), columns - 2))
    return click.style(rule(title, columns), bold=True) + "\n" + "\n".join(lines)


def page(text: str) -> None:
    """Print a text; through the pager where it is longer than the terminal."""
    if sys.stdout.isatty() and text.count("\n") + 1 > shutil.get_terminal_size().lines:
        click.echo_via_pager(text + "\n")
    else:
        click.echo(text)
