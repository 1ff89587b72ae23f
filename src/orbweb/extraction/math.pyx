"""Formulas become code spans and blocks of TeX, whatever form they have in the page: MathJax, KaTeX, MathML,
images of TeX.

A formula is written once, from its own source if the page has it. TeX is not interpreted.
"""

from orbweb.extraction import placeholders

from orbweb.extraction cimport mathml
from orbweb.extraction.hidden cimport is_formula_source
from orbweb.parsing.html.tree cimport (
    ATTR_ALT, ATTR_ALTTEXT, ATTR_CLASS, ATTR_DISPLAY, ATTR_ENCODING, ATTR_TYPE, NONE, TAG_ANNOTATION,
    TAG_CODE, TAG_DIV, TAG_IMG, TAG_MATH, TAG_SCRIPT, Span, TagSet, Tree, contains, has_word, is_text, tags,
)

cdef frozenset TYPESET = frozenset(("MathJax", "MathJax_Display"))
cdef frozenset CLASSES = frozenset(("math", "katex-display", "katex", "mwe-math-element"))

cdef enum:
    DEPTH = 4
    # The most elements between a formula and the root of its MathJax output.

cdef TagSet _MATH = tags("math")
cdef tuple _AROUND = (("\\[", "\\]", True), ("\\(", "\\)", False), ("$$", "$$", True), ("$", "$", False))


cdef int shape(Tree tree, int root, list found) except -1:
    cdef set done = set()
    cdef int node, inner, tool, formula
    cdef str tex
    for node in found:
        if node in done or (tree.tag(node) in (TAG_IMG, TAG_SCRIPT) and not is_formula(tree, node)):
            continue
        inner = node
        while inner != NONE:
            done.add(inner)
            inner = tree.following(inner, node)
        tex, display = _tex(tree, node)
        tool = _typeset(tree, node, root) if tex else NONE
        if tool == NONE or tree.parent(tool) == NONE:
            continue
        formula = tree.new_element(TAG_CODE)
        tree.set_text(formula, placeholders.formula(tex, display=display))
        if display:
            formula = tree.wrap(formula, TAG_DIV)
        tree.replace(tool, formula)
    return 0


cdef int _typeset(Tree tree, int found, int root) except -2:
    """The element that a formula replaces: all of its MathJax output. NONE if its source follows."""
    cdef int tool = found, node = found, source
    for _ in range(DEPTH):
        node = tree.parent(node)
        if node == NONE or node == root:
            break
        if _is_typeset(tree, node):
            tool = node
    source = tree.next(tool)
    if tool != found and source != NONE and tree.is_element(source) and is_formula(tree, source):
        return NONE
    return tool


cdef bint _is_typeset(Tree tree, int node) except -1:
    """Whether it is the MathJax output of one formula."""
    cdef int math
    if not tree.has_class(node, b"MathJax") and not tree.has_class(node, b"MathJax_Display"):
        return False
    math = tree.next_tagged(node, node, &_MATH)
    return math != NONE and tree.next_tagged(math, node, &_MATH) == NONE


cdef bint is_formula(Tree tree, int node) except -1:
    cdef Span names
    if tree.tag(node) == TAG_SCRIPT:
        return is_formula_source(tree, node)
    names = tree.attr(node, ATTR_CLASS)
    return has_word(names, b"math") or contains(names, b"mwe-math-fallback")


cdef tuple _tex(Tree tree, int found):
    """The formula in TeX, and whether it is a display formula; empty if the page has no TeX of it."""
    cdef int node = found, stated = NONE, math = NONE, alternative = NONE, picture = NONE
    cdef bint display
    cdef Span value
    if tree.tag(found) == TAG_IMG:
        return _bare(tree.attr_str(found, ATTR_ALT) or "")
    if tree.tag(found) == TAG_SCRIPT:
        return tree.text(found).strip(), contains(tree.attr(found, ATTR_TYPE), b"display")
    value = tree.attr(found, ATTR_DISPLAY)
    display = is_text(value, b"block") or is_text(value, b"true") or tree.has_class(found, b"katex-display")
    while True:
        node = tree.following(node, found)
        if node == NONE:
            break
        if tree.tag(node) == TAG_ANNOTATION and stated == NONE:
            value = tree.attr(node, ATTR_ENCODING)
            if is_text(value, b"application/x-tex") or is_text(value, b"TeX"):
                stated = node
        elif tree.tag(node) == TAG_MATH:
            math = node if math == NONE else math
            if alternative == NONE and tree.attr(node, ATTR_ALTTEXT).start != NULL:
                alternative = node
            display = display or is_text(tree.attr(node, ATTR_DISPLAY), b"block")
        elif tree.tag(node) == TAG_IMG and picture == NONE and tree.attr(node, ATTR_ALT).start != NULL:
            picture = node
        display = display or tree.has_class(node, b"katex-display")
    if stated != NONE:
        return _bare(tree.text(stated))[0], display
    if tree.tag(found) == TAG_MATH:
        math = alternative = found
    if alternative != NONE:
        said = tree.attr_str(alternative, ATTR_ALTTEXT)
        if said:
            return _bare(said)[0], display
    if picture != NONE:
        return _bare(tree.attr_str(picture, ATTR_ALT))[0], tree.tag(found) == TAG_DIV
    text = tree.text(found).strip()
    if text.startswith(("\\(", "\\[", "$")):
        return _bare(text)
    return (mathml.tex(tree, math, 0), display) if math != NONE else ("", False)


cdef tuple _bare(str tex):
    """A formula without its delimiters."""
    tex = tex.strip()
    for opening, closing, display in _AROUND:
        if tex.startswith(opening) and tex.endswith(closing) and len(tex) >= len(opening) + len(closing):
            return tex[len(opening) : len(tex) - len(closing)].strip(), display
    if tex.startswith("{\\displaystyle") and tex.endswith("}"):
        return tex[len("{\\displaystyle") : len(tex) - 1].strip(), False
    return tex, False
