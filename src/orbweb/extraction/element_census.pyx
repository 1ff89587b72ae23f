"""The tags below an element, and the elements with classes of interest, from one walk.

The normalization steps use it to find out whether they have anything to do. Elements are in document order, and
the tree is not changed.
"""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp

from orbweb.extraction.math cimport is_formula
from orbweb.parsing.html.characters cimport next_word
from orbweb.parsing.html.tree cimport (
    ATTR_CLASS, ATTR_ROLE, ATTR_STYLE, ELEMENT, NONE, TAG_IMG, TAG_MATH, TAG_MJX_CONTAINER, TAG_SCRIPT,
    Attribute, Node, Span, TagSet, Tree, contains, is_text, tags,
)
from orbweb.parsing.html.walk cimport following

cdef TagSet _NOTED = tags(
    "a audio br button clipboard-copy dl embed h1 h2 h3 h4 h5 h6 hr iframe img label link listing meta ol pre rp "
    "script style sub summary sup svg template textarea tt video xmp"
)


cdef class Words:
    """Class names and their meanings."""

    def __dealloc__(self):
        free(self.words)

    cdef int of(self, Span names) noexcept:
        cdef const char* at = names.start
        cdef const char* end = at + names.size
        cdef Py_ssize_t size
        cdef Word* word
        cdef int found, meant = 0
        if at == NULL:
            return 0
        while True:
            size = next_word(&at, end)
            if not size:
                return meant
            found = self.first[<unsigned char> at[0]]
            while found != NONE:
                word = &self.words[found]
                if word.size == size and memcmp(word.start, at, size) == 0:
                    meant |= word.meant
                    break
                found = word.next
            at += size


cdef Words words_of(frozenset classes, dict meanings):
    cdef Words words = Words.__new__(Words)
    cdef object name, meant
    cdef bytes held
    cdef Word* word
    cdef int place
    cdef unsigned char sign
    cdef list found = []
    for place in range(256):
        words.first[place] = NONE
    for name in classes:
        meant = meanings.get(name)
        if meant is not None:
            found.append((<str> name).encode())
            words.meant |= <int> meant
    words.held = found
    if not found:
        return words
    words.words = <Word*> malloc(len(found) * sizeof(Word))
    if words.words == NULL:
        raise MemoryError
    for place in range(<int> len(found)):
        held = found[place]
        word = &words.words[place]
        sign = held[0]
        word.start, word.size, word.meant = <const char*> held, len(held), meanings[held.decode()]
        word.next, words.first[sign] = words.first[sign], place
    return words


cdef class ElementCensus:
    """What occurs below an element."""

    def __dealloc__(self):
        free(self.noted)

    cdef int note(self, int node) except -1:
        cdef int* noted
        cdef int room
        if self.count == self.room:
            room = 2 * self.room if self.room else 256
            noted = <int*> realloc(self.noted, room * sizeof(int))
            if noted == NULL:
                raise MemoryError
            self.noted, self.room = noted, room
        self.noted[self.count] = node
        self.count += 1
        return 0

    cdef int keep(self, Tree tree, int root) except -1:
        cdef int place, kept = 0
        for place in range(self.count):
            if tree.is_inside(self.noted[place], root):
                self.noted[kept] = self.noted[place]
                kept += 1
        self.count = kept
        return 0


cdef ElementCensus survey(Tree tree, int root, Words words):
    cdef ElementCensus found = ElementCensus.__new__(ElementCensus)
    cdef Node* nodes = tree.nodes
    cdef Attribute* attribute
    cdef Span value
    cdef int node = root, meant, tag, place
    cdef bint telling
    tree.at(root)
    found.words = words
    found.telling = []
    found.sources = []
    for place in range(256):
        found.seen.has[place] = False
    if words.meant & LISTED:
        found.dropped, found.permalinks, found.formulas, found.numbers = [], [], [], []
        found.listings, found.spaced, found.notes = [], [], []
    while True:
        node = following(nodes, node, root)
        if node == NONE:
            return found
        if nodes[node].kind != ELEMENT:
            continue
        tag = nodes[node].tag
        found.seen.has[tag] = True
        if _NOTED.has[tag]:
            found.note(node)
        telling = False
        for place in range(nodes[node].at, nodes[node].at + nodes[node].size):
            attribute = &tree.attributes[place]
            value.start, value.size = tree.heap + attribute.at, attribute.size
            if attribute.name == ATTR_CLASS:
                if words.meant & LISTED:
                    meant = words.of(value) & LISTED
                    if meant:
                        _mark(found, node, meant)
            elif attribute.name == ATTR_STYLE:
                telling = telling or contains(value, b"white-space")
            elif attribute.name == ATTR_ROLE:
                telling = telling or is_text(value, b"table")
        if telling:
            found.telling.append(node)
        if tag == TAG_MATH or tag == TAG_MJX_CONTAINER or (
            (tag == TAG_IMG or tag == TAG_SCRIPT) and is_formula(tree, node)
        ):
            found.sources.append(node)


cdef bint has_seen(ElementCensus found, const TagSet* wanted) noexcept:
    cdef int tag
    for tag in range(256):
        if wanted.has[tag] and found.seen.has[tag]:
            return True
    return False


cdef int _mark(ElementCensus found, int node, int meant) except -1:
    if meant & DROPPED:
        found.dropped.append(node)
    if meant & PERMALINK:
        found.permalinks.append(node)
    if meant & FORMULA:
        found.formulas.append(node)
    if meant & NUMBERS:
        found.numbers.append(node)
    if meant & LISTING:
        found.listings.append(node)
    if meant & SPACED:
        found.spaced.append(node)
    if meant & NOTE:
        found.notes.append(node)
    return 0


cdef bint any_tagged(Tree tree, int top, const TagSet* wanted) except -1:
    return tree.next_tagged(top, top, wanted) != NONE
