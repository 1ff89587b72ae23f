# The elements that are open while a page is read, the formatting that is in force, and where a new node goes.

from orbweb.parsing.html.bounds cimport close_memory
from orbweb.parsing.html.tree cimport HTML, NONE, Node, TagSet, Tree

cdef enum:
    # Flags of a node: it is among the open elements; it is formatting in force; what is in it is HTML again, though
    # it is not.
    IS_OPEN = 1
    IS_LISTED = 2
    IS_HTML_POINT = 4

cdef enum:
    # Elements around an element, as many as Chromium has. Those that are deeper stand beside each other: nobody has
    # designed that.
    MAX_DEPTH = 512
    # Where formatting begins anew.
    MARKER = -2

cdef struct Numbers:
    int* all
    int count, room

# `all` has memory for `room` numbers, and `count` of them are held: 0 <= count <= room. Each place that is read is
# below `count`, by the loop or the test around it; a build with a sanitizer closes what is not held.

cdef int add(Numbers* numbers, int number) except -1
cdef inline void cut(Numbers* numbers, int count) noexcept:
    # Hold no more than these.
    close_memory(numbers.all + count, (numbers.count - count) * sizeof(int))
    numbers.count = count

cdef int place_of(const Numbers* numbers, int number) noexcept
# Where a number is, from the end; NONE if it is not there.

cdef TagSet SCOPE, BUTTON_SCOPE, TABLE_SCOPE, IMPLIED


cdef class Stack:
    cdef Tree tree
    # The elements that are open, the outermost first, and how many of HTML with each tag there are.
    cdef Numbers open
    cdef int[256] opened
    # The formatting that is in force, and marks where it begins anew. Beside each, a sum of its attributes; 0 as
    # long as nobody needed it.
    cdef Numbers formatting, sums
    # How many elements and attributes may still be copied.
    cdef Py_ssize_t copies_left
    # Texts that were moved to grow, and the bytes that they have room for.
    cdef dict grown
    # Whether what does not belong in a table is put before it.
    cdef bint fosters
    # The tag that is read.
    cdef int tag, name, attributes, attribute_count
    cdef bint closes_itself

    cdef inline Node* current(self) noexcept:
        """The innermost open element; there is always one where this is asked."""
        return &self.tree.nodes[self.open.all[self.open.count - 1]]

    cdef inline bint is_open(self, int place, int tag) noexcept:
        """Whether the open element at this place is one of HTML with this tag."""
        cdef Node* node = &self.tree.nodes[self.open.all[place]]
        return node.tag == tag and node.space == HTML

    cdef int new(self, int kind) except -1
    cdef int put_at(self, int parent, int before, int node) except -1
    cdef int push(self, int node) except -1
    cdef int pop(self) except -1
    cdef int close(self, int place) except -1
    cdef int appropriate_place(self, int target, int* parent, int* before) except -1
    cdef int element(self) except -1
    cdef int insert(self) except -1
    cdef int insert_void(self) except -1
    cdef int insert_tag(self, int tag) except -1
    cdef int implied(self, int tag) except -1
    cdef int put_text(self, int at, int size) except -1
    cdef int _lengthen(self, int text, int at, int size) except -1
    cdef bint has_in(self, int tag, const TagSet* scope) noexcept
    cdef bint has_any_in(self, const TagSet* wanted, const TagSet* scope) noexcept
    cdef int imply_ends(self, int tag, const TagSet* implied) except -1
    cdef int pop_until(self, int tag) except -1
    cdef int pop_until_any(self, const TagSet* wanted) except -1
    cdef int clear_back(self, const TagSet* context) except -1
    cdef int close_p(self) except -1
    cdef int close_p_in_button(self) except -1
    cdef int mark(self) except -1
    cdef int clear_to_marker(self) except -1
    cdef int remember(self, int node) except -1
    cdef bint _are_equal(self, int place, int node, int* sum) except -1
    cdef int _sum(self, int node) except -1
    cdef bint _have_equal_attributes(self, int one, int other) except -1
    cdef int _list(self, int place, int node, int sum) except -1
    cdef int _replace(self, int place, int node) except -1
    cdef int _unlist(self, int place) except -1
    cdef inline int _listed(self, int node) noexcept:
        """The place of a formatting element that is in force; NONE if it is not."""
        return place_of(&self.formatting, node) if self.tree.nodes[node].flags & IS_LISTED else NONE

    cdef int forget(self, int node) except -1
    cdef bint _is_exhausted(self) except -1
    cdef int reconstruct(self) except -1
    cdef inline bint _is_settled(self, int place) noexcept:
        """Whether a formatting element is open, or is a marker."""
        cdef int node = self.formatting.all[place]
        return node == MARKER or self.tree.nodes[node].flags & IS_OPEN != 0

    cdef int _copy(self, int node) except -1
    cdef int _insert_copy(self, int node) except -1
    cdef int find_formatting(self, int tag) noexcept
    cdef bint adopt(self, int tag) except -1
    cdef int _fostering_place(self, int target, int* parent, int* before) except -1
    cdef bint is_in_scope(self, int place) noexcept
    cdef bint is_special(self, int place) noexcept
