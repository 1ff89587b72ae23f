"""Admonitions (notes, warnings, tips) become quotations with a bold title; they are recognized by their classes.
"""

from orbweb.extraction.element_census cimport any_tagged
from orbweb.extraction.titles cimport HEADINGS
from orbweb.parsing.html.tree cimport (
    ATTR_CLASS, ATTR_ROLE, ATTR_TITLE, NONE, TAG_BLOCKQUOTE, TAG_DD, TAG_DETAILS, TAG_DIV, TAG_DL, TAG_DT,
    TAG_I, TAG_STRONG, TAG_TABLE, TagSet, Tree, tags,
)

cdef frozenset MARKS = frozenset(
    (
        *("admonition", "theme-admonition", "markdown-alert", "custom-block", "notecard", "admonitionblock"),
        *("callout", "alert", "note", "tip", "warning", "important", "caution", "danger", "hint", "attention"),
        *("remark", "todo", "deprecated"),
    )
)
cdef frozenset _TITLES = frozenset(
    (
        *("admonition-title", "admonition-heading", "markdown-alert-title", "custom-block-title", "alert-title"),
        *("callout-title", "alert-heading", "icon", "title"),
    )
)

cdef enum:
    TITLE_WITHIN = 8
    # How many elements of an admonition are searched for its title.

cdef TagSet _TAGS = tags("div section aside dl details blockquote")
cdef TagSet _NOT_BOLD = tags("h1 h2 h3 h4 h5 h6 strong pre table summary details dl")
cdef TagSet _UNBOLD = tags("p div b")


cdef int shape(Tree tree, int root, list marked) except -1:
    cdef int found, child, inner, count
    for found in marked:
        if not _TAGS.has[tree.tag(found)] or not tree.is_inside(found, root):
            continue
        child = tree.first(found)
        while child != NONE:
            if tree.tag(child) == TAG_TABLE:
                tree.set_attr(child, ATTR_ROLE, "presentation")
            child = tree.next(child)
        inner, count = tree.following(found, found), 0
        while inner != NONE and count < TITLE_WITHIN:
            if tree.is_element(inner):
                count += 1
                if _is_title(tree, inner):
                    _name_icon(tree, inner)
                    embolden(tree, inner)
                    break
            inner = tree.following(inner, found)
        if tree.tag(found) == TAG_DL:
            _note_of_terms(tree, found)
        if tree.tag(found) != TAG_DETAILS:
            tree.set_tag(found, TAG_BLOCKQUOTE)
    return 0


cdef bint _is_title(Tree tree, int inner) except -1:
    cdef str words
    if HEADINGS.has[tree.tag(inner)]:
        return False
    words = tree.attr_str(inner, ATTR_CLASS)
    return bool(words) and (not _TITLES.isdisjoint(words.split()) or "admonitionHeading" in words)


cdef int _name_icon(Tree tree, int title) except -1:
    """An icon of an icon font is replaced by its title."""
    cdef int icon = tree.first_tagged(title, TAG_I)
    cdef str said
    if icon != NONE and not tree.has_text(title):
        said = tree.attr_str(icon, ATTR_TITLE)
        if said:
            tree.replace(icon, tree.new_text(said))
    return 0


cdef int embolden(Tree tree, int title) except -1:
    if not any_tagged(tree, title, &_NOT_BOLD) and tree.has_text(title):
        tree.strip_tags(title, &_UNBOLD)
        tree.wrap_children(title, TAG_STRONG)
    return 0


cdef int _note_of_terms(Tree tree, int found) except -1:
    cdef int child = tree.first(found)
    while child != NONE:
        if tree.tag(child) == TAG_DT or tree.tag(child) == TAG_DD:
            if tree.tag(child) == TAG_DT:
                embolden(tree, child)
            tree.set_tag(child, TAG_DIV)
        child = tree.next(child)
    return 0
