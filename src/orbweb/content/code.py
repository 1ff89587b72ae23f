"""Code blocks of a DOM: each becomes one `<pre class="language-x">` that holds its exact text and no markup.

Owns what is code without saying so in HTML (editors, listings in tables, generators that write an element a line),
what is no code inside code (line numbers, copy buttons) and how a page names a language. Always: text and line
breaks are those a reader sees in a browser. Never: guesses a language from the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache

from turbohtml import Element, Node, Text

from orbweb.content.languages import KNOWN, NO_LANGUAGE, TONGUES

_NUMBERS = frozenset(
    (
        *("linenos", "lineno", "linenodiv", "linenumbers", "linenumber", "line-number", "line-numbers-rows"),
        *("line-numbers-wrapper", "source-line-no", "sourceLineNo", "src-line-numbers", "rouge-gutter", "lnt"),
        *("hljs-ln-numbers", "blob-num", "LineNr", "CodeMirror-linenumber", "CodeMirror-gutter-wrapper"),
        *("py-lineno", "ltx_tag_listingline", "ltx_listing_data", "linenr"),
        *(
            "gutter-line",
            "cm-gutters",
            "react-syntax-highlighter-line-number",
            "zeroclipboard-container",
            "copybtn",
        ),
    )
)
_INSIDE = frozenset(
    (
        *("ln", "gutter", "line-numbers", "copy", "copy-btn", "copy-button", "toolbar", "code-header"),
        *("code-lang", "code-block-header", "lang-label"),
    )
)
"""Classes that mean line numbers or buttons inside a listing only."""
_EDITORS = frozenset(("CodeMirror-code", "cm-content", "view-lines", "ace_text-layer"))
_SPACED = frozenset(("RktBlk", "ltx_lstlisting"))
"""Listings that are no preformatted text, so that they write a blank as one that does not break."""
_TABULAR = "syntaxhighlighter"
"""A listing as a table, with the code in one cell and the numbers of the lines in another."""
_LISTINGS = _EDITORS | _SPACED | {"fragment", "js-file-line-container"}
_LINES = frozenset(
    (
        *("line", "token-line", "code-line", "CodeMirror-line", "view-line", "cm-line", "ace_line", "ec-line"),
        *("code__line", "react-code-text", "blob-code"),
    )
)
_BREAKING = ("br", "div", "li", "tr", "p", "button", "svg")
_BUTTONS = ("button", "clipboard-copy")
_UNUSUAL = ("xmp", "listing", "textarea", "tt", "br")
_STYLED_LINES = '[style*="display:block"], [style*="display: block"]'
_copies = re.compile(r"copy|clipboard|kopier|copier|copiar", re.IGNORECASE).search
_ANCESTORS = 4
"""How far above a block its language may be named."""
_NEAR = 2
"""Farther than that only the name of a known language counts."""
_SECTIONS = frozenset(("body", "main", "article", "section", "html", "td", "li"))
_MARKS_CODE = frozenset(
    (
        *("sourcecode", "hljs", "makeup", "code", "highlight", "playground", "prettyprint", "src", "codehilite"),
        *("programlisting", "example", "listing", _TABULAR),
    )
)

_ATTRIBUTES = (
    "data-lang",
    "data-language",
    "syntax",
    "data-enlighter-language",
    "data-code-language",
    "language",
    "lang",
)
_named = re.compile(r"(?:(?:brush|lang)\s*:\s*|\bhighlight hl-)([\w+#.-]+)", re.IGNORECASE).search
_prefixed = re.compile(
    r"(?:(?:language|lang|highlight-source|highlight-text|highlight|src|mw-highlight-lang|ltx_lst_language|"
    r"syntax|brush|user)[-_]|sh_)"
    r"(.+)",
    re.IGNORECASE,
).fullmatch
_writable = re.compile(r"[a-z0-9][a-z0-9+#._/-]{0,39}").fullmatch
_locale = re.compile(r"([a-z]{2})(?:[-_][a-z]{2,4})?").fullmatch


def shape(root: Element, classes: Set[str], tags: Set[str]) -> None:
    """Bring every code block below `root` into its plain form. `classes` and rare `tags`: what occurs below it."""
    if numbers := _selector(_NUMBERS & classes):
        _numbers(root, numbers)
    if not tags.isdisjoint(_BUTTONS):
        for button in list(root.iter_elements(_BUTTONS)):
            _button(button)
    _listings(root, classes)
    if not tags.isdisjoint(_UNUSUAL):
        _unusual(root)
    lines, inside = _selector(_LINES & classes), _selector(_INSIDE & classes)
    for pre in outermost(root, "pre"):
        if inside:
            pre.remove(inside)
        _block(pre, lines)


def _listings(root: Element, classes: Set[str]) -> None:
    """What is a code block by its class becomes one."""
    if listings := _selector(_LISTINGS & classes):
        for listing in root.select(listings):
            _as_pre(listing)
    if _TABULAR in classes:
        root.remove(f".{_TABULAR} .gutter")
        for listing in root.select(f".{_TABULAR} td.code > .container"):
            _as_pre(listing)
            _space(listing)
    if spaced := _selector(_SPACED & classes):
        for listing in root.select(spaced):
            _space(listing)


def outermost(root: Element, tags: str | tuple[str, ...]) -> Iterator[Element]:
    """The elements below `root` with such a tag that are not inside another."""
    inner: set[Element] = set()
    for found in list(root.iter_elements(tags)):
        if found not in inner:
            inner.update(found.iter_elements(tags))
            yield found


def _selector(names: Set[str]) -> str:
    return ", ".join(sorted(f".{name}" for name in names))


def _numbers(root: Element, selector: str) -> None:
    """Take out line numbers. A block that says that it has some is none of them."""
    for pre in root.select(f"pre:is({selector})"):
        if not _is_number(pre.text):
            names = (pre.attr("class") or "").split()
            pre.attrs["class"] = " ".join(name for name in names if name not in _NUMBERS)
    root.remove(selector)


def _button(button: Element) -> None:
    """Buttons that copy a listing say so."""
    said = (button.attr(name) for name in ("class", "aria-label", "title", "data-clipboard-target"))
    if button.tag == "clipboard-copy" or any(words and _copies(words) for words in (*said, button.text)):
        button.decompose()


def _as_pre(listing: Element) -> None:
    if listing.tag in ("div", "table", "tbody"):
        listing.tag = "pre"


def _space(listing: Element) -> None:
    for space in listing.iter_elements(("span", "code")):
        text = space.text
        if text and not text.strip():
            space.set_text(text.replace("\xa0", " "))


def _unusual(root: Element) -> None:
    """Old and rare ways to write a code block: `<xmp>`, a form field, inline code broken into lines."""
    for found in list(root.iter_elements(("xmp", "listing", "textarea", "tt"))):
        if found.tag == "tt":
            _teletype(found)
        elif found.tag != "textarea" or "\n" in found.text.strip():
            found.tag = "pre"
    broken = {line_break.parent for line_break in root.iter_elements("br")}
    for code in broken:
        if isinstance(code, Element) and code.tag in ("code", "samp"):
            _break_out(code)


def _teletype(found: Element) -> None:
    """Inline code, or nothing but a wide blank."""
    text = found.text
    found.tag = "code" if text.strip() else "span"
    if text.isspace():
        found.set_text(" ")


def _break_out(code: Element) -> None:
    """Inline code with line breaks that is all its paragraph holds is a code block."""
    paragraph = code.parent
    if isinstance(paragraph, Element) and paragraph.tag in ("p", "div", "blockquote", "dd") and _is_alone(code):
        if paragraph.tag == "p":
            paragraph.tag = "div"
        code.tag = "pre"


def _is_alone(element: Element) -> bool:
    return all(
        isinstance(sibling, Text) and not sibling.data.strip()
        for siblings in (element.previous_siblings, element.next_siblings)
        for sibling in siblings
    )


def _number_cells(pre: Element) -> None:
    """Take out the first cells of rows that count from the first to the last."""
    rows = [[cell for cell in row.children if isinstance(cell, Element)] for row in pre.iter_elements("tr")]
    numbers = [row[0].text.strip() if len(row) > 1 else "" for row in rows]
    if all(map(str.isdecimal, numbers)) and [int(number[:9]) for number in numbers] == [
        int(numbers[0][:9]) + place for place in range(len(numbers))
    ]:
        for row in rows:
            row[0].decompose()


def _block(pre: Element, lines: str) -> None:
    language = _language(pre)
    if next(pre.iter_elements("table"), None) is not None:
        _number_cells(pre)
    text = _text(pre, lines)
    if not text:
        pre.decompose()
        return
    pre.set_text(text)
    if len(pre.attrs):
        pre.attrs.clear()
    if _leave_table(pre):
        language = language or _language(pre)
    if language:
        pre.attrs["class"] = f"language-{language}"
        _drop_label(pre)
    around = pre.parent
    if isinstance(around, Element) and "-" in around.tag:
        around.tag = "div"


def _drop_label(pre: Element) -> None:
    """The name of the language above the block is said by the block."""
    label = pre.previous_sibling
    if not isinstance(label, Element) or label.tag not in ("span", "div"):
        return
    if "lang" in (label.attr("class") or "") and label.text.strip().lower() in KNOWN:
        label.decompose()


def _text(pre: Element, lines: str) -> str:
    """The text of a block. Lines that are elements end also where the source has no line break after them."""
    breaking = list(pre.iter_elements(_BREAKING))
    for found in breaking:
        if found.tag == "br":
            found.replace_with(Text("\n"))
        elif found.tag in ("button", "svg"):
            found.decompose()
    text = pre.text
    if breaking or lines or "\n" not in text:
        for line in _line_elements(pre, lines):
            _end_line(line)
        text = pre.text
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip().lstrip("\n")


def _line_elements(pre: Element, lines: str) -> list[Element]:
    """The innermost elements that are a line each."""
    selector = f"div, li, tr, p, {_STYLED_LINES}{lines and ', '}{lines}"
    found = [line for line in pre.select(selector) if line.select_one(selector) is None]
    if found:
        return found
    children = pre.children
    if len(children) > 1 and all(
        child.tag == "code" if isinstance(child, Element) else not child.text.strip() for child in children
    ):
        return [child for child in children if isinstance(child, Element)]
    return []


def _end_line(line: Element) -> None:
    before, after = line.previous_sibling, _following(line)
    if isinstance(before, Text) and before.data.strip() and not before.data.endswith("\n"):
        line.insert_before(Text("\n"))
    if not line.text.endswith("\n") and not (isinstance(after, Text) and after.data.startswith(("\n", "\r"))):
        line.append(Text("\n"))


def _following(line: Element) -> Node | None:
    """What stands after a line, also where the line ends a group of lines."""
    last: Node = line
    for _ in range(_ANCESTORS):
        above = last.parent
        if last.next_sibling is not None or not isinstance(above, Element) or above.tag == "pre":
            break
        last = above
    return last.next_sibling


def _leave_table(pre: Element) -> bool:
    """A table with nothing but line numbers beside the code is a code block, also below the name of its file:
    whether it was one."""
    inside, cell = pre, pre.parent
    while isinstance(cell, Element) and cell.tag in ("div", "code", "figure") and _is_alone(inside):
        inside, cell = cell, cell.parent
    if not isinstance(cell, Element) or cell.tag != "td" or not _is_alone(inside):
        return False
    row = cell.parent
    part = row.parent if isinstance(row, Element) else None
    table = part.parent if isinstance(part, Element) else None
    if not isinstance(table, Element) or not isinstance(row, Element) or table.tag != "table":
        return False
    if not all(child == cell or _is_number(child.text) for child in row.children):
        return False
    labels = []
    for siblings in (row.previous_siblings, row.next_siblings):
        for sibling in siblings:
            if not _is_label(sibling):
                return False
            labels.append(sibling.text.strip())
    for label in filter(None, labels):
        table.insert_before(Element("div", children=(Text(label),)))
    table.replace_with(pre)
    return True


def _is_label(sibling: Node) -> bool:
    """Whether what is beside the row of a listing is nothing, or a row with the name of its file."""
    if not isinstance(sibling, Element):
        return not sibling.text.strip()
    return [cell.tag for cell in sibling.iter_elements(("td", "th", "pre"))] == ["th"]


def _is_number(text: str) -> bool:
    return all(word.isdecimal() for word in text.split())


def _language(pre: Element) -> str:
    """The language that the block, the code in it or what is around it names; empty where none does."""
    for inner in pre.iter_elements(("code", "pre")):
        if found := _stated(inner, own=True, known=False):
            return found
    if found := _stated(pre, own=True, known=False):
        return found
    first = next(iter(pre.children), None)
    if isinstance(first, Element) and first.tag == "div" and (found := _stated(first, own=False, known=False)):
        return found
    around = pre.parent
    for distance in range(1, _ANCESTORS + 1):
        if not isinstance(around, Element) or (around.tag in _SECTIONS and distance > 1):
            break
        if found := _stated(around, own=False, known=distance > _NEAR):
            return found
        around = around.parent
    return ""


def _stated(element: Element, *, own: bool, known: bool) -> str:
    words = element.attr("class")
    if len(element.attrs) > (words is not None):
        for name in _ATTRIBUTES:
            value = element.attr(name)
            if value and (found := _plain_name(value)) and (found in KNOWN or (name != "lang" and not known)):
                return found
        words = element.attr("data-syntaxhighlighter-params") or words
    found = _of_class(words, own=own) if words else ""
    return found if not known or found in KNOWN else ""


@lru_cache(maxsize=2048)
def _of_class(words: str, *, own: bool) -> str:
    """The language in a class attribute. A bare name counts where the element is code by itself or says so."""
    if named := _named(words):
        return _plain_name(named[1])
    names = words.split()[:20]
    for name in names:
        if (match := _prefixed(name)) and (found := _plain_name(match[1])):
            return found
    bare = [name.lower() for name in names]
    if own or not _MARKS_CODE.isdisjoint(bare):
        return next((name for name in bare if name in KNOWN and (len(name) > 1 or name in "cr")), "")
    return ""


def _plain_name(value: str) -> str:
    """A language as it is written after a fence; empty for what names none, or a tongue such as `en-gb`."""
    name = value.strip().lower().removesuffix("-basic")
    if name.startswith(("language-", "lang-")):
        name = name.partition("-")[2]
    if name in KNOWN:
        return name
    spoken = _locale(name)
    if spoken is not None and (name != spoken[1] or name in TONGUES):
        return ""
    return name if _writable(name) and name not in NO_LANGUAGE else ""
