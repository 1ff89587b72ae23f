"""`orbweb export`: every format of one crawl of two hosts; repeated; on a full disk; wrong uses."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
import resource
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from markdown_it import MarkdownIt

import orbweb
from harness import Cli
from orbweb.export import bodies, jsonl
from orbweb.export.fields import METADATA
from servers.site import Answer, Request, StaticSite, html, redirect, serve

NOISE = random.Random(1).randbytes(150_000).hex()
FORMULA = "=HYPERLINK(&quot;http://example.org&quot;)"


def page(title: str, body: str, *links: str) -> Answer:
    listed = "".join(f'<p><a href="{link}">to {link}</a></p>' for link in links)
    head = f'<title>{title}</title><meta name="description" content="About {title}">'
    return html(f"<!doctype html><html lang=en>{head}<main><h1>{title}</h1><p>{body}</p>{listed}</main>")


FROM_START = ("/a", "/a/index.html", "/a?x=1", "/dir/", "/A", "/old", "/again", "//two.test/")
ONE = {
    "/": page("Start", "start", *FROM_START),
    "/a": page("A", "a page", "/dir/x.html#part", "/gone", "http://two.test/other", "https://far.example/"),
    "/a/index.html": page("A index", "an index", "/a", "/#top"),
    "/a?x=1": page("A one", "with a query", "/a"),
    "/A": page("Big A", "capital", "/a"),
    "/dir/": page("Dir", "a directory", "x.html", "/again#end", "/old"),
    "/dir/x.html": page(FORMULA, "<code>](http://one.test/a)</code>", "/dir/"),
    "/again": page("Start", "start", *FROM_START),
    "/old": redirect("/older"),
    "/older": redirect("/dir/x.html"),
}  # fmt: skip
TWO = {"/": page("Two", "the other host", "http://one.test/a"), "/other": page("Other", NOISE, "/")}


class Hosts:
    """Two hosts on one port."""

    def __init__(self) -> None:
        self._sites = {"one.test": StaticSite(ONE), "two.test": StaticSite(TWO)}

    def answer(self, request: Request) -> Answer:
        return self._sites[request.host].answer(request)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> orbweb.Workspace:
    """A workspace with one crawl in it; the server is gone."""
    opened = orbweb.open(tmp_path_factory.mktemp("export") / "workspace")
    with serve(Hosts()) as server:
        done = opened.crawl(
            ["http://one.test/", "http://two.test/"],
            project="pair",
            rate="max",
            processes=0,
            resolve=[f"{host}:80:127.0.0.1:{server.port}" for host in ("one.test", "two.test")],
        )
    assert (done.pages, done.alternates, done.failed) == (9, 1, 1)
    return opened


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def links(text: str) -> Iterator[str]:
    for token in MarkdownIt("commonmark").parse(text.partition("\n---\n")[2]):
        for child in token.children or ():
            if child.type == "link_open":
                yield str(child.attrGet("href"))


def test_markdown_mirrors_the_paths_of_both_hosts(space: orbweb.Workspace, tmp_path: Path) -> None:
    done = space.export("pair", to="markdown", out=tmp_path / "out")
    assert (done.pages, done.files, done.written, done.unchanged) == (9, 9, 9, 0)
    files = contents(tmp_path / "out")
    assert done.bytes == sum(map(len, files.values())) - len(files[".orbweb-export.jsonl"])
    plain = {re.sub("-[0-9a-f]{8}", "-*", name) for name in files}
    assert plain == {
        ".orbweb-export.jsonl",
        "one.test/index.md",
        "one.test/a.md",
        "one.test/a/index.md",
        "one.test/a_x=1.md",
        "one.test/A-*.md",
        "one.test/dir/index.md",
        "one.test/dir/x.md",
        "two.test/index.md",
        "two.test/other.md",
    }
    head = yaml.safe_load(files["one.test/index.md"].decode().split("---\n")[1])
    assert head["url"] == "http://one.test/"
    assert (head["title"], head["alternates"]) == ("Start", ["http://one.test/again"])
    assert set(head) >= {"captured_at", "content_sha256", "tokens", "words"}


def test_every_relative_link_leads_to_a_file(space: orbweb.Workspace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    space.export("pair", to="markdown", out=out)
    absolute, inside = set(), 0
    for path in out.rglob("*.md"):
        for link in links(path.read_text(encoding="utf-8")):
            if "://" in link:
                absolute.add(link)
            elif not link.startswith("#"):
                assert (path.parent / unquote(link.partition("#")[0])).is_file(), (path, link)
                inside += 1
    assert absolute == {"http://one.test/gone", "https://far.example/"}
    assert inside >= 15
    a = (out / "one.test/a.md").read_text(encoding="utf-8")
    assert "](dir/x.md#part)" in a
    assert "](../two.test/other.md)" in a
    directory = (out / "one.test/dir/index.md").read_text(encoding="utf-8")
    assert "](../index.md#end)" in directory, "a link to an alternate leads to its page"
    assert directory.count("](x.md)") == 2, "a link to a redirect leads to where it leads"
    assert "`](http://one.test/a)`" in (out / "one.test/dir/x.md").read_text(encoding="utf-8")


def test_repeated_it_writes_what_differs(space: orbweb.Workspace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    space.export("pair", to="markdown", out=out)
    before = contents(out)
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("*.md")}
    again = space.export("pair", to="markdown", out=out)
    assert (again.written, again.unchanged, again.removed) == (0, 9, 0)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.md")} == stamps
    (out / "one.test/a.md").unlink()
    assert space.export("pair", to="markdown", out=out).written == 1
    assert contents(out) == before


def test_jsonl_has_everything(space: orbweb.Workspace, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = space.export("pair", to="jsonl", out=tmp_path / "out.jsonl", on_progress=lambda *now: seen.append(now))
    data = (tmp_path / "out.jsonl").read_bytes()
    records = [json.loads(line) for line in data.splitlines()]
    assert (done.bytes, done.pages, len(records)) == (len(data), 9, 9)
    assert seen == [(number, 9) for number in range(1, 10)]
    assert [record["url"] for record in records] == [known.url for known in space.pages("pair")]
    assert {tuple(record) for record in records} == {jsonl.FIELDS}
    start = records[0]
    assert start["alternates"] == ["http://one.test/again"]
    assert start["headings"][0] == {"level": 1, "text": "Start"}
    assert start["markdown"].startswith("# Start")
    assert "start" in start["text"]
    for record in records:
        assert hashlib.sha256(record["text"].encode()).hexdigest() == record["content_sha256"]
        assert hashlib.sha256(space.body(record["body_sha256"])).hexdigest() == record["body_sha256"]


def test_csv_is_a_table_that_computes_nothing(space: orbweb.Workspace, tmp_path: Path) -> None:
    space.export("pair", to="csv", out=tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 9
    assert tuple(rows[0]) == METADATA
    assert rows[0]["alternates"] == "http://one.test/again"
    titles = {row["url"]: row["title"] for row in rows}
    assert titles["http://one.test/dir/x.html"] == '\'=HYPERLINK("http://example.org")'
    raw = io.BytesIO()
    assert space.export("pair", to="csv", out=raw, raw=True).out is None
    rows = list(csv.DictReader(io.StringIO(raw.getvalue().decode(), newline="")))
    assert '=HYPERLINK("http://example.org")' in {row["title"] for row in rows}


def test_zip_is_the_markdown_folder_and_always_the_same_bytes(space: orbweb.Workspace, tmp_path: Path) -> None:
    space.export("pair", to="markdown", out=tmp_path / "out")
    for name in ("1.zip", "2.zip"):
        space.export("pair", to="zip", out=tmp_path / name)
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "1.zip") as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        assert names == sorted(names)
        assert {entry.date_time for entry in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        unpacked = {name: packed.read(name) for name in names}
    assert unpacked == {name: data for name, data in contents(tmp_path / "out").items() if name.endswith(".md")}


# The links of llms.txt as the parser of its authors reads them.
ENTRY = re.compile(r"-\s*\[(?P<title>[^\]]+)\]\((?P<url>[^\)]+)\)(?::\s*(?P<desc>.*))?")


def test_llms_txt_follows_the_convention(space: orbweb.Workspace, tmp_path: Path) -> None:
    done = space.export("pair", to="llms", out=tmp_path / "out")
    text = (tmp_path / "out/llms.txt").read_text(encoding="utf-8")
    assert (done.files, set(contents(tmp_path / "out"))) == (
        2,
        {".orbweb-export.jsonl", "llms.txt", "llms-full.txt"},
    )
    lines = text.splitlines()
    assert lines[0] == "# Start"
    assert [line for line in lines if line.startswith("# ")] == ["# Start"]
    assert [line for line in lines if line.startswith("## ")] == [
        "## one.test", "## two.test", "## one.test/a", "## one.test/dir",
    ]  # fmt: skip
    entries = [found for line in lines if (found := ENTRY.fullmatch(line))]
    assert len(entries) == len([line for line in lines if line.startswith("- ")]) == 9
    assert {found["url"] for found in entries} == {known.url for known in space.pages("pair")}
    full = (tmp_path / "out/llms-full.txt").read_text(encoding="utf-8")
    heads = re.findall(r"\n---\n\n# (\S+)\n\n", full)
    assert heads == [known.url for known in space.pages("pair")]


def test_files_are_the_bodies_by_their_hash(space: orbweb.Workspace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    space.export("pair", to="files", out=out)
    records = [json.loads(line) for line in (out / "index.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(records) == 10
    assert {tuple(record) for record in records} == {bodies.FIELDS}
    assert {record["role"] for record in records} == {"primary", "alternate"}
    for record in records:
        digest = record["body_sha256"]
        assert record["file"] == f"html/{digest[:2]}/{digest[2:4]}/{digest}.html"
        data = (out / record["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        assert len(data) == record["bytes"]
    again = space.export("pair", to="files", out=out)
    assert (again.written, again.removed) == (0, 0)


def test_a_run_without_pages_is_an_empty_export(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "workspace")
    with serve(StaticSite({})) as server:
        space.crawl(server.url, project="void", rate="max", processes=0)
    for to in ("markdown", "llms", "files", "jsonl", "csv", "zip"):
        assert space.export("void", to=to, out=tmp_path / to).pages == 0  # type: ignore[arg-type]
    assert contents(tmp_path / "markdown").keys() == {".orbweb-export.jsonl"}
    assert (tmp_path / "llms/llms.txt").read_text().startswith("# void\n")
    assert (tmp_path / "jsonl").read_bytes() == b""


# A disk that is full.


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("to", ["jsonl", "zip"])
def test_a_full_disk_leaves_the_former_file(space: orbweb.Workspace, tmp_path: Path, to: str) -> None:
    out = tmp_path / "out"
    out.write_text("former")
    with small_files(100_000), pytest.raises(orbweb.DiskFull, match="out") as caught:
        space.export("pair", to=to, out=out)  # type: ignore[arg-type]
    assert caught.value.exit_code == 1
    assert contents(tmp_path) == {"out": b"former"}


def test_after_a_full_disk_a_folder_is_finished_by_repeating(space: orbweb.Workspace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with small_files(100_000), pytest.raises(orbweb.DiskFull, match=r"two.test/other.md.*it continues"):
        space.export("pair", to="markdown", out=out)
    assert 0 < len(list(out.rglob("*.md"))) < 9
    assert not list(out.rglob("*.part"))
    done = space.export("pair", to="markdown", out=out)
    assert done.written + done.unchanged == 9
    assert done.unchanged > 0
    space.export("pair", to="markdown", out=tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


# The command.


@pytest.fixture(scope="module")
def command(space: orbweb.Workspace) -> Cli:
    return Cli(space.path)


def test_the_command_reports_and_speaks_of_files_only(command: Cli, tmp_path: Path) -> None:
    done = command("export", "pair", "--to", "markdown", "--out", tmp_path / "out", "--json").ok()
    assert set(done.json) == set(asdict(orbweb.Exported("", 0, "", None, 0, 0, 0, 0, 0, 0, 0)))
    assert (done.json["pages"], done.json["out"], done.err) == (9, str(tmp_path / "out"), "")


def test_standard_output_gets_records_and_nothing_else(command: Cli) -> None:
    done = command("export", "pair", "--to", "jsonl", "--out", "-", "--no-progress").ok()
    assert [json.loads(line)["status"] for line in done.out.splitlines()] == [200] * 9
    assert done.err == ""


def test_two_reports_on_one_output_are_refused(command: Cli) -> None:
    done = command("export", "pair", "--to", "jsonl", "--out", "-", "--json")
    assert (done.code, done.out) == (2, "")
    assert "--json and --out -" in done.err


@pytest.mark.parametrize(
    ("project", "options", "words"),
    [
        ("nobody", {"to": "jsonl", "out": "out"}, "nobody"),
        ("pair", {"to": "jsonl", "out": "out", "run": 7}, "no run 7"),
        ("pair", {"to": "zip", "out": io.BytesIO()}, "cannot write to a stream"),
        ("pair", {"to": "jsonl", "out": "missing/out"}, "the directory .*missing does not exist"),
        ("pair", {"to": "jsonl", "out": "."}, "is not a regular file"),
        ("pair", {"to": "markdown", "out": "."}, "is not empty"),
        ("pair", {"to": "markdown", "out": "mine.txt"}, "is a file"),
        ("pair", {"to": "zip", "out": "out", "raw": True}, "raw applies to to=csv"),
        ("pair", {"to": "pdf", "out": "out"}, "to: unknown format 'pdf'; choose one of markdown, jsonl"),
    ],
)
def test_wrong_uses_are_explained(
    space: orbweb.Workspace, tmp_path: Path, project: str, options: dict[str, Any], words: str
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    if isinstance(options["out"], str):
        options = {**options, "out": tmp_path / options["out"]}
    with pytest.raises(orbweb.UsageError, match=words) as caught:
        space.export(project, **options)
    assert caught.value.exit_code == 2
    assert contents(tmp_path) == {"mine.txt": b"mine"}
