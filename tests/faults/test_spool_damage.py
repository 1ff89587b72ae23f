"""R6, R7: a damaged spool. The line is named and written again; what a crash or a scraper leaves is no damage."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.app.doctor import doctor
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark
from servers.graph import GraphSite
from servers.site import Server, serve

CONFIG = """
engine: {group_pages: 6}
spool: {rotate_mb: 0.002}
policy: {page_types: [{type: even, pattern: '[02468]$'}, {type: odd, pattern: '[13579]$'}]}
"""
DISCOVERY = "site.discovery"
OPTIONS: dict[str, Any] = {"rate": "max", "processes": 0, "sitemap": "off"}


@dataclass(frozen=True)
class Spooled:
    """A workspace in which a site is discovered and not scraped, and what a scraper makes of it."""

    path: Path
    server: Server
    scraped: str

    def copy(self, path: Path) -> Path:
        return Path(shutil.copytree(self.path, path))


@pytest.fixture(scope="module")
def spooled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spooled]:
    home = tmp_path_factory.mktemp("spooled")
    (home / "config.yaml").write_text(CONFIG)
    with serve(GraphSite(5, 80)) as server:
        space = orbweb.open(home / "workspace")
        space.discover(server.url, project="site", config=home / "config.yaml", **OPTIONS)
        other = Path(shutil.copytree(home / "workspace", home / "scraped"))
        assert doctor(home / "workspace")["damages"] == []
        orbweb.open(other).scrape()
        assert doctor(other)["damages"] == []
        yield Spooled(home / "workspace", server, orbweb.open(other).manifest_hash("site"))


def contents(workspace: Path) -> dict[str, bytes]:
    folder = workspace / spool_files.DISCOVERIES
    return {name: (folder / name).read_bytes() for name in spool_files.names(spool_files.first_place(workspace))}


def file_of(workspace: Path, number: int) -> Path:
    names = spool_files.names(spool_files.first_place(workspace))
    assert len(names) >= 3
    return workspace / spool_files.DISCOVERIES / names[number]


def change(path: Path, how: Callable[[list[bytes]], None]) -> None:
    """Change the lines of a file."""
    lines = path.read_bytes().splitlines(keepends=True)
    how(lines)
    path.write_bytes(b"".join(lines))


def put_right(workspace: Path, before: dict[str, bytes]) -> None:
    """A repair writes what was there, and keeps what it replaced."""
    done = doctor(workspace, repair=True)
    assert (done["healthy"], done["left"], done["requeued"]) == (True, [], 0)
    assert contents(workspace) == before
    kept = {each.name for each in Path(done["quarantine"]).iterdir()}
    assert kept <= {"notes.jsonl", spool_files.BOOKMARK.name, *before}
    assert doctor(workspace)["damages"] == []


def flip(text: bytes, at: int) -> bytes:
    return text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]


CHANGES: dict[str, tuple[Callable[[list[bytes]], None], str, int]] = {
    "a flipped URL": (lambda lines: lines.__setitem__(2, flip(lines[2], 12)), "1 line is not as", 3),
    "a flipped figure": (lambda lines: lines.__setitem__(2, flip(lines[2], -4)), "1 line is not as", 3),
    "a flipped brace": (lambda lines: lines.__setitem__(0, b"[" + lines[0][1:]), "1 line is not as", 1),
    "a flipped line end": (lambda lines: lines.__setitem__(1, lines[1][:-1] + b"\x0b"), "2 lines are not as", 2),
    "no UTF-8": (lambda lines: lines.__setitem__(1, b"\xff" + lines[1][1:]), "1 line is not as", 2),
    "a line in two": (lambda lines: lines.__setitem__(1, lines[1][:9] + b"\n" + lines[1][10:]), "1 line is", 2),
    "a lost line": (lambda lines: lines.__delitem__(2), "1 line is missing", 3),
    "two lost lines": (lambda lines: lines.__delitem__(slice(0, 2)), "2 lines are missing", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_damaged_line_is_named_and_written_again(spooled: Spooled, tmp_path: Path, name: str) -> None:
    workspace, (how, problem, line) = spooled.copy(tmp_path / "workspace"), CHANGES[name]
    before, path = contents(workspace), file_of(workspace, 1)
    lost = [json.loads(text)["url"] for text in before[path.name].splitlines()]
    change(path, how)
    report = doctor(workspace)
    (damage,) = report["damages"]
    assert not report["healthy"]
    assert damage["file"] == str(path.relative_to(workspace))
    assert damage["problem"].startswith(problem)
    start = sum(map(len, path.read_bytes().splitlines(keepends=True)[: line - 1]))
    assert damage["where"] == f"line {line}, byte {start}"
    assert set(damage["urls"]) < set(lost)
    lacks = f"{len(damage['urls'])} of {len(damage['urls'])} pages not scraped yet; the scraper would take them"
    assert damage["repair"].startswith(f"written again from the database; {lacks}")
    put_right(workspace, before)


def test_a_cut_file_and_a_lost_one_are_written_again(spooled: Spooled, tmp_path: Path) -> None:
    workspace = spooled.copy(tmp_path / "workspace")
    before, (cut, lost) = contents(workspace), (file_of(workspace, 0), file_of(workspace, 2))
    cut.write_bytes(before[cut.name][:-7])
    lost.unlink()
    torn, gone = doctor(workspace)["damages"]
    lines = before[cut.name].splitlines(keepends=True)
    assert torn["where"] == f"line {len(lines)}, byte {len(before[cut.name]) - len(lines[-1])}"
    assert torn["problem"] == "1 line is not as discovery wrote it"
    assert (gone["file"], gone["where"]) == (str(lost.relative_to(workspace)), "the file")
    assert gone["problem"] == f"it is missing, with {len(before[lost.name].splitlines())} lines"
    put_right(workspace, before)
    cut.write_bytes(before[cut.name][: len(before[cut.name]) - len(lines[-1])])
    (short,) = doctor(workspace)["damages"]
    assert short["problem"] == "1 line is missing"
    assert short["where"] == f"its end, byte {len(before[cut.name]) - len(lines[-1])}"
    cut.write_bytes(b"")
    assert doctor(workspace)["damages"][0]["problem"] == f"{len(lines)} lines are missing"
    put_right(workspace, before)


def test_lines_in_another_order_are_kept(spooled: Spooled, tmp_path: Path) -> None:
    workspace = spooled.copy(tmp_path / "workspace")
    path = file_of(workspace, 1)
    before = path.read_bytes().splitlines()
    change(path, lambda lines: lines.insert(0, lines.pop(2)))
    assert doctor(workspace)["damages"] == []
    change(path, lambda lines: lines.pop(2))
    (damage,) = doctor(workspace)["damages"]
    assert damage["urls"] == [json.loads(before[1])["url"]]
    assert doctor(workspace, repair=True)["healthy"]
    assert sorted(path.read_bytes().splitlines()) == sorted(before)


@pytest.mark.parametrize("seed", range(3))
def test_flips_and_cuts_anywhere(spooled: Spooled, tmp_path: Path, seed: int) -> None:
    """Whatever is damaged is named, but for the type of a page, which is kept only there."""
    workspace, chance = spooled.copy(tmp_path / "workspace"), random.Random(seed)
    before, found = contents(workspace), 0
    for _ in range(25):
        path = workspace / spool_files.DISCOVERIES / chance.choice(list(before))
        data = bytearray(before[path.name])
        at = chance.randrange(len(data))
        if chance.random() < 0.7:
            data[at] ^= chance.randrange(1, 256)
        else:
            del data[at:]
        path.write_bytes(data)
        damages = doctor(workspace)["damages"]
        assert {damage["file"] for damage in damages} <= {str(path.relative_to(workspace))}
        if damages:
            found += 1
            put_right(workspace, before)
        else:
            types = [json.loads(line)["page_type"] for line in path.read_bytes().splitlines()]
            assert len(types) == before[path.name].count(b"\n")
            assert set(types) - {"even", "odd", "page"}
            path.write_bytes(before[path.name])
    assert found >= 20


# What the scraper makes of it.


def test_a_repaired_spool_is_scraped_as_if_nothing_had_been(spooled: Spooled, tmp_path: Path) -> None:
    """Also one that is half read: the bookmark goes on where it was, and each line is visited once."""
    workspace = spooled.copy(tmp_path / "workspace")
    space, before = orbweb.open(workspace), contents(workspace)
    assert space.scrape(budget=12).exit_code == 4
    mark = spool_files.read_bookmark(spool_files.first_place(workspace))
    assert mark is not None
    path = workspace / spool_files.DISCOVERIES / mark.file
    change(path, lambda lines: lines.__delitem__(0))
    spool_files.write_bookmark(
        spool_files.first_place(workspace),
        mark._replace(offset=len(before[mark.file].splitlines(keepends=True)[1])),
    )
    (damage,) = doctor(workspace)["damages"]
    assert damage["problem"] == "1 line is missing"
    put_right(workspace, before)
    moved = spool_files.read_bookmark(spool_files.first_place(workspace))
    assert moved == Bookmark(mark.file, sum(map(len, before[mark.file].splitlines(keepends=True)[:2])))
    assert space.scrape().run_state == "completed"
    assert space.manifest_hash("site") == spooled.scraped
    assert doctor(workspace)["damages"] == []


def test_what_is_scraped_may_be_put_away_or_deleted(spooled: Spooled, tmp_path: Path) -> None:
    workspace = spooled.copy(tmp_path / "workspace")
    orbweb.open(workspace).scrape()
    first, second, *_ = before = contents(workspace)
    (workspace / spool_files.ARCHIVE).mkdir(mode=0o700)
    (workspace / spool_files.DISCOVERIES / first).rename(workspace / spool_files.ARCHIVE / first)
    (workspace / spool_files.DISCOVERIES / second).unlink()
    assert doctor(workspace)["damages"] == []
    change(workspace / spool_files.ARCHIVE / first, lambda lines: lines.__delitem__(0))
    (damage,) = doctor(workspace)["damages"]
    assert damage["file"] == str(spool_files.ARCHIVE / first)
    assert damage["repair"] == "written again from the database; all of its pages are scraped already"
    assert doctor(workspace, repair=True)["healthy"]
    assert (workspace / spool_files.ARCHIVE / first).read_bytes() == before[first]


def test_lines_that_nobody_owes_are_no_damage(spooled: Spooled, tmp_path: Path) -> None:
    """What a crash leaves at the end, files of other tools, and the line of a visit that was taken back."""
    workspace = spooled.copy(tmp_path / "workspace")
    names = list(contents(workspace))
    with (workspace / spool_files.DISCOVERIES / names[-1]).open("ab") as stream:
        stream.write(b'{"url": "http://127')
    newest = spool_files.order(names[-1]) + 9
    (workspace / spool_files.DISCOVERIES / f"discoveries-{newest}.jsonl").write_bytes(b"not ours\n")
    assert doctor(workspace)["damages"] == []
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db, db:
        db.execute("UPDATE visits SET content_sha256 = zeroblob(32) WHERE number = 5")
    assert doctor(workspace, repair=True)["requeued"] == 1
    assert doctor(workspace)["damages"] == []


# The bookmark.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not a valid bookmark"),
        (b'{"file": "discoveries-1.jsonl", "offset": -3}', "not a valid bookmark of the spool"),
        (b'{"file": "discoveries-1.jsonl", "offset": 0}', "its file is missing"),
        (b'{"file": "%s", "offset": 3}', "it points into a line"),
        (b'{"file": "%s", "offset": 3000000}', "beyond the end of its file"),
    ],
)
def test_a_broken_bookmark_is_named_and_set_aside(
    spooled: Spooled, tmp_path: Path, text: bytes, words: str
) -> None:
    workspace = spooled.copy(tmp_path / "workspace")
    path = workspace / spool_files.BOOKMARK
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.replace(b"%s", file_of(workspace, 1).name.encode()))
    (damage,) = doctor(workspace)["damages"]
    assert (damage["file"], damage["where"]) == (str(spool_files.BOOKMARK), "the file")
    assert words in damage["problem"]
    assert str(workspace) not in damage["problem"]
    put_right(workspace, contents(workspace))
    assert not path.exists()
    orbweb.open(workspace).scrape()
    assert orbweb.open(workspace).manifest_hash("site") == spooled.scraped


def test_the_command_tells_and_repairs(spooled: Spooled, tmp_path: Path) -> None:
    cli = Cli(spooled.copy(tmp_path / "workspace"))
    change(file_of(cli.workspace, 1), lambda lines: lines.__delitem__(0))
    told = cli("doctor").ok(3).out
    assert "damaged: spool/discoveries/discoveries-" in told
    assert ", line 1, byte 0: 1 line is missing" in told
    assert "repaired: spool/discoveries/" in cli("doctor", "--repair").ok().out
    assert "healthy" in cli("doctor").ok().out


def test_a_damaged_database_comes_first(spooled: Spooled, tmp_path: Path) -> None:
    """Lines are held against the database only where that agrees with itself; a repair looks at both."""
    workspace = spooled.copy(tmp_path / "workspace")
    before = contents(workspace)
    change(file_of(workspace, 1), lambda lines: lines.__delitem__(0))
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db, db:
        db.execute("UPDATE tallies SET count = count + 1 WHERE state = 'visited'")
    assert {damage["file"] for damage in doctor(workspace)["damages"]} == {"orbweb.db"}
    done = doctor(workspace, repair=True)
    assert len({damage["file"] for damage in done["damages"]}) == 2
    assert done["healthy"]
    assert contents(workspace) == before
