"""Lists of a DOM: definition lists become lists of terms with their text below, numbers those of Markdown."""

from __future__ import annotations

from turbohtml import Element, Node, Text

MAX_NUMBER = 999_999_999
"""The largest number that begins a list in CommonMark."""

_BLOCK = ("p", "div", "ul", "ol", "dl", "pre", "table", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
_EMPHASIS = "strong, b, em, i"
_CODE = ("code", "kbd", "samp", "tt")


def shape(root: Element) -> None:
    """Bring every list below `root` into a form that Markdown has."""
    for found in list(root.iter_elements(("dl", "ol"))):
        if found.tag == "ol":
            _ordered(found)
        else:
            _definitions(found)


def _ordered(found: Element) -> None:
    """A list counts from its first number. What Markdown cannot count (backwards, with gaps) counts on."""
    attributes = found.attrs
    start = found.attr("start")
    attributes.pop("reversed", None)
    for item in found.children:
        if isinstance(item, Element) and item.tag == "li" and (value := item.attr("value")) is not None:
            start = value if start is None else start
            del item.attrs["value"]
    if start is not None:
        attributes.pop("start", None)
        if start.isascii() and start.isdecimal() and int(start[:10]) <= MAX_NUMBER:
            attributes["start"] = start[:10]


def _definitions(found: Element) -> None:
    for child in list(found.children):
        if isinstance(child, Element) and child.tag == "div" and _holds_terms(child):
            child.unwrap()
    children: list[Node] = list(found.children)
    if not any(isinstance(child, Element) and child.tag == "dt" for child in children):
        found.tag = "div"
        _name(children, "dd", "div")
        return
    found.tag = "ul"
    for group in _groups(children):
        group[0].wrap_siblings(Element("li"), until=group[-1])
    for child in children:
        if isinstance(child, Element) and child.tag == "dt":
            _term(child)
    _name(children, "dd", "div")


def _holds_terms(wrapper: Element) -> bool:
    return any(isinstance(child, Element) and child.tag in ("dt", "dd") for child in wrapper.children)


def _name(children: list[Node], old: str, new: str) -> None:
    for child in children:
        if isinstance(child, Element) and child.tag == old:
            child.tag = new


def _groups(children: list[Node]) -> list[list[Node]]:
    """Terms in a row and what is said about them."""
    groups: list[list[Node]] = []
    told = True
    for child in children:
        tag = child.tag if isinstance(child, Element) else ""
        if tag == "dt" and told:
            groups.append([child])
            told = False
        elif groups:
            groups[-1].append(child)
            told = told or tag == "dd"
    return groups


def _term(term: Element) -> None:
    """A term is bold, unless it is code already or holds blocks of its own."""
    if next(term.iter_elements(_BLOCK), None) is not None:
        term.tag = "div"
        return
    term.tag = "p"
    if not term.text.strip():
        return
    if term.has_class("sig"):
        _signature(term)
        return
    inner = [child for child in term.children if isinstance(child, Element) or child.text.strip()]
    if len(inner) == 1 and isinstance(inner[0], Element) and inner[0].tag in _CODE:
        return
    term.strip_tags(_EMPHASIS)
    term.wrap_children(Element("strong"))


def _signature(term: Element) -> None:
    """A declaration is code, if it holds no links; a link to its source may follow."""
    links = term.select("a[href]")
    tail = [
        link for link in links if link.has_class("reference") and link.select_one(".viewcode-link") is not None
    ]
    if len(links) == len(tail):
        for link in tail:
            link.extract()
        code = Element("code")
        code.set_text(" ".join(term.text.split()))
        term.clear()
        term.append(code)
        for link in tail:
            term.extend((Text(" "), link))
        return
    term.strip_tags(f"{_EMPHASIS}, code")
    term.wrap_children(Element("strong"))
