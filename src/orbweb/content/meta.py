"""What a page states about itself: title, description, language, author, date.

Owns which statement wins where a page makes several. Always: a statement is one line and has a bounded length,
a language is a BCP 47 tag, a date is ISO 8601; what a page does not state, or not clearly, is empty. Never:
guesses from the text, looks at other pages, or raises for what a page writes.

The title is the first of `og:title`, the headline of an article in JSON-LD, `<title>` and `<h1>` that is not just
the name of the site. A name of the site at its beginning or end goes: one that the page or its host name states,
or whatever stands around the words of another statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import Any

from turbohtml import Document as Dom
from turbohtml import Element, Namespace

from orbweb.content.titles import letters

MAX_TITLE = 500
MAX_DESCRIPTION = 2_000
MAX_AUTHOR = 200
MAX_DATE = 64
MAX_TAG = 35
MAX_METAS = 300
MAX_HEADINGS = 5
MAX_MARKED = 300
MAX_SCRIPTS = 8
MAX_SCRIPT = 200_000
"""Characters of one JSON-LD script; a longer one is not read."""
MAX_OBJECTS = 300
JSON_LD = "application/ld+json"
MAX_PARTS = 12
MAX_AUTHORS = 10
MAX_HOSTS = 1_000
"""Hosts whose names are remembered."""
SLACK = 4
"""How many times its length a statement may have before its white space is taken out."""

_TITLES = ("og:title", "twitter:title", "dc.title", "dcterms.title", "citation_title")
_SITES = ("og:site_name", "application-name", "apple-mobile-web-app-title")
_DESCRIPTIONS = ("description", "og:description", "twitter:description", "dc.description", "dcterms.description")
_AUTHORS = ("author", "article:author", "parsely-author", "sailthru.author", "dc.creator", "dcterms.creator")
_DATES = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "citation_publication_date",
    "dcterms.created",
    "dcterms.date",
    "dc.date",
    "dc.date.issued",
    "dcterms.issued",
    "pubdate",
    "publish_date",
    "publication_date",
    "date",
)
_LANGUAGES = ("content-language", "og:locale", "dc.language", "dcterms.language")
_NAMES = frozenset((*_TITLES, *_SITES, *_DESCRIPTIONS, *_AUTHORS, *_DATES, *_LANGUAGES))
_KEYS = ("property", "name", "itemprop", "http-equiv")
_STATING = ("meta", "script", "title", "h1", "main")

_decoded = json.JSONDecoder(strict=False).decode
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_is_article = re.compile(r"(?:.*[/:#])?(?:\w*(?:Article|Posting)|Report|HowTo|Recipe)").fullmatch
_is_page = re.compile(r"(?:.*[/:#])?\w*Page").fullmatch

_SEPARATOR = re.compile(
    r"\s+(?:[-|\u2013\u2014\xb7\u2022\xbb\xab\u2039\u203a:~/]|::|->|\|\|)\s+|\s*[|\xbb\xab]\s*|(?<=\w)(?P<colon>:)\s+"
)
_PERMALINK = re.compile(r"(?:[\s\u200b]#|[\s\u200b\xb6\xa7\uf0c1\U0001f517])+$")
_TAG = re.compile(r"([a-z]{2,3}|[a-z]{5,8})((?:-[a-z0-9]{1,8})*)", re.IGNORECASE).fullmatch
_NO_TAGS = frozenset(("und", "mul", "zxx", "default", "undefined", "unknown"))
_LOCATOR = re.compile(r"(?:[a-z]+:)?//|www\.", re.IGNORECASE).match
_BY = re.compile(r"\s*(?:written\s+)?by\b[\s:]*(?=\S)", re.IGNORECASE)

_NUMERIC = re.compile(
    r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)|(\d{4})()(\d{2})(\d{2})(?!\d)|(\d{4})-(\d{2})(?![\d-])|(\d{4})(?![\d/.-])"
).match
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?[\s-]+([A-Za-z]{3,9})[.,]?[\s-]+(\d{4})(?!\d)").search
_MONTH_FIRST = re.compile(r"\b([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})(?!\d)").search
_PUBLISHED = frozenset(("datePublished", "published", "dt-published"))
_MONTHS = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)  # noqa: SIM905
}
FIRST_YEAR = 1000


@dataclass(frozen=True, slots=True)
class About:
    """Statements of a page; empty where there is none."""

    title: str
    description: str
    language: str
    author: str
    published: str


def read(dom: Dom, url: str = "") -> About:
    """The statements of a page that was answered at `url`, whose host may name the site."""
    elements: dict[str, list[Element]] = {tag: [] for tag in _STATING}
    for element in dom.iter_elements(_STATING):
        elements[element.tag].append(element)
    metas = _metas(elements["meta"])
    linked = _linked(elements["script"])
    author, published = _author(metas, linked), _published(metas, linked)
    marked = [] if author and published else dom.select("[itemprop]")[:MAX_MARKED]
    return About(
        title=_title(elements, metas, linked, url),
        description=_first(MAX_DESCRIPTION, (*map(metas.get, _DESCRIPTIONS), linked.description)),
        language=_language(dom, metas, linked),
        author=author or _marked_author(dom, marked),
        published=published or next(_marked_dates((*marked, *dom.select("time")[:MAX_MARKED])), ""),
    )


def _metas(elements: Sequence[Element]) -> dict[str, str]:
    """What the metas say that may be asked for, by name; the first of a name counts."""
    found: dict[str, str] = {}
    for element in elements[:MAX_METAS]:
        value = element.attr("content")
        if value:
            for key in _KEYS:
                name = element.attr(key)
                if name and (name := name.lower()) in _NAMES:
                    found.setdefault(name, value)
    return found


def _line(text: str | None, limit: int) -> str:
    """One line of at most `limit` characters; a longer one ends with a word."""
    line = " ".join((text or "")[: SLACK * limit].split())
    if len(line) <= limit:
        return line
    cut = line[: limit + 1].rpartition(" ")[0]
    return cut if 2 * len(cut) > limit else line[:limit]


def _first(limit: int, found: Iterable[str | None]) -> str:
    return next((line for text in found if text and (line := _line(text, limit))), "")


# Linked data.


@dataclass(frozen=True, slots=True)
class _Linked:
    """What JSON-LD says of the page, as it is written there."""

    headline: str = ""
    description: str = ""
    language: str = ""
    author: str = ""
    published: str = ""


def _linked(scripts: Iterable[Element]) -> _Linked:
    """What the one article among the JSON-LD objects of a page says, else what its page says."""
    objects = [found for data in _data(scripts) for found in _objects(data)][:MAX_OBJECTS]
    if not objects:
        return _Linked()
    articles = [found for found in objects if _is_a(found, _is_article)]
    if len({_text(found.get("headline")) for found in articles}) > 1:
        articles = []
    about = articles or [found for found in objects if _is_a(found, _is_page)]
    by_id = {key: found for found in objects if isinstance(key := found.get("@id"), str)}

    def stated(name: str) -> str:
        return next((text for found in about if (text := _text(found.get(name)))), "")

    people = next((names for found in about if (names := _people(found.get("author"), by_id))), "")
    return _Linked(
        stated("headline"), stated("description"), stated("inLanguage"), people, stated("datePublished")
    )


def _data(scripts: Iterable[Element]) -> Iterator[Any]:
    for script in islice((found for found in scripts if found.attr("type") == JSON_LD), MAX_SCRIPTS):
        text = script.text
        if len(text) <= MAX_SCRIPT:
            try:
                yield _decoded(text)
            except (ValueError, RecursionError):
                continue


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The objects that speak of the page itself: those on top, of a graph, and its main entity."""
    if isinstance(value, list) and depth < SLACK:
        for each in value[:MAX_OBJECTS]:
            yield from _objects(each, depth + 1)
    elif isinstance(value, dict):
        yield value
        if depth < SLACK:
            for name in _INNER:
                yield from _objects(value.get(name), depth + 1)


def _is_a(found: Mapping[str, Any], matches: Callable[[str], object]) -> bool:
    kinds = found.get("@type")
    return any(isinstance(kind, str) and matches(kind[:MAX_AUTHOR]) for kind in _listed(kinds))


def _listed(value: Any) -> list[Any]:
    return value[:MAX_AUTHORS] if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    """The text of a value: itself, its `@value` or its name; the first of several."""
    for each in _listed(value):
        text = each.get("@value") or each.get("name") if isinstance(each, dict) else each
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _people(value: Any, by_id: Mapping[str, Mapping[str, Any]]) -> str:
    names = []
    for each in _listed(value):
        name = _text(each)
        if not name and isinstance(each, dict) and isinstance(each.get("@id"), str):
            name = _text(by_id.get(each["@id"], {}).get("name"))
        if name and not _LOCATOR(name) and name not in names:
            names.append(name)
    return ", ".join(names)


# Title.


def _title(elements: Mapping[str, Sequence[Element]], metas: Mapping[str, str], linked: _Linked, url: str) -> str:
    headings, elsewhere = _headings(elements["h1"][:MAX_HEADINGS], has_main=bool(elements["main"]))
    title = _title_element(elements["title"][:MAX_PARTS])
    texts = (*map(metas.get, _TITLES), linked.headline, title, *headings)
    said = {line: letters(line) for text in texts if text and (line := _line(text, MAX_TITLE))}
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
    sites = {letters(metas[name]) for name in _SITES if name in metas} | _host_names(host)
    others = {*said.values()} - sites - {""}
    around = _Around(sites - {""}, {letters(line) for line in elsewhere} - {""}, others)
    for line, words in said.items():
        if words in others:
            return around.cut(line)
    return next(iter(said), "")


def _headings(found: Sequence[Element], *, has_main: bool) -> tuple[list[str], list[str]]:
    """Those of the page and, where it says which part is its own, those elsewhere."""
    if not has_main:
        return [_heading(element) for element in found], []
    inside = [element.closest("main") is not None for element in found]
    return (
        [_heading(element) for element, own in zip(found, inside, strict=True) if own],
        [_heading(element) for element, own in zip(found, inside, strict=True) if not own],
    )


def _heading(element: Element) -> str:
    return _PERMALINK.sub("", _line(element.text, MAX_TITLE))


def _title_element(found: Iterable[Element]) -> str:
    return next((element.text for element in found if element.namespace is Namespace.HTML), "")


@lru_cache(maxsize=MAX_HOSTS)
def _host_names(host: str) -> frozenset[str]:
    """What a site may call itself by its host: `docs.example.org` is docs.example.org, example.org."""
    parts = host.removeprefix("www.").split(".")[-MAX_PARTS:]
    wholes = {".".join(parts[start:]) for start in range(len(parts) - 1)}
    return frozenset(letters(name) for name in (*wholes, *parts[:-1]))


@dataclass(frozen=True, slots=True)
class _Around:
    """What may stand around a title: names of the site, and headings of the site, which come last. `others` are
    all statements."""

    sites: set[str]
    headings: set[str]
    others: set[str]

    def cut(self, title: str) -> str:
        """The longest beginning or end that another statement says too, else all but the names of the site."""
        found = list(islice(_SEPARATOR.finditer(title), MAX_PARTS))
        beginnings = [title[: cut.start()] for cut in reversed(found) if not cut["colon"]]
        for part in (*beginnings, *(title[cut.end() :] for cut in found)):
            if letters(part) in self.others:
                return part.strip()
        for cut in found:
            before, after = title[: cut.start()].strip(), title[cut.end() :].strip()
            if after and letters(before) in self.sites:
                return self.cut(after)
            if before and letters(after) in self.sites | self.headings:
                return self.cut(before)
        return title


# Language.


def _language(dom: Dom, metas: Mapping[str, str], linked: _Linked) -> str:
    stated = [element.attr(name) for element in _roots(dom) for name in ("lang", "xml:lang")]
    stated += map(metas.get, _LANGUAGES)
    return next((tag for text in (*stated, linked.language) if text and (tag := language_tag(text))), "")


def _roots(dom: Dom) -> Iterator[Element]:
    for tag in ("html", "body"):
        if (element := dom.find(tag)) is not None:
            yield element


def language_tag(text: str) -> str:
    """A BCP 47 tag with the usual letter cases; empty if the text is none or names several languages."""
    found = _TAG(text[: MAX_TAG + 1].partition(".")[0].strip().replace("_", "-"))
    if len(text) > MAX_TAG or found is None or found[1].lower() in _NO_TAGS:
        return ""
    tag, single = [found[1].lower()], False
    for part in found[2].split("-")[1:]:
        single = single or len(part) == 1
        tag.append(_cased(part) if not single else part.lower())
    return "-".join(tag)


def _cased(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.title()
    return part.upper() if len(part) == 2 else part.lower()


# Author and date.


def _author(metas: Mapping[str, str], linked: _Linked) -> str:
    stated = (linked.author, *map(metas.get, _AUTHORS))
    return next((name for text in stated if text and (name := _name(text))), "")


def _marked_author(dom: Dom, marked: Sequence[Element]) -> str:
    """The author that an element of the page is marked as: the first, for comments come later."""
    authors = [element for element in marked if "author" in (element.attr("itemprop") or "").split()]
    return next((name for found in authors or dom.select("a[rel~=author]") if (name := _marked_name(found))), "")


def _marked_name(element: Element) -> str:
    inner = element.select_one("[itemprop~=name]") or element
    return _name(inner.attr("content") or inner.text)


def _name(text: str) -> str:
    name = _line(text, MAX_AUTHOR)
    name = _BY.sub("", name, count=1) if _BY.match(name) else name
    return "" if _LOCATOR(name) else name.strip(" ,;|")


def _published(metas: Mapping[str, str], linked: _Linked) -> str:
    stated = (metas.get(_DATES[0]), linked.published, *map(metas.get, _DATES[1:]))
    return next((day for text in stated if text and (day := iso_date(text))), "")


def _marked_dates(elements: Iterable[Element]) -> Iterator[str]:
    for element in elements:
        words = f"{element.attr('itemprop') or ''} {element.attr('rel') or ''} {element.attr('class') or ''}"
        if not _PUBLISHED.isdisjoint(words.split()) or element.attr("pubdate") is not None:
            text = element.attr("datetime") or element.attr("content") or element.text
            if day := iso_date(text):
                yield day


def iso_date(text: str) -> str:
    """The day, month or year that a text begins with or an English date in it names; empty if there is none."""
    text = text[:MAX_DATE].strip()
    if found := _NUMERIC(text):
        year, month, day = (
            found[1] or found[5] or found[9] or found[11],
            found[3] or found[7] or found[10],
            found[4] or found[8],
        )
        return _iso(int(year), int(month) if month else None, int(day) if day else None)
    if found := _DAY_FIRST(text):
        return _iso(int(found[3]), _MONTHS.get(found[2][:3].lower(), 0), int(found[1]))
    if found := _MONTH_FIRST(text):
        return _iso(int(found[3]), _MONTHS.get(found[1][:3].lower(), 0), int(found[2]))
    return ""


def _iso(year: int, month: int | None, day: int | None) -> str:
    """As precise as it was stated; empty if there is no such day."""
    try:
        found = date(year, 1 if month is None else month, 1 if day is None else day)
    except ValueError:
        return ""
    length = 4 if month is None else 7 if day is None else 10
    return found.isoformat()[:length] if year >= FIRST_YEAR else ""
