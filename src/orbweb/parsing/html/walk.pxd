# Iteration for loops over every node of a page. `nodes` are those of a tree, `node` is one of them, and `top` is
# the same node or an ancestor; the tree must not be changed meanwhile.
from orbweb.parsing.html.tree cimport NONE, Node, TagSet

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
