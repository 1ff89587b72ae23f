"""Tables of a tree: data tables become rows with the same number of inline cells, layout tables become blocks.

Each row keeps its words in order. A cell with a span is written once, at its first position; the other positions
are empty. No cell contains a block. Declared spans are not trusted: a grid is at most `GROWTH` times as large as
the number of cells; a larger one becomes blocks.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memchr

from orbweb.extraction import placeholders

from orbweb.extraction.code cimport outermost
from orbweb.extraction.gaps cimport new_gap
from orbweb.extraction.titles cimport HEADINGS
from orbweb.parsing.html.tree cimport *

cdef enum:
    GROWTH = 4
    # Cells that any table may have after its spans are expanded.
    SMALL = 10_000
    MAX_SPAN = 1_000
    # The most levels of nested tables.
    MAX_NESTING = 8

GRID = "summary-table"
cdef str _BREAK = f" {placeholders.BREAK} "
_CELL_ROLES = {"cell": TAG_TD, "gridcell": TAG_TD, "columnheader": TAG_TH, "rowheader": TAG_TH}
cdef TagSet _PARTS = tags("thead tbody tfoot")
cdef TagSet _CELLS = tags("td th")
cdef TagSet _TABLES = tags("table")
cdef TagSet _TAGS = tags("table thead tbody tfoot tr td th caption")
cdef TagSet _UNPLAIN = tags(
    "ul ol dl li dt dd p div blockquote section figure details summary center address article aside header footer"
    " h1 h2 h3 h4 h5 h6 br pre table hr"
)
cdef TagSet _PARTED = tags(
    "ul ol dl li dt dd p div blockquote section figure details summary center address article aside header footer"
    " h1 h2 h3 h4 h5 h6 br pre table hr tr td th"
)
cdef TagSet _STRIPPED = tags(
    "ul ol dl li dt dd p div blockquote section figure details summary center address article aside header footer"
    " h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr td th caption"
)
cdef TagSet _ROW_TAGS = tags("thead tbody tr td th")
cdef TagSet _HEADS = tags("thead")
cdef TagSet _HEAD_CELLS = tags("th")
cdef TagSet _PRES = tags("pre")
cdef TagSet _DIVS = tags("div")

cdef struct Place:
    int column, span, cell, row

cdef struct Seen:
    # The tags inside a table.
    bint heads, headings, tables, unplain, hard
    int listings


cdef int shape(Tree tree, int root, bint grids) except -1:
    cdef int table, part, _nesting
    cdef list waiting, inner
    if grids:
        for grid in [found for found in tree.all_tagged(root, &_DIVS) if _is_grid(tree, found)]:
            _of_grid(tree, grid)
    waiting = outermost(tree, root, &_TABLES)
    for _nesting in range(MAX_NESTING):
        if not waiting:
            return 0
        inner = []
        for table in waiting:
            if not _table(tree, table):
                inner += outermost(tree, table, &_TABLES)
        waiting = inner
    for table in waiting:
        tree.set_tag(table, TAG_DIV)
        for part in tree.all_tagged(table, &_TAGS):
            tree.set_tag(part, TAG_DIV)
    return 0


cdef bint _is_grid(Tree tree, int grid) except -1:
    cdef int cell
    if not tree.has_class(grid, b"summary-table"):
        return False
    cell = tree.first(grid)
    while cell != NONE:
        if tree.has_class(cell, b"col-last"):
            return True
        cell = tree.next(cell)
    return False


cdef int _of_grid(Tree tree, int grid) except -1:
    """Convert cells to a table; a row ends with the cell that is marked as its last."""
    cdef int row = tree.new_element(TAG_TR), cell
    for cell in _elements(tree, grid):
        tree.set_tag(cell, TAG_TH if tree.has_class(cell, b"table-header") else TAG_TD)
        tree.append(row, cell)
        if tree.has_class(cell, b"col-last"):
            tree.append(grid, row)
            row = tree.new_element(TAG_TR)
    if tree.first(row) != NONE:
        tree.append(grid, row)
    tree.set_tag(grid, TAG_TABLE)
    return 0


cdef list _elements(Tree tree, int node):
    """The child elements."""
    cdef list found = []
    node = tree.first(node)
    while node != NONE:
        if tree.is_element(node):
            found.append(node)
        node = tree.next(node)
    return found


cdef int from_roles(Tree tree, int found) except -1:
    cdef int node = found, row, cell
    cdef list rows = []
    if tree.tag(found) == TAG_TABLE:
        return 0
    while True:
        node = tree.following(node, found)
        if node == NONE:
            break
        if is_text(tree.attr(node, ATTR_ROLE), b"table"):
            return 0
        if is_text(tree.attr(node, ATTR_ROLE), b"row"):
            rows.append((node, _elements(tree, node)))
    if not rows:
        return 0
    for _, cells in rows:
        for cell in cells:
            if tree.attr_str(cell, ATTR_ROLE) not in _CELL_ROLES:
                return 0
    tree.clear(found)
    for row, cells in rows:
        tree.set_tag(row, TAG_TR)
        for cell in cells:
            tree.set_tag(cell, _CELL_ROLES[tree.attr_str(cell, ATTR_ROLE)])
        tree.append(found, row)
    tree.set_tag(found, TAG_TABLE)
    tree.drop_attr(found, ATTR_ROLE)
    return 0


cdef bint _table(Tree tree, int table) except -1:
    """Whether it remains a table; if not, it is replaced by its content."""
    cdef list rows, kept
    cdef Seen seen
    cdef int row
    _lift_captions(tree, table)
    if tree.has_class(table, b"memname"):
        _signature(tree, table)
        return True
    rows = _split(tree, table, _rows(tree, table))
    seen = _look(tree, table)
    if _is_layout(tree, table, rows, seen):
        _take_apart(tree, table, rows)
        return False
    if not seen.heads:
        kept = _without_empty(tree, rows)
        if len(kept) < len(rows):
            rows, seen = kept, _look(tree, table)
    if seen.hard:
        for row in rows:
            _empty(tree, row)
    if seen.unplain:
        for row in rows:
            _flatten_row(tree, row)
    if _fill(tree, rows):
        tree.insert_after(table, new_gap(tree))
        return True
    _take_apart(tree, table, rows)
    return False


cdef list _rows(Tree tree, int table):
    """Its own rows, without those of nested tables."""
    cdef list found = []
    cdef int child = tree.first(table), row
    while child != NONE:
        if tree.tag(child) == TAG_TR:
            found.append(child)
        elif _PARTS.has[tree.tag(child)]:
            row = tree.first(child)
            while row != NONE:
                if tree.tag(row) == TAG_TR:
                    found.append(row)
                row = tree.next(row)
        child = tree.next(child)
    return found


cdef int _cell_at(Tree tree, int node) except -2:
    """The first cell among a node and its next siblings."""
    while node != NONE and not _CELLS.has[tree.tag(node)]:
        node = tree.next(node)
    return node


cdef int _width(Tree tree, int row) except -1:
    """The number of cells of a row."""
    cdef int count = 0, cell = _cell_at(tree, tree.first(row))
    while cell != NONE:
        count += 1
        cell = _cell_at(tree, tree.next(cell))
    return count


cdef int _lift_captions(Tree tree, int table) except -1:
    cdef int child = tree.first(table), after
    while child != NONE:
        after = tree.next(child)
        if tree.tag(child) == TAG_CAPTION:
            tree.set_tag(child, TAG_P)
            tree.wrap_children(child, TAG_EM)
            tree.insert_before(table, child)
        child = after
    return 0


cdef int _signature(Tree tree, int table) except -1:
    """Doxygen writes a declaration as a layout table; it becomes one line of text."""
    cdef int cell
    for cell in tree.all_tagged(table, &_CELLS):
        tree.insert_before(cell, tree.new_text(" "))
    tree.strip_tags(table, &_ROW_TAGS)
    tree.set_tag(table, TAG_P)
    tree.clear_attrs(table)
    tree.wrap_children(table, TAG_STRONG)
    return 0


cdef list _split(Tree tree, int table, list rows):
    """The rows without those at the top that are headings, which are moved before the table."""
    cdef Py_ssize_t index
    cdef int row, heading
    for index in range(len(rows)):
        row = rows[index]
        heading = tree.next_tagged(row, row, &HEADINGS) if _width(tree, row) == 1 else NONE
        if heading == NONE or tree.text(heading).strip() != tree.text(row).strip():
            return rows[index:]
        tree.insert_before(table, heading)
        tree.extract(row)
    return []


cdef Seen _look(Tree tree, int table) except *:
    """The census of a table."""
    cdef Seen seen
    cdef int node = table
    cdef Node* found
    seen.heads = seen.headings = seen.tables = seen.unplain = seen.hard = False
    seen.listings = 0
    while True:
        node = tree.following(node, table)
        if node == NONE:
            return seen
        found = &tree.nodes[node]
        if found.kind == TEXT:
            seen.hard = seen.hard or _has_hard(tree.heap + found.at, found.size)
        else:
            seen.heads = seen.heads or found.tag == TAG_TH
            seen.headings = seen.headings or HEADINGS.has[found.tag]
            seen.tables = seen.tables or found.tag == TAG_TABLE
            seen.unplain = seen.unplain or _UNPLAIN.has[found.tag]
            seen.listings += found.tag == TAG_PRE and _has_lines(tree, node)


cdef bint _has_hard(const char* at, Py_ssize_t size) noexcept:
    """Whether it contains a non-breaking space."""
    cdef const char* end = at + size
    while True:
        at = <const char*> memchr(at, 0xC2, end - at)
        if at == NULL or at + 1 == end:
            return False
        if <unsigned char> at[1] == 0xA0:
            return True
        at += 1


cdef bint _has_lines(Tree tree, int pre) except -1:
    cdef int node = pre
    while True:
        node = tree.following(node, pre)
        if node == NONE:
            return False
        if tree.is_text(node) and contains(tree.data(node), b"\n"):
            return True


cdef list _without_empty(Tree tree, list rows):
    """The rows without those that only separate others."""
    cdef list kept = []
    cdef int row
    for row in rows:
        if tree.has_text(row) or tree.first_tagged(row, TAG_IMG) != NONE:
            kept.append(row)
        else:
            tree.extract(row)
    return kept


cdef int _empty(Tree tree, int row) except -1:
    """Old pages use a non-breaking space for an empty cell."""
    cdef int cell = _cell_at(tree, tree.first(row))
    while cell != NONE:
        if not tree.has_text(cell) and tree.text_length(cell) and tree.first_tagged(cell, TAG_IMG) == NONE:
            tree.clear(cell)
        cell = _cell_at(tree, tree.next(cell))
    return 0


cdef bint _is_layout(Tree tree, int table, list rows, Seen seen) except -1:
    cdef Span role = tree.attr(table, ATTR_ROLE)
    cdef int row, widest = 0
    if len(rows) < 2 or is_text(role, b"presentation") or is_text(role, b"none"):
        return True
    for row in rows:
        widest = max(widest, _width(tree, row))
    if widest < 2 and not (seen.heads and _has_head(tree, table)):
        return True
    return seen.headings or (seen.tables and not seen.heads) or 4 * seen.listings > len(rows)


cdef bint _has_head(Tree tree, int table) except -1:
    """Whether a table head contains a header cell."""
    cdef int node = tree.first_tagged(table, TAG_TH)
    while node != NONE:
        if tree.closest(node, &_HEADS) != NONE:
            return True
        node = tree.next_tagged(node, table, &_HEAD_CELLS)
    return False


cdef int _take_apart(Tree tree, int table, list rows) except -1:
    cdef int row, cell, part
    cdef bint plain
    for row in rows:
        cell = _cell_at(tree, tree.first(row))
        while cell != NONE:
            plain = tree.next_tagged(cell, cell, &_UNPLAIN) == NONE
            if plain and tree.tag(cell) == TAG_TH and tree.has_text(cell):
                tree.wrap_children(cell, TAG_STRONG)
            tree.set_tag(cell, TAG_DIV)
            cell = _cell_at(tree, tree.next(cell))
        tree.set_tag(row, TAG_DIV)
    part = tree.first(table)
    while part != NONE:
        if _PARTS.has[tree.tag(part)]:
            tree.set_tag(part, TAG_DIV)
        part = tree.next(part)
    tree.set_tag(table, TAG_DIV)
    return 0


cdef int _flatten_row(Tree tree, int row) except -1:
    cdef int cell = _cell_at(tree, tree.first(row))
    while cell != NONE:
        _flatten(tree, cell)
        cell = _cell_at(tree, tree.next(cell))
    return 0


cdef int _flatten(Tree tree, int cell) except -1:
    """The content of a cell becomes one line; its blocks and lines are separated by `BREAK`."""
    cdef int inner, tag
    if tree.next_tagged(cell, cell, &_PARTED) == NONE:
        return 0
    for inner in tree.all_tagged(cell, &_PRES):
        _code_lines(tree, inner)
    for inner in tree.all_tagged(cell, &_PARTED):
        tag = tree.tag(inner)
        if tag == TAG_BR or tag == TAG_HR:
            tree.replace(inner, tree.new_text(_BREAK))
        elif _CELLS.has[tag]:
            tree.insert_before(inner, tree.new_text(" "))
        elif tree.prev(inner) != NONE:
            tree.insert_before(inner, tree.new_text(_BREAK))
    return tree.strip_tags(cell, &_STRIPPED)


cdef int _code_lines(Tree tree, int pre) except -1:
    for line in tree.text(pre).split("\n"):
        if line.strip():
            tree.insert_before(pre, tree.new_text(_BREAK))
            tree.insert_before(pre, tree.set_text(tree.new_element(TAG_CODE), line))
    tree.replace(pre, tree.new_text(_BREAK))
    return 0


cdef int _span(Tree tree, int cell, int name) except -1:
    cdef str claimed = tree.attr_str(cell, name)
    if claimed is None:
        return 1
    tree.drop_attr(cell, name)
    claimed = claimed.strip()
    return max(1, min(int(claimed[:9]), MAX_SPAN)) if claimed.isdecimal() and claimed.isascii() else 1


cdef class Grid:
    """The cells of a table with their columns, row by row."""

    cdef Place* places
    cdef Py_ssize_t count, room
    cdef int rows, width

    def __dealloc__(self):
        free(self.places)

    cdef int add(self, int column, int span, int cell, int row) except -1:
        cdef Py_ssize_t room
        cdef Place* places
        if self.count == self.room:
            room = 2 * self.room + 64
            places = <Place*> realloc(self.places, room * sizeof(Place))
            if places == NULL:
                raise MemoryError()
            self.places, self.room = places, room
        self.places[self.count] = Place(column, span, cell, row)
        self.count += 1
        return 0

    cdef int place(self, Tree tree, list rows) except -1:
        """Find the column of each cell, unless spans claim too many positions."""
        cdef dict covered = {}
        cdef Py_ssize_t claimed = 0
        cdef int row, cell, index = 0, column, wide, high, cells, place, needed
        for row in rows:
            column = cells = needed = 0
            cell = _cell_at(tree, tree.first(row))
            while cell != NONE:
                if covered:
                    while covered.get(column, 0) > index:
                        column += 1
                wide = high = 1
                if tree.attr_count(cell):
                    wide, high = _span(tree, cell, ATTR_COLSPAN), _span(tree, cell, ATTR_ROWSPAN)
                self.add(column, wide, cell, index)
                cells += 1
                if high > 1:
                    for place in range(column, column + wide):
                        covered[place] = index + high
                needed = column + (wide if cells > 1 else 1)
                column += wide
                if _too_many(claimed + column, self.count):
                    return 0
                cell = _cell_at(tree, tree.next(cell))
            claimed += column if cells > 1 else 1
            self.width = max(self.width, needed)
            index += 1
            self.rows = index
        return 0


cdef bint _too_many(Py_ssize_t places, Py_ssize_t cells) noexcept:
    return places > (SMALL if SMALL > GROWTH * cells else GROWTH * cells)


cdef bint _fill(Tree tree, list rows) except -1:
    """Make all rows equally long. False if that would need far too many additional cells."""
    cdef Grid grid = Grid()
    cdef Py_ssize_t place = 0
    cdef int row, index = 0, after, tag
    grid.place(tree, rows)
    if grid.rows < len(rows) or _too_many(<Py_ssize_t> grid.width * len(rows), grid.count):
        return False
    for row in rows:
        after, tag = 0, TAG_TD
        while place < grid.count and grid.places[place].row == index:
            tag = tree.tag(grid.places[place].cell)
            while after < grid.places[place].column:
                tree.insert_before(grid.places[place].cell, tree.new_element(tag))
                after += 1
            after += 1
            place += 1
        while after < grid.width:
            tree.append(row, tree.new_element(tag))
            after += 1
        index += 1
    return True
