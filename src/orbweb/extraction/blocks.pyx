"""The text blocks of an element: the element of each, its length, and the share of links.

Time is linear; blocks are in document order; the tree is not changed.
"""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from orbweb.parsing.html.walk cimport following
from orbweb.parsing.html.tree cimport (
    ATTR_HREF, NONE, TAG_A, TAG_LI, TAG_TD, TEXT, Span, TagSet, Tree, characters, stripped, tags,
)

cdef enum:
    MAX_CHARACTERS = 4_000_000
    MAX_TEXTS = 50_000
    # The most characters of a page that is analysed. No real page is longer.
    MAX_DEPTH = 200
    # The most ancestors of a block that are inspected; no real page is nested deeper.
    MAX_CARD = 4
    # The most elements between a link and the blocks that it wraps as a card.

cdef TagSet _INLINE = tags(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var"
)
cdef TagSet _PARAGRAPHS = tags("p pre li td dd blockquote h1 h2 h3 h4")


cdef class Outline:
    """The elements with text, each with a number and that of its parent; and their blocks.

    Number 0 is the root, and an element has a higher number than its ancestors; `depth` counts the elements from
    the enclosing link.
    """

    def __cinit__(self, Tree tree, int root):
        self.tree, self.nodes = tree, tree.count
        self.numbers = <int*> malloc(self.nodes * sizeof(int))
        if self.numbers == NULL:
            raise MemoryError()
        memset(self.numbers, 0xFF, self.nodes * sizeof(int))
        self._add(root, NOWHERE)

    def __dealloc__(self):
        free(self.numbers)
        free(self.elements)
        free(self.around)
        free(self.depth)
        free(self.block_of)
        free(self.blocks)

    cdef int _add(self, int element, int around) except -1:
        """Assign the next number to an element."""
        cdef int number = self.count, room = 2 * self.room if self.room else 256
        if number == self.room:
            self.elements = <int*> _resized(self.elements, room * sizeof(int))
            self.around = <int*> _resized(self.around, room * sizeof(int))
            self.depth = <int*> _resized(self.depth, room * sizeof(int))
            self.block_of = <int*> _resized(self.block_of, room * sizeof(int))
            self.room = room
        self.elements[number], self.around[number], self.block_of[number] = element, around, NOWHERE
        if _is_link(self.tree, element):
            self.depth[number] = 0
        else:
            self.depth[number] = MAX_CARD + 1 if around == NOWHERE else self.depth[around] + 1
        self.numbers[element] = number
        self.count += 1
        return number

    cdef int number_of(self, int element) noexcept:
        return self.numbers[element] if 0 <= element < self.nodes else NOWHERE

    cdef int number(self, int element) except -1:
        """The number of an element; missing numbers are assigned from its nearest numbered ancestor down."""
        cdef int path[MAX_DEPTH]
        cdef int size = 0, number
        while True:
            number = self.numbers[element]
            if number != NOWHERE or size == MAX_DEPTH:
                break
            path[size] = element
            size += 1
            element = self.tree.parent(element)
        if number == NOWHERE:
            number = 0
        while size:
            size -= 1
            number = self._add(path[size], number)
        return number

    cdef int _block(self, int holder) except -1:
        """The block of an element, created if missing."""
        cdef int number = self.numbers[holder], place, room = 2 * self.block_room if self.block_room else 128
        cdef Block* block
        if number != NOWHERE and self.block_of[number] != NOWHERE:
            return self.block_of[number]
        number = self.number(holder)
        place = self.block_count
        if place == self.block_room:
            self.blocks = <Block*> _resized(self.blocks, room * sizeof(Block))
            self.block_room = room
        block = &self.blocks[place]
        block.number, block.element, block.tag = number, holder, self.tree.tag(holder)
        block.card = 0 < self.depth[number] <= MAX_CARD
        block.column = self.around[number] if number and _PARAGRAPHS.has[block.tag] else number
        block.size, block.linked, block.prose = 0, 0, 0
        self.block_of[number] = place
        self.block_count += 1
        return place


cdef void* _resized(void* memory, size_t size) except NULL:
    memory = realloc(memory, size)
    if memory == NULL:
        raise MemoryError()
    return memory


cdef bint _is_link(Tree tree, int element) except -1:
    """Whether it is a link; an `<a>` may be only an anchor."""
    return tree.tag(element) == TAG_A and tree.attr(element, ATTR_HREF).start != NULL


cdef Outline read(Tree tree, int root):
    cdef Outline outline = Outline(tree, root)
    cdef int node = root, count = 0, holder, place
    cdef Py_ssize_t size, whole = 0
    cdef bint linked
    cdef Span text
    cdef Block* block
    while True:
        node = following(tree.nodes, node, root)
        if node == NONE:
            break
        if tree.nodes[node].kind != TEXT:
            continue
        text.start, text.size = tree.heap + tree.nodes[node].at, tree.nodes[node].size
        text = stripped(text)
        if not text.size:
            continue
        count += 1
        if count > MAX_TEXTS:
            return None
        size = characters(text)
        holder, linked = tree.nodes[node].parent, False
        while _INLINE.has[tree.nodes[holder].tag] and holder != root:
            if tree.nodes[holder].tag == TAG_A and _is_link(tree, holder):
                linked = True
            holder = tree.nodes[holder].parent
        place = outline._block(holder)
        block = &outline.blocks[place]
        block.size += size
        if linked or block.card:
            block.linked += size
    for place in range(outline.block_count):
        block = &outline.blocks[place]
        whole += block.size
        if block.size >= SENTENCE and 2 * block.linked <= block.size:
            block.prose = block.size - block.linked
            if block.tag == TAG_LI or block.tag == TAG_TD:
                block.prose /= 2
    return outline if whole <= MAX_CHARACTERS else None
