"""What durable spool lines cost: an fsync a line, an fsync a group, and the outbox as it is, with its cursor.

Prints lines per second of each on the file system of the scratch directory; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import machine
from orbweb.frontier.spool.files import SpoolLine, first_place
from orbweb.frontier.spool.writer import SpoolSettings, SpoolWriter
from orbweb.store.sqlite.db import Database

GROUP = 512
LINE = SpoolLine(
    "http://127.0.0.1/docs/library/some-page.html", "page", 3, "http://127.0.0.1/docs/", 200, 20_000, 12
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=20_480)
    parser.add_argument("--scratch", type=Path, help="directory to write in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.scratch) as scratch:
        root = Path(scratch)
        figures = {
            "fsync a line": _rate(options.lines // 10, lambda lines: _write(root / "lines", lines, 1)),
            f"fsync a group of {GROUP}": _rate(options.lines, lambda lines: _write(root / "groups", lines, GROUP)),
            "no fsync": _rate(options.lines, lambda lines: _write(root / "none", lines, 0)),
            f"outbox, groups of {GROUP}": _outbox(root, options.lines),
        }
        facts = machine.facts(root.resolve())
    for name, rate in figures.items():
        print(f"{name:28} {rate:12,.0f} lines/s")
    print(json.dumps({"benchmark": "spool", "lines": options.lines, "machine": facts, "lines_per_s": figures}))
    return 0


def _rate(lines: int, work: Callable[[int], None]) -> float:
    started = time.perf_counter()
    work(lines)
    return round(lines / (time.perf_counter() - started), 1)


def _write(path: Path, lines: int, group: int) -> None:
    """Lines appended one by one, or a group at a time, each append made durable."""
    portion = group or GROUP
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(0, lines, portion):
        os.write(fd, b"".join(LINE.encode() for _ in range(portion)))
        if group:
            os.fdatasync(fd)
    os.close(fd)


def _outbox(root: Path, lines: int) -> float:
    """What discovery does after each committed group; the commit itself is not counted."""
    with closing(Database(root / "orbweb.db")) as db:
        box = SpoolWriter(
            db,
            first_place(root),
            1,
            SpoolSettings(1 << 30, 1e9),
            page_type=lambda _: "page",
            has_room=lambda: True,
            clock=time.time,
        )
        spent = 0.0
        for first in range(1, lines, GROUP):
            _commit(db, range(first, first + GROUP))
            started = time.perf_counter()
            box.catch_up()
            spent += time.perf_counter() - started
        box.close()
    return round(lines / spent, 1)


def _commit(db: Database, numbers: range) -> None:
    url = {"run_id": 1, "state": "visited", "source": "spider", "depth": 1, "lane": "", "hops": 0, "redirects": 0}
    visit = {"run_id": 1, "crawl_id": 1, "depth": 1, "status": 200, "tries": 1, "noindex": 0, "nofollow": 0}
    visit |= {
        "links_cut": 0,
        "truncated": 0,
        "role": "primary",
        "bytes": 9,
        "wire_bytes": 9,
        "latency_ms": 9,
        "fetched_at": 0,
    }
    with db.transaction():
        for number in numbers:
            _insert(
                db,
                "urls",
                {**url, "id": number, "key": f"{LINE.url}?{number}", "rank": number, "base": 0, "referrer": 1},
            )
            _insert(db, "visits", {**visit, "number": number, "url_id": number, "rank": number})


def _insert(db: Database, table: str, row: dict[str, object]) -> None:
    marks = ", ".join("?" * len(row))
    db._connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])


if __name__ == "__main__":
    raise SystemExit(main())
