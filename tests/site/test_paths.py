"""Paths and permissions from settings: every command and every process finds the same files."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from harness import ORBWEB, Cli
from servers.pages import page
from servers.site import Server, StaticSite, serve

SITE = StaticSite({"/": page("start", "/a", "/b"), "/a": page("a"), "/b": page("b", "/a")})
INSIDE = """
store: {root: data/bodies}
outputs: {dir: "out/{project}", name: "{run_id}"}
index: {path: data/index.db}
spool: {dir: data/spool}
bookmark: {path: data/bookmark.json}
"""
MINUTE = re.compile(r"pages-\d{4}-\d\d-\d\dT\d\d-\d\dZ(-\d+)?\.csv")


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing was ever allowed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def settings(tmp_path: Path, text: str) -> tuple[str, Path]:
    """The user's own settings file, outside of any workspace."""
    file = tmp_path / "own.yaml"
    file.write_text(text)
    return "--config", file


def crawl(cli: Cli, server: Server, *options: object, project: str = "site") -> dict[str, object]:
    found: dict[str, object] = cli.crawl(server.url, "--project", project, "--rate", "max", *options).ok().json
    return found


def tables(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("pages-*.csv"))


def urls_of(file: Path) -> list[str]:
    with file.open(newline="") as stream:
        return [row["url"].rpartition("/")[2] for row in csv.DictReader(stream)]


def default_places(home: Path) -> list[str]:
    found = ("store", "logs", "metadata", "orbweb.db", "spool")
    return [name for name in found if (home / name).exists()]


def test_paths_inside_the_workspace_are_used_by_every_command(cli: Cli, tmp_path: Path) -> None:
    home = cli.workspace
    with serve(SITE) as server:
        crawl(cli, server, *settings(tmp_path, INSIDE))
        assert default_places(home) == []
        assert (home / "data/index.db").is_file()
        assert list((home / "data/bodies/segments").glob("*.seg"))
        (name,) = tables(home / "out/site")
        assert MINUTE.fullmatch(name)
        assert urls_of(home / "out/site" / name) == ["", "a", "b"]
        link = home / "out/site/crawl_metadata.jsonl"
        assert len(link.read_text().splitlines()) == 3

        assert cli.ask("status", "site", "--json").ok().json["stored"]["bodies"] == 3
        assert "<title>a" in cli.ask("show", "site", f"{server.url}a", "--as", "html").ok().out
        entry = cli.ask("index", "site", "--json").ok().json[0]
        assert entry["stored_path"].startswith("data/bodies/segments/0001.seg#")
        assert cli("doctor", "--json").ok().json["healthy"]
        cli("export", "site", "--to", "files", "--out", tmp_path / "files").ok()
        assert cli("recrawl", "site", "--json", "--no-progress").ok().json["not_modified"] == 0
        assert len(tables(home / "out/site")) == 2
        cli("replay", "site", "--run", "1", "--verify").ok()
        assert urls_of(home / "out/site" / name) == ["", "a", "b"]

        cli("rename", "site", "other").ok()
        assert tables(home / "out/site") == []
        assert len(tables(home / "out/other")) == 2
        cli("delete", "other", "--run", "1", "--yes").ok()
        assert len(tables(home / "out/other")) == 1
        cli("delete", "other", "--yes").ok()
        assert tables(home / "out/other") == []
        assert not list((home / "data/bodies/segments").glob("*.seg"))
        assert default_places(home) == []


def test_the_paths_of_a_workspace_hold_for_all_its_projects_and_crawls(cli: Cli, tmp_path: Path) -> None:
    with serve(SITE) as server:
        crawl(cli, server, *settings(tmp_path, INSIDE))
        crawl(cli, server, project="second")
        assert default_places(cli.workspace) == []
        assert len(tables(cli.workspace / "out/second")) == 1
        found = cli("settings", "second", "--json").ok().json["settings"]
        shown = {each["key"]: (each["value"], each["source"]) for each in found}
        assert shown["store.root"] == ("data/bodies", "paths.json")


def test_two_runs_of_one_minute_have_their_own_files(cli: Cli, tmp_path: Path) -> None:
    with serve(SITE) as server:
        own = settings(tmp_path, 'outputs: {dir: out, name: "fixed"}')
        crawl(cli, server, *own)
        second = cli.crawl(server.url, "--project", "second", "--rate", "max").ok()
        crawl(cli, server, project="third")
    assert tables(cli.workspace / "out") == ["pages-fixed-2.csv", "pages-fixed-3.csv", "pages-fixed.csv"]
    assert "fixed-2" in second.err
    assert all(urls_of(file) == ["", "a", "b"] for file in (cli.workspace / "out").glob("pages-*.csv"))
    cli("delete", "second", "--yes").ok()
    assert tables(cli.workspace / "out") == ["pages-fixed-3.csv", "pages-fixed.csv"]
    assert cli("doctor", "--json").ok().json["healthy"]


def test_a_new_place_of_outputs_holds_for_new_runs(cli: Cli, tmp_path: Path) -> None:
    with serve(SITE) as server:
        cli.crawl(server.url, "--project", "site", "--rate", "max", "--budget", "1").ok(4)
        own = settings(tmp_path, "outputs: {dir: out}")
        crawl(cli, server, *own, "--budget", "100")
        assert tables(cli.workspace / "logs") == ["pages-site-1.csv"]
        crawl(cli, server, *own, "--new-run")
    assert tables(cli.workspace / "out") == ["pages-site-2.csv"]
    assert cli("doctor", "--json").ok().json["healthy"]


@pytest.mark.parametrize(
    ("text", "key"), [("store: {root: other}", "store.root"), ("index: {path: other.db}", "index.path")]
)
def test_what_is_stored_is_not_lost_by_another_path(cli: Cli, tmp_path: Path, text: str, key: str) -> None:
    with serve(SITE) as server:
        crawl(cli, server)
        refused = cli.crawl(server.url, "--project", "site", *settings(tmp_path, text))
        assert refused.code == 2
        assert f"{key}: other" in refused.err
        assert "are not moved" in refused.err
        crawl(cli, server, "--new-run")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("store: {root: locks}", "store.root: locks: other files are there"),
        ("index: {path: orbweb.yaml}", "index.path: orbweb.yaml: other files are there"),
        ("index: {path: x.db}\nbookmark: {path: x.db}", "index.path and bookmark.path are the same file"),
        ('outputs: {dir: "{project}/../.."}', ".. cannot stand after a placeholder"),
        ('store: {root: "{project}"}', "store.root: may have no placeholders"),
    ],
)
def test_places_of_other_files_are_refused(cli: Cli, tmp_path: Path, text: str, says: str) -> None:
    refused = cli.crawl("http://127.0.0.1:1/", "--project", "site", *settings(tmp_path, text))
    assert refused.code == 2
    assert says in refused.err
    assert not (cli.workspace / "paths.json").exists()


def test_a_lost_database_is_restored_from_outputs_elsewhere(cli: Cli, tmp_path: Path) -> None:
    with serve(SITE) as server:
        crawl(cli, server, *settings(tmp_path, INSIDE))
        with closing(sqlite3.connect(cli.workspace / "data/index.db")) as db, db:
            db.execute("DELETE FROM visits")
            db.execute("DELETE FROM urls WHERE key LIKE '%/b'")
        found = cli("doctor", "--repair", "--json").json
        assert any(damage["file"] == "orbweb.db" or "index" in damage["file"] for damage in found["damages"])
        assert found["healthy"]
        cli("resume", "site", "--json", "--no-progress")
        assert len(cli.ask("pages", "site", "--json").ok().json) == 3


def piped(cli: Cli, server: Server, *options: object, project: str = "site") -> None:
    cli("discover", server.url, "--project", project, "--rate", "max", "--no-progress", *options).ok()
    cli("scrape", "--project", project, "--no-progress").ok()


def spooled(folder: Path) -> int:
    """The lines of a spool."""
    return sum(len(file.read_text().splitlines()) for file in folder.glob("discoveries-*.jsonl"))


def test_pipelines_have_their_spools_and_bookmarks_where_the_settings_say(cli: Cli, tmp_path: Path) -> None:
    home = cli.workspace
    with serve(SITE) as server:
        piped(cli, server, *settings(tmp_path, INSIDE))
        piped(cli, server, project="second")
        assert default_places(home) == []
        assert spooled(home / "data/spool/discoveries") == spooled(home / "data/spool/second/discoveries") == 3
        for mark in ("data/bookmark.json", "data/second/bookmark.json"):
            assert json.loads((home / mark).read_text())["offset"] > 0
        status = cli.ask("status", "second", "--json").ok().json
        assert (status["spool"]["backlog_bytes"], status["stored"]["spool_files"]) == (0, 2)
        assert cli("doctor", "--json").ok().json["healthy"]
        cli("delete", "second", "--yes").ok()
        assert not (home / "data/spool/second").exists()
        assert spooled(home / "data/spool/discoveries") == 3


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_project_in_the_path_of_its_spool_is_renamed_with_it(cli: Cli, tmp_path: Path, where: str) -> None:
    top = cli.workspace if where == "inside" else tmp_path / "far"
    at = "" if where == "inside" else f"{top}/"
    text = f'spool: {{dir: "{at}spools/{{project}}"}}\nbookmark: {{path: "{at}marks/{{project}}.json"}}'
    with serve(SITE) as server:
        piped(cli, server, *settings(tmp_path, text))
        assert spooled(top / "spools/site/discoveries") == 3
        assert (top / "marks/site.json").is_file()
        assert not (cli.workspace / "spool").exists()
        cli("rename", "site", "other").ok()
        assert spooled(top / "spools/other/discoveries") == 3
        assert [path.name for path in (top / "marks").iterdir()] == ["other.json"]
        assert cli.ask("status", "other", "--json").ok().json["spool"]["backlog_bytes"] == 0
        (top / "marks/other.json").write_text("{}")
        found = cli("doctor", "--repair", "--json").ok().json
        assert len(found["damages"]) == 1
        cli("reset", "--yes").ok()
    assert not list(top.rglob("*.jsonl"))


# Paths outside of the workspace.


def outside(tmp_path: Path) -> str:
    far = tmp_path / "far"
    return f"store: {{root: {far}/bodies}}\noutputs: {{dir: ../far/out}}\nindex: {{path: {far}/i.db}}"


def test_the_users_own_settings_may_name_paths_outside(cli: Cli, tmp_path: Path) -> None:
    far = tmp_path / "far"
    with serve(SITE) as server:
        crawl(cli, server, *settings(tmp_path, outside(tmp_path)))
        assert default_places(cli.workspace) == []
        assert list((far / "bodies/segments").glob("*.seg"))
        assert tables(far / "out") == ["pages-site-1.csv"]
        assert (far / "i.db").is_file()
        assert cli("doctor", "--json").ok().json["healthy"]
        assert cli("recrawl", "site", "--json", "--no-progress").ok().json["visited"] == 3
        (far / "out/mine.txt").write_text("mine")
        cli("reset", "--yes").ok()
    assert sorted(path.name for path in (far / "out").iterdir()) == ["mine.txt"]
    assert not list((far / "bodies").rglob("*.seg"))
    assert cli.ask("status", "--json").ok().json == []


def test_a_foreign_workspace_reaches_no_path_outside(cli: Cli, tmp_path: Path) -> None:
    """Its record and its settings came with it: they may name anything."""
    with serve(SITE) as server:
        crawl(cli, server, *settings(tmp_path, outside(tmp_path)))
        shutil.rmtree(tmp_path / "config")
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "far").rglob("*")}
        for command in (
            ("status",),
            ("pages", "site"),
            ("doctor", "--repair"),
            ("reset", "--yes"),
            ("delete", "site", "--yes"),
            ("export", "site", "--to", "jsonl", "--out", tmp_path / "x.jsonl"),
            ("recrawl", "site"),
            ("crawl", server.url, "--project", "site"),
            ("configure",),
        ):
            refused = cli(*command)
            assert refused.code == 2, command
            assert f"store.root: {tmp_path}/far/bodies is outside of the workspace" in refused.err
            assert "--config" in refused.err
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "far").rglob("*")} == before
        words = re.findall(r"path=\S+?(?=['\s]|$)", cli("recrawl", "site").err)
        trusted = [part for word in words for part in ("--trust", word)]
        cli("recrawl", "site", "--no-progress", *trusted, "--trust", f"private={server.url.split('/')[2]}").ok()
        cli.ask("status").ok()


@pytest.mark.parametrize("how", ["absolute", "dots", "link"])
def test_settings_in_a_workspace_name_no_path_outside(cli: Cli, tmp_path: Path, how: str) -> None:
    home, far = cli.workspace, tmp_path / "far"
    far.mkdir()
    cli("configure").ok()
    (home / "link").symlink_to(far)
    root = {"absolute": f"{far}/b", "dots": "../far/b", "link": "link/b"}[how]
    with serve(SITE) as server:
        (home / "seeds.txt").write_text(server.url)
        (home / "orbweb.yaml").write_text(f"store: {{root: {root}}}\nlimits: {{rate: max}}\n")
        refused = cli.crawl("--project", "site")
        assert refused.code == 2
        assert f"store.root: {far}/b is outside of the workspace" in refused.err
        assert not any(far.iterdir())
        assert not server.whole_log
        cli.crawl("--project", "site", "--trust", f"path={far}/b").ok()
    assert list((far / "b/segments").glob("*.seg"))


def test_stored_settings_name_no_path(cli: Cli, tmp_path: Path) -> None:
    with serve(SITE) as server:
        crawl(cli, server)
        with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db, db:
            forged = json.dumps({"store": {"root": str(tmp_path / "far")}, "limits": {"rate": "max"}})
            db.execute("UPDATE projects SET settings = ?", (forged,))
        crawl(cli, server, "--new-run")
    assert not (tmp_path / "far").exists()


@pytest.mark.parametrize("record", ['{"paths": {"store.root": "../far"}, "runs": {}}', "[]", '{"paths": 1}'])
def test_a_record_of_paths_that_was_tampered_with_is_refused(cli: Cli, record: str) -> None:
    with serve(SITE) as server:
        crawl(cli, server)
    (cli.workspace / "paths.json").write_text(record)
    refused = cli("status")
    assert refused.code == 1
    assert "paths.json: not a valid record of paths" in refused.err


def test_no_link_is_followed_to_a_path_of_the_settings(cli: Cli, tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    with serve(SITE) as server:
        crawl(cli, server, *settings(tmp_path, INSIDE))
        shutil.move(cli.workspace / "data/bodies", far / "bodies")
        (cli.workspace / "data/bodies").symlink_to(far / "bodies")
        before = sorted(far.rglob("*"))
        refused = cli.crawl(server.url, "--project", "second", "--rate", "max")
        assert refused.code == 1
        assert "data/bodies: is a symbolic link" in refused.err
        assert sorted(far.rglob("*")) == before
        damages = cli("doctor", "--json").ok(3).json["damages"]
        assert "data/bodies" in {damage["file"] for damage in damages}


# Permissions.


def modes(root: Path) -> dict[str, str]:
    """The permissions of everything but links and what belongs to the workspace itself."""
    own = ("orbweb", "limiter", "locks", "identity", "state", "paths.json", "control")
    return {
        str(path.relative_to(root)): f"{stat.S_IMODE(path.stat().st_mode):04o}"
        for path in sorted(root.rglob("*"))
        if not path.is_symlink() and not str(path.relative_to(root)).startswith(own)
    }


def umasked(cli: Cli, mask: int, *args: object) -> None:
    command = [*ORBWEB, *map(str, args), "--workspace", str(cli.workspace), "--no-progress"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, umask=mask, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o027])
@pytest.mark.parametrize("layout", ["segments", "files"])
def test_modes_of_the_settings_hold_whatever_the_umask(cli: Cli, tmp_path: Path, layout: str, mask: int) -> None:
    text = f"store: {{layout: {layout}, file_mode: 0640, dir_mode: 0750}}"
    with serve(SITE) as server:
        given = (server.url, "--project", "site", "--rate", "max", *settings(tmp_path, text))
        umasked(cli, mask, "crawl", *given)
    found = modes(cli.workspace)
    private = [name for name in found if name.startswith("store/tmp")]
    for name in private:
        assert found.pop(name) == "0700"
    assert {mode for name, mode in found.items() if (cli.workspace / name).is_dir()} == {"0750"}
    assert {mode for name, mode in found.items() if (cli.workspace / name).is_file()} == {"0640"}
    assert {
        "store",
        "logs",
        "metadata",
        "logs/pages-site-1.csv",
        "logs/crawler_metrics-site-1.csv",
    } <= found.keys()
    assert stat.S_IMODE(cli.workspace.stat().st_mode) == 0o710
    assert stat.S_IMODE((cli.workspace / "orbweb.db").stat().st_mode) == 0o600


def test_modes_hold_for_the_spool(cli: Cli, tmp_path: Path) -> None:
    text = "store: {file_mode: 0640, dir_mode: 0750}\nspool: {keep: archive, rotate_mb: 0.0001}"
    cli("configure").ok()
    with serve(SITE) as server:
        options = ("--project", "site", "--rate", "max", *settings(tmp_path, text))
        umasked(cli, 0, "discover", server.url, *options)
        umasked(cli, 0, "scrape", "--project", "site")
    found = modes(cli.workspace / "spool")
    assert {mode for name, mode in found.items() if name.endswith(".jsonl")} == {"0640"}
    assert found["discoveries"] == modes(cli.workspace)["spool"] == "0750"


def test_everything_is_private_unless_the_settings_say_otherwise(cli: Cli) -> None:
    with serve(SITE) as server:
        umasked(cli, 0, "crawl", server.url, "--project", "site", "--rate", "max")
    assert set(modes(cli.workspace).values()) == {"0600", "0700"}
    assert stat.S_IMODE(cli.workspace.stat().st_mode) == 0o700


def test_what_is_written_again_takes_the_mode_and_the_rest_keeps_its_own(cli: Cli, tmp_path: Path) -> None:
    cli("configure").ok()
    with serve(SITE) as server:
        start = (server.url, "--project", "site", "--rate", "max")
        cli.crawl(*start, "--budget", "1").ok(4)
        (cli.workspace / "logs/notes.txt").write_text("mine")
        (cli.workspace / "logs/notes.txt").chmod(0o604)
        own = settings(tmp_path, "store: {file_mode: 0644, dir_mode: 0755}")
        assert "store.file_mode 0600 -> 0644" in cli.crawl(*start, "--budget", "100", *own).ok().err
    found = modes(cli.workspace)
    assert found["logs/pages-site-1.csv"] == found["store/segments/0001.seg"] == "0644"
    assert found["logs"] == found["store"] == found["store/segments"] == "0755"
    assert found["logs/notes.txt"] == "0604"
    cli("replay", "site").ok()
    assert modes(cli.workspace)["logs/pages-site-1.csv"] == "0644"
    assert stat.S_IMODE(cli.workspace.stat().st_mode) == 0o711
