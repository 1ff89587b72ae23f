"""Converts MathML to TeX, so that superscripts, subscripts, fractions and roots are preserved.

Every word of the formula is in the result; time is linear. Symbols are not replaced by TeX commands.
"""

from orbweb.parsing.html.tree cimport NONE, TAG_ANNOTATION, Tree

cdef enum:
    DEPTH = 30
    # The deepest nesting that is converted; deeper elements become plain text.

cdef dict _SCRIPTS = {
    **dict.fromkeys(("msup", "mover"), ("", "^")),
    **dict.fromkeys(("msub", "munder"), ("", "_")),
    **dict.fromkeys(("msubsup", "munderover"), ("", "_", "^")),
}
cdef dict _BETWEEN = {"mtable": " \\\\ ", "mtr": " & ", "mfenced": ", "}


cdef str tex(Tree tree, int element, int depth):
    cdef list said = []
    cdef int child = tree.first(element)
    cdef bint is_plain = True
    cdef str tag, part
    while child != NONE and is_plain:
        is_plain = not tree.is_element(child)
        child = tree.next(child)
    if depth > DEPTH or is_plain:
        return " ".join(tree.text(element).split())
    child = tree.first(element)
    while child != NONE:
        part = _part(tree, child, depth)
        if part is not None:
            said.append(part)
        child = tree.next(child)
    tag = tree.tag_name(element)
    if tag == "mfrac" and len(said) == 2:
        return f"\\frac{{{said[0]}}}{{{said[1]}}}"
    if tag == "msqrt":
        return f"\\sqrt{{{''.join(said)}}}"
    if tag == "mroot" and len(said) == 2:
        return f"\\sqrt[{said[1]}]{{{said[0]}}}"
    signs = _SCRIPTS.get(tag)
    if signs is not None and len(said) == len(signs):
        return said[0] + "".join([f"{sign}{{{part}}}" for sign, part in zip(signs[1:], said[1:], strict=True)])
    part = _BETWEEN.get(tag, "").join(said)
    return f"({part})" if tag == "mfenced" else part


cdef str _part(Tree tree, int node, int depth):
    if tree.is_element(node):
        is_note = tree.tag(node) == TAG_ANNOTATION or tree.tag_name(node) == "annotation-xml"
        return None if is_note else tex(tree, node, depth + 1)
    return tree.text(node).strip() or None
