"""A run by the sections of its sites, and the links from one section to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from orbweb.store import Queries
from orbweb.store.links import targets

SCHEMES = ("http", "https")


def parts(db: Queries, run_id: int) -> Iterator[tuple[str, str, int, int, int]]:
    """Host, path of at most two segments, depth, and the number of pages and failures."""
    for host, first, second, below, deeper, depth, pages, failed in db.each("sections_of", run_id=run_id):
        path = f"/{first}" + (f"/{second}" if below else "") + ("/" if deeper else "")
        yield host, path, depth, pages, failed


def section_of(key: str) -> str:
    """The host and the first segment of a key: `host/first`; a file in the root has none."""
    host, _, path = key.partition("://")[2].partition("/")
    first, slash, _ = path.partition("?")[0].partition("/")
    return f"{host}/{first}" if slash else f"{host}/"


def links_below(db: Queries, run_id: int, prefix: str, most: int) -> tuple[int, dict[str, int]]:
    """How many pages were read, and the sections that they link to."""
    ids: Counter[int] = Counter()
    pages = 0
    for scheme in SCHEMES:
        first = f"{scheme}://{prefix}"
        beyond = first[:-1] + chr(ord(first[-1]) + 1)
        for (packed,) in db.each("pages_below", run_id=run_id, first=first, beyond=beyond, count=most - pages):
            pages += 1
            ids.update(targets(packed))
    found: Counter[str] = Counter()
    for number, count in ids.items():
        key = db.value("key_of", run_id=run_id, id=number)
        found[section_of(key)] += count
    return pages, dict(found.most_common())
