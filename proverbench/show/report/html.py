"""One self-contained page: a model as compressed JSON, styles, libraries, scripts, and a policy that forbids the rest.

The shell that every report of this project uses (proofs, retrieval, compression). A page works offline, from a file,
and can neither call out nor run anything that is not in it at the moment of writing: see :func:`content_policy`.
What a page's script may use (``PB``) is documented at the top of script/shell/index.ts and in docs/report.md.
"""

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from proverbench.unseen import visible

_ASSETS = files("proverbench.show.report") / "assets"
_PAGE = files("proverbench.show.report") / "page"

# The one style sheet that Observable Plot puts into each chart (class name "plot"), so that the policy can allow it.
_PLOT_STYLE = (
    ":where(.plot) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n  height: intrinsic;\n"
    "  max-width: 100%;\n}\n:where(.plot text),\n:where(.plot tspan) {\n  white-space: pre;\n}"
)


class AssetError(Exception):
    """A file of the package is not the one that it was shipped with; the installation is damaged."""


def render_page(
    title: str,
    model: Any,
    script: str,
    *,
    style: str = "",
    chunks: Iterable[Any] = (),
    math: bool = True,
    plots: bool = True,
    description: str = "",
) -> str:
    """The page as one text.

    Args:
        title: Of the window and the heading.
        model: Any JSON value; the script gets it as ``await PB.model()``.
        script: The page's own JavaScript, run after the shell's; draws everything into the element ``main``.
        style: CSS beside the shell's.
        chunks: JSON values that are unpacked only when looked at: ``await PB.chunk(0)``.
        math: Whether to carry KaTeX (0.65 MB) and markdown-it (0.13 MB).
        plots: Whether to carry D3 and Observable Plot (0.5 MB).
        description: One sentence for search engines and link previews.

    Returns:
        HTML.
    """
    return "".join(
        page_parts(
            title,
            pack(model),
            script,
            style=style,
            chunks=enumerate(map(pack, chunks)),
            math=math,
            plots=plots,
            description=description,
        )
    )


def page_parts(
    title: str,
    model: str,
    script: str,
    *,
    style: str = "",
    chunks: Iterable[tuple[int, str]] = (),
    math: bool = True,
    plots: bool = True,
    description: str = "",
    connect: bool = False,
) -> Iterator[str]:
    """The page in pieces, for one that is too large to hold: as :func:`render_page`, with packed model and chunks.

    Args:
        title: Of the window and the heading.
        model: Packed by :func:`pack`.
        script: The page's own JavaScript.
        style: CSS beside the shell's.
        chunks: Number and content of each, packed by :func:`pack`.
        math: Whether to carry KaTeX.
        plots: Whether to carry D3 and Observable Plot.
        description: One sentence for search engines and link previews.
        connect: Whether the page may fetch from where it was loaded (``proverbench view``).
    """
    styles = [page_file("page.css"), style] if style else [page_file("page.css")]
    scripts = [page_file("page.js"), script]
    libraries = list(_libraries(math=math, plots=plots))
    allowed_scripts = scripts + [text for library in libraries for text in library.scripts]
    allowed_styles = styles + [text for library in libraries for text in (*library.styles, *library.makes_styles)]
    for text in allowed_scripts:
        _refuse_tags(text)
    title = visible(title)
    yield from _head(title, description, styles, content_policy(allowed_scripts, allowed_styles, connect=connect))
    yield "<body>\n"
    yield '<a class="skip" href="#main">Skip to the content</a>\n'
    yield f'<header class="bar"><h1>{html.escape(title)}</h1></header>\n'
    yield '<main id="main" tabindex="-1"><noscript><p>This page needs JavaScript, which it carries itself.</p>'
    yield "</noscript></main>\n"
    # What the page shows first comes first, so that it stands while the browser still reads the rest.
    yield f'<script type="application/gzip" id="model">{model}</script>\n'
    for text in scripts:
        yield f"<script>{text}</script>\n"
    for library in libraries:
        yield f'<template id="library-{library.name}">'
        yield from (f"<style>{text}</style>" for text in library.styles)
        yield from (f"<script>{text}</script>" for text in library.scripts)
        yield "</template>\n"
    for number, chunk in chunks:
        yield f'<script type="application/gzip" id="chunk-{number}">{chunk}</script>\n'
    yield "</body>\n</html>\n"


def _head(title: str, description: str, styles: Sequence[str], policy: str) -> Iterator[str]:
    yield "<!doctype html>\n"
    yield '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
    if description:
        yield f'<meta name="description" content="{html.escape(description)}">\n'
    yield f"<title>{html.escape(title)}</title>\n"
    yield f'<link rel="icon" href="data:image/svg+xml;base64,{_icon()}">\n'
    for text in styles:
        yield f"<style>{text}</style>\n"
    yield "</head>\n"


class _Library(NamedTuple):
    """What the page carries inert, in a template, until it is wanted: page.js then moves it into the document."""

    name: str
    styles: list[str]
    scripts: list[str]
    makes_styles: list[str]
    """Style sheets that its scripts put into the page."""


def _libraries(*, math: bool, plots: bool) -> Iterator[_Library]:
    if math:
        yield _Library("prose", [], [page_file("markdown.js")], [])
        yield _Library("math", [katex_css()], [asset("katex.min.js").decode()], [])
    if plots:
        scripts = [asset("d3.min.js").decode(), asset("plot.umd.min.js").decode()]
        yield _Library("plots", [], scripts, [_PLOT_STYLE])


def content_policy(scripts: Iterable[str], styles: Iterable[str], *, connect: bool = False) -> str:
    """The page's Content-Security-Policy.

    Nothing is allowed but the scripts and style sheets that are in the page, each by its SHA-256, and images and fonts
    inside the page. ``require-trusted-types-for`` makes the browser refuse to turn any text into markup. Style
    *attributes* are allowed, because KaTeX gives some to MathML elements; they can neither run nor load anything here.
    """
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + " ".join(f"'sha256-{_sha256(text)}'" for text in scripts),
            "style-src " + " ".join(f"'sha256-{_sha256(text)}'" for text in styles),
            "style-src-attr 'unsafe-inline'",
            "img-src data:",
            "font-src data:",
            f"connect-src {chr(39)}{'self' if connect else 'none'}{chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def pack(value: Any) -> str:
    """JSON, compressed, as text that any page can hold; what ``PB.model`` and ``PB.chunk`` unpack.

    Lone surrogates survive: they are escaped in the JSON.
    """
    try:
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()


@cache
def asset(name: str) -> bytes:
    """A library's file, unmodified.

    Raises:
        AssetError: If it is not the file that was shipped.
    """
    data = (_ASSETS / name).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != _asset_hashes()[name]:
        raise AssetError(f"proverbench/show/report/assets/{name} was changed: SHA-256 {found}; reinstall proverbench")
    return data


def page_file(name: str) -> str:
    """One of the project's own page files (page/)."""
    return (_PAGE / name).read_text(encoding="utf-8")


@cache
def katex_css() -> str:
    """KaTeX's style sheet with its fonts inside; only woff2, which every browser of the last ten years reads."""

    def source(match: re.Match[str]) -> str:
        data = base64.b64encode(asset(f"fonts/{match[1]}")).decode()
        return f'src:url(data:font/woff2;base64,{data}) format("woff2")'

    return re.sub(r"src:url\(fonts/([^)]+\.woff2)\)[^;}]*", source, asset("katex.min.css").decode())


@cache
def _asset_hashes() -> dict[str, str]:
    packages = json.loads((_ASSETS / "assets.json").read_text(encoding="utf-8"))
    return {name: digest for package in packages for name, digest in package["files"].items()}


def _refuse_tags(script: str) -> None:
    if re.search(r"</script|<!--|<script", script, re.IGNORECASE):
        raise ValueError("a script that stands in a page must not hold <script, </script or <!--")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _icon() -> str:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
        '<rect width="32" height="32" rx="7" fill="#1f5f99"/>'
        '<path d="M8 17l5 5L24 10" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>'
    )
    return base64.b64encode(svg.encode()).decode()
