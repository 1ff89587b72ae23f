"""The text of an article: from its lede to its last paragraph, without captions, teasers and labels.

Text that is longer than a label and not a link is kept. Words are not interpreted, so the language does not
matter.
"""

from orbweb.extraction.blocks cimport SENTENCE, Block
from orbweb.extraction.page_scan cimport Glance
from orbweb.extraction.lengths cimport Lengths
from orbweb.extraction.reference_pages cimport is_linked_to_itself
from orbweb.extraction.class_names cimport CAPTION, is_named
from orbweb.extraction.scoring import COLUMN, TOGETHER
from orbweb.extraction.scoring cimport Blocks, Weights
from orbweb.parsing.html.walk cimport following, next_tagged
from orbweb.parsing.html.tree cimport (
    ATTR_CLASS, ATTR_CONTENT, ATTR_PROPERTY, NONE, ROOT, TAG_FIGCAPTION, TAG_FIGURE, TAG_H1, TAG_HEAD,
    TAG_HTML, Span, TagSet, Tree, contains_in_any_case, is_text, is_text_in_any_case, tags,
)

PARAGRAPH = 60
"""Least characters of a paragraph (a block with few links) that has another beside it."""
SOLITARY = 140
"""Least characters of a single paragraph."""
LEDE = 80
"""Least characters of a block between title and text that belongs to the text."""
MAX_LEDES = 3
LEAST = 600
"""Least characters of a column of paragraphs that is certainly the text of an article."""
SHARE = 0.1
"""Least share of the characters of the page, including blanks, in such a column."""
WIDER = 2
"""An element around the column is searched for title and lede if it has at most this many times its text."""
MAX_AROUND = 8

cdef TagSet _META = tags("meta")
cdef TagSet _PARAGRAPH = tags("p")
cdef TagSet _LEDES = tags("p div h2")
cdef TagSet _RUNNING = tags("p div li td blockquote section pre span center font article")
cdef TagSet _KEPT_LINKED = tags("td th pre")
cdef TagSet _KEPT_BEFORE = tags("h1 h2 h3 td th pre")
cdef TagSet _DROPPED_AFTER = tags("h1 h2 h3 h4 h5 h6 div li span center")


cdef bint is_declared(Tree tree) except -1:
    cdef int head = tree.first_tagged(ROOT, TAG_HEAD), node = head
    cdef Span name, content
    if head == NONE:
        return False
    while True:
        node = next_tagged(tree.nodes, node, head, &_META)
        if node == NONE:
            return False
        name = tree.attr(node, ATTR_PROPERTY)
        if name.start == NULL:
            continue
        content = tree.attr(node, ATTR_CONTENT)
        if is_text(name, "article:published_time") and content.start != NULL:
            return True
        if is_text(name, "og:type") and content.size >= 7:
            content.size = 7
            if is_text_in_any_case(content, "article"):
                return True


cdef int column(Tree tree, Lengths lengths) except -2:
    cdef dict columns = {}
    cdef int body = lengths.top, node = body, element = NONE, around
    cdef Py_ssize_t size, most = -1, great = 0
    while True:
        node = next_tagged(tree.nodes, node, body, &_PARAGRAPH)
        if node == NONE:
            break
        size = lengths.of(node)
        if size >= SENTENCE:
            around = tree.parent(node)
            columns[around] = columns.get(around, 0) + size
    if not columns:
        return NONE
    for around, size in columns.items():
        if size > most:
            most, element = size, around
    for size in columns.values():
        if size >= COLUMN * most:
            great += size
    if most < LEAST or most < TOGETHER * great or most < SHARE * lengths.whole:
        return NONE
    return _widened(tree, lengths, element, most)


cdef int _widened(Tree tree, Lengths lengths, int column, Py_ssize_t size) except -2:
    """The outermost element around a column with little other text; NONE if a name marks it as boilerplate."""
    cdef int widest = column, around = column, _count
    cdef bint is_wider = True
    for _count in range(<int> MAX_AROUND + 1):
        if around == NONE or around == ROOT or tree.tag(around) == TAG_HTML:
            break
        if is_named(tree, around):
            return NONE
        is_wider = is_wider and lengths.of(around) <= WIDER * size
        if is_wider:
            widest = around
        around = tree.parent(around)
    return widest


cdef list ledes(Tree tree, Weights weights, Blocks text):
    cdef Blocks blocks = weights.inside(0)
    cdef list found = []
    cdef int start = 0, place, looked_at = 0
    cdef const Block* block
    while blocks.places[start] != text.places[0]:
        start += 1
    for place in range(start - 1, -1, -1):
        if blocks.at(place).tag == TAG_H1:
            break
    else:
        return found
    for place in range(place + 1, start):
        block = blocks.at(place)
        if not _LEDES.has[block.tag] or block.size < LEDE or not block.linked < block.size / 5.0:
            continue
        if weights.is_leaf(block):
            looked_at += 1
            if not _is_no_lede(tree, block.element):
                found.append(block.element)
            if looked_at == MAX_LEDES:
                break
    return found


cdef bint _is_no_lede(Tree tree, int element) except -1:
    """Whether it is a caption, or metadata of the article or its author."""
    cdef Span classes = tree.attr(element, ATTR_CLASS)
    if (
        contains_in_any_case(classes, "caption") or contains_in_any_case(classes, "credit")
        or contains_in_any_case(classes, "meta") or contains_in_any_case(classes, "author")
    ):
        return True
    while True:
        element = tree.parent(element)
        if element == NONE:
            return False
        if tree.tag(element) == TAG_FIGURE or contains_in_any_case(tree.attr(element, ATTR_CLASS), "caption"):
            return True


cdef int prune(Tree tree, Glance glance, Weights weights, int top, Blocks blocks, bint stated) except -1:
    """Drop captions and links of an element with these blocks.

    Of a declared article, labels before and after its paragraphs are dropped too.
    """
    cdef int element = weights.outline.elements[top], first = 0, last = blocks.count, place
    cdef const Block* block
    _drop_captions(tree, glance, element)
    if stated:
        _find_extent(tree, blocks, &first, &last)
    for place in range(blocks.count):
        block = blocks.at(place)
        if block.element != element and _is_dead(tree, block, place < first, place > last):
            if weights.is_leaf(block):
                tree.extract(block.element)
    return 0


cdef int _drop_captions(Tree tree, Glance glance, int element) except -1:
    """Remove all captions, also nested ones."""
    cdef list found = []
    cdef int node = element
    while True:
        node = following(tree.nodes, node, element)
        if node == NONE:
            break
        if tree.nodes[node].tag == TAG_FIGCAPTION or glance.marks(node) & CAPTION:
            found.append(node)
    for node in found:
        tree.extract(node)
    return 0


cdef int _find_extent(Tree tree, Blocks blocks, int* first, int* last) except -1:
    """The indexes of the first and the last paragraph."""
    cdef list paragraphs = []
    cdef dict beside = {}
    cdef int place, around
    cdef bint is_found = False
    cdef const Block* block
    for place in range(blocks.count):
        block = blocks.at(place)
        if block.size >= PARAGRAPH and block.linked < 0.4 * block.size and _RUNNING.has[block.tag]:
            around = tree.parent(block.element)
            paragraphs.append(place)
            beside[around] = beside.get(around, 0) + 1
    for place in paragraphs:
        block = blocks.at(place)
        if block.size >= SOLITARY or beside[tree.parent(block.element)] > 1:
            if not is_found:
                first[0], is_found = place, True
            last[0] = place
    return 0


cdef bint _is_dead(Tree tree, const Block* block, bint before, bint after) except -1:
    if block.linked >= 0.6 * block.size and not _KEPT_LINKED.has[block.tag]:
        return not is_linked_to_itself(tree, block.element)
    if before:
        return not _KEPT_BEFORE.has[block.tag]
    return after and (_DROPPED_AFTER.has[block.tag] or block.linked > 0.2 * block.size)
