"""Makes the stored workspace of today's schema: `PYTHONPATH=src:tests python tests/upgrade/make.py`.

Run it once for each schema, before its release, and commit `schema-N.tar.xz` and `schema-N.json`. The stored
workspace of an earlier schema is never made again: it is what users have.
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import orbweb
from orbweb.store.sqlite.schema import SCHEMA_VERSION
from servers.pages import page
from servers.site import Answer, Server, StaticSite, html, redirect, serve, text

HERE = Path(__file__).parent
BASE = "http://site.test/"
PROJECT = "site"
BUDGET = 5
LEFT_OUT = ("limiter.db", "locks", "control")

SITE: dict[str, Answer] = {
    "/": html(
        '<title>start</title><h1>start</h1><img src="/i.txt"><a href=/a>a</a><a href=/r>r</a><a href=/no>no</a>'
    ),
    "/a": page("a", "/b", "/same", "/a?utm_source=x"),
    "/b": page("b", "/deep"),
    "/same": page("b", "/deep"),
    "/deep": page("deep", "/"),
    "/r": redirect("/target"),
    "/target": page("target"),
    "/listed": page("listed"),
    "/i.txt": text("not a picture"),
    "/sitemap.xml": text(f"{BASE}listed\n"),
}


def crawl(workspace: Path, server: Server, **options: Any) -> orbweb.CrawlResult:
    """One crawl of the site, whatever port its server has today."""
    pin = f"site.test:80:127.0.0.1:{server.port}"
    given = {"rate": "max", "resources": "store", "resolve": [pin], **options}
    return orbweb.open(workspace).crawl((), project=PROJECT, **given)


def facts(workspace: Path) -> dict[str, Any]:
    """What must be found again, whatever version opens the workspace."""
    space = orbweb.open(workspace)
    runs = [run.run for run in space.runs(PROJECT)]
    return {
        "manifests": [space.manifest_hash(PROJECT, run=number) for number in runs],
        "pages": [page.url for number in runs for page in space.pages(PROJECT, run=number)],
        "states": [run.state for run in space.runs(PROJECT)],
        "queued": space.status(PROJECT).queued,
    }


def make(workspace: Path) -> dict[str, Any]:
    """A completed run, and a paused one; the result of an uninterrupted run is that of the first."""
    with serve(StaticSite(SITE)) as server:
        orbweb.open(workspace).crawl(
            BASE,
            project=PROJECT,
            rate="max",
            resources="store",
            resolve=[f"site.test:80:127.0.0.1:{server.port}"],
        )
        crawl(workspace, server, new_run=True, budget=BUDGET)
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("VACUUM")
    return facts(workspace)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        workspace = Path(home) / "workspace"
        known = make(workspace)
        with tarfile.open(HERE / f"schema-{SCHEMA_VERSION}.tar.xz", "w:xz") as packed:
            packed.add(workspace, "workspace", filter=_plain)
    text = json.dumps(known, indent=1)
    (HERE / f"schema-{SCHEMA_VERSION}.json").write_text(f"{text}\n", encoding="utf-8")


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Nothing of the machine it was made on."""
    if any(part in entry.name.split("/") for part in LEFT_OUT) or entry.name.endswith(("-wal", "-shm")):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
