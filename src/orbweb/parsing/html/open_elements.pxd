# The stack of open elements, the list of active formatting elements, and the insertion point of new nodes.

from orbweb.parsing.html.bounds cimport close_memory
from orbweb.parsing.html.tree cimport HTML, NONE, Node, TagSet, Tree

cdef enum:
    # Flags of a node: it is open; it is an active formatting element; it is an HTML integration point.
    IS_OPEN = 1
    IS_LISTED = 2
    IS_HTML_POINT = 4

cdef enum:
    # The maximum depth, as in Chromium. Deeper elements become siblings, because no real page is that deep.
    MAX_DEPTH = 512
    # A marker in the list of active formatting elements.
    MARKER = -2

cdef struct Numbers:
    int* all
    int count, room

# `all` has memory for `room` numbers, of which `count` are used: 0 <= count <= room. Every index that is read is
# below `count`, by the loop or the test around it; a build with a sanitizer poisons the unused part.

cdef int add(Numbers* numbers, int number) except -1
cdef inline void cut(Numbers* numbers, int count) noexcept:
    # Drop all numbers after these.
    close_memory(numbers.all + count, (numbers.count - count) * sizeof(int))
    numbers.count = count

cdef int place_of(const Numbers* numbers, int number) noexcept
# The index of a number, searched from the end; NONE if it is missing.

cdef TagSet SCOPE, BUTTON_SCOPE, TABLE_SCOPE, IMPLIED


cdef class Stack:
    cdef Tree tree
    # The open elements, outermost first, and the number of HTML elements with each tag among them.
    cdef Numbers open
    cdef int[256] opened
    # The active formatting elements and markers. Beside each, a hash of its attributes; 0 until it is needed.
    cdef Numbers formatting, sums
    # How many more elements and attributes may be copied.
    cdef Py_ssize_t copies_left
    # Texts that were moved to grow, and their capacity in bytes.
    cdef dict grown
    # Whether foster parenting is enabled: misplaced content of a table is put before it.
    cdef bint fosters
    # The current tag.
    cdef int tag, name, attributes, attribute_count
    cdef bint closes_itself

    cdef inline Node* current(self) noexcept:
        """The innermost open element; callers ensure that there is one."""
        return &self.tree.nodes[self.open.all[self.open.count - 1]]

    cdef inline bint is_open(self, int place, int tag) noexcept:
        """Whether the open element at this index is an HTML element with this tag."""
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
        """The index of an active formatting element; NONE if it is not active."""
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
