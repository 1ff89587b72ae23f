"""Records and links as lines: the pages table, the link table, the metadata as JSON. Pure.

Always: one record is one line, whatever a server put into a header or a title; numbers stay numbers and texts are
quoted. Unless raw cells are asked for, a text that a spreadsheet would compute gets an apostrophe in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from orbweb.cells import guarded, json_value, one_line, unbroken, utf8
from orbweb.outputs.records import COLUMNS, Record

EDGES = ("source", "target", "position")
METRICS = ("timestamp", "metric", "value")
SPOOLED = ("status_code", "content_length", "latency_ms")
"""What the metadata of a line of JSON says besides, as the lines of a discovery do."""

# Columns that hold what a server said; the others are made here or are URLs.
_FOREIGN = tuple(map(COLUMNS.index, ("content_type", "encoding", "etag", "last_modified", "proxy_id")))
_STATUS, _LATENCY = COLUMNS.index("http_status"), COLUMNS.index("fetch_latency_ms")


def _members(names: Iterable[str]) -> str:
    return "".join(f'"{name}":%s,' for name in names)


_LINE = f'{{{_members(COLUMNS[:-1])}"metadata":{{{_members(SPOOLED)}%s}}\n'


def header(columns: Sequence[str]) -> bytes:
    """The first line of a table."""
    return ",".join(columns).encode() + b"\n"


def table(rows: Iterable[Sequence[Any]]) -> bytes:
    """Rows of texts and numbers; None is an empty cell."""
    return utf8("".join([",".join(map(_csv, row)) + "\n" for row in rows]))


def _csv(value: str | int | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return '""' if value is None else str(value)


def pages(records: Iterable[Record], *, raw: bool) -> bytes:
    """Rows of the pages table."""
    return table((*_safe(record.cells, raw=raw), record.metadata) for record in records)


def _safe(cells: Sequence[Any], *, raw: bool) -> Sequence[Any]:
    safe = list(cells)
    for column in _FOREIGN:
        text = safe[column]
        if text:
            safe[column] = _cell(text, raw)
    return safe


@lru_cache(maxsize=1024)
def _cell(text: str, raw: bool) -> str:  # noqa: FBT001
    """What servers say is mostly what they said before."""
    line = one_line(text)
    return line if raw else guarded(line)


def metadata(records: Iterable[Record]) -> bytes:
    """Lines of JSON: the columns by their names, and in the last of them what a discovery says too."""
    return utf8(unbroken("".join(map(_json, records))))


def _json(record: Record) -> str:
    cells = tuple(map(json_value, record.cells))
    spooled = cells[_STATUS], json_value(record.length), cells[_LATENCY]
    return _LINE % (*cells, *spooled, record.metadata[1:])


def cell(url: str) -> str:
    """A URL as a quoted cell, with the comma after it."""
    return '"' + one_line(url).replace('"', '""') + '",'


def edges(links: Iterable[tuple[str, Sequence[str]]]) -> bytes:
    """Rows of the link table, from pages and what they link to, all as cells.

    There may be hundreds of links a page, so that rows are not made one by one: cells are laid side by side.
    """
    parts: list[str] = []
    for source, targets in links:
        count = len(targets)
        row_by_row = [source] * (3 * count)
        row_by_row[1::3] = targets
        row_by_row[2::3] = _POSITIONS[:count] if count <= len(_POSITIONS) else _positions(count)
        parts += row_by_row
    return utf8("".join(parts))


def _positions(count: int) -> list[str]:
    return [f"{at}\n" for at in range(1, count + 1)]


_POSITIONS = _positions(1000)
