"""Lines of the output files: pages CSV, edges CSV, metadata as JSON. Pure.

One record is one line, whatever a server sends in a header or title. Numbers are not quoted, text is. Unless raw
cells are wanted, text that a spreadsheet would evaluate as a formula gets a leading apostrophe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

from orbweb.export.escaping import each, guarded, json_value, one_line, unbroken, utf8
from orbweb.export.live.rows import COLUMNS, SPOOLED, VisitSheet

EDGES = ("source", "target", "position")
METRICS = ("timestamp", "metric", "value")

# Columns with text from a server or from a line of a spool; the others are generated here or are URLs.
_FOREIGN = tuple(
    map(
        COLUMNS.index,
        ("page_type", "referrer", "content_type", "encoding", "etag", "last_modified", "proxy_id"),
    )
)
_STATUS, _LATENCY = COLUMNS.index("http_status"), COLUMNS.index("fetch_latency_ms")


def _members(names: Iterable[str]) -> str:
    return "".join(f'"{name}":%s,' for name in names)


_LINE = f'{{{_members(COLUMNS[:-1])}"metadata":{{{_members(SPOOLED)}%s}}\n'


def header(columns: Sequence[str]) -> bytes:
    """The first line of a table."""
    return ",".join(columns).encode() + b"\n"


def table(rows: Iterable[Sequence[Any]]) -> bytes:
    """Rows of strings and numbers; None is an empty cell."""
    return utf8("".join([",".join(map(_csv, row)) + "\n" for row in rows]))


def _csv(value: str | int | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return '""' if value is None else str(value)


def pages(sheet: VisitSheet, *, raw: bool) -> bytes:
    """Rows of the pages table."""
    foreign = _foreign_raw if raw else _foreign
    columns = [each(foreign if at in _FOREIGN else _csv, column) for at, column in enumerate(sheet.cells)]
    rows = map(",".join, zip(*columns, map(_csv, sheet.metadata), strict=True))
    return utf8("\n".join([*rows, ""]))


def _foreign(text: str | None) -> str:
    """The cell of a text from the server."""
    return _csv(text and guarded(one_line(text)))


def _foreign_raw(text: str | None) -> str:
    return _csv(text and one_line(text))


def metadata(sheet: VisitSheet) -> bytes:
    """Lines of JSON: the columns by name, and in the last one also the members of a discovery line."""
    columns = [list(each(json_value, column)) for column in sheet.cells]
    spooled = columns[_STATUS], each(json_value, sheet.lengths), columns[_LATENCY]
    rest = [members[1:] for members in sheet.metadata]
    return utf8(unbroken("".join(map(_LINE.__mod__, zip(*columns, *spooled, rest, strict=True)))))


def cell(url: str) -> str:
    """A URL as a quoted cell, with its trailing comma."""
    return '"' + one_line(url).replace('"', '""') + '",'


def edges(sources: Sequence[str], counts: Sequence[int], targets: Sequence[str]) -> bytes:
    """Rows of the edges CSV from the cells of pages, their numbers of links, and the cells of the targets.

    A page may have hundreds of links, so rows are not built one by one: cells are joined in one list.
    """
    cells = [""] * (3 * len(targets))
    cells[0::3] = chain.from_iterable(map(repeat, sources, counts))
    cells[1::3] = targets
    cells[2::3] = chain.from_iterable(map(_positions, counts))
    return utf8("".join(cells))


@lru_cache(maxsize=1024)
def _positions(count: int) -> list[str]:
    return [f"{at}\n" for at in range(1, count + 1)]
