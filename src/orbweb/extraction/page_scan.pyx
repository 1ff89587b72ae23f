"""One scan of all elements of a page: quick flags from their attributes, and lists of the elements of interest.

Every element is scanned, visible or not. Attributes are read only once, because reading them costs more than
visiting an element. The tree is not changed.
"""

from libc.stdlib cimport calloc, free

from orbweb.extraction.class_names cimport LISTENED_TO, Collector, Said, says
from orbweb.parsing.html.walk cimport beyond, following
from orbweb.parsing.html.tree cimport (
    ATTR_ARIA_HIDDEN, ATTR_CLASS, ATTR_HIDDEN, ATTR_ID, ATTR_ITEMPROP, ATTR_ROLE, ATTR_STYLE, NONE, ROOT,
    TAG_BODY, TAG_SCRIPT, TEXT, Attribute, Span, TagSet, Tree, is_text, tags,
)

cdef TagSet _MUTE = tags(
    "script style template iframe object embed canvas svg noscript video audio "
    "map link meta button select input textarea datalist progress meter dialog math"
)


cdef class Glance:
    """The result of the scan."""

    def __cinit__(self, Tree tree):
        self.body, self._count = NONE, tree.count
        self.scripts, self.mute, self.hidden = [], [], []
        self._marks = <unsigned char*> calloc(tree.count, 1)
        if self._marks == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self._marks)

    cdef int look(self, Tree tree, int element, Collector names) except -1:
        """Scan the attributes of one element."""
        cdef const Attribute* found = &tree.attributes[tree.nodes[element].at]
        cdef const Attribute* end = found + tree.nodes[element].size
        cdef Span value
        cdef Said said
        cdef int marks = 0
        while found < end:
            value.start, value.size = tree.heap + found.at, found.size
            if found.name == ATTR_CLASS:
                marks |= names.add_class(value)
            elif found.name == ATTR_ID:
                names.add_id(value)
                marks |= NUMBERED
                if says(value, &said):
                    marks |= NAMED
            elif found.name == ATTR_STYLE:
                if _may_hide(value):
                    marks |= HIDDEN
            elif found.name == ATTR_HIDDEN or (found.name == ATTR_ARIA_HIDDEN and is_text(value, "true")):
                marks |= HIDDEN
            elif found.name == ATTR_ROLE:
                if _is_of_chrome(value):
                    marks |= OF_CHROME
            elif found.name == ATTR_ITEMPROP and is_text(value, "articleBody"):
                self.is_article = True
            found += 1
        if marks & LISTENED_TO:
            marks |= HIDDEN
        self._marks[element] = marks
        return marks

    cdef int look_again(self, Tree tree) except -1:
        """Scan the body again after it was changed."""
        cdef int node = self.body
        self.mute, self.hidden = [], []
        while True:
            node = following(tree.nodes, node, self.body)
            if node == NONE:
                return 0
            if _MUTE.has[tree.nodes[node].tag]:
                self.mute.append(node)
            if self.marks(node) & HIDDEN:
                self.hidden.append(node)


cdef bint _may_hide(Span style) noexcept:
    """Whether it contains `none` or `hidden`."""
    cdef const char* at = style.start
    cdef const char* end = at + style.size
    cdef char sign
    while at < end:
        sign = at[0] | 0x20
        if sign == b"n" and _is_there(at, end, "none") or sign == b"h" and _is_there(at, end, "hidden"):
            return True
        at += 1
    return False


cdef bint _is_there(const char* at, const char* end, const char* word) noexcept:
    """Whether a word (in lower case) is at this position, ignoring case."""
    while word[0]:
        if at == end or at[0] | 0x20 != word[0]:
            return False
        at += 1
        word += 1
    return True


cdef bint _is_of_chrome(Span role) noexcept:
    return (
        is_text(role, "navigation") or is_text(role, "banner") or is_text(role, "contentinfo")
        or is_text(role, "search") or is_text(role, "complementary") or is_text(role, "dialog")
        or is_text(role, "alertdialog") or is_text(role, "menu") or is_text(role, "menubar")
        or is_text(role, "toolbar")
    )


cdef Glance read(Tree tree):
    cdef Glance glance = Glance(tree)
    cdef Collector names = Collector()
    cdef int node = ROOT, tag, marks, behind = NONE
    cdef bint is_in_body = False
    while True:
        node = following(tree.nodes, node, ROOT)
        if node == NONE:
            break
        if node == behind:
            is_in_body = False
        if tree.nodes[node].kind == TEXT:
            continue
        tag = tree.nodes[node].tag
        marks = glance.look(tree, node, names) if tree.nodes[node].size else 0
        if tag == TAG_SCRIPT:
            glance.scripts.append(node)
        if is_in_body:
            if _MUTE.has[tag]:
                glance.mute.append(node)
            if marks & HIDDEN:
                glance.hidden.append(node)
        elif tag == TAG_BODY and glance.body == NONE:
            glance.body, behind, is_in_body = node, beyond(tree.nodes, node, ROOT), True
    glance.used = names.used()
    return glance
