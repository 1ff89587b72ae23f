"""Rebuilds a damaged database file from every row that can still be read.

The damaged file itself is only read. A row that does not fit its table is dropped.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from orbweb.store import Row
from orbweb.store.durable import sync_directory, sync_file
from orbweb.store.sqlite import wal
from orbweb.store.sqlite.carving import cells
from orbweb.store.sqlite.db import Database, load_queries
from orbweb.store.sqlite.errors import UNREADABLE
from orbweb.store.sqlite.layout import SchemaLayout, Table, main_layout
from orbweb.store.sqlite.salvage import Flaw, Judge, judged, key_of, reading, rows
from orbweb.store.sqlite.schema import stored_schema
from orbweb.store.sqlite.wal import PAGE_BYTES

_PAGE_COUNT, _FREE_PAGES = slice(28, 32), slice(32, 40)

# Where an index repeats a column, a row that differs from its index entry is not trusted.
_CROSS_CHECKS = {"urls": "urls_unlike_index", "visits": "visits_unlike_index"}


def rebuild(damaged: Path, target: Path, judge: Judge) -> list[Flaw]:
    """Write every valid row of `damaged` to the new file `target`; return the flaws of the others."""
    work = target.with_name(target.name + ".work")
    shutil.copyfile(damaged, work)
    if wal.log_of(damaged).exists():
        wal.log_of(work).write_bytes(wal.with_header(wal.log_of(damaged).read_bytes()))
    Database(target).close()
    try:
        return _refill(work, target, judge)
    finally:
        for path in (work, wal.log_of(work), work.with_name(work.name + "-shm")):
            path.unlink(missing_ok=True)


def _refill(work: Path, target: Path, judge: Judge) -> list[Flaw]:
    layout = main_layout()
    pages = _pages(work)
    grafted = not _has_schema(work, layout)
    if grafted:
        _graft_schema(work, target)
    with closing(reading(work)) as source, closing(sqlite3.connect(target, isolation_level=None)) as sink:
        sink.execute("BEGIN")
        lost = [flaw for table in layout.tables for flaw in _copy(source, sink, table, judge)]
        broken = {flaw.table for flaw in lost if flaw.where == f"table {flaw.table}"}
        if grafted or broken:
            _carve(pages, sink, [table for table in layout.tables if grafted or table.name in broken], judge)
        sink.execute("COMMIT")
    return lost


def _pages(path: Path) -> list[bytes]:
    """The pages of a file, with those of complete transactions in its log."""
    data = path.read_bytes()
    pages = [data[at : at + PAGE_BYTES].ljust(PAGE_BYTES, b"\0") for at in range(0, len(data), PAGE_BYTES)]
    for number, page in wal.pages(wal.log_of(path)):
        pages += [bytes(PAGE_BYTES)] * (number - len(pages))
        pages[number - 1] = page
    return pages


def _carve(pages: Sequence[bytes], sink: sqlite3.Connection, tables: Sequence[Table], judge: Judge) -> None:
    """Add rows of pages that no tree leads to any more. If a row exists in two versions, neither is trusted,
    because one of them is from a page that SQLite has freed."""
    found: dict[tuple[str, Row], Row | None] = {}
    for number in range(1, len(pages) + 1):
        for table, row in _rows_of_page(pages, number, judge):
            known = found.setdefault((table.name, key_of(table, row)), row)
            if known != row:
                found[table.name, key_of(table, row)] = None
    for table in tables:
        insert = f"INSERT OR IGNORE INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608
        sink.executemany(insert, [row for (name, _), row in found.items() if name == table.name and row])


def _rows_of_page(pages: Sequence[bytes], number: int, judge: Judge) -> list[tuple[Table, Row]]:
    """The rows on a page, which all belong to one table: the one that most of them fit, if it is unique."""
    records = cells(pages, number)
    fitting = []
    for table in main_layout().tables:
        shaped = (table.row(cell) for cell in records)
        fit = [row for row in shaped if row is not None and not isinstance(judged(table, row, judge), Flaw)]
        if fit:
            fitting.append((len(fit), [(table, row) for row in fit]))
    fitting.sort(key=lambda each: -each[0])
    if not fitting or (len(fitting) > 1 and fitting[0][0] == fitting[1][0]):
        return []
    return fitting[0][1]


def _has_schema(path: Path, layout: SchemaLayout) -> bool:
    try:
        with closing(reading(path)) as connection:
            return stored_schema(connection) == layout.stored
    except UNREADABLE:
        return False


def _graft_schema(path: Path, fresh: Path) -> None:
    """Give the file the header and the schema of an empty database that was created by the same statements.

    The same statements put the same tables on the same pages, so every table is found at its root. Pages that were
    cut off are blank, which shows as damage of the tables that had them.
    """
    with closing(reading(fresh)) as connection:
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        roots = {root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema")}
    template = fresh.read_bytes()
    data = bytearray(path.read_bytes())
    missing = max(len(template) - len(data), -len(data) % page)
    data += bytes(missing)
    for number in range(1, len(template) // page + 1):
        if number not in roots:
            data[(number - 1) * page : number * page] = template[(number - 1) * page : number * page]
    data[_PAGE_COUNT] = (len(data) // page).to_bytes(4, "big")
    data[_FREE_PAGES] = bytes(8)
    path.write_bytes(data)


def _copy(source: sqlite3.Connection, sink: sqlite3.Connection, table: Table, judge: Judge) -> list[Flaw]:
    doubtful = _doubtful(source, table)
    insert = f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608
    lost = []
    for row in rows(source, table, judge):
        if isinstance(row, Flaw):
            lost.append(row)
        elif key_of(table, row) in doubtful:
            lost.append(Flaw(table.label(row), "the row and its index differ", table.name))
        else:
            try:
                sink.execute(insert, row)
            except sqlite3.IntegrityError as error:
                lost.append(Flaw(table.label(row), str(error), table.name))
    return lost


def _doubtful(source: sqlite3.Connection, table: Table) -> set[Row]:
    """Keys of rows that differ from their index. A damaged index says nothing about the rows."""
    if table.name not in _CROSS_CHECKS:
        return set()
    try:
        found = source.execute(load_queries("doctor.sql")[_CROSS_CHECKS[table.name]].sql)
        return {tuple(row[:2]) for row in found}
    except UNREADABLE:
        return set()


def replace_file(damaged: Path, rebuilt: Path) -> None:
    """Replace the damaged file durably; its log is removed first, because it must never be applied to the new
    file."""
    sync_file(rebuilt)
    for path in (wal.log_of(damaged), damaged.with_name(damaged.name + "-shm")):
        path.unlink(missing_ok=True)
    rebuilt.chmod(0o600)
    rebuilt.replace(damaged)
    sync_directory(damaged.parent)
