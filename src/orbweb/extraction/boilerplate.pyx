"""Boilerplate ("chrome") around the content of a page: navigation, headers, footers, banners, related links,
comments.

A name that would remove too much of a page's text does not count as boilerplate on that page, so nothing is
dropped by it. A page that consists only of boilerplate keeps it. Only lengths of text are used, not its words.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from orbweb.extraction cimport class_names
from orbweb.extraction.blocks cimport NOWHERE, Outline
from orbweb.extraction.page_scan cimport NAMED, NUMBERED, OF_CHROME, Glance
from orbweb.extraction.reference_pages cimport tells
from orbweb.extraction.class_names cimport CARDS, CHROME, COMMENTS, REVIEWS, SAYING, WORDS, Said
from orbweb.extraction.scoring cimport Weights
from orbweb.parsing.html.walk cimport following
from orbweb.parsing.html.tree cimport (
    ATTR_CLASS, ATTR_ID, ATTR_ROLE, NONE, TAG_A, TAG_ASIDE, TAG_HEADER, TEXT, TagSet, Tree, blank_at, is_text,
    tags,
)

LEAST = 100
"""With fewer characters, a page has only boilerplate."""
MAX_HEADERS = 100
"""The most headers that are tested for being those of the page."""
MAX_TEXT = 0.6
"""The largest share of a page's text that one word may remove."""
MAX_TOPICS = 300
"""The most names that are tested for being topics."""
LINKS_ONLY = 0.05
"""The largest share of prose in a list of links."""
MAX_PROSE = {CHROME: 0.4, CARDS: 0.4, COMMENTS: 0.6, REVIEWS: 0.9}
"""The largest share of a page's prose that one word of a kind may remove. With more, comments are a discussion."""
MAX_OF_ARTICLE = 0.9
"""The largest share of both that comments of a declared article may have."""

cdef enum:
    MAX_ELEMENTS = 20_000
    # The most elements whose names are read, from the start of the page.

_NAVIGATION = frozenset(("nav", "navbar", "navigation", "sidebar", "sidebars", "menu", "menus", "submenu"))
"""Words of lists of links that may be longer than the content itself."""
_NOTES = frozenset(
    (
        *("admonition", "callout", "note", "tip", "warning", "important", "caution", "danger", "hint"),
        *("starlight-aside", "notecard"),
    )
)
cdef TagSet _TAGS = tags("nav footer aside")
cdef TagSet _NAMED = tags(
    "body div main article section header nav aside footer form figure "
    "ul ol li dl table td p h1 h2 h3 h4 h5 h6"
)
cdef TagSet _LISTS = tags("nav aside header")
cdef TagSet _FRAME = tags("html body main article")
cdef TagSet _TEXTS = tags("article main")


cdef int drop_places(Tree tree, int body, Glance glance, bint shell) except -1:
    """Drop boilerplate by tag or role, and headers that are not those of an article.

    A page without other text keeps its lists of links, unless it may be a shell: the content of a shell is loaded
    by scripts, and its boilerplate is that of every other page.
    """
    cdef list found = [], roles = [], headers = []
    cdef int node = body, tag, count = 0
    while True:
        node = following(tree.nodes, node, body)
        if node == NONE:
            break
        tag = tree.nodes[node].tag
        if _TAGS.has[tag] and (tag != TAG_ASIDE or not _is_note(tree, node)):
            found.append(node)
        elif tag == TAG_HEADER and count < MAX_HEADERS:
            count += 1
            if tree.closest(node, &_TEXTS) == NONE:
                headers.append(node)
        if glance.marks(node) & OF_CHROME:
            roles.append(node)
    found += headers
    found += roles
    for node in found:
        tree.extract(node)
    if not shell and not _has_words(tree, body):
        for node in found:
            if _LISTS.has[tree.tag(node)]:
                tree.append(body, node)
    return 0


cdef bint _is_note(Tree tree, int aside) except -1:
    """Whether an `<aside>` is an admonition, by its role or class."""
    cdef str classes
    if is_text(tree.attr(aside, ATTR_ROLE), "note"):
        return True
    classes = tree.attr_str(aside, ATTR_CLASS)
    return classes is not None and not _NOTES.isdisjoint(classes.split())


cdef bint _has_words(Tree tree, int body) except -1:
    """Whether there is enough text besides boilerplate, in characters without blanks."""
    cdef int node = body, wanted = LEAST, step
    cdef const char* at
    cdef const char* end
    while wanted > 0:
        node = following(tree.nodes, node, body)
        if node == NONE:
            return False
        if tree.nodes[node].kind != TEXT:
            continue
        at = tree.heap + tree.nodes[node].at
        end = at + tree.nodes[node].size
        while at < end and wanted > 0:
            step = blank_at(at, end)
            if not step:
                wanted -= (<unsigned char> at[0] & 0xC0) != 0x80
                step = 1
            at += step
    return True


cdef int drop_named(
    Tree tree, int root, Glance glance, Weights weights, bint article, bint manual
) except -1:
    cdef dict named = _named(tree, root, glance, manual)
    cdef Taken taken
    cdef double whole_prose = weights.prose[0], whole_text = weights.text[0]
    cdef double most_prose, most_text, prose, text
    cdef int element, verdict, kind, word, number
    if not named:
        return 0
    _take(named, weights, &taken)
    for element, verdict in named.items():
        kind, word = verdict // WORDS, verdict % WORDS
        if kind == CARDS and tree.first_tagged(element, TAG_A) == NONE:
            continue
        most_prose, most_text = MAX_PROSE[kind], MAX_TEXT
        if article and kind == COMMENTS:
            most_prose = most_text = MAX_OF_ARTICLE
        prose, text = taken.prose[word], taken.text[word]
        if prose <= <double> LINKS_ONLY * text and whole_text - text >= LEAST and class_names.word(word) in _NAVIGATION:
            most_text = 1.0
        if prose <= most_prose * whole_prose and text <= most_text * whole_text:
            number = weights.outline.number_of(element)
            if number > 0:
                weights.drop(number)
            tree.extract(element)
    return 0


cdef dict _named(Tree tree, int root, Glance glance, bint manual):
    """The verdicts of the names, one number per element. In a reference page an id may be the topic of a
    section."""
    cdef dict classes = {}, ids = {}, found = {}
    cdef int element, at
    cdef list elements
    cdef Said said
    _read(tree, root, glance, classes, ids)
    for elements in classes.values():
        class_names.says(tree.attr(elements[0], ATTR_CLASS), &said)
        verdict = said.kind * WORDS + said.word
        for element in elements:
            if not _FRAME.has[tree.tag(element)]:
                found[element] = verdict
    for at, element in enumerate(ids.values()):
        class_names.says(tree.attr(element, ATTR_ID), &said)
        is_topic = manual and at < MAX_TOPICS and tells(tree, element, class_names.word(said.word))
        if element not in found and not _FRAME.has[tree.tag(element)] and not is_topic:
            found[element] = said.kind * WORDS + said.word
    return found


cdef int _read(Tree tree, int root, Glance glance, dict classes, dict ids) except -1:
    """The elements in `root` by class attribute, except inline ones, and by each id with a verdict."""
    cdef int node = root, tagged = 0, numbered = 0, marks
    while tagged < MAX_ELEMENTS or numbered < MAX_ELEMENTS:
        node = following(tree.nodes, node, root)
        if node == NONE:
            break
        marks = glance.marks(node)
        if _NAMED.has[tree.nodes[node].tag]:
            if marks & SAYING and tagged < MAX_ELEMENTS:
                (<list> classes.setdefault(tree.attr_str(node, ATTR_CLASS), [])).append(node)
            tagged += 1
        if marks & NUMBERED:
            if marks & NAMED and numbered < MAX_ELEMENTS:
                ids[tree.attr_str(node, ATTR_ID)] = node
            numbered += 1
    return 0


cdef struct Taken:
    # By word.
    double prose[WORDS]
    double text[WORDS]


cdef int _take(dict named, Weights weights, Taken* taken) except -1:
    """The prose and text that each word would remove; nested elements of the same word count once."""
    cdef Outline outline = weights.outline
    cdef int* words = <int*> malloc(outline.count * sizeof(int))
    cdef int element, verdict, number, around, word
    if words == NULL:
        raise MemoryError()
    memset(words, 0xFF, outline.count * sizeof(int))
    memset(taken, 0, sizeof(Taken))
    for element, verdict in named.items():
        number = outline.number_of(element)
        if number != NOWHERE:
            words[number] = verdict % WORDS
    for element, verdict in named.items():
        number, word = outline.number_of(element), verdict % WORDS
        if number == NOWHERE:
            continue
        around = outline.around[number]
        while around > 0 and words[around] != word:
            around = outline.around[around]
        if around <= 0:
            taken.prose[word] += weights.prose[number]
            taken.text[word] += weights.text[number]
    free(words)
    return 0
