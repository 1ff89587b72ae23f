"""The spool: no line is lost or there twice, whatever is torn, and a reader sees whole lines only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orbweb.errors import StoreError
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine
from orbweb.frontier.spool.reader import SpoolReader
from orbweb.frontier.spool.writer import SpoolSettings, SpoolWriter
from orbweb.store import spool_rows
from orbweb.store.spool_rows import SpoolFile
from orbweb.store.sqlite.db import Database

RUN = 1
SITE = "http://127.0.0.1"
WIDE = SpoolSettings(1_000_000, 1_000_000)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "orbweb.db")) as opened:
        yield opened


def visit(db: Database, number: int, *, role: str = "primary", referrer: int | None = None, **more: Any) -> None:
    """A visit of URL number `number`, as a commit leaves it."""
    url = {"run_id": RUN, "id": number, "key": f"{SITE}/{number}", "state": "visited", "source": "spider",
           "depth": 1, "rank": number, "lane": "", "hops": 0, "redirects": 0, "base": 0,
           "referrer": referrer}  # fmt: skip
    row = {"run_id": RUN, "number": number, "url_id": number, "crawl_id": 1, "depth": 1, "rank": number,
           "status": 200, "tries": 1, "noindex": 0, "nofollow": 0, "links_cut": 0, "truncated": 0, "role": role,
           "bytes": 10 * number,
           "wire_bytes": 5, "latency_ms": 7, "fetched_at": 0, **more}  # fmt: skip
    with db.transaction():
        for table, values in (("urls", url), ("visits", row)):
            marks = ", ".join("?" * len(values))
            db._connection.execute(
                f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", [*values.values()]
            )


def always() -> bool:
    return True


def outbox(
    db: Database,
    root: Path,
    settings: SpoolSettings = WIDE,
    now: float = 1_000.0,
    has_room: Callable[[], bool] = always,
) -> SpoolWriter:
    return SpoolWriter(
        db,
        spool_files.first_place(root),
        RUN,
        settings,
        page_type=lambda key: f"type of {key[-1]}",
        has_room=has_room,
        clock=lambda: now,
    )


def write(db: Database, root: Path, settings: SpoolSettings = WIDE, now: float = 1_000.0) -> None:
    with closing(outbox(db, root, settings, now)) as writer:
        writer.catch_up()


def lines(root: Path) -> list[dict[str, Any]]:
    folder = root / spool_files.DISCOVERIES
    return [
        json.loads(line)
        for name in spool_files.names(spool_files.first_place(root))
        for line in (folder / name).read_text().splitlines()
    ]


def urls(root: Path) -> list[str]:
    return [line["url"].rpartition("/")[2] for line in lines(root)]


def test_a_line_says_what_the_design_says(db: Database, tmp_path: Path) -> None:
    visit(db, 1)
    visit(db, 2, referrer=1)
    write(db, tmp_path)
    assert lines(tmp_path)[1] == {
        "url": f"{SITE}/2",
        "page_type": "type of 2",
        "depth": 1,
        "referrer": f"{SITE}/1",
        "metadata": {"status_code": 200, "content_length": 20, "latency_ms": 7},
    }
    text = (
        (tmp_path / spool_files.DISCOVERIES / "discoveries-1000.jsonl").read_bytes().splitlines(keepends=True)[1]
    )
    line = spool_files.decode(text)
    assert line == SpoolLine(f"{SITE}/2", "type of 2", 1, f"{SITE}/1", 200, 20, 7)
    assert line.encode() == text


def test_only_pages_have_lines_and_a_redirect_is_not_a_referrer(db: Database, tmp_path: Path) -> None:
    visit(db, 1)
    visit(db, 2, role="-", redirect_to=3, status=301, referrer=1)
    visit(db, 3, role="alternate", referrer=2)
    visit(db, 4, role="-", kind="http_4xx", status=404, referrer=1)
    visit(db, 5, status=304, reuse="not_modified", reused_run=0)
    write(db, tmp_path)
    assert urls(tmp_path) == ["1", "3", "5"]
    assert lines(tmp_path)[1]["referrer"] == f"{SITE}/1"


@pytest.mark.parametrize(
    "torn", [b"", b'{"url": "http://127', b"\0" * 30, b"[]\n", b'{"url": "elsewhere", "depth": 0}\n']
)
@pytest.mark.parametrize("known", [1, 2, 3])
def test_what_a_crash_leaves_is_kept_where_it_is_whole_and_cut_where_it_is_not(
    db: Database, tmp_path: Path, known: int, torn: bytes
) -> None:
    for number in range(1, 4):
        visit(db, number)
    write(db, tmp_path)
    path = tmp_path / spool_files.DISCOVERIES / "discoveries-1000.jsonl"
    whole = path.read_bytes()
    first = sum(map(len, whole.splitlines(keepends=True)[:1]))
    spool_rows.advance(db, SpoolFile(path.name, RUN, 1, first))
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:known]) + torn)
    visit(db, 4)
    write(db, tmp_path)
    assert urls(tmp_path) == ["1", "2", "3", "4"]
    assert path.read_bytes().startswith(whole)


def test_files_rotate_by_size_and_age_and_their_names_rise_though_the_clock_does_not(
    db: Database, tmp_path: Path
) -> None:
    small = SpoolSettings(1, 1_000_000)
    for number in range(1, 4):
        visit(db, number)
        write(db, tmp_path, small, now=1_000.0 - number)
    assert spool_files.names(spool_files.first_place(tmp_path)) == [
        f"discoveries-{ts}.jsonl" for ts in (999, 1000, 1001)
    ]
    visit(db, 4)
    write(db, tmp_path, SpoolSettings(1_000_000, 50), now=1_040.0)
    visit(db, 5)
    write(db, tmp_path, SpoolSettings(1_000_000, 50), now=1_060.0)
    assert spool_files.names(spool_files.first_place(tmp_path))[-1] == "discoveries-1060.jsonl"
    assert urls(tmp_path) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("cap", [1, 500, 700])
def test_a_writer_asks_before_each_group_and_passes_the_cap_by_one_at_most(
    db: Database, tmp_path: Path, cap: int
) -> None:
    """However much is committed: the rest is written when there is room."""
    for number in range(1, 41):
        visit(db, number)
    place, group = spool_files.first_place(tmp_path), 3
    room: Callable[[], bool] = lambda: spool_files.unread(place, None) <= cap  # noqa: E731
    settings = SpoolSettings(1_000_000, 1_000_000, group)
    with closing(outbox(db, tmp_path, settings, has_room=room)) as writer:
        assert not writer.catch_up()
        longest = max(map(len, place.path("discoveries-1000.jsonl").read_bytes().splitlines(keepends=True)))
        assert cap < spool_files.unread(place, None) <= cap + group * longest
        assert not writer.catch_up(), "asked again, it writes nothing more"
        assert spool_rows.is_behind(db, RUN)
        before = len(lines(tmp_path))
    with closing(outbox(db, tmp_path, settings)) as writer:
        assert writer.catch_up()
    assert before < len(lines(tmp_path)) == 40
    assert urls(tmp_path) == [str(number) for number in range(1, 41)]


def test_a_file_that_was_put_away_is_followed_by_another(db: Database, tmp_path: Path) -> None:
    visit(db, 1)
    write(db, tmp_path)
    (tmp_path / spool_files.DISCOVERIES / "discoveries-1000.jsonl").unlink()
    visit(db, 2)
    write(db, tmp_path)
    assert spool_files.names(spool_files.first_place(tmp_path)) == ["discoveries-1001.jsonl"]
    assert urls(tmp_path) == ["2"]
    assert not spool_rows.is_behind(db, RUN)


def test_a_file_that_somebody_cut_is_left_as_it_is(db: Database, tmp_path: Path) -> None:
    visit(db, 1)
    write(db, tmp_path)
    path = tmp_path / spool_files.DISCOVERIES / "discoveries-1000.jsonl"
    path.write_bytes(b"")
    visit(db, 2)
    write(db, tmp_path)
    assert path.read_bytes() == b""
    assert urls(tmp_path) == ["2"]


def read(
    root: Path, start: Bookmark | None = None, most: int = 100
) -> tuple[list[str], Bookmark | None, list[str]]:
    told: list[str] = []
    place = spool_files.first_place(root)
    with closing(SpoolReader(place, lambda: spool_files.names(place), start, told.append)) as reader:
        found = [line.url.rpartition("/")[2] for line, _ in reader.take(most)]
        return found, reader.position, told


def fill(root: Path, name: str, *texts: bytes) -> None:
    (root / spool_files.DISCOVERIES).mkdir(parents=True, exist_ok=True)
    (root / spool_files.DISCOVERIES / name).write_bytes(b"".join(texts))


def line(number: int) -> bytes:
    return SpoolLine(f"{SITE}/{number}", "page", 1, None, 200, 1, 1).encode()


def test_reading_goes_over_files_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    fill(tmp_path, "discoveries-999.jsonl", line(1), line(2))
    fill(tmp_path, "discoveries-1000.jsonl", line(3), b'{"url": "torn')
    fill(tmp_path, "notes.txt", b"not ours")
    found, position, told = read(tmp_path)
    assert (found, told) == (["1", "2", "3"], [])
    assert position == Bookmark("discoveries-1000.jsonl", len(line(3)))
    assert read(tmp_path, Bookmark("discoveries-999.jsonl", len(line(1))))[0] == ["2", "3"]
    assert read(tmp_path, position)[0] == []
    fill(tmp_path, "discoveries-1000.jsonl", line(3), line(4))
    assert read(tmp_path, position)[0] == ["4"]


def test_a_line_that_is_none_is_told_and_passed_over(tmp_path: Path) -> None:
    fill(tmp_path, "discoveries-1.jsonl", line(1), b"rubbish\n", b'{"url": 7, "depth": 1}\n', line(2))
    found, _, told = read(tmp_path)
    assert found == ["1", "2"]
    assert len(told) == 2


def test_bookmarks(tmp_path: Path) -> None:
    fill(tmp_path, "discoveries-1.jsonl", line(1), line(2))
    assert spool_files.read_bookmark(spool_files.first_place(tmp_path)) is None
    assert spool_files.unread(spool_files.first_place(tmp_path), None) == 2 * len(line(1))
    mark = Bookmark("discoveries-1.jsonl", len(line(1)))
    spool_files.write_bookmark(spool_files.first_place(tmp_path), mark)
    assert json.loads((tmp_path / "state" / "spool_bookmark.json").read_text()) == mark._asdict()
    assert spool_files.read_bookmark(spool_files.first_place(tmp_path)) == mark
    assert spool_files.unread(spool_files.first_place(tmp_path), mark) == len(line(2))
    assert spool_files.usable(spool_files.first_place(tmp_path), mark) is None
    assert spool_files.usable(spool_files.first_place(tmp_path), mark._replace(offset=5)) is not None
    assert spool_files.usable(spool_files.first_place(tmp_path), mark._replace(offset=5_000)) is not None
    assert spool_files.usable(spool_files.first_place(tmp_path), Bookmark("discoveries-7.jsonl", 0)) is not None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"file": "../x", "offset": 0}', '{"file": 1, "offset": "a"}']
)
def test_a_broken_bookmark_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "spool_bookmark.json").write_text(text)
    with pytest.raises(StoreError, match="not a valid bookmark"):
        spool_files.read_bookmark(spool_files.first_place(tmp_path))


@pytest.mark.parametrize(("keep", "kept", "archived"), [("all", 3, 0), ("archive", 1, 2), ("none", 1, 0)])
def test_what_is_read_is_put_away(tmp_path: Path, keep: str, kept: int, archived: int) -> None:
    for number in (1, 2, 3):
        fill(tmp_path, f"discoveries-{number}.jsonl", line(number))
    spool_files.remove_consumed(spool_files.first_place(tmp_path), Bookmark("discoveries-3.jsonl", 0), keep)
    assert len(spool_files.names(spool_files.first_place(tmp_path))) == kept
    assert len(spool_files.archived(spool_files.first_place(tmp_path))) == archived


@pytest.mark.parametrize("figure", ["1e999", "-1e999", "NaN", '"many"', "[" * 100_000])
def test_a_figure_that_is_none_makes_no_line(figure: str) -> None:
    assert (
        spool_files.decode(f'{{"url":"{SITE}","depth":1,"metadata":{{"latency_ms":{figure}}}}}\n'.encode()) is None
    )
