"""The DOM of a main element is brought into the shape from which Markdown and text are written.

Owns what a reader sees of what Markdown does not have: permalinks, admonitions, formulas, lazy pictures, films.
Always: words stay, in their order; time is linear in the number of nodes for any page a person wrote. Never: looks
outside the element, except for the language of a code block and the base URL.
"""

from __future__ import annotations

import re
from collections.abc import Set
from urllib.parse import urlsplit

from turbohtml import Element, Node, Text

from orbweb.content import code, formulas, lists, notes, pictures, signs, tables
from orbweb.content.code import outermost
from orbweb.content.titles import HEADINGS

MAX_RESOLVED = 32_000_000
"""Characters that the base URL may add to all references of a page together; beyond that they stay relative."""
MAX_BASE = 4_000

_DROPPED_TAGS = ("script", "style", "template", "link", "meta", "rp", "svg")
_DROPPED = frozenset(
    (
        *("headerlink", "mw-editsection", "anchorjs-link", "MathJax_Preview", "katex-html"),
        *formulas.TYPESET,
        "MJX-TEX",
    )
)
_PERMALINK = "permalink"
"""The class of a sign that links to its section, or of the very words that it would stand behind."""
_CODE = ("code", "samp", "kbd")
_TELLING = "[style*=white-space], [role=table]"
_LINKS_IN_CODE = ", ".join(f"{tag} a[href]" for tag in _CODE)
_PARAGRAPHS = frozenset(("p", "div", "body", "li", "dd", "blockquote", "center", "article", "section", "main"))
_CARD_DEPTH = 4
"""How far above a heading a link may begin."""
_SHORT = 5
_SCHEME = 16
"""Characters: as long as a permalink sign is at most, and within which a scheme ends."""
_CODE_DEPTH = 3
"""How far above a link its code span may begin."""
_INLINE = frozenset((*_CODE, "span", "em", "i", "b", "strong", "var", "font", "u", "sup", "sub"))
_RARE = (
    *(*_DROPPED_TAGS, *formulas.TAGS, *pictures.FILMS, "table", "dl", "ol", "summary"),
    *("hr", "sup", "sub", "label", "button", "clipboard-copy", "xmp", "listing", "textarea", "tt", "br"),
)
"""What is looked for if it occurs at all."""
_SEEN = ("img", "picture", "video", "iframe")
"""What a reader sees though it is no text."""
_SIGNS = frozenset(("¶", "#", "§", "\uf0c1", "🔗", "⚓", "◆", "◊", "∞", "†", "[#]", "[¶]", "★"))
_BLANK = " \t\r\n\f\v\xa0\u200b\u200c\u2060\ufeff\u00ad\ufe0e\ufe0f"
_is_permalink = re.compile(
    r"(?:permalink|permanent link|direct link|anchor|link|copy link|heading self-link)(?: (?:to|for) .*)?",
    re.IGNORECASE,
).fullmatch
_keeps_blanks = re.compile(r"white-space\s*:\s*pre", re.IGNORECASE).search
_is_monospaced = re.compile(r"mono|courier|consolas|menlo", re.IGNORECASE).search


def shape(root: Element, url: str, classes: Set[str]) -> None:
    """Prepare the element for Markdown and text. References are made absolute against `url` or `<base>`.

    Classes that are not among `classes` are not looked for.
    """
    _read_attributes(root)
    rare = {found.tag for found in root.iter_elements(_RARE)}
    _drop(root, classes, rare)
    if "br" in rare:
        _paragraphs(root)
    if "label" in rare:
        _labels(root)
    code.shape(root, classes, rare)
    references = _links(root)
    _headings(root)
    if marked := notes.MARKS & classes:
        notes.shape(root, marked)
    if "table" in rare or tables.GRID in classes:
        tables.shape(root, grids=tables.GRID in classes)
    if not rare.isdisjoint(("dl", "ol")):
        lists.shape(root)
    if not rare.isdisjoint(("summary", "hr")):
        _details(root)
    if not rare.isdisjoint(signs.RAISED):
        _raised(root)
    if not rare.isdisjoint(("img", *pictures.FILMS)):
        references += pictures.shape(root) + pictures.films(root)
    _resolve(root, url, references)


def _drop(root: Element, classes: Set[str], rare: Set[str]) -> None:
    """Take out what no reader sees. Formulas first: some hide in what is taken out."""
    if not rare.isdisjoint(formulas.TAGS) or not classes.isdisjoint(formulas.CLASSES):
        formulas.shape(root, classes)
    if not rare.isdisjoint(_DROPPED_TAGS):
        for found in list(root.iter_elements(_DROPPED_TAGS)):
            found.decompose()
    if dropped := _DROPPED & classes:
        root.remove(", ".join(sorted(f".{name}" for name in dropped)))
    if _PERMALINK in classes:
        for found in root.select(f".{_PERMALINK}"):
            if not any(map(str.isalnum, found.text)) or _names_itself(found, found.parent):
                found.decompose()


def _resolve(root: Element, url: str, references: int) -> None:
    base = url
    stated = root.xpath_one("/html/head/base/@href | /html/body/base/@href")
    if isinstance(stated, str) and len(stated) <= MAX_BASE:
        joined = _joined(stated, url)
        base = joined if _is_web(joined) else url
    if len(base) * references > MAX_RESOLVED:
        return
    try:
        root.resolve_links(base)
    except ValueError:
        root.rewrite_links(lambda reference: _joined(reference, base))


def _joined(reference: str, base: str) -> str:
    """The reference made absolute. One whose host is none, such as `//[`, stays as it is."""
    probe = Element("a", {"href": reference})
    try:
        probe.resolve_links(base)
    except ValueError:
        return reference
    return probe.attr("href") or base


def _is_web(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False


def _paragraphs(root: Element) -> None:
    """Two line breaks in a row part paragraphs."""
    for first in list(root.iter_elements("br")):
        around = first.parent
        if (
            isinstance(around, Element)
            and around.tag in _PARAGRAPHS
            and (second := _next_break(first)) is not None
        ):
            while second is not None:
                second.decompose()
                second = _next_break(first)
            first.replace_with(Element("div"))


def _read_attributes(root: Element) -> None:
    """What a role or a style says of elements that are something else by their tags."""
    for found in root.select(_TELLING):
        if found.attr("role") == "table":
            tables.from_roles(found)
        if _keeps_blanks(found.attr("style") or ""):
            _unstyle(found)


def _unstyle(found: Element) -> None:
    """Text that is told to keep its blanks is no code for that; its lines are lines."""
    text = found.text
    if (found.tag in _CODE and "\n" in text) or _is_monospaced(found.attr("style") or ""):
        return
    if found.closest("pre") is not None:
        return
    del found.attrs["style"]
    if "\n" in text:
        for node in [node for node in found.descendants if isinstance(node, Text) and "\n" in node.data]:
            _part_lines(node)


def _part_lines(text: Text) -> None:
    """Lines end in breaks, except where a block does."""
    said = text.data
    if text.previous_sibling is None:
        said = said.lstrip()
    if text.next_sibling is None:
        said = said.rstrip()
    around = text.parent
    if said.strip() and isinstance(around, Element) and around.closest("pre") is None:
        first, *others = said.split("\n")
        text.replace_with(Text(first), *(node for line in others for node in (Element("br"), Text(line))))


def _labels(root: Element) -> None:
    """The names of tabs stand beside each other, each a box of its own."""
    for label in list(root.iter_elements("label")):
        following = label.next_sibling
        if isinstance(following, Element) and following.tag == "label":
            label.insert_after(Text(" "))


def _next_break(first: Element) -> Element | None:
    second = first.next_sibling
    while isinstance(second, Text) and not second.data.strip():
        second = second.next_sibling
    return second if isinstance(second, Element) and second.tag == "br" else None


def _links(root: Element) -> int:
    """Links that lead nowhere become their text, those that say nothing disappear. How many there were."""
    links = list(root.iter_elements("a"))
    for link in links:
        href = link.attr("href")
        if href is None:
            continue
        text = link.text
        if (len(text) < _SHORT or text.isspace()) and _says_nothing(link, href, text):
            link.decompose()
        elif not href or (":" in href[:_SCHEME] and pictures.no_target(href)):
            link.unwrap()
        else:
            if href[0] in _BLANK or href[-1] in _BLANK:
                link.attrs["href"] = href.strip()
            if link.attr("title") is not None:
                del link.attrs["title"]
    if next(root.iter_elements(_CODE), None) is not None:
        for link in root.select(_LINKS_IN_CODE):
            _out_of_code(link)
    return len(links)


def _says_nothing(link: Element, href: str, text: str) -> bool:
    text = text.strip(_BLANK)
    return (
        (text in _SIGNS and text != "#" and "#" in href) if text else next(link.iter_elements(_SEEN), None) is None
    )


def _out_of_code(link: Element) -> None:
    """A code span holds no links, so it is written inside the link."""
    around = link.parent
    for _ in range(_CODE_DEPTH):
        if not isinstance(around, Element) or around.tag not in _INLINE:
            return
        if around.tag in _CODE:
            break
        around = around.parent
    else:
        return
    if next(link.iter_elements((*_CODE, *_SEEN)), None) is None:
        link.wrap_children(Element("code"))
    around.tag = "span"


def _headings(root: Element) -> None:
    for heading in outermost(root, HEADINGS):
        _out_of_link(heading)
        links = list(heading.iter_elements("a"))
        for link in links:
            text = link.text.strip(_BLANK)
            if text in _SIGNS or ("#" in (link.attr("href") or "#") and _names_itself(link, heading)):
                link.decompose()
        said = heading.text.strip(_BLANK)
        if not said and next(heading.iter_elements(_SEEN), None) is None:
            heading.decompose()
        elif links and links[-1].text.strip(_BLANK) == said and _is_own(links[-1], heading):
            links[-1].unwrap()


def _names_itself(link: Element, around: Node | None) -> bool:
    """Whether a link says that it is a permalink, beside what it is one to."""
    said = link.text.strip(_BLANK)
    return _is_permalink(said) is not None and around is not None and around.text.strip(_BLANK) != said


def _out_of_link(heading: Element) -> None:
    """A link holds no headings, so it is written inside the heading, and inside the paragraphs beside it."""
    link = heading.parent
    for _ in range(_CARD_DEPTH):
        if not isinstance(link, Element) or link.tag == "a":
            break
        link = link.parent
    if not isinstance(link, Element) or link.tag != "a" or (href := link.attr("href")) is None:
        return
    for block in list(link.iter_elements((*HEADINGS, "p"))):
        if block.text.strip(_BLANK) and next(block.iter_elements(HEADINGS), None) is None:
            block.wrap_children(Element("a", {"href": href}))
    link.unwrap()


def _is_own(link: Element, heading: Element) -> bool:
    """Whether a link leads to the heading that it stands in."""
    above = heading.parent
    names = (heading.attr("id"), link.attr("id"), above.attr("id") if isinstance(above, Element) else None)
    target = link.attr("href") or ""
    return target.startswith("#") and target[1:] in names


def _details(root: Element) -> None:
    for found in list(root.iter_elements(("summary", "hr"))):
        if found.tag == "hr":
            found.insert_before(signs.gap())
        else:
            notes.embolden(found)


def _raised(root: Element) -> None:
    """Exponents and indices stay told apart from what they belong to, except inside code."""
    for found in list(root.iter_elements(tuple(signs.RAISED))):
        around = found.parent
        for _ in range(_CODE_DEPTH):
            if not isinstance(around, Element) or around.tag in _CODE:
                break
            around = around.parent
        if not isinstance(around, Element) or around.tag not in _CODE:
            opening, closing = signs.RAISED[found.tag]
            found.insert(0, Text(opening))
            found.append(Text(closing))
