"""Lists of a DOM: definition lists become lists of terms with their definitions below; numbers become those of
Markdown."""

from orbweb.extraction.element_census cimport ElementCensus
from orbweb.parsing.html.walk cimport following
from orbweb.parsing.html.tree cimport (
    ATTR_HREF, ATTR_REVERSED, ATTR_START, ATTR_VALUE, NONE, TAG_CODE, TAG_DD, TAG_DIV, TAG_DL, TAG_DT, TAG_LI,
    TAG_OL, TAG_P, TAG_STRONG, TAG_UL, TEXT, TagSet, Tree, blank_at, tags,
)

MAX_NUMBER = 999_999_999
"""The largest start number of a list in CommonMark."""

cdef TagSet _BLOCKS = tags("p div ul ol dl pre table blockquote h1 h2 h3 h4 h5 h6")
cdef TagSet _EMPHASIS = tags("strong b em i")
cdef TagSet _CODE = tags("code kbd samp tt")
cdef TagSet _UNSIGNED = tags("strong b em i code")
cdef TagSet _A = tags("a")


cdef int shape(Tree tree, ElementCensus noted) except -1:
    cdef int found, place
    for place in range(noted.count):
        found = noted.noted[place]
        if tree.tag(found) == TAG_OL:
            _ordered(tree, found)
        elif tree.tag(found) == TAG_DL:
            _definitions(tree, found)
    return 0


cdef int _ordered(Tree tree, int found) except -1:
    """Markdown numbers a list from its first number. Other numberings (reversed, with gaps) are lost."""
    cdef str start = tree.attr_str(found, ATTR_START), value
    cdef int item = tree.first(found)
    tree.drop_attr(found, ATTR_REVERSED)
    while item != NONE:
        if tree.tag(item) == TAG_LI and tree.attr(item, ATTR_VALUE).start != NULL:
            value = tree.attr_str(item, ATTR_VALUE)
            start = value if start is None else start
            tree.drop_attr(item, ATTR_VALUE)
        item = tree.next(item)
    if start is not None:
        tree.drop_attr(found, ATTR_START)
        if start.isascii() and start.isdecimal() and int(start[:10]) <= MAX_NUMBER:
            tree.set_attr(found, ATTR_START, start[:10])
    return 0


cdef int _definitions(Tree tree, int found) except -1:
    cdef int child = tree.first(found), after, first = NONE, last = NONE
    cdef bint told = True, is_list = False
    while child != NONE:
        after = tree.next(child)
        if tree.tag(child) == TAG_DIV and _holds_terms(tree, child):
            tree.unwrap(child)
        child = after
    child = tree.first(found)
    while child != NONE:
        after = tree.next(child)
        if tree.is_element(child):
            if tree.tag(child) == TAG_DT:
                if told:
                    _group(tree, first, last)
                    first, is_list = child, True
                told = False
                _term(tree, child)
            elif tree.tag(child) == TAG_DD:
                told = True
                tree.set_tag(child, TAG_DIV)
            last = child
        child = after
    _group(tree, first, last)
    tree.set_tag(found, TAG_UL if is_list else TAG_DIV)
    return 0


cdef int _group(Tree tree, int first, int last) except -1:
    """Combine a term and its definition into one item."""
    cdef int item, child = first, after
    if first == NONE:
        return 0
    item = tree.insert_before(first, tree.new_element(TAG_LI))
    while child != NONE:
        after = tree.next(child) if child != last else NONE
        tree.link_last(item, tree.extract(child))
        child = after
    return 0


cdef bint _holds_terms(Tree tree, int wrapper) except -1:
    cdef int child = tree.first(wrapper)
    while child != NONE:
        if tree.tag(child) == TAG_DT or tree.tag(child) == TAG_DD:
            return True
        child = tree.next(child)
    return False


cdef int _term(Tree tree, int term) except -1:
    """Make a term bold, unless it is code already or contains blocks."""
    cdef bint has_code = False, has_emphasis = False
    cdef int inner = term, tag
    while True:
        inner = following(tree.nodes, inner, term)
        if inner == NONE:
            break
        tag = tree.nodes[inner].tag
        if _BLOCKS.has[tag]:
            tree.set_tag(term, TAG_DIV)
            return 0
        has_code = has_code or _CODE.has[tag]
        has_emphasis = has_emphasis or _EMPHASIS.has[tag]
    tree.set_tag(term, TAG_P)
    if tree.has_class(term, b"sig"):
        _signature(tree, term)
    elif has_code and _is_code(tree, term):
        return 0
    elif tree.has_text(term):
        if has_emphasis:
            tree.strip_tags(term, &_EMPHASIS)
        tree.wrap_children(term, TAG_STRONG)
    return 0


cdef bint _is_code(Tree tree, int term) except -1:
    cdef int child = tree.first(term), count = 0
    while child != NONE:
        if tree.is_element(child):
            if not _CODE.has[tree.tag(child)]:
                return False
            count += 1
        elif tree.has_text(child):
            return False
        child = tree.next(child)
    return count == 1


cdef int _signature(Tree tree, int term) except -1:
    """A declaration becomes code if it contains no links; a link to its source may follow."""
    cdef list tail = []
    cdef int link = tree.next_tagged(term, term, &_A), code
    while link != NONE:
        if tree.attr(link, ATTR_HREF).start != NULL:
            if not tree.has_class(link, b"reference") or not _views_code(tree, link):
                tree.strip_tags(term, &_UNSIGNED)
                return tree.wrap_children(term, TAG_STRONG)
            tail.append(link)
        link = tree.next_tagged(link, term, &_A)
    for link in tail:
        tree.extract(link)
    code = tree.new_element(TAG_CODE)
    _append_words(tree, code, term)
    tree.clear(term)
    tree.link_last(term, code)
    for link in tail:
        tree.append(term, tree.new_text(" "))
        tree.append(term, link)
    return 0


cdef bint _views_code(Tree tree, int link) except -1:
    cdef int inner = link
    while True:
        inner = tree.following(inner, link)
        if inner == NONE:
            return False
        if tree.has_class(inner, b"viewcode-link"):
            return True


cdef int _append_words(Tree tree, int code, int term) except -1:
    """Move the text of an element into another, with single blanks between words."""
    cdef Py_ssize_t room = 1
    cdef int node = term, text, blank
    cdef const char* at
    cdef const char* end
    cdef char* to
    cdef bint parted = False
    while node != NONE:
        if tree.nodes[node].kind == TEXT:
            room += tree.nodes[node].size
        node = following(tree.nodes, node, term)
    tree.reserve(room)
    text = tree.new_node(TEXT)
    tree.nodes[text].at = <int> tree.heap_size
    to = tree.heap + tree.heap_size
    node = term
    while node != NONE:
        if tree.nodes[node].kind == TEXT:
            at = tree.heap + tree.nodes[node].at
            end = at + tree.nodes[node].size
            while at < end:
                blank = blank_at(at, end)
                if blank:
                    parted = True
                    at += blank
                    continue
                if parted and to > tree.heap + tree.heap_size:
                    to[0] = b" "
                    to += 1
                parted = False
                to[0] = at[0]
                to += 1
                at += 1
        node = following(tree.nodes, node, term)
    tree.nodes[text].size = <int> (to - tree.heap - tree.heap_size)
    tree.heap_size += tree.nodes[text].size
    if tree.nodes[text].size:
        tree.link_last(code, text)
    return 0
