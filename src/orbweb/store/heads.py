"""Heads of requests and responses: templates that visits share, and the values of each visit.

A template is written in the transaction of the visits that refer to it, and has one id in the workspace, whichever
process writes it. The format is in `parsing.http_heads`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from orbweb.errors import CorruptBody
from orbweb.model import Head
from orbweb.parsing.http_heads import Exchange, decode
from orbweb.store import Queries, Row, bodies

SHORT = 512
"""Values of at most this many bytes are stored uncompressed."""
MOST = 2_000_000
"""Bytes that values may have: a response head has 300 KiB at most."""
_PACKED = b"\1"
"""Precedes a zstd frame; uncompressed values never begin with it."""


def with_ids(db: Queries, visits: Sequence[Row]) -> list[Row]:
    """Visit rows, which end with values and template, with the id of the template. Inside a transaction."""
    ids: dict[bytes | None, int | None] = {None: None}
    for template in {visit[-1] for visit in visits}:
        if template not in ids:
            ids[template] = _id(db, template)
    return [
        (*visit[:-2], values if values is None or len(values) <= SHORT else _packed(values), ids[visit[-1]])
        for visit in visits
        for values in (visit[-2],)
    ]


def _id(db: Queries, template: bytes) -> int:
    sha256 = hashlib.sha256(template).digest()
    found = db.value("head_id", sha256=sha256)
    if found is None:
        db.run("add_head", **bodies.pack(template, bodies.new_compressor())._asdict())
        found = db.value("head_id", sha256=sha256)
    return int(found)


def _packed(values: bytes) -> bytes:
    return _PACKED + bodies.new_compressor().compress(values)


def _unpacked(stored: bytes) -> bytes:
    return bodies.unpack_foreign(stored[1:], MOST, where="values") if stored[:1] == _PACKED else stored


def of_url(db: Queries, run_id: int, url_id: int) -> Exchange | None:
    """The heads of a visit; None if there are none, CorruptBody if they are damaged."""
    row = db.one("head_of", run_id=run_id, url_id=url_id)
    if row is None:
        return None
    sha256, size, frame, stored, url, etag, last_modified = row
    template = bodies.unpack(frame, size, sha256, where=f"{db.path}: head of {url}")
    return _decoded(template, stored, url, etag, last_modified)


def _decoded(template: bytes, stored: bytes | None, url: str, etag: str | None, modified: str | None) -> Exchange:
    try:
        return decode(Head(template, _unpacked(stored or b"")), url, etag, modified)
    except ValueError as error:
        raise CorruptBody(f"head of {url}: {error}") from error


def templates(db: Queries) -> Iterator[tuple[int, bytes | None, str]]:
    """Each row of the table: its id, the template, and its problem if there is one."""
    for number, sha256, size, frame in db.each("all_heads"):
        try:
            yield number, bodies.unpack(frame, size, sha256, where=f"head {number}"), ""
        except CorruptBody as error:
            yield number, None, str(error)


def problem(template: bytes | None, stored: bytes | None, url: str, etag: str | None, modified: str | None) -> str:
    """What is wrong with the heads of a visit; empty if nothing is."""
    if template is None:
        return "the template of its head is missing or damaged"
    try:
        _decoded(template, stored, url, etag, modified)
    except CorruptBody as error:
        return str(error)
    return ""
