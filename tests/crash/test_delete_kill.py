"""A deletion or a renaming that is killed at any point leaves a sound workspace; repeating it finishes it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.failpoints import POINTS
from orbweb.store.bodies.segments import SegmentRecord, scan
from servers.graph import GraphSite
from servers.site import serve

DELETE = [point for point in POINTS if point.startswith("delete_")]
RENAME = [point for point in POINTS if point.startswith("rename_")]


def workspace(path: Path, layout: Any) -> Cli:
    """Two projects with the same pages, one of which has some more."""
    space = orbweb.open(path)
    with serve(GraphSite(5, 40)) as server:
        space.crawl(server.url, project="large", store=layout, rate="max", processes=0)
        space.crawl(server.url, project="small", store=layout, rate="max", processes=0, page_limit=5)
    return Cli(path)


def leftovers(cli: Cli, name: str) -> list[str]:
    files = (path.name for path in cli.workspace.rglob("*"))
    return [each for each in files if f"-{name}-" in each or each.startswith(f"{name}.")]


@pytest.mark.parametrize("point", DELETE)
@pytest.mark.parametrize("layout", ["segments", "files"])
def test_a_project(tmp_path: Path, layout: str, point: str) -> None:
    cli = workspace(tmp_path / "w", layout)
    space = orbweb.open(cli.workspace)
    space.search("large", "the")
    before = list(space.manifest("small"))
    killed = cli("delete", "large", "--yes", env={"ORBWEB_FAULT": f"{point}:1"})
    if point == "delete_moved" and layout == "files":
        killed.ok()
    else:
        assert killed.code == -signal.SIGKILL
        assert cli("doctor", "--json").ok().json["damages"] == []
        assert list(space.manifest("small")) == before
        assert ("large" in space.projects()) == (point in ("delete_prepared", "delete_moved"))
        cli("delete", "large", "--yes").ok()
    assert space.projects() == ["small"]
    assert list(space.manifest("small")) == before
    assert cli("doctor", "--json").ok().json["damages"] == []
    assert leftovers(cli, "large") == []
    assert _stored(cli.workspace / "store") == {each.sha256 for each in space.page_index("small") if each.sha256}
    cli("delete", "large", "--yes").ok(2)


def _stored(store: Path) -> set[str]:
    """The hashes of the bodies in the files of the store, whatever the database says."""
    scanned = (record for path in store.glob("segments/*.seg") for record in scan(path))
    files = {path.name.partition(".")[0] for path in store.glob("html/*/*/*")}
    return files | {record.sha256.hex() for record in scanned if isinstance(record, SegmentRecord)}


@pytest.mark.parametrize("point", DELETE)
def test_a_run(tmp_path: Path, point: str) -> None:
    cli = Cli(tmp_path / "w")
    space = orbweb.open(cli.workspace)
    with serve(GraphSite(5, 40)) as server:
        space.crawl(server.url, project="site", rate="max", processes=0, page_limit=5)
        space.crawl(project="site", page_limit=None, new_run=True, refresh=True)
        before = list(space.manifest("site", run=1))
        assert (
            cli("delete", "site", "--run", 2, "--yes", env={"ORBWEB_FAULT": f"{point}:1"}).code == -signal.SIGKILL
        )
        assert cli("doctor", "--json").ok().json["damages"] == []
        done = cli("delete", "site", "--run", 2, "--yes")
        assert done.code == (0 if point in ("delete_prepared", "delete_moved") else 2), done.err
        assert [run.run for run in space.runs("site")] == [1]
        assert list(space.manifest("site", run=1)) == before
        assert space.recrawl("site").run == 2
    assert cli("doctor", "--json").ok().json["damages"] == []


@pytest.mark.parametrize("point", RENAME)
@pytest.mark.parametrize("hit", [1, 3])
def test_a_name(tmp_path: Path, point: str, hit: int) -> None:
    if point == "rename_committed" and hit > 1:
        pytest.skip("it is passed once")
    cli = Cli(tmp_path / "w")
    space = orbweb.open(cli.workspace)
    with serve(GraphSite(5, 40)) as server:
        space.crawl(server.url, project="site", rate="max", processes=0, budget=9)
        before = list(space.manifest("site"))
        assert cli("rename", "site", "docs", env={"ORBWEB_FAULT": f"{point}:{hit}"}).code == -signal.SIGKILL
        assert cli("doctor", "--json").ok().json["damages"] == []
        if point == "rename_moved":
            assert space.projects() == ["site"]
            cli("rename", "site", "docs").ok()
            assert leftovers(cli, "site") == []
        assert list(space.manifest("docs")) == before
        assert space.resume("docs", budget=None).run_state == "completed"
    assert cli("doctor", "--json").ok().json["damages"] == []
