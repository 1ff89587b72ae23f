# Steps through a tree for loops that look at every node of a page. `nodes` are those of a tree, `node` is one of
# them, and `top` is it or around it; nothing may be changed on the way.
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from orbweb.dom.tree cimport NONE, TEXT, Node, TagSet, Tree

cdef inline int beyond(const Node* nodes, int node, int top) noexcept:
    # The next node in document order below `top` that is not inside `node`; NONE after the last.
    while node != top and node != NONE:
        if nodes[node].next != NONE:
            return nodes[node].next
        node = nodes[node].parent
    return NONE

cdef inline int following(const Node* nodes, int node, int top) noexcept:
    # The next node in document order below `top`; NONE after the last.
    return nodes[node].first if nodes[node].first != NONE else beyond(nodes, node, top)

cdef inline int next_tagged(const Node* nodes, int node, int top, const TagSet* wanted) noexcept:
    # The next element in document order below `top` with one of these tags; NONE after the last.
    while True:
        node = following(nodes, node, top)
        if node == NONE or wanted.has[nodes[node].tag]:
            return node

cdef inline Py_ssize_t points(const char* at, Py_ssize_t size) noexcept:
    # The code points of UTF-8, eight bytes at a time: all but the bytes that go on.
    cdef Py_ssize_t inner = 0, left = size
    cdef uint64_t part
    while left >= 8:
        memcpy(&part, at, 8)
        if part & 0x8080808080808080ULL:
            part = (part >> 7) & (~part >> 6) & 0x0101010101010101ULL
            inner += (part * 0x0101010101010101ULL) >> 56
        at += 8
        left -= 8
    while left:
        inner += (<unsigned char> at[0] & 0xC0) == 0x80
        at += 1
        left -= 1
    return size - inner

cdef inline Py_ssize_t text_length(Tree tree, int top) except -1:
    # As `Tree.text_length`, for elements.
    cdef Py_ssize_t length = 0
    cdef int node = top
    tree.at(top)
    while True:
        node = following(tree.nodes, node, top)
        if node == NONE:
            return length
        if tree.nodes[node].kind == TEXT:
            length += points(tree.heap + tree.nodes[node].at, tree.nodes[node].size)
