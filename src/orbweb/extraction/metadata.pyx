"""The metadata of a page: title, description, language, author, date.

A value is one line of bounded length, a language is a BCP 47 tag, a date is ISO 8601. Missing or ambiguous values
are empty; nothing is guessed from the text.

The title is the first of `og:title`, the headline of an article in JSON-LD, `<title>` and `<h1>` that is not only
the name of the site. A site name at its start or end is removed: one that the page or its host name declares, or
whatever surrounds the words of another declaration.
"""

import json
import re
from datetime import date
from functools import lru_cache
from itertools import islice

from libc.string cimport memset

from orbweb.extraction.titles cimport letters
from orbweb.parsing.html.page_facts cimport is_foreign
from orbweb.parsing.html.tree cimport (
    ATTR_CLASS, ATTR_CONTENT, ATTR_DATETIME, ATTR_HTTP_EQUIV, ATTR_ITEMPROP, ATTR_LANG, ATTR_NAME,
    ATTR_PROPERTY, ATTR_PUBDATE, ATTR_REL, ATTR_TYPE, ELEMENT, NONE, ROOT, TAG_A, TAG_BODY, TAG_H1, TAG_HTML,
    TAG_META, TAG_SCRIPT, TAG_TIME, TAG_TITLE, Span, TagSet, Tree, as_str, contains, contains_in_any_case,
    has_word, is_text, tags,
)
from orbweb.parsing.html.walk cimport next_tagged

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
"""The most characters of a JSON-LD script; a longer one is ignored."""
MAX_OBJECTS = 300
MAX_PARTS = 12
MAX_AUTHORS = 10
MAX_TAGS = 1_000
"""The most cached language values."""
MAX_HOSTS = 1_000
"""The most cached host names."""
SLACK = 4
"""A value may be this many times longer than its limit before its white space is collapsed."""

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

cdef TagSet _STATING = tags("a h1 main meta script time title")
cdef TagSet _MAIN = tags("main")
cdef TagSet _ANY
memset(&_ANY, 1, sizeof(TagSet))
cdef int[4] _KEYS = [ATTR_PROPERTY, ATTR_NAME, ATTR_ITEMPROP, ATTR_HTTP_EQUIV]

_decoded = json.JSONDecoder(strict=False).decode
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_is_article = re.compile(r"(?:.*[/:#])?(?:\w*(?:Article|Posting)|Report|HowTo|Recipe)").fullmatch
_is_page = re.compile(r"(?:.*[/:#])?\w*Page").fullmatch

_SEPARATOR = re.compile(
    r"\s+(?:[-|\u2013\u2014\xb7\u2022\xbb\xab\u2039\u203a:~/]|::|->|\|\|)\s+|\s*[|\xbb\xab]\s*|(?<=\w)(?P<colon>:)\s+"
)
_PERMALINKS = "#\u200b\xb6\xa7\uf0c1\U0001f517"
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


cdef class About:
    """The metadata of a page; missing values are empty."""

    def __init__(self, str title="", str description="", str language="", str author="", str published=""):
        self.title, self.description, self.language = title, description, language
        self.author, self.published = author, published

    def _all(self):
        return self.title, self.description, self.language, self.author, self.published

    def __eq__(self, other):
        return self._all() == other._all() if isinstance(other, About) else NotImplemented

    def __hash__(self):
        return hash(self._all())

    def __repr__(self):
        return f"About{self._all()!r}"


cpdef About read(Tree tree, str url=""):
    cdef _Stating stating = _Stating(tree)
    cdef dict metas = _metas(tree, stating.metas)
    cdef _Linked linked = _linked(tree, stating.scripts)
    cdef str author = _author(metas, linked), published = _published(metas, linked)
    cdef list marked = [] if author and published else _marked(tree)
    return About(
        _title(tree, stating, metas, linked, url),
        _description(metas, linked),
        _language(tree, metas, linked),
        author or _marked_author(tree, marked, stating.authors),
        published or _marked_date(tree, marked) or _marked_date(tree, stating.times),
    )


cdef class _Stating:
    """The elements that may contain metadata, in document order."""

    cdef list metas, scripts, titles, headings, times, authors
    cdef bint has_main

    def __cinit__(self, Tree tree):
        cdef int node = ROOT, tag
        self.metas, self.scripts, self.titles = [], [], []
        self.headings, self.times, self.authors = [], [], []
        while True:
            node = next_tagged(tree.nodes, node, ROOT, &_STATING)
            if node == NONE:
                break
            tag = tree.nodes[node].tag
            if tag == TAG_A:
                if contains_in_any_case(tree.attr(node, ATTR_REL), b"author"):
                    if "author" in tree.attr_str(node, ATTR_REL).lower().split():
                        self.authors.append(node)
            elif tag == TAG_META:
                _add(self.metas, node, MAX_METAS)
            elif tag == TAG_SCRIPT:
                if is_text(tree.attr(node, ATTR_TYPE), b"application/ld+json"):
                    _add(self.scripts, node, MAX_SCRIPTS)
            elif tag == TAG_TITLE:
                _add(self.titles, node, MAX_PARTS)
            elif tag == TAG_H1:
                _add(self.headings, node, MAX_HEADINGS)
            elif tag == TAG_TIME:
                _add(self.times, node, MAX_MARKED)
            else:
                self.has_main = True


cdef int _add(list found, int node, int limit) except -1:
    if len(found) < limit:
        found.append(node)
    return 0


cdef dict _metas(Tree tree, list elements):
    """The content of the relevant metas, by name; the first of a name counts."""
    cdef dict found = {}
    cdef int element, key
    cdef Span span
    cdef str name
    for element in elements:
        if tree.attr(element, ATTR_CONTENT).size:
            for key in _KEYS:
                span = tree.attr(element, key)
                if span.size:
                    name = as_str(span).lower()
                    if name in _NAMES and name not in found:
                        found[name] = tree.attr_str(element, ATTR_CONTENT)
    return found


cdef str _line(str text, int limit):
    """One line of at most `limit` characters; a longer one is cut after a word."""
    cdef str line = " ".join(text[: SLACK * limit].split()), cut
    if len(line) <= limit:
        return line
    cut = line[: limit + 1].rpartition(" ")[0]
    return cut if 2 * len(cut) > limit else line[:limit]


cdef str _description(dict metas, _Linked linked):
    cdef str text, line
    for name in _DESCRIPTIONS:
        text = metas.get(name)
        if text:
            line = _line(text, MAX_DESCRIPTION)
            if line:
                return line
    return _line(linked.description, MAX_DESCRIPTION)


# JSON-LD.


cdef class _Linked:
    """The metadata in JSON-LD, as written."""

    cdef str headline, description, language, author, published

    def __cinit__(self, headline="", description="", language="", author="", published=""):
        self.headline, self.description, self.language = headline, description, language
        self.author, self.published = author, published


cdef _Linked _NOTHING = _Linked()


cdef _Linked _linked(Tree tree, list scripts):
    """The values of the only article among the JSON-LD objects of a page, else those of its page object."""
    cdef list objects = _data(tree, scripts), articles, about
    cdef str people = ""
    if not objects:
        return _NOTHING
    articles = [found for found in objects if _is_a(found, _is_article)]
    if len({_text(found.get("headline")) for found in articles}) > 1:
        articles = []
    about = articles or [found for found in objects if _is_a(found, _is_page)]
    if not about:
        return _NOTHING
    by_id = {found["@id"]: found for found in objects if isinstance(found.get("@id"), str)}
    for found in about:
        people = _people(found.get("author"), by_id)
        if people:
            break
    return _Linked(
        _stated(about, "headline"),
        _stated(about, "description"),
        _stated(about, "inLanguage"),
        people,
        _stated(about, "datePublished"),
    )


cdef list _data(Tree tree, list scripts):
    """The first objects in the scripts that describe the page."""
    cdef list objects = []
    cdef int script
    for script in scripts:
        text = tree.text(script)
        if len(text) <= MAX_SCRIPT:
            try:
                _collect(_decoded(text), 0, objects)
            except (ValueError, RecursionError):
                continue
    return objects


cdef int _collect(value, int depth, list objects) except -1:
    """The objects that describe the page itself: those at the top level, of a graph, and its main entity."""
    if len(objects) == MAX_OBJECTS:
        return 0
    if isinstance(value, list) and depth < SLACK:
        for each in value[:MAX_OBJECTS]:
            _collect(each, depth + 1, objects)
    elif isinstance(value, dict):
        objects.append(value)
        if depth < SLACK:
            for name in _INNER:
                _collect(value.get(name), depth + 1, objects)
    return 0


cdef str _stated(list about, str name):
    cdef str text
    for found in about:
        text = _text(found.get(name))
        if text:
            return text
    return ""


cdef bint _is_a(dict found, matches) except -1:
    for kind in _listed(found.get("@type")):
        if isinstance(kind, str) and matches(kind[:MAX_AUTHOR]):
            return True
    return False


cdef list _listed(value):
    return value[:MAX_AUTHORS] if isinstance(value, list) else [value]


cdef str _text(value):
    """The text of a value: itself, its `@value` or its name; the first of several."""
    for each in _listed(value):
        text = each.get("@value") or each.get("name") if isinstance(each, dict) else each
        if isinstance(text, str) and text.strip():
            return text
    return ""


cdef str _people(value, dict by_id):
    cdef list names = []
    cdef str name
    for each in _listed(value):
        name = _text(each)
        if not name and isinstance(each, dict) and isinstance(each.get("@id"), str):
            name = _text(by_id.get(each["@id"], {}).get("name"))
        if name and not _LOCATOR(name) and name not in names:
            names.append(name)
    return ", ".join(names)


# Title.


cdef str _title(Tree tree, _Stating stating, dict metas, _Linked linked, str url):
    cdef list headings = [], elsewhere = []
    cdef dict said = {}
    cdef str text, line
    _read_headings(tree, stating, headings, elsewhere)
    for text in (*map(metas.get, _TITLES), linked.headline, _title_element(tree, stating.titles), *headings):
        if text:
            line = _line(text, MAX_TITLE)
            if line and line not in said:
                said[line] = letters(line)
    sites = _host_names(url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0])
    for name in _SITES:
        if name in metas:
            sites = sites | {letters(metas[name])}
    others = set(said.values()).difference(sites)
    others.discard("")
    for line, words in said.items():
        if words in others:
            return _cut(line, sites, {letters(heading) for heading in elsewhere}, others)
    return next(iter(said), "")


cdef int _read_headings(Tree tree, _Stating stating, list own, list elsewhere) except -1:
    """The headings of the page and, if it marks its own part, those elsewhere."""
    cdef int element
    for element in stating.headings:
        is_own = not stating.has_main or tree.closest(element, &_MAIN) != NONE
        (own if is_own else elsewhere).append(_heading(tree, element))
    return 0


cdef str _heading(Tree tree, int element):
    cdef str line = _line(tree.text(element), MAX_TITLE)
    return _PERMALINK.sub("", line) if line and line[len(line) - 1] in _PERMALINKS else line


cdef str _title_element(Tree tree, list found):
    cdef int element
    for element in found:
        if not is_foreign(tree, element):
            return tree.text(element)
    return ""


@lru_cache(maxsize=MAX_HOSTS)
def _host_names(str host):
    """Possible site names by the host: `docs.example.org` gives docs.example.org and example.org."""
    parts = host.removeprefix("www.").rsplit(".", MAX_PARTS)
    if len(parts) > MAX_PARTS:
        del parts[0]
    last = parts.pop()
    wholes = [".".join([*parts[start:], last]) for start in range(len(parts))]
    return frozenset([letters(name) for name in (*wholes, *parts)])


cdef str _cut(str title, sites, set headings, set others):
    """The longest start or end that another value contains too, else everything except the names of the site.

    `sites` are names of the site, `headings` those of the site, which come last, `others` are all values.
    """
    cdef str before, after
    found = list(islice(_SEPARATOR.finditer(title), MAX_PARTS))
    for cut in reversed(found):
        if not cut["colon"] and letters(title[: cut.start()]) in others:
            return title[: cut.start()].strip()
    for cut in found:
        if letters(title[cut.end() :]) in others:
            return title[cut.end() :].strip()
    for cut in found:
        before, after = title[: cut.start()].strip(), title[cut.end() :].strip()
        words = letters(before) if after else ""
        if words and words in sites:
            return _cut(after, sites, headings, others)
        words = letters(after) if before else ""
        if words and (words in sites or words in headings):
            return _cut(before, sites, headings, others)
    return title


# Language.


cdef str _language(Tree tree, dict metas, _Linked linked):
    cdef str text, tag
    for text in _stated_languages(tree, metas, linked):
        if text:
            tag = language_tag(text)
            if tag:
                return tag
    return ""


def _stated_languages(Tree tree, dict metas, _Linked linked):
    cdef int element
    for number in (TAG_HTML, TAG_BODY):
        element = tree.first_tagged(ROOT, number)
        if element != NONE:
            yield tree.attr_str(element, ATTR_LANG)
            yield as_str(tree.attr_named(element, "xml:lang"))
    yield from map(metas.get, _LANGUAGES)
    yield linked.language


def language_tag(str text not None):
    """A BCP 47 tag with the usual letter cases; empty if the text is invalid or names several languages."""
    return "" if len(text) > MAX_TAG else _known_tag(text)


@lru_cache(maxsize=MAX_TAGS)
def _known_tag(str text):
    found = _TAG(text.partition(".")[0].strip().replace("_", "-"))
    if found is None or found[1].lower() in _NO_TAGS:
        return ""
    tag, single = [found[1].lower()], False
    for part in found[2].split("-")[1:]:
        single = single or len(part) == 1
        tag.append(_cased(part) if not single else part.lower())
    return "-".join(tag)


cdef str _cased(str part):
    if len(part) == 4 and part.isalpha():
        return part.title()
    return part.upper() if len(part) == 2 else part.lower()


# Author and date.


cdef str _author(dict metas, _Linked linked):
    cdef str text, name
    for text in (linked.author, *map(metas.get, _AUTHORS)):
        if text:
            name = _name(text)
            if name:
                return name
    return ""


cdef list _marked(Tree tree):
    """The first elements with an `itemprop`."""
    cdef list found = []
    cdef int node = ROOT, place
    for place in range(tree.attribute_count):
        if tree.attributes[place].name == ATTR_ITEMPROP:
            break
    else:
        return found
    while len(found) < MAX_MARKED:
        node = next_tagged(tree.nodes, node, ROOT, &_ANY)
        if node == NONE:
            break
        if tree.nodes[node].kind == ELEMENT:
            for place in range(tree.nodes[node].at, tree.nodes[node].at + tree.nodes[node].size):
                if tree.attributes[place].name == ATTR_ITEMPROP:
                    found.append(node)
                    break
    return found


cdef str _marked_author(Tree tree, list marked, list links):
    """The first element that is marked as an author, because comments come later."""
    cdef list authors = []
    cdef str name
    cdef int element
    for element in marked:
        if contains(tree.attr(element, ATTR_ITEMPROP), b"author"):
            if "author" in tree.attr_str(element, ATTR_ITEMPROP).split():
                authors.append(element)
    for element in authors or links:
        name = _marked_name(tree, element)
        if name:
            return name
    return ""


cdef str _marked_name(Tree tree, int element):
    cdef int inner = element
    while True:
        inner = tree.following(inner, element)
        if inner == NONE:
            inner = element
            break
        if has_word(tree.attr(inner, ATTR_ITEMPROP), b"name"):
            break
    return _name(tree.attr_str(inner, ATTR_CONTENT) or tree.text(inner))


cdef str _name(str text):
    cdef str name = _line(text, MAX_AUTHOR)
    name = _BY.sub("", name, count=1) if _BY.match(name) else name
    return "" if _LOCATOR(name) else name.strip(" ,;|")


cdef str _published(dict metas, _Linked linked):
    cdef str text, day
    for text in (metas.get(_DATES[0]), linked.published, *map(metas.get, _DATES[1:])):
        if text:
            day = iso_date(text)
            if day:
                return day
    return ""


cdef str _marked_date(Tree tree, list elements):
    cdef int element
    cdef str day
    for element in elements:
        if _is_published(tree, element):
            day = iso_date(
                tree.attr_str(element, ATTR_DATETIME) or tree.attr_str(element, ATTR_CONTENT) or tree.text(element)
            )
            if day:
                return day
    return ""


cdef bint _is_published(Tree tree, int element) except -1:
    """Whether one of its names marks the publication date."""
    cdef int name
    cdef Span span
    if tree.attr(element, ATTR_PUBDATE).start != NULL:
        return True
    for name in (ATTR_ITEMPROP, ATTR_REL, ATTR_CLASS):
        span = tree.attr(element, name)
        if contains(span, b"ublished") and not _PUBLISHED.isdisjoint(as_str(span).split()):
            return True
    return False


def iso_date(str text not None):
    """The day, month or year at the start of a text, or an English date in it; empty if there is none."""
    text = text[:MAX_DATE].strip()
    found = _NUMERIC(text)
    if found:
        year, month, day = (
            found[1] or found[5] or found[9] or found[11],
            found[3] or found[7] or found[10],
            found[4] or found[8],
        )
        return _iso(int(year), int(month) if month else None, int(day) if day else None)
    found = _DAY_FIRST(text)
    if found:
        return _iso(int(found[3]), _MONTHS.get(found[2][:3].lower(), 0), int(found[1]))
    found = _MONTH_FIRST(text)
    if found:
        return _iso(int(found[3]), _MONTHS.get(found[1][:3].lower(), 0), int(found[2]))
    return ""


cdef str _iso(int year, month, day):
    """A date with its original precision; empty if it is invalid."""
    try:
        found = date(year, 1 if month is None else month, 1 if day is None else day)
    except ValueError:
        return ""
    length = 4 if month is None else 7 if day is None else 10
    return found.isoformat()[:length] if year >= FIRST_YEAR else ""
