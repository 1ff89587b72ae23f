"""Tables of a DOM: data becomes rows of the same number of inline cells, layout becomes blocks.

Owns what is a table to a reader. Always: each row keeps its words in order; a cell that spans others stands once,
at its first place, the other places are empty; no cell holds a block. Never: trusts a span that a page claims: a
grid is at most `GROWTH` times as large as the cells that are there, and what would be larger becomes blocks.
"""

from __future__ import annotations

from turbohtml import Element, Text

from orbweb.content.code import outermost
from orbweb.content.signs import BREAK, gap
from orbweb.content.titles import HEADINGS

GROWTH = 4
SMALL = 10_000
"""Cells that any table may have after its spans are filled in."""
MAX_SPAN = 1_000

MAX_NESTING = 8
"""Levels of tables inside each other that are told apart."""

GRID = "summary-table"
"""The class of a table that Javadoc writes as the cells of a grid, row after row."""
_LAST = "col-last"
_CELLS = {"cell": "td", "gridcell": "td", "columnheader": "th", "rowheader": "th"}
_PARTS = ("thead", "tbody", "tfoot")
_TAGS = ("table", *_PARTS, "tr", "td", "th", "caption")
_BLOCKS = (
    *("ul", "ol", "dl", "li", "dt", "dd", "p", "div", "blockquote", "section", "figure", "details", "summary"),
    *("center", "address", "article", "aside", "header", "footer", *HEADINGS),
)
_UNPLAIN = (*_BLOCKS, "br", "pre", "table", "hr")
_STRIPPED = ", ".join((*_BLOCKS, *_TAGS))


def shape(root: Element, *, grids: bool) -> None:
    """Bring every table below `root` into a form that a Markdown table can hold, or take it apart."""
    if grids:
        for grid in root.select(f"div.{GRID}:has(> .{_LAST})"):
            _of_grid(grid)
    waiting = list(outermost(root, "table"))
    for _ in range(MAX_NESTING):
        if not waiting:
            return
        waiting = [inner for table in waiting if not _table(table) for inner in outermost(table, "table")]
    for table in waiting:
        for part in table.iter_elements(_TAGS, include_self=True):
            part.tag = "div"


def _of_grid(grid: Element) -> None:
    """Cells become a table; each row ends with the cell that says so."""
    row = Element("tr")
    for cell in [child for child in grid.children if isinstance(child, Element)]:
        cell.tag = "th" if cell.has_class("table-header") else "td"
        row.append(cell)
        if cell.has_class(_LAST):
            grid.append(row)
            row = Element("tr")
    if row.children:
        grid.append(row)
    grid.tag = "table"


def from_roles(spoken: Element) -> None:
    """Make a table of what is one to listeners only."""
    if spoken.tag == "table":
        return
    rows = spoken.select("[role=row]")
    cells = {row: [cell for cell in row.children if isinstance(cell, Element)] for row in rows}
    if not rows or any(cell.attr("role") not in _CELLS for found in cells.values() for cell in found):
        return
    spoken.clear()
    for row, found in cells.items():
        row.tag = "tr"
        for cell in found:
            cell.tag = _CELLS[cell.attr("role") or ""]
        spoken.append(row)
    spoken.tag = "table"
    del spoken.attrs["role"]


def _table(table: Element) -> bool:
    """Whether it is a table still; if not, what is inside it stands where it stood."""
    _lift_captions(table)
    if table.has_class("memname"):
        _signature(table)
        return True
    rows = _split(table, _rows(table))
    if _is_layout(table, rows):
        _take_apart(table, rows)
        return False
    if table.select_one("th") is None:
        rows = _without_empty(rows)
    if "\xa0" in table.text:
        _empty(rows)
    if next(table.iter_elements(_UNPLAIN), None) is not None:
        for row in rows:
            for cell in _cells(row):
                _flatten(cell)
    if _fill(rows):
        table.insert_after(gap())
        return True
    _take_apart(table, rows)
    return False


def _rows(table: Element) -> list[Element]:
    """Its own rows, not those of tables inside it."""
    found: list[Element] = []
    for child in table.children:
        if isinstance(child, Element):
            if child.tag == "tr":
                found.append(child)
            elif child.tag in _PARTS:
                found += [row for row in child.children if isinstance(row, Element) and row.tag == "tr"]
    return found


def _cells(row: Element) -> list[Element]:
    return [child for child in row.children if isinstance(child, Element) and child.tag in ("td", "th")]


def _lift_captions(table: Element) -> None:
    for caption in [child for child in table.children if isinstance(child, Element) and child.tag == "caption"]:
        caption.tag = "p"
        caption.wrap_children(Element("em"))
        table.insert_before(caption)


def _signature(table: Element) -> None:
    """Doxygen lays out a declaration as a table; it is one line of text."""
    for cell in table.select("td, th"):
        cell.insert_before(Text(" "))
    table.strip_tags("thead, tbody, tr, td, th")
    table.tag = "p"
    table.attrs.clear()
    table.wrap_children(Element("strong"))


def _split(table: Element, rows: list[Element]) -> list[Element]:
    """The rows without those at the top that are headings: these stand before the table."""
    for index, row in enumerate(rows):
        cells = _cells(row)
        heading = next(row.iter_elements(HEADINGS), None) if len(cells) == 1 else None
        if heading is None or heading.text.strip() != row.text.strip():
            return rows[index:]
        table.insert_before(heading)
        row.decompose()
    return []


def _without_empty(rows: list[Element]) -> list[Element]:
    """Without the rows that only keep others apart."""
    kept: list[Element] = []
    for row in rows:
        if row.text.strip() or row.select_one("img") is not None:
            kept.append(row)
        else:
            row.decompose()
    return kept


def _empty(rows: list[Element]) -> None:
    """A blank that does not break is how old pages keep a cell from being empty."""
    for row in rows:
        for cell in _cells(row):
            if cell.text.isspace() and cell.select_one("img") is None:
                cell.set_text("")


def _is_layout(table: Element, rows: list[Element]) -> bool:
    widths = [len(_cells(row)) for row in rows]
    if len(rows) < 2 or table.attr("role") in ("presentation", "none"):
        return True
    if max(widths) < 2 and table.select_one("thead th") is None:
        return True
    if next(table.iter_elements(HEADINGS), None) is not None:
        return True
    if next(table.iter_elements("table"), None) is not None and table.select_one("th") is None:
        return True
    listings = [pre for pre in table.iter_elements("pre") if "\n" in pre.text]
    return 4 * len(listings) > len(rows)


def _take_apart(table: Element, rows: list[Element]) -> None:
    for row in rows:
        for cell in _cells(row):
            if cell.tag == "th" and next(cell.iter_elements(_UNPLAIN), None) is None and cell.text.strip():
                cell.wrap_children(Element("strong"))
            cell.tag = "div"
        row.tag = "div"
    for part in table.children:
        if isinstance(part, Element) and part.tag in _PARTS:
            part.tag = "div"
    table.tag = "div"


def _flatten(cell: Element) -> None:
    """What a cell holds becomes one line; its blocks and lines are parted by `BREAK`."""
    for pre in list(cell.iter_elements("pre")):
        _code_lines(pre)
    for inner in list(cell.iter_elements((*_UNPLAIN, "tr", "td", "th"))):
        if inner.tag in ("br", "hr"):
            inner.replace_with(Text(f" {BREAK} "))
        elif inner.tag in ("td", "th"):
            inner.insert_before(Text(" "))
        elif inner.previous_sibling is not None:
            inner.insert_before(Text(f" {BREAK} "))
    cell.strip_tags(_STRIPPED)


def _code_lines(pre: Element) -> None:
    lines = [line for line in pre.text.split("\n") if line.strip()]
    parts: list[Element | Text] = []
    for line in lines:
        code = Element("code")
        code.set_text(line)
        parts += (Text(f" {BREAK} "), code)
    pre.replace_with(*parts, Text(f" {BREAK} "))


def _span(cell: Element, name: str) -> int:
    claimed = cell.attr(name)
    if claimed is None:
        return 1
    del cell.attrs[name]
    claimed = claimed.strip()
    return max(1, min(int(claimed[:9]), MAX_SPAN)) if claimed.isdecimal() and claimed.isascii() else 1


def _fill(rows: list[Element]) -> bool:
    """Make all rows equally long. False: that would take far more cells than there are."""
    grid = _grid(rows)
    width = max((_width(places) for places in grid), default=0)
    if len(grid) < len(rows) or _too_many(width * len(rows), sum(map(len, grid))):
        return False
    for row, places in zip(rows, grid, strict=True):
        _pad(row, places, width)
    return True


def _too_many(places: int, cells: int) -> bool:
    return places > max(SMALL, GROWTH * cells)


def _width(places: list[tuple[int, int, Element]]) -> int:
    """The columns that a row needs. A cell that is alone in its row spans whatever there is."""
    if not places:
        return 0
    column, span, _ = places[-1]
    return column + (span if len(places) > 1 else 1)


def _grid(rows: list[Element]) -> list[list[tuple[int, int, Element]]]:
    """For each row its cells with their column and their width, as long as they do not claim too many places."""
    grid: list[list[tuple[int, int, Element]]] = []
    covered: dict[int, int] = {}
    claimed = cells = 0
    for index, row in enumerate(rows):
        places: list[tuple[int, int, Element]] = []
        column = 0
        for cell in _cells(row):
            while covered.get(column, 0) > index:
                column += 1
            wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
            places.append((column, wide, cell))
            cells += 1
            if high > 1:
                covered.update(dict.fromkeys(range(column, column + wide), index + high))
            column += wide
            if _too_many(claimed + column, cells):
                return grid
        claimed += column if len(places) > 1 else 1
        grid.append(places)
    return grid


def _pad(row: Element, places: list[tuple[int, int, Element]], width: int) -> None:
    after = 0
    for column, _, cell in places:
        if column > after:
            cell.insert_before(*(Element(cell.tag) for _ in range(column - after)))
        after = column + 1
    if after < width:
        tag = places[-1][2].tag if places else "td"
        row.extend(Element(tag) for _ in range(width - after))
