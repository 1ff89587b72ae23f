"""A database file that may be damaged: what is wrong with it, and a new one made of the rows it still gives.

Owns what lies below the meaning of rows: the write-ahead log, the pages, the schema, the type of each value.
Besides `db` the only module that speaks SQLite's dialect, because it must read what `Database` cannot open.

Always: the damaged file is only read. Never: decides what a row means to a crawl, or lets a row through that
does not fit its table.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.store import Row
from orbweb.store.durable import sync_directory, sync_file
from orbweb.store.sqlite.carving import Cell, cells
from orbweb.store.sqlite.db import Database, load_queries
from orbweb.store.sqlite.errors import UNREADABLE
from orbweb.store.sqlite.schema import SCHEMA_VERSION, current_schema, named_schema, stored_schema

MOST_FLAWS = 20
PAGE_BYTES = 4096
"""Of every database of ours: SQLite's default, which nothing changes."""

_LOG_HEAD = struct.Struct(">8I")
_FRAME_HEAD = struct.Struct(">6I")
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_LOG_VERSION = 3_007_000
_MOST_CHECKPOINTS = 200
"""How many rounds of a log are tried to restore its header; a log begins anew when the last process closes it."""
_PAGE_COUNT, _FREE_PAGES = slice(28, 32), slice(32, 40)
_KINDS: Mapping[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}

# Where an index repeats a column, a row that the index does not know is not to be trusted.
_CROSS_CHECKS = {"urls": "urls_unlike_index", "visits": "visits_unlike_index"}

Judge = Callable[[str, Mapping[str, Any]], str | None]


class Flaw(NamedTuple):
    """Something wrong with a database file. `table` is empty where it is not one table's."""

    where: str
    problem: str
    table: str = ""


class Column(NamedTuple):
    name: str
    kind: type
    required: bool


class Table(NamedTuple):
    """A table as the schema has it: `key` are the positions of its primary key, `stored` those of all columns in
    the order of a record, and `rowid` that of the column which stands for the number of the row, if it has one."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    has_rowid: bool
    rowid: int | None

    @property
    def stored(self) -> tuple[int, ...]:
        """Where rows have no number, the key comes first."""
        others = tuple(at for at in range(len(self.columns)) if at not in self.key)
        return tuple(range(len(self.columns))) if self.has_rowid else (*self.key, *others)

    def row(self, cell: Cell) -> Row | None:
        """A record as a row of this table; None if it has another shape."""
        if len(cell.values) != len(self.columns) or (cell.rowid is not None) != self.has_rowid:
            return None
        values: list[Any] = [None] * len(self.columns)
        for at, value in zip(self.stored, cell.values, strict=True):
            values[at] = float(value) if self.columns[at].kind is float and type(value) is int else value
        if self.rowid is not None:
            if values[self.rowid] is not None:
                return None
            values[self.rowid] = cell.rowid
        return tuple(values)

    def label(self, row: Row) -> str:
        values = (row[at].hex() if isinstance(row[at], bytes) else row[at] for at in self.key)
        return f"table {self.name}, row {', '.join(map(str, values))}"


class SchemaLayout(NamedTuple):
    """What a healthy file has: its tables, its schema as stored, its version."""

    tables: tuple[Table, ...]
    stored: tuple[Row, ...]
    version: int


@cache
def main_layout() -> SchemaLayout:
    return _layout(current_schema().statements, SCHEMA_VERSION)


@cache
def limiter_layout() -> SchemaLayout:
    return _layout(named_schema("limiter.sql"), 0)


def _layout(statements: Sequence[str], version: int) -> SchemaLayout:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        stored = stored_schema(connection)
        tables = [(name, sql) for kind, name, sql in stored if kind == "table"]
        return SchemaLayout(tuple(_table(connection, *table) for table in tables), stored, version)


def _table(connection: sqlite3.Connection, name: str, sql: str) -> Table:
    columns: list[Column] = []
    key: list[int] = []
    for at, column, kind, required, _, position in connection.execute(
        "SELECT * FROM pragma_table_info(?)", (name,)
    ):
        columns.append(Column(column, _KINDS[kind], bool(required or position)))
        if position:
            key.append(at)
    has_rowid = not sql.rstrip().endswith("WITHOUT ROWID")
    is_number = has_rowid and len(key) == 1 and columns[key[0]].kind is int
    return Table(name, tuple(columns), tuple(key), has_rowid, key[0] if is_number else None)


def flaws(path: Path, layout: SchemaLayout, judge: Judge) -> list[Flaw]:
    """What is wrong with the file, its log, its pages and its values; at most a screenful of each table."""
    torn = torn_log(log_of(path))
    if torn is not None:
        return [torn]
    try:
        with closing(reading(path)) as connection:
            found = _structure(connection, layout)
            for table in layout.tables:
                found += _bad_rows(connection, table, judge)
            return found
    except UNREADABLE as error:
        return [Flaw("the whole file", str(error))]


def page_flaws(path: Path) -> list[Flaw]:
    """What is wrong with the pages of a file, whatever tables it has.

    SQLite 3.40 looks for empty values at the wrong place where a key does not come first in its table.
    """
    try:
        with closing(reading(path)) as connection:
            return [flaw for flaw in _bad_pages(connection) if not flaw.problem.startswith("NULL value in ")]
    except UNREADABLE as error:
        return [Flaw("the whole file", str(error))]


def version(path: Path) -> int | None:
    """The version that a file claims; None if it cannot be read."""
    try:
        with closing(reading(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except UNREADABLE:
        return None


def texts(path: Path, layout: SchemaLayout, name: str, column: str) -> list[str]:
    """What a column still says; nothing where the table cannot be read at all."""
    table = next(table for table in layout.tables if table.name == name)
    at = [each.name for each in table.columns].index(column)
    try:
        with closing(reading(path)) as connection:
            found = list(rows(connection, table, lambda _table, _row: None))
    except UNREADABLE:
        return []
    return [row[at] for row in found if not isinstance(row, Flaw)]


def _structure(connection: sqlite3.Connection, layout: SchemaLayout) -> list[Flaw]:
    if sorted(stored_schema(connection), key=str) != sorted(layout.stored, key=str):
        return [Flaw("its schema", "the tables are not those of this version")]
    claimed = connection.execute("PRAGMA user_version").fetchone()[0]
    found = [] if claimed == layout.version else [Flaw("its header", f"it claims schema version {claimed}")]
    return found + _bad_pages(connection)


def _bad_pages(connection: sqlite3.Connection) -> list[Flaw]:
    lines = [line for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_FLAWS})")]
    return [Flaw("its pages", line) for line in lines if line != "ok"]


def _bad_rows(connection: sqlite3.Connection, table: Table, judge: Judge) -> list[Flaw]:
    found = []
    for row in rows(connection, table, judge):
        if isinstance(row, Flaw):
            found.append(row)
            if len(found) == MOST_FLAWS:
                break
    return found


def reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. Without a log to read it leaves no file behind either."""
    log = log_of(path)
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def rows(connection: sqlite3.Connection, table: Table, judge: Judge) -> Iterator[Row | Flaw]:
    """Every row that fits, and a flaw for each that does not.

    Where reading forward breaks off, it goes on from the end backward, so that one damaged page costs the
    rows of that page, not those behind it.
    """
    broken: Exception | None = None
    last: Row | None = None
    try:
        for row in connection.execute(_select(table, "ASC")):
            last = _key(table, row)
            yield _judged(table, row, judge)
    except UNREADABLE as error:
        broken = error
    if broken is None:
        return
    yield Flaw(f"table {table.name}", f"rows cannot be read: {broken}", table.name)
    try:
        for row in connection.execute(_select(table, "DESC")):
            if _reached(_key(table, row), last):
                return
            yield _judged(table, row, judge)
    except UNREADABLE:
        return


def _select(table: Table, direction: str) -> str:
    names = ", ".join(column.name for column in table.columns)
    order = ", ".join(f"{table.columns[at].name} {direction}" for at in table.key)
    return f"SELECT {names} FROM {table.name} NOT INDEXED ORDER BY {order}"  # noqa: S608


def _key(table: Table, row: Row) -> Row:
    return tuple(row[at] for at in table.key)


def _reached(key: Row, last: Row | None) -> bool:
    try:
        return last is not None and key <= last
    except TypeError:
        return False


def _judged(table: Table, row: Row, judge: Judge) -> Row | Flaw:
    problem = _misfit(table, row)
    if problem is None:
        problem = judge(table.name, {column.name: value for column, value in zip(table.columns, row, strict=True)})
    return row if problem is None else Flaw(table.label(row), problem, table.name)


def _misfit(table: Table, row: Row) -> str | None:
    for column, value in zip(table.columns, row, strict=True):
        if value is None:
            if column.required:
                return f"{column.name} is empty"
        elif not isinstance(value, column.kind):
            return f"{column.name} is no {column.kind.__name__}"
        elif isinstance(value, str) and not _encodable(value):
            return f"{column.name} is not UTF-8"
        elif isinstance(value, bytes) and column.name.endswith("sha256") and len(value) != 32:
            return f"{column.name} is no SHA-256"
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# The write-ahead log.


class Frame(NamedTuple):
    """A frame of the log: whether it ends a transaction, whether both salts are the log's, the checksum it claims,
    and whether its bytes give that checksum when counted on from the frame before."""

    commits: bool
    ours: bool
    claimed: tuple[int, int]
    follows: bool


def torn_log(path: Path) -> Flaw | None:
    """Where the log was damaged after it was synced: SQLite silently drops every transaction from there on.

    A tail that is torn in any way is what a power cut leaves and no flaw: it was not synced yet. A transaction
    is synced before the next one is written, so a bad frame is damage only if another transaction follows the
    one it is of; and the header is synced before the first frame.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < _LOG_HEAD.size:
        return None
    magic, _, page, _, *head = _LOG_HEAD.unpack_from(data)
    order = ">" if magic & 1 else "<"
    check = _checksum(data[:24], order, (0, 0))
    sound = magic in _LOG_MAGIC and check == tuple(head[2:]) and page >= 512
    if not sound:
        return _lost_header(path, data)
    frames = list(_frames(data, page, (head[0], head[1]), order, check))
    at = next((number for number, frame in enumerate(frames) if not (frame.ours and frame.follows)), None)
    if at is None or not _is_followed(frames[at:]):
        return None
    return Flaw(path.name, f"frame {at + 1} is damaged: SQLite drops it and all behind it")


def _lost_header(path: Path, data: bytes) -> Flaw | None:
    """A header that is not whole is damage if frames follow one another behind it."""
    for order in "<>":
        salts = _FRAME_HEAD.unpack_from(data.ljust(_LOG_HEAD.size + _FRAME_HEAD.size, b"\0"), _LOG_HEAD.size)[2:4]
        if any(frame.ours and frame.follows for frame in _frames(data, PAGE_BYTES, salts, order, (0, 0))):
            return Flaw(path.name, "its header is damaged: SQLite drops the whole log")
    return None


def _with_header(data: bytes) -> bytes:
    """A log whose header is damaged, with the one it had: the first frame has its salts and proves the rest."""
    if len(data) < _LOG_HEAD.size + _FRAME_HEAD.size + PAGE_BYTES:
        return data
    salts = _FRAME_HEAD.unpack_from(data, _LOG_HEAD.size)[2:4]
    for magic in _LOG_MAGIC:
        order = ">" if magic & 1 else "<"
        for checkpoint in range(_MOST_CHECKPOINTS):
            head = struct.pack(">6I", magic, _LOG_VERSION, PAGE_BYTES, checkpoint, *salts)
            check = _checksum(head, order, (0, 0))
            first = data[: _LOG_HEAD.size + _FRAME_HEAD.size + PAGE_BYTES]
            if next(_frames(first, PAGE_BYTES, salts, order, check)).follows:
                return head + struct.pack(">2I", *check) + data[_LOG_HEAD.size :]
    return data


def _is_followed(frames: Sequence[Frame]) -> bool:
    """Whether a transaction ends among these frames and another one begins right behind it."""
    return any(frame.ours and frame.commits and later.ours and later.follows for frame, later in pairwise(frames))


def _frames(data: bytes, page: int, salts: tuple[int, int], order: str, check: tuple[int, int]) -> Iterator[Frame]:
    """Every whole frame; each checksum counts on from the one that the frame before claims."""
    size = _FRAME_HEAD.size + page
    for start in range(_LOG_HEAD.size, len(data) - size + 1, size):
        frame = data[start : start + size]
        _, pages, *rest = _FRAME_HEAD.unpack_from(frame)
        claimed = (rest[2], rest[3])
        found = _checksum(frame[24:], order, _checksum(frame[:8], order, check))
        yield Frame(bool(pages), (rest[0], rest[1]) == salts, claimed, found == claimed)
        check = claimed


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second


# A new database.


def rebuild(damaged: Path, target: Path, judge: Judge) -> list[Flaw]:
    """Make `target` of every row of `damaged` that fits; what did not."""
    work = target.with_name(target.name + ".work")
    shutil.copyfile(damaged, work)
    if log_of(damaged).exists():
        log_of(work).write_bytes(_with_header(log_of(damaged).read_bytes()))
    Database(target).close()
    try:
        return _refill(work, target, judge)
    finally:
        for path in (work, log_of(work), work.with_name(work.name + "-shm")):
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
    """The pages of a file, as its log has them where that is whole."""
    data = path.read_bytes()
    pages = [data[at : at + PAGE_BYTES].ljust(PAGE_BYTES, b"\0") for at in range(0, len(data), PAGE_BYTES)]
    for number, page in _logged(log_of(path)):
        pages += [bytes(PAGE_BYTES)] * (number - len(pages))
        pages[number - 1] = page
    return pages


def _logged(path: Path) -> Iterator[tuple[int, bytes]]:
    """The pages of whole transactions in the log, up to where it breaks off."""
    if not path.exists() or path.stat().st_size < _LOG_HEAD.size:
        return
    data = path.read_bytes()
    magic, _, page, _, *head = _LOG_HEAD.unpack_from(data)
    order = ">" if magic & 1 else "<"
    check = _checksum(data[:24], order, (0, 0))
    if magic not in _LOG_MAGIC or check != tuple(head[2:]) or page != PAGE_BYTES:
        return
    waiting: list[tuple[int, bytes]] = []
    size = _FRAME_HEAD.size + page
    for at, frame in enumerate(_frames(data, page, (head[0], head[1]), order, check)):
        if not (frame.ours and frame.follows):
            return
        start = _LOG_HEAD.size + at * size
        waiting.append((_FRAME_HEAD.unpack_from(data, start)[0], data[start + _FRAME_HEAD.size : start + size]))
        if frame.commits:
            yield from waiting
            waiting = []


def _carve(pages: Sequence[bytes], sink: sqlite3.Connection, tables: Sequence[Table], judge: Judge) -> None:
    """Add rows of pages that no tree leads to any more. Of a row that is there twice and not the same, neither is
    trusted: one of them is of a page that was given up."""
    found: dict[tuple[str, Row], Row | None] = {}
    for number in range(1, len(pages) + 1):
        for table, row in _rows_of_page(pages, number, judge):
            known = found.setdefault((table.name, _key(table, row)), row)
            if known != row:
                found[table.name, _key(table, row)] = None
    for table in tables:
        insert = f"INSERT OR IGNORE INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608
        sink.executemany(insert, [row for (name, _), row in found.items() if name == table.name and row])


def _rows_of_page(pages: Sequence[bytes], number: int, judge: Judge) -> list[tuple[Table, Row]]:
    """The rows on a page, which are all of one table: that which most of them fit, if it is the only one."""
    records = cells(pages, number)
    fitting = []
    for table in main_layout().tables:
        shaped = (table.row(cell) for cell in records)
        fit = [row for row in shaped if row is not None and not isinstance(_judged(table, row, judge), Flaw)]
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
    """Give the file the header and the schema of an empty database made by the same statements.

    The same statements put the same tables on the same pages, so every table is found again at its root.
    Pages that were cut off are blank, which the tables that had them will notice.
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
        elif _key(table, row) in doubtful:
            lost.append(Flaw(table.label(row), "the row and its index differ", table.name))
        else:
            try:
                sink.execute(insert, row)
            except sqlite3.IntegrityError as error:
                lost.append(Flaw(table.label(row), str(error), table.name))
    return lost


def _doubtful(source: sqlite3.Connection, table: Table) -> set[Row]:
    """Keys of rows that their index has otherwise. A damaged index says nothing about the rows."""
    if table.name not in _CROSS_CHECKS:
        return set()
    try:
        found = source.execute(load_queries("doctor.sql")[_CROSS_CHECKS[table.name]].sql)
        return {tuple(row[:2]) for row in found}
    except UNREADABLE:
        return set()


def replace(damaged: Path, rebuilt: Path) -> None:
    """Put the new file, durable, in place of the damaged one; a log of the old must never meet the new."""
    sync_file(rebuilt)
    for path in (log_of(damaged), damaged.with_name(damaged.name + "-shm")):
        path.unlink(missing_ok=True)
    rebuilt.chmod(0o600)
    rebuilt.replace(damaged)
    sync_directory(damaged.parent)
