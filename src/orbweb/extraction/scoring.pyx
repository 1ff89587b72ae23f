"""Scores the elements of a page by their text, and finds the element with most of it.

Time is linear, whatever the depth of the page; the tree is not changed.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from orbweb.extraction.blocks cimport NOWHERE, Block, Outline
from orbweb.parsing.html.tree cimport TAG_LI, TagSet, tags

TOGETHER = 0.85
"""Least share of an element's weight in one child for the child to be the content instead."""
NEARLY_ALL = 0.95
"""The same if all text outside of links counts."""
COLUMN = 0.2
"""A column with a smaller share of the heaviest column's prose is not part of an article."""

cdef TagSet _WHOLE = tags("p ul ol blockquote pre li dl")


cdef class Blocks:
    """A selection of the blocks of an outline, in document order."""

    def __cinit__(self, Outline outline):
        self.outline = outline
        self.places = <int*> malloc((outline.block_count + 1) * sizeof(int))
        if self.places == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.places)

    cdef Block* at(self, int place) except NULL:
        if not 0 <= place < self.count:
            raise IndexError(place)
        return &self.outline.blocks[self.places[place]]


cdef class Weights:
    """The elements with text, with the amounts of prose and text in them."""

    def __cinit__(self, Outline outline):
        cdef int place
        cdef const Block* block
        self.outline = outline
        self.prose = <double*> calloc(outline.count, sizeof(double))
        self.text = <double*> calloc(outline.count, sizeof(double))
        self._weights = <double*> malloc(outline.count * sizeof(double))
        self._heaviest = <int*> malloc(outline.count * sizeof(int))
        if self.prose == NULL or self.text == NULL or self._weights == NULL or self._heaviest == NULL:
            raise MemoryError()
        for place in range(outline.block_count):
            block = &outline.blocks[place]
            self.prose[block.number] = block.prose
            self.text[block.number] = block.size
        self._add_up(self.prose)
        self._add_up(self.text)

    def __dealloc__(self):
        free(self.prose)
        free(self.text)
        free(self._weights)
        free(self._heaviest)

    cdef int _add_up(self, double* weights) noexcept:
        """Add the weights of descendants to each element."""
        cdef int number, around
        for number in range(self.outline.count - 1, 0, -1):
            around = self.outline.around[number]
            if around != NOWHERE:
                weights[around] += weights[number]
        return 0

    cdef int drop(self, int number) except -1:
        cdef double prose = self.prose[number], text = self.text[number]
        cdef int around = self.outline.around[number]
        self.outline.around[number] = NOWHERE
        while around != NOWHERE:
            self.prose[around] -= prose
            self.text[around] -= text
            around = self.outline.around[around]
        return 0

    cdef bint is_leaf(self, const Block* block) noexcept:
        return self.text[block.number] <= 1.3 * block.size + 20

    cdef Blocks inside(self, int top):
        cdef Blocks found = Blocks(self.outline)
        cdef int* within = self._heaviest
        cdef int number, around, place
        for number in range(top):
            within[number] = False
        within[top] = True
        for number in range(top + 1, self.outline.count):
            around = self.outline.around[number]
            within[number] = around != NOWHERE and within[around]
        for place in range(self.outline.block_count):
            if within[self.outline.blocks[place].number]:
                found.places[found.count] = place
                found.count += 1
        return found

    cdef int descend(self, int top, bint listing) except -1:
        return self._deepest(top, self.text if listing else self.prose, TOGETHER)

    cdef int enclose(self, int title) except -1:
        cdef double* weights = self._weights
        cdef int place, inner, both
        cdef const Block* block
        memset(weights, 0, self.outline.count * sizeof(double))
        for place in range(self.outline.block_count):
            block = &self.outline.blocks[place]
            weights[block.number] = block.size - block.linked
        self._add_up(weights)
        inner = self._deepest(0, weights, NEARLY_ALL)
        if title == NOWHERE:
            return inner
        both = self._around_both(inner, title)
        return both if weights[inner] >= <double> TOGETHER * weights[both] else inner

    cdef int _around_both(self, int one, int other) noexcept:
        """The lowest common ancestor of both, or one of them. Numbers grow from the outside in."""
        while one != other:
            if one > other:
                one = self.outline.around[one]
            else:
                other = self.outline.around[other]
            if one == NOWHERE or other == NOWHERE:
                return 0
        return one

    cdef int narrow(self, int top, Blocks blocks) except -1:
        cdef int place
        cdef const Block* block
        memset(self._weights, 0, self.outline.count * sizeof(double))
        for place in range(blocks.count):
            block = blocks.at(place)
            self._weights[block.number] = block.prose
        self._add_up(self._weights)
        return self._deepest(top, self._weights, TOGETHER)

    cdef int _deepest(self, int top, const double* weights, double share) noexcept:
        cdef int* heaviest = self._heaviest
        cdef int number, around, known, inner
        for number in range(self.outline.count):
            heaviest[number] = number
        for number in range(self.outline.count - 1, top, -1):
            around = self.outline.around[number]
            if weights[number] > 0 and around != NOWHERE:
                known = heaviest[around]
                if known == around or weights[number] >= weights[known]:
                    heaviest[around] = number
        while True:
            inner = heaviest[top]
            if inner == top or weights[inner] < share * weights[top]:
                return top
            if _WHOLE.has[self.outline.tree.nodes[self.outline.elements[inner]].tag]:
                return top
            top = inner

    cdef Blocks columns(self, Blocks blocks):
        """The blocks of the large columns only: a teaser is a column of one paragraph."""
        cdef Blocks found = Blocks(self.outline)
        cdef double* prose = self._weights
        cdef double most = 0
        cdef int place, column
        cdef const Block* block
        memset(prose, 0, self.outline.count * sizeof(double))
        for place in range(blocks.count):
            block = blocks.at(place)
            column = self._column(block)
            prose[column] += block.prose
            most = max(most, prose[column])
        for place in range(blocks.count):
            block = blocks.at(place)
            if block.prose and prose[self._column(block)] >= <double> COLUMN * most:
                found.places[found.count] = blocks.places[place]
                found.count += 1
        return found

    cdef int _column(self, const Block* block) noexcept:
        """The number of the column of a block; the lists of one column belong together."""
        if block.tag == TAG_LI and block.column:
            return max(self.outline.around[block.column], 0)
        return block.column
