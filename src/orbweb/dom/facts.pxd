# What the elements of a page say to the crawl.

from orbweb.dom.tree cimport NONE, Node, TagSet, Tree

cdef bint is_foreign(Tree tree, int node) except -1
# Whether an element that HTML has too is one of an `<svg>` or a `<math>`.


cdef inline int next_of(Tree tree, int node, const TagSet* wanted) noexcept:
    # As `Tree.next_tagged` for the whole page, but `node` is known to be a number of this tree.
    cdef Node* nodes = tree.nodes
    while True:
        if nodes[node].first != NONE:
            node = nodes[node].first
        else:
            while nodes[node].next == NONE:
                node = nodes[node].parent
                if node == NONE:
                    return NONE
            node = nodes[node].next
        if wanted.has[nodes[node].tag]:
            return node
