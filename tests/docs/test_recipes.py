"""What the recipes tell a reader to do works: files are written and commands run, on loopback sites."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from orbweb.cli import demo
from servers.site import Answer, StaticSite, html, serve

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "recipes"
EXAMPLE = "https://example.org/docs/"
FILE = re.compile(r"# ([\w./-]+\.\w+)\n")


@dataclass(frozen=True)
class Kitchen:
    """A directory in which a recipe is followed, with the site of the text replaced by one that is there."""

    directory: Path
    page: str
    sites: dict[str, str]

    def blocks(self) -> Iterator[tuple[str, str]]:
        """The language and the text of each block."""
        for token in MarkdownIt().parse((RECIPES / self.page).read_text(encoding="utf-8")):
            if token.type == "fence":
                text = token.content
                for name, site in self.sites.items():
                    text = text.replace(name, site)
                yield token.info, text

    def write_files(self) -> None:
        """What the text says to save: a block whose first line is a comment with a file name."""
        for _, text in self.blocks():
            if (name := FILE.match(text)) and not name[1].startswith("/"):
                path = self.directory / name[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.removeprefix(name[0]), encoding="utf-8")

    def steps(self) -> list[str]:
        return [text for language, text in self.blocks() if language == "sh" and not FILE.match(text)]

    def run(self, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-eu", "-c", command],
            capture_output=True,
            text=True,
            cwd=self.directory,
            env={**os.environ, "PATH": path, "ORBWEB_LIMITS__RATE": "max", **environment},
            timeout=120,
        )

    def follow(self, *steps: str) -> str:
        """Run steps that must succeed; returns what the last one printed."""
        printed = ""
        for step in steps:
            done = self.run(step)
            assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
            assert "Traceback" not in done.stderr, done.stderr
            printed = done.stdout
        return printed


@contextmanager
def following(directory: Path, page: str, **sites: str) -> Iterator[Kitchen]:
    with demo.serve() as url:
        kitchen = Kitchen(directory, page, {EXAMPLE: url, **sites})
        kitchen.write_files()
        yield kitchen


def page_about(words: str, *links: str) -> Answer:
    linked = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    text = f"{words} is described here at some length, so that there is something to read. " * 3
    return html(f'<html lang="en"><title>{words}</title><main><h1>{words}</h1><p>{text}{linked}</p></main>')


def test_a_rag_index_follows_the_site(tmp_path: Path) -> None:
    pages = {
        "/docs/": page_about("Start", "a", "b"),
        "/docs/a": page_about("Apples"),
        "/docs/b": page_about("Pears"),
    }
    with serve(StaticSite(pages)) as server:
        kitchen = Kitchen(tmp_path, "rag.md", {EXAMPLE: f"{server.url}docs/", "install": "Apples"})
        kitchen.write_files()
        crawl, look, feed, again, changes = kitchen.steps()
        assert "3 pages indexed, 0 removed" in kitchen.follow(crawl, look, feed)
        assert "0 pages indexed, 0 removed" in kitchen.follow(feed)
        pages |= {"/docs/": page_about("Start", "a"), "/docs/a": page_about("Green apples")}
        assert "2 pages indexed, 1 removed" in kitchen.follow(again)
        kitchen.follow(changes)
    with sqlite3.connect(tmp_path / "index.db") as index:
        texts = [text for (text,) in index.execute("SELECT text FROM chunks")]
    index.close()
    assert any("Green apples" in text for text in texts)
    assert not any("Pears" in text for text in texts)


def test_the_link_check_fails_the_build_for_a_broken_link(tmp_path: Path) -> None:
    pages = {"/": html('<a href="/a">a</a><img src="/logo.png">'), "/a": page_about("Apples")}
    with serve(StaticSite(pages)) as server:
        kitchen = Kitchen(tmp_path, "link-check.md", {"http://127.0.0.1:8000/": server.url, EXAMPLE: server.url})
        kitchen.write_files()
        check, outbound = kitchen.steps()
        broken = kitchen.run(check)
        assert broken.returncode == 1
        assert "/logo.png" in broken.stdout
        pages["/"] = html('<a href="/a">a</a>')
        assert "no broken links" in kitchen.follow(check)
        kitchen.follow(outbound)


def test_every_night_is_a_run_and_the_folder_follows(tmp_path: Path) -> None:
    with following(tmp_path, "nightly.md") as kitchen:
        first, night = kitchen.steps()
        kitchen.follow(first, night, night)
        runs = json.loads(kitchen.follow("orbweb runs docs --json"))
        assert [run["state"] for run in runs] == ["completed"] * 3
        assert len(list((tmp_path / "docs-md").rglob("*.md"))) == 17


def test_a_night_resumes_what_was_interrupted(tmp_path: Path) -> None:
    with following(tmp_path, "nightly.md") as kitchen:
        first, night = kitchen.steps()
        assert kitchen.run(first, ORBWEB_LIMITS__BUDGET="5").returncode == 1
        assert "the next night continues" in kitchen.run(night, ORBWEB_LIMITS__BUDGET="3").stdout
        assert kitchen.run(night, ORBWEB_LIMITS__BUDGET="null").returncode == 0
        (run,) = json.loads(kitchen.follow("orbweb runs docs --json"))
        assert (run["state"], len(run["crawls"])) == ("completed", 3)


def test_a_dataset_is_made_of_a_list_of_sites(tmp_path: Path) -> None:
    other = StaticSite({"/manual/": page_about("Manual", "more"), "/manual/more": page_about("More of it")})
    with (
        serve(other) as server,
        following(tmp_path, "dataset.md", **{"https://example.net/": server.url}) as kitchen,
    ):
        plan, crawl, export, clean, prove = kitchen.steps()
        assert "can be crawled" in kitchen.follow(plan)
        kitchen.follow(crawl, export)
        kept = kitchen.follow(clean)
        assert re.fullmatch(r"1\d pages kept\n", kept), kept
        assert re.fullmatch(r"[0-9a-f]{64}\n", kitchen.follow(prove))
    hosts = {
        json.loads(line)["url"].split("/")[2] for line in (tmp_path / "corpus.jsonl").read_text().splitlines()
    }
    assert len(hosts) == 2


@pytest.mark.parametrize("name", sorted(path.name for path in RECIPES.glob("*.md") if path.name != "README.md"))
def test_every_recipe_has_steps_and_is_tested(name: str) -> None:
    assert Kitchen(RECIPES, name, {}).steps()
    assert f'"{name}"' in Path(__file__).read_text(encoding="utf-8")


def test_units_and_timers_start_the_script(tmp_path: Path) -> None:
    kitchen = Kitchen(tmp_path, "nightly.md", {})
    kitchen.write_files()
    started = [text for language, text in kitchen.blocks() if language in ("ini", "") and "nightly.sh" in text]
    assert len(started) == 2
    assert (tmp_path / "nightly.sh").exists()
