"""A formula in MathML becomes one in TeX, so that what stands above, below or under a root is told.

Always: every word of the formula is in the answer; time is linear in the formula. Never: names a sign by its
command: signs stay as they are.
"""

from __future__ import annotations

from turbohtml import Element, Node

MAX_DEPTH = 30
"""Elements inside each other that are told apart; what is deeper is plain text."""

_SCRIPTS = {
    **dict.fromkeys(("msup", "mover"), ("", "^")),
    **dict.fromkeys(("msub", "munder"), ("", "_")),
    **dict.fromkeys(("msubsup", "munderover"), ("", "_", "^")),
}
_NOTES = frozenset(("annotation", "annotation-xml"))


def tex(element: Element, depth: int = 0) -> str:
    """The formula of a `<math>`, or of an element in one."""
    if depth > MAX_DEPTH or not any(isinstance(child, Element) for child in element.children):
        return " ".join(element.text.split())
    said = [part for child in element.children if (part := _part(child, depth)) is not None]
    tag = element.tag
    if tag == "mfrac" and len(said) == 2:
        return f"\\frac{{{said[0]}}}{{{said[1]}}}"
    if tag == "msqrt":
        return f"\\sqrt{{{''.join(said)}}}"
    if tag == "mroot" and len(said) == 2:
        return f"\\sqrt[{said[1]}]{{{said[0]}}}"
    if tag in _SCRIPTS and len(said) == len(_SCRIPTS[tag]):
        return said[0] + "".join(
            f"{sign}{{{part}}}" for sign, part in zip(_SCRIPTS[tag][1:], said[1:], strict=True)
        )
    joined = {"mtable": " \\\\ ", "mtr": " & ", "mfenced": ", "}.get(tag, "").join(said)
    return f"({joined})" if tag == "mfenced" else joined


def _part(node: Node, depth: int) -> str | None:
    if isinstance(node, Element):
        return None if node.tag in _NOTES else tex(node, depth + 1)
    return node.text.strip() or None
