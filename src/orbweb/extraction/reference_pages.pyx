"""Reference pages and manuals: pages with linkable sections, or with much code.

Uses tags and names only, so the language of the page and its generator do not matter.
"""

from orbweb.extraction.titles cimport HEADINGS, letters
from orbweb.parsing.html.walk cimport following, next_tagged
from orbweb.parsing.html.tree cimport (
    ATTR_HREF, ATTR_ID, ATTR_NAME, NONE, TAG_PRE, TEXT, Span, TagSet, Tree, as_str, begins, tags,
)

SECTIONS = 3
"""Least number of linkable sections of a reference page."""
LISTINGS = 3
"""Least number of code elements if the page declares to be an article; otherwise one is enough."""
MAX_HEADINGS = 50
MAX_LINKS = 5
"""The most headings, and links in each, that are searched for an anchor."""

cdef TagSet _TELLING = tags("pre h2 h3 h4 h5 h6")
cdef TagSet _LINK = tags("a")
cdef TagSet _SECTIONS = tags("section div")
_BEGINNING = 100
"""The characters at the start of an element, including blanks, that tell its topic."""


cdef bint is_manual(Tree tree, int root, bint declared) except -1:
    """Whether a page is a reference page, by what all generators have in common.

    For a page that declares to be an article only much code counts, because articles have linkable sections too.
    """
    cdef int listings = LISTINGS if declared else 1, sections = SECTIONS, room = 0 if declared else MAX_HEADINGS
    cdef int node = root
    tree.at(root)
    while listings and sections:
        node = next_tagged(tree.nodes, node, root, &_TELLING)
        if node == NONE:
            return False
        if tree.nodes[node].tag == TAG_PRE:
            listings -= 1
        elif room:
            room -= 1
            sections -= _has_address(tree, node)
    return True


cdef inline bint _is_said(Span value) noexcept:
    return value.start != NULL and value.size > 0


cdef bint _has_address(Tree tree, int heading) except -1:
    """Whether a section is linkable: by its heading, or by the element that starts with the heading."""
    cdef int link = heading, around, _count
    if _is_said(tree.attr(heading, ATTR_ID)):
        return True
    for _count in range(<int> MAX_LINKS):
        link = next_tagged(tree.nodes, link, heading, &_LINK)
        if link == NONE:
            break
        if _is_said(tree.attr(link, ATTR_NAME)) or _is_said(tree.attr(link, ATTR_ID)):
            return True
    around = tree.parent(heading)
    if around == NONE or not _SECTIONS.has[tree.tag(around)] or not _is_said(tree.attr(around, ATTR_ID)):
        return False
    return letters(tree.text(heading)).endswith(letters(tree.attr_str(around, ATTR_ID)))


cdef bint is_linked_to_itself(Tree tree, int element) except -1:
    cdef int link = element
    cdef Span href
    if not HEADINGS.has[tree.tag(element)]:
        return False
    while True:
        link = next_tagged(tree.nodes, link, element, &_LINK)
        if link == NONE:
            return True
        href = tree.attr(link, ATTR_HREF)
        if _is_said(href) and not begins(href, "#"):
            return False


cdef bint tells(Tree tree, int element, str word) except -1:
    return word in letters(_beginning(tree, element))


cdef str _beginning(Tree tree, int element):
    """The start of the text of an element, which tells its topic."""
    cdef str said = ""
    cdef int node = element
    while len(said) < _BEGINNING:
        node = following(tree.nodes, node, element)
        if node == NONE:
            break
        if tree.nodes[node].kind == TEXT:
            said += as_str(tree.data(node))
    return said[:_BEGINNING]
