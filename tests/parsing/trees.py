"""Tree construction: markup and the tree that the standard makes of it, as `.dat` files have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orbweb.parsing.html.tokenizer import parsed

_SECTION = re.compile(r"^#(data|errors|new-errors|document-fragment|script-off|script-on|document)$")
_NAMESPACED = re.compile(r"^(xlink|xml|xmlns):(?=(?:actuate|arcrole|href|role|show|title|type|lang|space|xlink)$)")


class Case(NamedTuple):
    """One case; `tree` is the text of its tree."""

    name: str
    data: str
    tree: str
    applies: bool
    """Not so for fragments and for pages with scripts: ours is a parser of whole documents without them."""


class Line(NamedTuple):
    """A node of a tree: how deep it is, an element's name or a text in quotes, and attributes."""

    depth: int
    node: str
    attributes: frozenset[tuple[str, str]] = frozenset()


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    sections: dict[str, list[str]] = {}
    number, current = 0, ""
    for line in [*path.read_bytes().decode("utf-8", "surrogatepass").split("\n"), "#data"]:
        found = _SECTION.match(line)
        if found and found[1] == "data" and sections:
            yield _case(f"{path.name}:{number}", sections)
            number, sections = number + 1, {}
        if found:
            current = found[1]
            sections[current] = []
        elif current:
            sections[current].append(line)


def _case(name: str, sections: dict[str, list[str]]) -> Case:
    applies = "document-fragment" not in sections and "script-on" not in sections
    return Case(name, "\n".join(sections["data"]), "\n".join(sections["document"]), applies)


def expected(tree: str) -> list[Line]:
    """The nodes of a written tree that our trees have: no comments, doctypes and processing instructions."""
    found: list[Line] = []
    for entry in re.split(r"\n(?=\| )", tree.rstrip("\n")):
        text = entry.removeprefix("| ")
        depth = (len(text) - len(text.lstrip(" "))) // 2
        text = text[2 * depth :]
        if text.startswith('"'):
            found.append(Line(depth, text))
        elif text.startswith(("<!", "<?")) or not text:
            continue
        elif re.match(r"<[a-z]", text) or text == "content":
            found.append(Line(depth, text.strip("<>")))
        else:
            name, _, value = text.partition("=")
            last = found.pop()
            found.append(last._replace(attributes=last.attributes | {(name, value.strip('"'))}))
    return found


def actual(data: str) -> list[Line]:
    """The nodes of the tree that our parser makes."""
    found: list[Line] = []
    templates: list[int] = []
    tree = parsed(data.encode("utf-8", "surrogatepass"), "UTF-8")
    for depth, space, name, attributes in tree.outline():
        while templates and templates[-1] >= depth:
            templates.pop()
        place = depth - 1 + len(templates)
        if space is None:
            found.append(Line(place, f'"{name}"'))
            continue
        written = {(_NAMESPACED.sub(r"\1 ", key) if space else key, value) for key, value in attributes}
        found.append(Line(place, f"{space} {name}".strip(), frozenset(written)))
        if name == "template" and not space:
            templates.append(depth)
            found.append(Line(place + 1, "content"))
    return found
