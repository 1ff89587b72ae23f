"""Lists of a DOM: definition lists become lists of terms with their text below, numbers those of Markdown."""

from __future__ import annotations

from turbohtml import Element, Text

MAX_NUMBER = 999_999_999
"""The largest number that begins a list in CommonMark."""

_BLOCKS = ("p", "div", "ul", "ol", "dl", "pre", "table", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
_EMPHASIS = ("strong", "b", "em", "i")
_CODE = ("code", "kbd", "samp", "tt")
_TOLD = (*_BLOCKS, *_CODE, *_EMPHASIS)


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
    wrappers = [child for child in _elements(found) if child.tag == "div" and _holds_terms(child)]
    for wrapper in wrappers:
        wrapper.unwrap()
    groups: list[list[Element]] = []
    told = True
    for child in _elements(found):
        tag = child.tag
        if tag == "dt":
            if told:
                groups.append([])
            told = False
            _term(child)
        elif tag == "dd":
            told = True
            child.tag = "div"
        if groups:
            groups[-1].append(child)
    found.tag = "ul" if groups else "div"
    for group in groups:
        group[0].wrap_siblings(Element("li"), until=group[-1])


def _elements(found: Element) -> list[Element]:
    return [child for child in found.children if isinstance(child, Element)]


def _holds_terms(wrapper: Element) -> bool:
    return any(child.tag in ("dt", "dd") for child in _elements(wrapper))


def _term(term: Element) -> None:
    """A term is bold, unless it is code already or holds blocks of its own."""
    tags = {inner.tag for inner in term.iter_elements(_TOLD)}
    if not tags.isdisjoint(_BLOCKS):
        term.tag = "div"
        return
    term.tag = "p"
    if term.has_class("sig"):
        _signature(term)
    elif not tags.isdisjoint(_CODE) and _is_code(term):
        return
    elif term.text.strip():
        if not tags.isdisjoint(_EMPHASIS):
            term.strip_tags(", ".join(_EMPHASIS))
        term.wrap_children(Element("strong"))


def _is_code(term: Element) -> bool:
    said = [child for child in term.children if isinstance(child, Element) or child.text.strip()]
    return len(said) == 1 and isinstance(said[0], Element) and said[0].tag in _CODE


def _signature(term: Element) -> None:
    """A declaration is code, if it holds no links; a link to its source may follow."""
    links = [link for link in term.iter_elements("a") if link.attr("href") is not None]
    tail = [
        link for link in links if link.has_class("reference") and link.select_one(".viewcode-link") is not None
    ]
    if len(links) == len(tail):
        for link in tail:
            link.extract()
        term.set_text(" ".join(term.text.split()))
        term.wrap_children(Element("code"))
        for link in tail:
            term.extend((Text(" "), link))
        return
    term.strip_tags(", ".join((*_EMPHASIS, "code")))
    term.wrap_children(Element("strong"))
