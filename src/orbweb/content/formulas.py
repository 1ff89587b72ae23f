"""Formulas become code spans and blocks of TeX, whatever a page makes of them for browsers.

Owns how tools write formulas: MathJax, KaTeX, MathML, pictures of TeX. Always: a formula is told once, by its own
source where the page has it. Never: reads TeX.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import islice, takewhile

from turbohtml import Element

from orbweb.content import mathml, signs

TYPESET = frozenset(("MathJax", "MathJax_Display"))
CLASSES = frozenset(("math", "katex-display", "katex", "mwe-math-element"))
_DEPTH = 4
"""How far above a formula that which MathJax made of it may begin."""
TAGS = ("math", "mjx-container", "script", "img")
_AROUND = (("\\[", "\\]", True), ("\\(", "\\)", False), ("$$", "$$", True), ("$", "$", False))


def shape(root: Element, classes: Set[str]) -> None:
    named = ", ".join(sorted(f".{name}" for name in CLASSES & classes))
    done: set[Element] = set()
    for found in [*(root.select(named) if named else ()), *root.iter_elements(TAGS)]:
        if found in done or (found.tag in ("img", "script") and not _is_formula(found)):
            continue
        done.update(found.iter_elements(include_self=True))
        tex, display = _tex(found)
        if not tex or (tool := _typeset(found, root)) is None:
            continue
        formula = Element("code")
        formula.set_text(signs.formula(tex, display=display))
        tool.replace_with(Element("div", children=(formula,)) if display else formula)


def _typeset(found: Element, root: Element) -> Element | None:
    """What a formula is written in place of: all that MathJax made of it. None where its source follows."""
    around = list(takewhile(lambda node: node != root, islice(found.ancestors, _DEPTH)))
    tool = next((node for node in reversed(around) if isinstance(node, Element) and _is_typeset(node)), found)
    source = tool.next_sibling
    return None if tool != found and isinstance(source, Element) and _is_formula(source) else tool


def _is_typeset(element: Element) -> bool:
    """Whether it is what MathJax made of one formula."""
    made = not TYPESET.isdisjoint((element.attr("class") or "").split())
    return made and len(element.find_all("math", limit=2)) == 1


def is_source(script: Element) -> bool:
    """Whether a script is the TeX or MathML of a formula."""
    return (script.attr("type") or "").startswith("math/")


def _is_formula(found: Element) -> bool:
    if found.tag == "script":
        return is_source(found)
    return found.has_class("math") or "mwe-math-fallback" in (found.attr("class") or "")


def _tex(found: Element) -> tuple[str, bool]:
    """The formula in TeX, and whether it stands by itself; empty where the page has no TeX of it."""
    if found.tag == "img":
        return _bare(found.attr("alt") or "")
    if found.tag == "script":
        return found.text.strip(), "display" in (found.attr("type") or "")
    stated = found.select_one('annotation[encoding="application/x-tex"], annotation[encoding="TeX"]')
    display = (
        found.has_class("katex-display") or found.select_one('math[display="block"], .katex-display') is not None
    )
    display = display or found.attr("display") in ("block", "true")
    if stated is not None:
        return _bare(stated.text)[0], display
    math = found if found.tag == "math" else found.select_one("math[alttext]")
    if math is not None and (alt := math.attr("alttext")):
        return _bare(alt)[0], display
    picture = found.select_one("img[alt]")
    if picture is not None:
        return _bare(picture.attr("alt") or "")[0], found.tag == "div"
    text = found.text.strip()
    if text.startswith(("\\(", "\\[", "$")):
        return _bare(text)
    math = found if found.tag == "math" else found.select_one("math")
    return (mathml.tex(math), display) if math is not None else ("", False)


def _bare(tex: str) -> tuple[str, bool]:
    """A formula without the signs around it."""
    tex = tex.strip()
    for opening, closing, display in _AROUND:
        if tex.startswith(opening) and tex.endswith(closing) and len(tex) >= len(opening) + len(closing):
            return tex[len(opening) : -len(closing)].strip(), display
    if tex.startswith("{\\displaystyle") and tex.endswith("}"):
        return tex[len("{\\displaystyle") : -1].strip(), False
    return tex, False
