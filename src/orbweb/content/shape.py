"""The DOM of a main element is brought into the shape from which Markdown and text are written.

Owns what a reader sees of what Markdown does not have: permalinks, admonitions, formulas, lazy pictures, films.
Always: words stay, in their order; time is linear in the number of nodes for any page a person wrote. Never: looks
outside the element, except for the language of a code block and the base URL.
"""

from __future__ import annotations

import re
from collections.abc import Set
from urllib.parse import urlsplit

from turbohtml import Element, Text

from orbweb.content import code, lists, tables
from orbweb.content.code import outermost

MATH = "orb-math"
"""Holds a formula in TeX."""
MAX_RESOLVED = 64_000_000
"""Characters that the base URL may add to all references of a page together; beyond that they stay relative."""
MAX_BASE = 4_000
MAX_NOTES = 2_000
"""Admonitions of a page that are told apart from its text."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_DROPPED_TAGS = ("script", "style", "template", "link", "meta", "rp")
_DROPPED = frozenset(
    (
        *("headerlink", "mw-editsection", "anchorjs-link", "permalink", "MathJax_Preview", "katex-html"),
        *("MathJax", "MathJax_Display", "MJX-TEX"),
    )
)
_NOTES = frozenset(
    (
        *("admonition", "theme-admonition", "markdown-alert", "custom-block", "notecard", "admonitionblock"),
        *("callout", "alert", "note", "tip", "warning", "important", "caution", "danger", "hint", "attention"),
        *("remark", "todo", "deprecated"),
    )
)
_NOTE_TAGS = frozenset(("div", "section", "aside", "dl", "details", "blockquote"))
_TITLE = ", ".join(
    (
        ".admonition-title, .admonition-heading, .markdown-alert-title, .custom-block-title, .alert-title",
        '.callout-title, [class*="admonitionHeading"], .alert-heading, td.icon, p.title, div.title',
    )
)
_MATH_CLASSES = frozenset(("math", "katex-display", "katex", "mwe-math-element"))
_MATH_TAGS = ("math", "mjx-container", "script", "img")
_FILMS = {"iframe": "embedded page", "video": "video", "audio": "audio", "embed": "embedded file"}
_LAZY = ("data-src", "data-original", "data-lazy-src", "data-srcset", "srcset")
_INLINE_CODE = ("code", "tt", "samp", "kbd")
_SEEN = ("img", "svg", "picture", "video", "iframe", MATH)
"""What a reader sees though it is no text."""
_LEVELS = frozenset("123456")
_SIGNS = frozenset(("¶", "#", "§", "🔗", "⚓", "◆", "◊", "∞", "†", "[#]", "[¶]", "★"))
_BLANK = " \t\r\n\f\v\xa0\u200b\u200c\u2060\ufeff\u00ad\ufe0e\ufe0f"
_TEX_SIGNS = (("\\[", "\\]", True), ("\\(", "\\)", False), ("$$", "$$", True), ("$", "$", False))
_no_target = re.compile(r"\s*(?:javascript|vbscript|data|about|file|blob):", re.IGNORECASE).match
_is_permalink = re.compile(
    r"(?:permalink|permanent link|direct link|anchor|link|copy link|heading self-link)(?: (?:to|for) .*)?",
    re.IGNORECASE,
).fullmatch
_is_spacer = re.compile(
    r"(?:spacer|blank|pixel|transparent|1x1|clear)\.(?:gif|png)(?:\?.*)?$", re.IGNORECASE
).search


def shape(root: Element, url: str) -> None:
    """Prepare the element for Markdown and text. References are made absolute against `url` or `<base>`."""
    classes = _classes(root)
    _formulas(root, classes)
    for found in list(root.iter_elements(_DROPPED_TAGS)):
        found.decompose()
    if dropped := _DROPPED & classes:
        root.remove(", ".join(sorted(f".{name}" for name in dropped)))
    code.shape(root, classes)
    references = _links(root)
    _links_in_code(root)
    _headings(root)
    if notes := _NOTES & classes:
        _admonitions(root, notes)
    tables.shape(root)
    lists.shape(root)
    _details(root)
    references += _pictures(root) + _films(root)
    _resolve(root, url, references)


def _classes(root: Element) -> Set[str]:
    stated = root.xpath("descendant::*/@class")
    values = {value for value in stated if isinstance(value, str)} if isinstance(stated, list) else set()
    return set(" ".join(values).split())


def _resolve(root: Element, url: str, references: int) -> None:
    base = url
    stated = root.xpath_one("/html/head/base/@href")
    if isinstance(stated, str) and len(stated) <= MAX_BASE:
        base = _joined(stated, url)
    if len(base) * references <= MAX_RESOLVED:
        root.resolve_links(base)


def _joined(stated: str, url: str) -> str:
    probe = Element("a", {"href": stated})
    probe.resolve_links(url)
    joined = probe.attr("href") or url
    return joined if urlsplit(joined).scheme in ("http", "https") else url


def _links(root: Element) -> int:
    """Links that lead nowhere become their text, those that say nothing disappear. How many there were."""
    links = list(root.iter_elements("a"))
    for link in links:
        href = link.attr("href")
        if href is None:
            continue
        text = link.text.strip(_BLANK)
        if not text and next(link.iter_elements(_SEEN), None) is None:
            link.decompose()
        elif not href or _no_target(href):
            link.unwrap()
        elif text in _SIGNS and "#" in href:
            link.decompose()
        elif href[0].isspace() or href[-1].isspace():
            link.attrs["href"] = href.strip()
    return len(links)


def _links_in_code(root: Element) -> None:
    """A code span holds no links, so the spans go into the links."""
    for inline in outermost(root, _INLINE_CODE):
        links = list(inline.iter_elements("a"))
        for link in links:
            if next(link.iter_elements((*_INLINE_CODE, *_SEEN)), None) is None:
                link.wrap_children(Element("code"))
        if links:
            inline.unwrap()
        elif inline.tag == "tt":
            inline.tag = "code"


def _headings(root: Element) -> None:
    for found in root.select("[role=heading]"):
        level = found.attr("aria-level") or "2"
        if found.tag not in _HEADINGS:
            found.tag = f"h{level}" if level in _LEVELS else "h6"
    for heading in outermost(root, _HEADINGS):
        for link in list(heading.iter_elements("a")):
            text = link.text.strip(_BLANK)
            if _is_permalink(text):
                link.decompose()
            elif (link.attr("href") or "").startswith("#") and text == heading.text.strip(_BLANK):
                link.unwrap()
        if not heading.text.strip(_BLANK) and next(heading.iter_elements(_SEEN), None) is None:
            heading.decompose()


def _admonitions(root: Element, notes: Set[str]) -> None:
    """A note is a quotation with a bold title."""
    for found in root.select(", ".join(sorted(f".{name}" for name in notes)))[:MAX_NOTES]:
        if found.tag not in _NOTE_TAGS:
            continue
        title = found.select_one(_TITLE)
        if title is not None and title.tag not in _HEADINGS and title.text.strip():
            _embolden(title)
        if found.tag == "dl":
            _note_of_terms(found)
        if found.tag != "details":
            found.tag = "blockquote"


def _embolden(title: Element) -> None:
    if next(title.iter_elements((*_HEADINGS, "strong", "pre", "table")), None) is None:
        title.strip_tags("p, div, b")
        title.wrap_children(Element("strong"))


def _note_of_terms(found: Element) -> None:
    for child in found.children:
        if isinstance(child, Element) and child.tag in ("dt", "dd"):
            if child.tag == "dt" and child.text.strip():
                _embolden(child)
            child.tag = "div"


def _details(root: Element) -> None:
    for summary in list(root.iter_elements("summary")):
        if summary.text.strip():
            _embolden(summary)


def _formulas(root: Element, classes: Set[str]) -> None:
    named = ", ".join(sorted(f".{name}" for name in _MATH_CLASSES & classes))
    done: set[Element] = set()
    for found in [*(root.select(named) if named else ()), *root.iter_elements(_MATH_TAGS)]:
        if found in done or (found.tag in ("img", "script") and not _is_formula(found)):
            continue
        done.update(found.iter_elements())
        tex, display = _tex(found)
        if not tex:
            continue
        formula = Element(MATH)
        formula.set_text(tex)
        if display:
            formula.attrs["class"] = "display"
            found.replace_with(Element("div", children=(formula,)))
        else:
            found.replace_with(formula)


def _is_formula(found: Element) -> bool:
    if found.tag == "script":
        return (found.attr("type") or "").startswith("math/")
    return found.has_class("math") or "mwe-math-fallback" in (found.attr("class") or "")


def _tex(found: Element) -> tuple[str, bool]:
    """The formula in TeX, and whether it stands by itself; empty where the page has no TeX of it."""
    if found.tag == "img":
        return _bare(found.attr("alt") or "")
    if found.tag == "script":
        return found.text.strip(), "display" in (found.attr("type") or "")
    stated = found.select_one('annotation[encoding="application/x-tex"], annotation[encoding="TeX"]')
    display = (
        found.has_class("katex-display") or found.select_one('math[display="block"], .katex-display') is not None
    )
    display = display or found.attr("display") in ("block", "true")
    if stated is not None:
        return _bare(stated.text)[0], display
    math = found if found.tag == "math" else found.select_one("math[alttext]")
    if math is not None and (alt := math.attr("alttext")):
        return _bare(alt)[0], display
    picture = found.select_one("img[alt]")
    if picture is not None:
        return _bare(picture.attr("alt") or "")[0], found.tag == "div"
    text = found.text.strip()
    return _bare(text) if text.startswith(("\\(", "\\[", "$")) else ("", False)


def _bare(tex: str) -> tuple[str, bool]:
    """A formula without the signs around it."""
    tex = tex.strip()
    for opening, closing, display in (
        ("\\[", "\\]", True),
        ("\\(", "\\)", False),
        ("$$", "$$", True),
        ("$", "$", False),
    ):
        if tex.startswith(opening) and tex.endswith(closing) and len(tex) >= len(opening) + len(closing):
            return tex[len(opening) : -len(closing)].strip(), display
    if tex.startswith("{\\displaystyle") and tex.endswith("}"):
        return tex[len("{\\displaystyle") : -1].strip(), False
    return tex, False


def _pictures(root: Element) -> int:
    pictures = list(root.iter_elements("img"))
    for picture in pictures:
        source = picture.attr("src") or ""
        if not source or source.startswith("data:"):
            source = next((found for name in _LAZY if (found := _first_source(picture.attr(name)))), "")
            if source:
                picture.attrs["src"] = source
        if picture.has_class("emoji") and (sign := picture.attr("alt")):
            picture.replace_with(Text(sign))
        elif not source or source.startswith("data:") or _is_spacer(source) or _is_dot(picture):
            picture.decompose()
    return len(pictures)


def _first_source(value: str | None) -> str:
    words = value.split(None, 1) if value else []
    return words[0].rstrip(",") if words and not words[0].startswith("data:") else ""


def _is_dot(picture: Element) -> bool:
    return any(
        (picture.attr(name) or "").strip().removesuffix("px") in ("0", "1", "2") for name in ("width", "height")
    )


def _films(root: Element) -> int:
    """What plays or embeds becomes a link to it."""
    films = list(root.iter_elements(tuple(_FILMS)))
    for film in films:
        source = film.attr("src")
        if source is None and (inner := film.select_one("source[src]")) is not None:
            source = inner.attr("src")
        if not source or _no_target(source):
            film.decompose()
            continue
        link = Element("a", {"href": source})
        link.set_text(film.attr("title") or film.attr("aria-label") or _FILMS[film.tag])
        film.replace_with(link)
    return len(films)
