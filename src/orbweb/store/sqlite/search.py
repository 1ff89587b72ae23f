"""Full-text search: an index beside the database, brought up to date by each search.

`search.db` can be rebuilt from the documents: it may be deleted at any time, and a damaged or foreign one is.
Results belong to the current state of the run, because the index holds exactly the documents of the run, by their
hash. No query is an error. Nothing is written to the database of the workspace, so a search does not slow a crawl.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from orbweb.errors import StoreError
from orbweb.model import Document
from orbweb.store.documents import unpack
from orbweb.store.queries import catalog
from orbweb.store.sqlite import read_only
from orbweb.store.sqlite.db import BUSY_TIMEOUT_S, Database, immediate, load_queries, use_wal
from orbweb.store.sqlite.errors import UNREADABLE, damaged, error_code
from orbweb.store.sqlite.schema import named_schema

Report = dict[str, Any]
Watch = Callable[[int, int], None]

VERSION = 3
"""Incremented when the format of the index changes; an index of another version is rebuilt."""
BATCH = 200
"""Documents that are indexed in one transaction."""
COMPARED = 20_000
"""Matches of which the best are found. Of more, those that were indexed first."""
MAX_TERMS = 64
"""Words and phrases of a query that are used."""
MAX_TERM = 200

_BETWEEN = "\u200b"
"""A zero-width space, which separates words."""
_WORDLESS = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces between words, or with endings joined to them: Han, Kana, Hangul."""
_edges = re.compile(f"(?<=[{_WORDLESS}])|(?=[{_WORDLESS}])")
_BEGIN, _END = "\x02", "\x03"
_FORGET = ("forget_entries", "forget_places", "forget_mark")
_TERM = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')


# Queries.


def expression(query: str) -> str | None:
    """The query as an FTS5 expression: every word and "phrase", `word*` as a prefix, and not `-word`.

    Everything is quoted, so FTS5's own syntax has no effect. A minus excludes only if there is also something to
    find, and only a single one: `--json` is a word. None: the query has no words.
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in islice(_TERM.findall(query.replace("\0", " ")), MAX_TERMS):
        excluded = bool(minus) and not word.startswith("-")
        if term := _quoted(phrase or word, prefix=word.endswith("*")):
            (unwanted if excluded else wanted).append(term)
    if not wanted:
        wanted, unwanted = unwanted, []
    if not wanted:
        return None
    return " AND ".join(wanted) + "".join(f" NOT {term}" for term in unwanted)


def _quoted(text: str, *, prefix: bool) -> str:
    """A quoted FTS5 phrase; empty if it has no words."""
    clean = text[:MAX_TERM].encode("utf-8", "replace").decode("utf-8").replace('"', " ")
    if not any(character.isalnum() for character in clean):
        return ""
    return f'"{_parted(clean.rstrip("*"))}"*' if prefix else f'"{_parted(clean)}"'


# The index.


class SearchIndex:
    """The open search index of a workspace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queries = load_queries("search.sql")
        self._is_read_only = read_only.is_read_only(path)
        self._connection = self._connect()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self._is_read_only:
            return read_only.connect(self.path, BUSY_TIMEOUT_S).connection
        return sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None)

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA trusted_schema = OFF")
        if self._is_read_only:
            if self._version() != VERSION:
                raise unwritable_index(self.path, "is of another version")
            return
        use_wal(self._connection, self.path, BUSY_TIMEOUT_S)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if self._connection.execute("SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchone():
            raise damaged("it has a trigger or a view that orbweb did not create")
        if self._version() == VERSION:
            return
        with immediate(self._connection):
            if self._version() == 0:
                for statement in named_schema("search.sql"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {VERSION}")
        if self._version() != VERSION:
            raise damaged("file is not a database of this version")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _execute(self, name: str, run_id: int, **values: object) -> sqlite3.Cursor:
        query = self._queries[name]
        return self._connection.execute(query.sql.replace("<run>", str(int(run_id))), query.values(values))

    def update(self, db: Database, run_id: int, watch: Watch) -> None:
        """Index exactly the documents of a run. Other processes may do the same at the same time."""
        now = catalog.mark(db, run_id)
        origin, mark = repr((run_id, now.started_at, now.crawls, now.rewritten_at)), repr((run_id, *now))
        known = self._execute("mark_of", run_id).fetchone()
        if known is not None and known[1] == mark:
            return
        if self._is_read_only:
            raise unwritable_index(self.path, "does not have all pages of this run")
        last = db.value("latest_visit", run_id=run_id)
        if known is not None and known[0] == origin:
            pages: dict[bytes, int] = dict(db.all("documents_after", run_id=run_id, after=known[2]))
            self._index(db, run_id, pages, list(pages), watch)
        else:
            pages = dict(db.all("run_documents", run_id=run_id))
            self._index(db, run_id, pages, self._missing(run_id, pages), watch, again=True)
        with immediate(self._connection):
            self._execute("save_mark", run_id, origin=origin, mark=mark, visit=last)

    def _index(
        self,
        db: Database,
        run_id: int,
        pages: Mapping[bytes, int],
        missing: Sequence[bytes],
        watch: Watch,
        *,
        again: bool = False,
    ) -> None:
        for start in range(0, len(missing), BATCH):
            with immediate(self._connection):
                self._add(db, run_id, missing[start : start + BATCH])
            watch(min(start + BATCH, len(missing)), len(missing))
        with immediate(self._connection):
            for document, url_id in pages.items():
                self._execute("place", run_id, document=document, url_id=url_id, again=again)

    def _missing(self, run_id: int, documents: Collection[bytes]) -> list[bytes]:
        """Documents that are not indexed yet; an index with other documents is emptied first."""
        indexed = {document for (document,) in self._execute("entries_of", run_id)}
        if not indexed or not indexed.issubset(documents):
            with immediate(self._connection):
                for name in ("drop_words", *_FORGET, "create_words"):
                    self._execute(name, run_id)
            indexed = set()
        return [document for document in documents if document not in indexed]

    def _add(self, db: Database, run_id: int, documents: Sequence[bytes]) -> None:
        last = self._execute("last_entry", run_id).fetchone()[0]
        for number, sha256 in enumerate(documents, last + 1):
            if self._execute("add_entry", run_id, id=number, document=sha256).rowcount:
                document = _document(db, sha256)
                title, text = _clean(document.title), _clean(document.text)
                self._execute("add_words", run_id, id=number, title=title, text=text)

    def find(self, run_id: int, query: str, most: int) -> list[tuple[bytes, float, int]]:
        """The documents that match an expression, the best first, with their scores (lower is better) and the ids
        of their pages."""
        return self._execute("find", run_id, query=query, most=most, compared=max(most, COMPARED)).fetchall()

    def keep(self, run_ids: Collection[int]) -> None:
        """Drop the index of every other run, and give back its space."""
        found = [run_id for (run_id,) in self._connection.execute(self._queries["indexed_runs"].sql)]
        gone = [run_id for run_id in found if run_id not in run_ids]
        with immediate(self._connection):
            for run_id in gone:
                for name in ("drop_words", *_FORGET):
                    self._execute(name, run_id)
        if gone:
            self._connection.execute("VACUUM")

    def close(self) -> None:
        self._connection.close()


def unwritable_index(path: Path, problem: str) -> StoreError:
    """The error of an index that would have to be written first, in a workspace that may only be read."""
    return StoreError(
        f"{path}: the search index {problem}, and the workspace is read-only. Search once where it may be "
        "written, or copy the workspace."
    )


def _document(db: Database, sha256: bytes) -> Document:
    size, frame = db.all("document_by_hash", sha256=sha256)[0]
    return unpack(sha256, size, frame, where=f"{db.path}: document {sha256.hex()}")


def _clean(text: str) -> str:
    return _parted(text.encode("utf-8", "replace").decode("utf-8").replace("\0", " "))


def _parted(text: str) -> str:
    """Text in which each character of a script without spaces is a word, so that its words become phrases."""
    return text if text.isascii() else _edges.sub(_BETWEEN, text)


def forget_deleted(path: Path, run_ids: Collection[int]) -> None:
    """Remove deleted runs from the index; an index that cannot be changed is deleted, since it is rebuilt."""
    if not path.exists():
        return
    try:
        with closing(SearchIndex(path)) as index:
            index.keep(run_ids)
    except UNREADABLE:
        remove_index(path)


def remove_index(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


# Searching.


_NO_FTS5 = "no such module: fts5"
_NOT_THE_FILE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)


def search(path: Path, db: Database, run_id: int, query: str, limit: int, watch: Watch) -> list[Report]:
    """The pages of a run that match, the best first. `path` is the index, which is created if missing."""
    wanted = expression(query)
    if wanted is None:
        return []
    found = _found(path, db, run_id, wanted, limit, watch)
    documents = [_document(db, sha256) for sha256, _, _ in found]
    snippets = _snippets(wanted, documents)
    return [
        {
            "url": db.value("url_of", run_id=run_id, id=url_id),
            "title": document.title,
            "score": round(-score, 4),
            "snippet": snippet,
            "marks": marks,
        }
        for (_, score, url_id), document, (snippet, marks) in zip(found, documents, snippets, strict=True)
    ]


def _found(
    path: Path, db: Database, run_id: int, wanted: str, limit: int, watch: Watch
) -> list[tuple[bytes, float, int]]:
    """Search the index; a damaged one is rebuilt, once."""
    for again in (True, False):
        try:
            with closing(SearchIndex(path)) as index:
                index.update(db, run_id, watch)
                return index.find(run_id, wanted, limit)
        except UNREADABLE as error:
            if not again or not _is_rebuildable(error):
                raise _explained(path, error) from error
            remove_index(path)
            path.touch(mode=0o600)
    raise AssertionError("the second try returns or raises")


def _is_rebuildable(error: Exception) -> bool:
    """Whether a new index may help: not if the disk, the permissions, another process or this SQLite is the cause.
    FTS5 reports damage by codes and messages of many kinds."""
    return error_code(error) not in _NOT_THE_FILE and _NO_FTS5 not in str(error)


def _explained(path: Path, error: Exception) -> StoreError:
    if _NO_FTS5 in str(error):
        return StoreError(f"{path}: this Python's SQLite has no full-text search (FTS5): {error}")
    return StoreError(
        f"{path}: the search index cannot be written or read ({error}). Check the permissions of the workspace "
        "and the free space; the file may be deleted, it is rebuilt."
    )


def _snippets(wanted: str, documents: Sequence[Document]) -> list[tuple[str, list[list[int]]]]:
    """The part of each text that matches best, and where the words of the query are in it."""
    queries = load_queries("search.sql")

    def run(name: str, **values: object) -> list[tuple[int, str]]:
        return connection.execute(queries[name].sql, queries[name].values(values)).fetchall()

    with closing(sqlite3.connect(":memory:")) as connection:
        run("create_hits")
        for number, document in enumerate(documents):
            text = _clean(document.text).replace(_BEGIN, " ").replace(_END, " ")
            run("add_hit", id=number, title=_clean(document.title), text=text)
        marked = dict(run("snippets", query=wanted, begin=_BEGIN, end=_END))
    return [_unmarked(marked.get(number, "")) for number in range(len(documents))]


def _unmarked(marked: str) -> tuple[str, list[list[int]]]:
    """A snippet on one line without its marks, and where they were."""
    plain, marks, at = [], [], 0
    for number, part in enumerate(re.split(f"[{_BEGIN}{_END}]", re.sub(r"\s", " ", marked.replace(_BETWEEN, "")))):
        if number % 2:
            marks.append([at, at + len(part)])
        plain.append(part)
        at += len(part)
    return "".join(plain), marks
