"""The class and id names of a page, and what they mean for its elements.

A verdict depends on the names alone. Names are split into words, so `siteNav` and `site-nav` are the same and
`navy` is not `nav`. Words are included if many sites and several generators use them for the same purpose; no word
is specific to a site.
"""

from enum import Enum
from typing import NamedTuple

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from orbweb.parsing.html.walk cimport following
from orbweb.parsing.html.tree cimport ATTR_CLASS, ATTR_ID, NONE, Span, Tree, as_str, blank_at, has_word

cdef enum:
    MAX_NAMES = 500
    # The most characters of a class attribute that are read.
    LONGEST = 40
    # The longest known word or pair of words, in bytes.
    ENTRIES = 1024


cdef class Used:
    """A set of class and id names, such as those of a page."""

    def __init__(self, frozenset classes, frozenset ids):
        self.classes, self.ids = classes, ids

    cpdef bint are_among(self, Used others) except -1:
        return self.classes <= others.classes and self.ids <= others.ids


cdef class Collector:
    """Collects names. Most occur on many elements, so the last one with the same hash is cached."""

    def __cinit__(self):
        self._classes, self._ids = [], []

    cdef int add_class(self, Span names) except -1:
        cdef Slot* slot = &self._attributes[_hash(names.start, names.size) & (SLOTS - 1)]
        if not _is(slot, names.start, names.size):
            slot.marks = self._read(names)
            slot.start, slot.size = names.start, names.size
        return slot.marks

    cdef int _read(self, Span names) except -1:
        """Add each name of a class attribute. Returns its flags."""
        cdef const char* at = names.start
        cdef const char* end = at + names.size
        cdef const char* start
        cdef Slot* slot
        cdef Said said
        cdef int step
        while at < end:
            step = blank_at(at, end)
            if step:
                at += step
                continue
            start = at
            while at < end and (0x20 < <unsigned char> at[0] < 0x80 or not blank_at(at, end)):
                at += 1
            slot = &self._names[_hash(start, at - start) & (SLOTS - 1)]
            if not _is(slot, start, at - start):
                slot.start, slot.size = start, at - start
                self._classes.append(PyUnicode_DecodeUTF8(start, at - start, "surrogatepass"))
        return _marks(names) | (SAYING if says(names, &said) else 0)

    cdef int add_id(self, Span name) except -1:
        self._ids.append(as_str(name))
        return 0

    cdef Used used(self):
        return Used(frozenset(self._classes), frozenset(self._ids))


cdef inline uint32_t _hash(const char* at, Py_ssize_t size) noexcept:
    """Test eight bytes at a time; the last ones may be read twice."""
    cdef const char* end = at + size
    cdef uint64_t found = <uint64_t> size * 0x9E3779B97F4A7C15ULL, part = 0
    cdef uint32_t half
    if size < 8:
        if size >= 4:
            memcpy(&part, at, 4)
            memcpy(&half, end - 4, 4)
            part = part << 32 | half
        elif size:
            part = <uint64_t> <unsigned char> at[0] << 16 | <uint64_t> <unsigned char> at[size >> 1] << 8
            part |= <unsigned char> at[size - 1]
        return <uint32_t> ((found ^ part) * 0x9E3779B97F4A7C15ULL >> 32)
    while end - at > 8:
        memcpy(&part, at, 8)
        found = (found ^ part) * 0x9E3779B97F4A7C15ULL
        found ^= found >> 29
        at += 8
    memcpy(&part, end - 8, 8)
    return <uint32_t> ((found ^ part) * 0x9E3779B97F4A7C15ULL >> 32)


cdef inline bint _is(const Slot* slot, const char* start, Py_ssize_t size) noexcept:
    return slot.start != NULL and slot.size == size and memcmp(slot.start, start, size) == 0


cdef int _marks(Span names) noexcept:
    """The flags of a class attribute, in one pass."""
    cdef const char* at = names.start
    cdef const char* end = at + names.size
    cdef int marks = 0
    cdef char sign
    while at < end:
        sign = at[0] | 0x20
        if sign == b"c":
            if _is_there(at, end, "caption") or _is_there(at, end, "credit"):
                marks |= CAPTION
        elif sign == b"s" or sign == b"v":
            if _is_there(at, end, "sr-only") or _is_there(at, end, "visually-hidden"):
                marks |= LISTENED_TO
            elif _is_there(at, end, "screen-reader-text"):
                marks |= LISTENED_TO
        at += 1
    if marks & LISTENED_TO:
        if not (
            has_word(names, "sr-only") or has_word(names, "visually-hidden")
            or has_word(names, "screen-reader-text")
        ):
            marks ^= LISTENED_TO
    return marks


cdef bint _is_there(const char* at, const char* end, const char* word) noexcept:
    """Whether a word (in lower case) is at this position, ignoring case."""
    while word[0]:
        if at == end or (at[0] + 32 if b"A" <= at[0] <= b"Z" else at[0]) != word[0]:
            return False
        at += 1
        word += 1
    return True


cpdef Used used(Tree tree, int top):
    cdef Collector names = Collector()
    cdef Span value
    cdef int node = top
    tree.at(top)
    while True:
        node = following(tree.nodes, node, top)
        if node == NONE:
            return names.used()
        value = tree.attr(node, ATTR_CLASS)
        if value.start != NULL:
            names.add_class(value)
        value = tree.attr(node, ATTR_ID)
        if value.start != NULL:
            names.add_id(value)


class NameKind(Enum):
    """The purpose of an element by its names. `CARDS` with a link lead elsewhere, others are text."""

    CHROME = "chrome"
    COMMENTS = "comments"
    REVIEWS = "reviews"
    CARDS = "cards"


class NameVerdict(NamedTuple):
    """A kind and the word that decided it."""

    kind: NameKind
    word: str


_KINDS = (NameKind.CHROME, NameKind.COMMENTS, NameKind.REVIEWS, NameKind.CARDS)
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


cdef struct Entry:
    char text[LONGEST]
    int size
    int kind
    # NONE if the word has a meaning only in a pair.
    int word

cdef Entry _entries[ENTRIES]
# The lengths of the words by first letter, one bit each.
cdef uint32_t _sizes[26]
cdef list _words = []


cdef Entry* _entry(const char* text, int size) noexcept:
    """The slot of a word, or of a pair joined by `-`; its size is 0 if the word is unknown."""
    cdef uint32_t place = size
    cdef int at
    cdef Entry* found
    for at in range(size):
        place = place * 31 + <unsigned char> text[at]
    place &= ENTRIES - 1
    while True:
        found = &_entries[place]
        if not found.size or (found.size == size and memcmp(found.text, text, size) == 0):
            return found
        place = (place + 1) & (ENTRIES - 1)


cdef Entry* _put(str text, str word, int kind) except NULL:
    cdef bytes said = text.encode()
    cdef Entry* entry = _entry(said, len(said))
    if len(said) >= LONGEST or len(_words) >= WORDS:
        raise ValueError(text)
    if word not in _words:
        _words.append(word)
    memcpy(entry.text, <const char*> said, len(said))
    entry.size, entry.kind, entry.word = <int> len(said), kind, _words.index(word)
    return entry


cdef int _fill() except -1:
    for names, kind in ((_CHROME, CHROME), (_COMMENTS, COMMENTS), ("reviews", REVIEWS), ("teaser teasers", CARDS)):
        for name in names.split():
            _put(name, name, kind)
            _sizes[ord(name[0]) - 97] |= 1 << len(name)
    for pairs, kind in ((_CHROME_PAIRS, CHROME), (_COMMENT_PAIRS, COMMENTS)):
        for pair in pairs.split():
            name = pair.partition("-")[2]
            _put(pair, name, kind)
            if not _entry(name.encode(), len(name)).size:
                _put(name, name, NONE)
            _sizes[ord(name[0]) - 97] |= 1 << len(name)
    return 0

_fill()


cdef str word(int place):
    return _words[place]


def verdict(str names):
    """The verdict of a class or id attribute: that of its first known name; None if it has none."""
    cdef bytes text = names.encode("utf-8", "surrogatepass")
    cdef Span span
    cdef Said said
    span.start, span.size = text, len(text)
    return NameVerdict(_KINDS[said.kind], _words[said.word]) if says(span, &said) else None


cdef bint is_named(Tree tree, int element) except -1:
    cdef Said said
    return says(tree.attr(element, ATTR_CLASS), &said) or says(tree.attr(element, ATTR_ID), &said)


cdef inline bint _is_small(char sign) noexcept:
    return b"a" <= sign <= b"z"


cdef inline bint _is_capital(char sign) noexcept:
    return b"A" <= sign <= b"Z"


cdef bint says(Span names, Said* said) noexcept:
    """Words are runs of lower-case letters with an optional capital before them, and runs of capitals."""
    cdef const char* at = names.start
    cdef const char* end = _end_of_names(names)
    cdef const char* start
    cdef const char* before = NULL
    cdef Py_ssize_t before_size = 0, size
    cdef int step
    cdef Entry* entry
    while at < end:
        start = at
        if _is_small(at[0]):
            at += 1
            while at < end and _is_small(at[0]):
                at += 1
        elif _is_capital(at[0]):
            at += 1
            if at < end and _is_small(at[0]):
                while at < end and _is_small(at[0]):
                    at += 1
            else:
                while at < end and _is_capital(at[0]):
                    at += 1
                if at < end and _is_small(at[0]):
                    at -= 1
        else:
            step = blank_at(at, end)
            if step:
                before = NULL
            at += step if step else 1
            continue
        size = at - start
        if size < 32 and _sizes[(start[0] | 0x20) - 97] >> size & 1:
            entry = _meant(before, before_size, start, size)
            if entry != NULL:
                said.kind, said.word = entry.kind, entry.word
                return True
        before, before_size = start, size
    return False


cdef Entry* _meant(const char* before, Py_ssize_t before_size, const char* word, Py_ssize_t size) noexcept:
    """The entry of a word, by itself or in a pair with the one before; NULL if it is unknown."""
    cdef char text[2 * LONGEST]
    cdef Py_ssize_t place
    cdef Entry* entry
    if before == NULL or before_size >= LONGEST:
        before_size = 0
    for place in range(before_size):
        text[place] = before[place] | 0x20
    text[before_size] = b"-"
    for place in range(size):
        text[before_size + 1 + place] = word[place] | 0x20
    entry = _entry(text + before_size + 1, <int> size)
    if entry.size and entry.kind == NONE:
        entry = _entry(text, <int> (before_size + 1 + size))
    return entry if entry.size and entry.kind != NONE else NULL


cdef const char* _end_of_names(Span names) noexcept:
    """The end of the part of a class attribute that is read."""
    cdef const char* at = names.start
    cdef const char* end = at + names.size
    cdef int count = 0
    if names.size <= MAX_NAMES:
        return end
    while at < end:
        if (<unsigned char> at[0] & 0xC0) != 0x80:
            if count == MAX_NAMES:
                break
            count += 1
        at += 1
    return at
