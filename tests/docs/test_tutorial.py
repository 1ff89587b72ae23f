"""The smoke test of the tutorial works as it is printed, but for the port of the site."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

from markdown_it import MarkdownIt

from servers.pages import chain
from servers.site import StaticSite, serve

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
SITE = "127.0.0.1:8000"


def smoke_test() -> str:
    blocks = [token.content for token in MarkdownIt().parse(TUTORIAL.read_text(encoding="utf-8"))]
    (found,) = [text for text in blocks if text.startswith("mkdir -p smoke/spool")]
    return found


def test_one_line_by_hand_is_scraped(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with serve(StaticSite(chain(2))) as server:
        script = smoke_test()
        assert SITE in script
        done = subprocess.run(
            ["bash", "-eu", "-c", script.replace(SITE, server.url.split("/")[2])],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert "Crawled 1 URL" in done.stdout
    with (tmp_path / "smoke" / "logs" / "pages-smoke-1.csv").open(newline="", encoding="utf-8") as table:
        (row,) = csv.DictReader(table)
    assert (row["url"], row["http_status"]) == (server.url, "200")
