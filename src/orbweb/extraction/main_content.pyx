"""Selects the main content of a page.

In this order: hidden elements, known generators, reference pages, boilerplate, the element with most of the text,
articles. The result depends on the page alone; time is linear. A page with any visible text has content. If the
kind of page is uncertain, only labels are dropped.
"""

from orbweb.extraction cimport article
from orbweb.extraction cimport blocks
from orbweb.extraction cimport boilerplate
from orbweb.extraction cimport embedded_data
from orbweb.extraction cimport hidden
from orbweb.extraction cimport reference_pages
from orbweb.extraction cimport generator_match
from orbweb.extraction cimport titles
from orbweb.extraction cimport page_scan as glances
from orbweb.extraction.blocks cimport NOWHERE, Block, Outline
from orbweb.extraction.page_scan cimport Glance
from orbweb.extraction.lengths cimport Lengths, measured
from orbweb.extraction.class_names cimport Used
from orbweb.extraction.scoring cimport Blocks, Weights
from orbweb.parsing.html.walk cimport following, next_tagged
from orbweb.parsing.html.tree cimport NONE, TAG_BODY, TAG_DIV, TEXT, TagSet, Tree, blank_at, tags

LITTLE = 400
"""With fewer characters of content, the embedded data of a page is searched for more."""
ROOT = 0.5
"""Least share of the text in the only `<main>` or `<article>` of a page for all content to be in it."""
LONG = 100
"""Least characters of a block of running text."""
LINKED = 0.75
"""Least share of links in an element before the title of a reference page that is navigation."""
LISTING = 0.3
"""With a smaller share of prose, a page is a list of links, and all text counts."""

cdef TagSet _MAIN = tags("main")
cdef TagSet _ARTICLE = tags("article")
cdef TagSet _HOLDERS = tags("body div main article section td")


cdef class Main:
    """The element with the content, without boilerplate. `classes`: all class names of the page."""

    def __cinit__(self, int element, double confidence, str generator, int unseen, frozenset classes):
        self.element, self.confidence, self.generator = element, confidence, generator
        self.hidden, self.classes = unseen, classes


cpdef Main choose(Tree tree):
    cdef Glance glance = glances.read(tree)
    cdef int body = glance.body, element = NONE
    cdef Used used = glance.used
    cdef list found, headings
    cdef bint declared, stated, manual
    cdef Py_ssize_t unseen, little
    cdef double confidence = 0.95
    cdef str said
    if body == NONE:
        return Main(tree.new_element(TAG_BODY), 0.0, "", 0, frozenset())
    found = generator_match.find(tree, used)
    declared = article.is_declared(tree)
    stated = declared or glance.is_article
    unseen = hidden.drop(tree, body, glance)
    for generator in found:
        element = generator_match.content(generator, tree, body, used)
        if element != NONE:
            return Main(_holder(tree, element), 0.95, generator.name, unseen, used.classes)
    manual = reference_pages.is_manual(tree, body, declared)
    stated = stated and not manual
    headings = [] if stated else titles.find(tree, body)
    boilerplate.drop_places(tree, body, glance, bool(glance.scripts))
    element = _root(tree, body, stated)
    if manual:
        element = _manual(tree, element, glance, headings, &confidence)
    else:
        element = _general(tree, element, glance, stated, &confidence)
    titles.put(tree, headings, element)
    if glance.scripts:
        little = _size(tree, element)
        if little < LITTLE:
            said = embedded_data.text(tree, glance.scripts)
            if len(said) > little:
                element, confidence = tree.new_element(TAG_DIV), 0.3
                tree.set_text(element, said)
    return Main(_holder(tree, element), confidence, "", unseen, used.classes)


cdef int _holder(Tree tree, int element) except -1:
    """The element, or its nearest ancestor that may contain blocks."""
    return element if _HOLDERS.has[tree.tag(element)] else tree.wrap(element, TAG_DIV)


cdef Py_ssize_t _size(Tree tree, int element) except -1:
    """The characters of an element, at most LITTLE."""
    cdef Py_ssize_t size = 0, whole = 0, little = LITTLE, most = 10 * LITTLE
    cdef bint is_word = False
    cdef const char* at
    cdef const char* end
    cdef int node = element, step
    while size < little and whole <= most:
        node = following(tree.nodes, node, element)
        if node == NONE:
            return size
        if tree.nodes[node].kind != TEXT:
            continue
        at = tree.heap + tree.nodes[node].at
        end = at + tree.nodes[node].size
        while at < end:
            step = blank_at(at, end)
            if step:
                is_word = False
                whole += 1
            else:
                step = 1
                if (<unsigned char> at[0] & 0xC0) != 0x80:
                    # One blank between two words.
                    size += 1 if is_word or not size else 2
                    is_word = True
                    whole += 1
            at += step
    return little


cdef int _root(Tree tree, int body, bint stated) except -1:
    """An element that certainly contains all content, so that the rest need not be analysed."""
    cdef Lengths lengths = measured(tree, body)
    cdef int found = article.column(tree, lengths) if stated else NONE
    if found == NONE:
        found = _only(tree, lengths, &_MAIN)
    if found == NONE:
        found = _only(tree, lengths, &_ARTICLE)
    return body if found == NONE else found


cdef int _only(Tree tree, Lengths lengths, const TagSet* wanted) except -2:
    """The only element with a tag, if it has enough of the text; NONE otherwise."""
    cdef int found = next_tagged(tree.nodes, lengths.top, lengths.top, wanted)
    if found == NONE or next_tagged(tree.nodes, found, lengths.top, wanted) != NONE:
        return NONE
    return found if lengths.of(found) >= ROOT * lengths.whole else NONE


cdef Weights _weighed(Tree tree, int root, Glance glance, bint stated, bint manual):
    """The weights of an element after dropping boilerplate by names; None if it has too much text."""
    cdef Outline outline = blocks.read(tree, root)
    cdef Weights weights
    if outline is None:
        return None
    weights = Weights(outline)
    boilerplate.drop_named(tree, root, glance, weights, stated, manual)
    return weights


cdef int _manual(Tree tree, int root, Glance glance, list headings, double* confidence) except -1:
    """The content of a reference page: everything except boilerplate by names."""
    cdef Weights weights = _weighed(tree, root, glance, False, True)
    cdef Blocks inside
    cdef const Block* block
    cdef int title = NOWHERE, top, place, heading
    if weights is None:
        confidence[0] = 0.2
        return root
    for heading in headings:
        if weights.outline.number_of(heading) > 0:
            title = weights.outline.number_of(heading)
            break
    top = weights.enclose(title)
    if title != NOWHERE:
        inside = weights.inside(top)
        for place in range(inside.count):
            block = inside.at(place)
            if block.number == title:
                break
            if block.linked >= <double> LINKED * block.size and weights.is_leaf(block):
                tree.extract(block.element)
    confidence[0] = 0.7
    return weights.outline.elements[top]


cdef int _general(Tree tree, int root, Glance glance, bint stated, double* confidence) except -1:
    """The content of a page of an unknown generator without its boilerplate, and the confidence."""
    cdef Weights weights = _weighed(tree, root, glance, stated, False)
    cdef Blocks inside
    cdef const Block* block
    cdef Py_ssize_t size = 0, linked = 0, running = 0
    cdef int top, place
    if weights is None:
        confidence[0] = 0.2
        return root
    if weights.text[0] < LITTLE:
        confidence[0] = 0.3
        return root
    top = weights.descend(0, weights.prose[0] < <double> LISTING * weights.text[0])
    inside = weights.inside(top)
    for place in range(inside.count):
        block = inside.at(place)
        size += block.size
        linked += block.linked
        if block.size >= LONG and block.linked < 0.3 * block.size:
            running += block.size
    stated = stated and running > 0.4 * (size - linked)
    if stated or running > min(0.65 * size, 0.9 * (size - linked)):
        top = weights.narrow(top, weights.columns(inside)) if stated else weights.descend(top, False)
        _clean(tree, glance, weights, top, stated)
    confidence[0] = round((0.5 if stated else 0.3) + 0.4 * running / size, 2) if size else 0.0
    return weights.outline.elements[top]


cdef int _clean(Tree tree, Glance glance, Weights weights, int top, bint stated) except -1:
    """Turn an element into an article: add its lede, drop everything that is not its text."""
    cdef Blocks text = weights.inside(top)
    cdef list leading = article.ledes(tree, weights, text) if text.count else []
    cdef int element = weights.outline.elements[top], lede
    article.prune(tree, glance, weights, top, text, stated)
    for lede in reversed(leading):
        if lede != element and not tree.is_inside(element, lede):
            tree.prepend(element, lede)
    return 0
