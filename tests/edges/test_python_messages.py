"""Exceptions speak of Python: no message of a wrong call names an option of the command line."""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import orbweb
from servers.pages import chain
from servers.site import StaticSite, serve

URL = "http://127.0.0.1:9/"
Wrong = Callable[[orbweb.Workspace, Any], object]

WRONG: dict[str, Wrong] = {
    "no URL": lambda space, _: space.crawl(),
    "not a URL": lambda space, _: space.crawl("ftp://example.org/"),
    "a file for a URL": lambda space, _: space.crawl("seeds.txt"),
    "a path for a URL": lambda space, _: space.crawl("./site/index.html"),
    "a project for a URL": lambda space, _: space.crawl("site"),
    "a URL for a project": lambda space, _: space.resume("http://127.0.0.1:1/"),
    "a name that is no name": lambda space, _: space.crawl(URL, project="a/b"),
    "URLs and seeds": lambda space, _: space.crawl(URL, seeds="seeds.txt"),
    "no seeds": lambda space, _: space.crawl(project="new", seeds="none.txt"),
    "unknown option": lambda space, wrong: space.crawl(URL, **wrong(bugdet=3)),
    "workers": lambda space, _: space.crawl(URL, workers=0),
    "budget": lambda space, _: space.crawl(URL, budget=-1),
    "rate": lambda space, wrong: space.crawl(URL, **wrong(rate="fast")),
    "pattern": lambda space, _: space.crawl(URL, include=["("]),
    "headers": lambda space, _: space.crawl(URL, headers={"Bad name": "x"}),
    "secret": lambda space, _: space.crawl(URL, headers={"Authorization": "$ORBWEB_NOT_SET"}),
    "resolve": lambda space, _: space.crawl(URL, resolve=["nonsense"]),
    "user agent": lambda space, _: space.crawl(URL, user_agent="a\nb"),
    "profile": lambda space, wrong: space.crawl(URL, **wrong(profile="nope")),
    "sitemap": lambda space, wrong: space.crawl(URL, **wrong(sitemap="maybe")),
    "config": lambda space, _: space.crawl(URL, config="none.yaml"),
    "metrics port": lambda space, wrong: space.crawl(wrong.url, project="other", metrics_port=wrong.port),
    "other base URLs": lambda space, _: space.crawl(URL, project="paused"),
    "recrawl of a paused run": lambda space, _: space.recrawl("paused"),
    "nothing to resume": lambda space, _: space.resume("site"),
    "nothing to stop": lambda space, _: space.stop("site"),
    "nothing to pause": lambda space, _: space.pause("site"),
    "nothing to scrape": lambda space, _: space.scrape("site"),
    "unknown project": lambda space, _: space.pages("nope"),
    "unknown run": lambda space, _: space.pages("site", run=9),
    "unknown kind": lambda space, _: space.retry("site", kind="nope"),
    "no workspace": lambda space, _: orbweb.open(space.path / "nope").status("site"),
    "limit": lambda space, _: space.search("site", "page", limit=0),
    "export: format": lambda space, wrong: space.export("site", to=wrong.word, out=space.path / "x"),
    "export: raw": lambda space, _: space.export("site", to="jsonl", out=space.path / "x", raw=True),
    "export: no directory": lambda space, _: space.export("site", to="jsonl", out=space.path / "no/x"),
    "export: a directory": lambda space, _: space.export("site", to="jsonl", out=space.path),
    "export: a file": lambda space, _: space.export("site", to="markdown", out=space.path / "orbweb.db"),
    "export: foreign files": lambda space, _: space.export("site", to="markdown", out=space.path),
    "export: a stream": lambda space, wrong: space.export("site", to="zip", out=wrong.stream()),
    "import": lambda space, _: space.import_state(space.path / "nope"),
    "reset": lambda space, _: orbweb.open(space.path / "nope").reset(),
    "plan": lambda space, _: space.plan("nope"),
    "rules": lambda space, wrong: space.rules("site", **wrong(workers=3)),
    "validate": lambda space, _: space.validate_policy("http://"),
    "cursor": lambda space, _: space.crawl_iter(URL, cursor="a b"),
    "after": lambda space, _: space.crawl_iter(URL, after="nope"),
    "cursor and after": lambda space, _: space.crawl_iter(URL, cursor="a", after="1.1.1"),
    "fetch": lambda space, _: orbweb.fetch("ftp://example.org/", workspace=space.path),
}


class Given:
    """Values that no type checker would let pass, and a port that is taken."""

    word: Any = "nope"

    def __init__(self, url: str, port: int) -> None:
        self.url, self.port = url, port

    def __call__(self, **options: Any) -> Any:
        return options

    def stream(self) -> Any:
        return io.BytesIO()


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[orbweb.Workspace, Given]]:
    """A workspace with a completed and a paused run."""
    space = orbweb.open(tmp_path_factory.mktemp("wrong") / "w")
    with serve(StaticSite(chain(3))) as server, socket.create_server(("127.0.0.1", 0)) as taken:
        space.crawl(server.url, project="site", rate="max")
        space.crawl(server.url, project="paused", rate="max", budget=1)
        yield space, Given(server.url, taken.getsockname()[1])


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_told_in_python(
    given: tuple[orbweb.Workspace, Given], case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(orbweb.OrbwebError) as raised:
        WRONG[case](*given)
    told = "\n".join((str(raised.value), *getattr(raised.value, "__notes__", ())))
    assert told
    assert not re.search(r"(?<![\w-])--[a-z]|`orbweb ", told), told
