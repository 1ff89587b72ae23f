"""An export that is killed at any point is finished by repeating it, and no file is ever half there."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from servers.graph import GraphSite
from servers.site import serve

PAGES = 40


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("export") / "workspace")
    with serve(GraphSite(5, PAGES)) as server:
        orbweb.open(cli.workspace).crawl(server.url, project="graph", rate="max", processes=0)
    return cli


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fault(point: str, hit: int) -> dict[str, str]:
    return {"ORBWEB_FAULT": f"{point}:{hit}"}


@pytest.mark.parametrize(
    ("to", "point", "hit"),
    [
        ("markdown", "export_written", 7),
        ("markdown", "export_renamed", 7),
        ("files", "export_renamed", 3),
        ("llms", "export_written", 2),
    ],
)
def test_a_folder(crawled: Cli, tmp_path: Path, to: Any, point: str, hit: int) -> None:
    space = orbweb.open(crawled.workspace)
    space.export("graph", to=to, out=tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    killed = crawled("export", "graph", "--to", to, "--out", tmp_path / "out", env=fault(point, hit))
    assert killed.code == -signal.SIGKILL
    found = {name: data for name, data in contents(tmp_path / "out").items() if not name.startswith(".orbweb")}
    assert len(found) == (hit if point == "export_renamed" else hit - 1)
    assert all(whole[name] == data for name, data in found.items())
    assert space.export("graph", to=to, out=tmp_path / "out").unchanged == len(found)
    assert contents(tmp_path / "out") == whole


@pytest.mark.parametrize("to", ["jsonl", "zip"])
def test_a_file(crawled: Cli, tmp_path: Path, to: Any) -> None:
    out = tmp_path / "out"
    out.write_text("former")
    killed = crawled("export", "graph", "--to", to, "--out", out, env=fault("export_written", 1))
    assert killed.code == -signal.SIGKILL
    assert out.read_text() == "former"
    orbweb.open(crawled.workspace).export("graph", to=to, out=out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert out.stat().st_size > 1000
