"""The class and id names of a page, and what they say about its elements.

Owns the words. Always: a verdict depends on the names alone; names are read as words, so `siteNav` and `site-nav`
are the same and `navy` is not `nav`. Never: knows a site; a word is here because many sites and several generators
of pages use it for the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, cast

from turbohtml import Element, Node, XPath

MAX_NAMES = 500
"""Characters of a class attribute that are read."""
MAX_ELEMENTS = 20_000
"""Elements whose names are read, from the top."""

_TAGS = (
    *("body", "div", "main", "article", "section", "header", "nav", "aside", "footer", "form", "figure"),
    *("ul", "ol", "li", "dl", "table", "td", "p", "h1", "h2", "h3", "h4", "h5", "h6"),
)


class Used(NamedTuple):
    """Names of classes and ids, such as all that a page uses."""

    classes: frozenset[str]
    ids: frozenset[str]

    def are_among(self, others: Used) -> bool:
        return self.classes <= others.classes and self.ids <= others.ids


def used(top: Node) -> Used:
    """The names that are written on the elements of a page, or below one of them."""
    classes = frozenset(" ".join(frozenset(_class_attributes(top))).split())
    return Used(classes, frozenset(_id_attributes(top)))


_class_attributes = cast("Callable[[Node], list[str]]", XPath("descendant::*/@class"))
_id_attributes = cast("Callable[[Node], list[str]]", XPath("descendant::*/@id"))


class Names(NamedTuple):
    """The elements of each class attribute and of each id."""

    classes: dict[str, list[Element]]
    ids: dict[str, Element]


def read(root: Element) -> Names:
    """The names of the elements in `root`, but not of inline ones."""
    classes: dict[str, list[Element]] = {}
    for element in islice(root.iter_elements(_TAGS), MAX_ELEMENTS):
        names = element.attr("class")
        if names:
            same = classes.get(names)
            if same is None:
                classes[names] = [element]
            else:
                same.append(element)
    ids = {element.attr("id") or "": element for element in islice(root.select("[id]"), MAX_ELEMENTS)}
    return Names(classes, ids)


def verdicts(names: Iterable[str]) -> Iterator[tuple[str, Verdict]]:
    """What class or id attributes say; those that say nothing are passed over."""
    return ((attribute, said) for attribute in names if (said := verdict(attribute)))


class Kind(Enum):
    """What an element is for, by its names. `CARDS` that hold a link lead elsewhere, others are text."""

    CHROME = "chrome"
    COMMENTS = "comments"
    REVIEWS = "reviews"
    CARDS = "cards"


class Verdict(NamedTuple):
    """A kind and the word that says it."""

    kind: Kind
    word: str


_CHROME = """
    nav navbar navigation navs subnav menu menus submenu megamenu breadcrumb breadcrumbs crumbs pagination pager
    paging footer masthead topbar sidebar sidebars rail toolbar dropdown skip skiplink minicart login
    related relatedposts recommended recommendations recommendation recirc trending popular mostread
    share sharing shares sharedaddy social socials addthis outbrain taboola
    newsletter newsletters signup subscribe subscription cookie cookies consent gdpr popup modal lightbox toast
    paywall ad ads advert adverts advertisement advertisements advertising adsbygoogle sponsored sponsor promo
    promos promotion byline tagcloud taglist copyright disclaimer print noprint
"""
_CHROME_PAIRS = """
    author-bio author-box author-info author-card about-author post-meta entry-meta article-meta story-meta
    post-tags entry-tags article-tags tag-list tags-links cat-links post-nav entry-footer post-footer
    article-footer read-more read-next read-also more-from more-stories more-news most-read most-popular
    most-viewed also-like you-may up-next follow-us site-header page-header main-header global-header side-bar
    top-bar nav-bar mailing-list sign-up image-credit photo-credit back-top latest-news latest-posts recent-posts
    recent-comments card-list article-list news-list post-list link-list
"""
_COMMENTS = "comments commentlist disqus respond commentaires kommentare comentarios"
_COMMENT_PAIRS = "comment-list comment-form comment-area comment-section"
_WORDS = (
    dict.fromkeys(_CHROME.split(), Kind.CHROME)
    | dict.fromkeys(_COMMENTS.split(), Kind.COMMENTS)
    | {"reviews": Kind.REVIEWS}
    | dict.fromkeys(("teaser", "teasers"), Kind.CARDS)
)
_PAIRS = dict.fromkeys(_CHROME_PAIRS.split(), Kind.CHROME) | dict.fromkeys(_COMMENT_PAIRS.split(), Kind.COMMENTS)
_SECOND = {pair.partition("-")[2] for pair in _PAIRS}
_ENDINGS = {spelling for word in (*_WORDS, *_SECOND) for spelling in (word, word.capitalize(), word.upper())}
_PARTED = {code: " " for code in range(128) if not chr(code).islower()}
"""Between the words of a name in lower case stands anything but a letter."""
_split = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall


def verdict(names: str) -> Verdict | None:
    """What a class or id attribute says: its first name that says anything; None where it says nothing."""
    for name in names[:MAX_NAMES].split():
        said = _said(name)
        if said is not None:
            return said
    return None


@lru_cache(maxsize=16_384)
def _said(name: str) -> Verdict | None:
    """What one name says. Most hold none of the words."""
    words = name.translate(_PARTED).split() if name.islower() and name.isascii() else _split(name)
    if _ENDINGS.isdisjoint(words):
        return None
    before = ""
    for word in map(str.lower, words):
        kind = _WORDS.get(word)
        if kind is None and word in _SECOND:
            kind = _PAIRS.get(f"{before}-{word}")
        if kind is not None:
            return Verdict(kind, word)
        before = word
    return None
