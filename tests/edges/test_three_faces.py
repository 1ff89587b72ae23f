"""The same scenario through the command line, the library and the API: the same manifests, the same counts, the
same differences."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

import orbweb
from harness import Cli
from orbweb.app.options import OPTIONS, Kind
from servers.graph import GraphSite
from servers.pages import page
from servers.site import Answer, Request, Server, Site, serve
from serving import RunningServer, served

PAGES = 90
HOST, ELSEWHERE = "faces.test", "elsewhere.test"
URL = f"http://{HOST}/"
COUNTS = ("discovered", "visited", "failed", "queued", "skipped", "pages", "alternates", "state")


class Changing:
    """A random graph of which some pages get other content, some go and some come; and pages on another host."""

    def __init__(self) -> None:
        self._graph: Site = GraphSite(5, PAGES)
        self._is_changed = False

    def change(self, *, back: bool = False) -> None:
        self._is_changed = not back

    def answer(self, request: Request) -> Answer:
        if request.host == ELSEWHERE:
            return page(f"elsewhere {request.path}", "/further", "/further/still")
        if self._is_changed and request.path == "/new-page":
            return page("a page that is new")
        found = self._graph.answer(request)
        if found.status != 200 or b"<body" not in found.body:
            return found
        body = found.body
        if request.path == "/":
            body = body.replace(b"</body>", f'<p><a href="http://{ELSEWHERE}/">more</a></p></body>'.encode())
        if self._is_changed and zlib.crc32(request.path.encode()) % 3 == 0:
            body = body.replace(b"</main>", b"<p>A sentence that was not there before.</p></main>")
        if self._is_changed and request.path == "/":
            body = body.replace(b"</body>", b'<p><a href="/new-page">new</a></p></body>')
        return Answer(found.status, found.headers, body)


class Face(Protocol):
    """One way to use a workspace."""

    workspace: Path

    def do(self, verb: str, project: str, options: Mapping[str, Any]) -> None: ...

    def status(self, project: str) -> Mapping[str, Any]: ...

    def diff(self, project: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class CommandLine:
    workspace: Path

    def do(self, verb: str, project: str, options: Mapping[str, Any]) -> None:
        target = (URL, "--project", project) if verb == "crawl" else (project,)
        words = [word for name, value in options.items() for word in words_of(name, value)]
        Cli(self.workspace)(verb, *target, *words, "--json").ok(0, 3, 4)

    def status(self, project: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = Cli(self.workspace).ask("status", project, "--json").ok().json
        return found

    def diff(self, project: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = Cli(self.workspace)("diff", project, "--json").ok().json
        return found


def words_of(name: str, value: Any) -> list[str]:
    option = next(each for each in OPTIONS if each.name == name)
    if option.kind is Kind.FLAG:
        return [option.flag]
    return [f"{option.flag}={each}" for each in (value if isinstance(value, list) else [value])]


@dataclass(frozen=True)
class Library:
    workspace: Path

    def do(self, verb: str, project: str, options: Mapping[str, Any]) -> None:
        space: Any = orbweb.open(self.workspace)
        if verb == "crawl":
            space.crawl(URL, project=project, **options)
        else:
            getattr(space, verb)(project, **options)

    def status(self, project: str) -> Mapping[str, Any]:
        return orbweb.open(self.workspace).status(project).report()

    def diff(self, project: str) -> Mapping[str, Any]:
        return orbweb.open(self.workspace).diff(project).report()


@dataclass(frozen=True)
class Api:
    server: RunningServer

    @property
    def workspace(self) -> Path:
        return self.server.workspace

    def do(self, verb: str, project: str, options: Mapping[str, Any]) -> None:
        body = {camel(name): value for name, value in options.items()}
        if verb == "rules":
            self.server.call("PATCH", f"/rules/{project}", body)
            return
        if verb == "crawl":
            begun = self.server.post("/crawl", {"url": URL, "project": project, **body})
        else:
            begun = self.server.post(f"/{'resume-crawl' if verb == 'resume' else verb}/{project}", body)
        assert self.server.ended(begun["jobID"])["state"] == "completed"

    def status(self, project: str) -> Mapping[str, Any]:
        return snake(self.server.get(f"/projects/{project}/status"))

    def diff(self, project: str) -> Mapping[str, Any]:
        return snake(self.server.get(f"/projects/{project}/diff"))


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def snake(found: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): value for name, value in found.items()}


Step = tuple[str, dict[str, Any]]
QUICK = {"rate": "max"}
SCENARIOS: dict[str, list[Step]] = {
    "crawl": [("crawl", QUICK)],
    "budget": [("crawl", {**QUICK, "budget": 25}), ("resume", {"budget": 25}), ("resume", {"budget": 10})],
    "resume": [("crawl", {**QUICK, "budget": 30}), ("resume", {"budget": 999})],
    "page limit": [("crawl", {**QUICK, "page_limit": 15})],
    "recrawl": [("crawl", QUICK), ("recrawl", {})],
    "diff": [("crawl", QUICK), ("change", {}), ("recrawl", {})],
    "rules": [
        ("crawl", {**QUICK, "budget": 20}),
        ("rules", {"exclude": ["[13579]$"]}),
        ("resume", {"budget": 999}),
    ],
    "external hops": [("crawl", {**QUICK, "external_hops": 1})],
    "exclude": [("crawl", {**QUICK, "exclude": ["[02468]$", "/p/"], "max_depth": 4})],
}


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Server, Changing]]:
    changing = Changing()
    with serve(changing) as found:
        yield found, changing


@pytest.fixture(scope="module")
def faces(
    site: tuple[Server, Changing], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Face, Face, Face]]:
    home, port = tmp_path_factory.mktemp("faces"), site[0].port
    pins = [f"{host}:80:127.0.0.1:{port}" for host in (HOST, ELSEWHERE)]
    with (
        pytest.MonkeyPatch.context() as patch,
        served(home / "api", *(word for pin in pins for word in ("--resolve", pin))) as server,
    ):
        patch.setenv("ORBWEB_RESOLVE", f"[{', '.join(repr(pin) for pin in pins)}]")
        yield CommandLine(home / "command-line"), Library(home / "library"), Api(server)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_one_result(
    name: str, site: tuple[Server, Changing], faces: tuple[Face, Face, Face]
) -> None:
    project = name.replace(" ", "-")
    try:
        for verb, options in SCENARIOS[name]:
            if verb == "change":
                site[1].change()
                continue
            for face in faces:
                face.do(verb, project, options)
    finally:
        site[1].change(back=True)
    assert_same(faces, lambda face: list(orbweb.open(face.workspace).manifest(project)))
    assert_same(faces, lambda face: {key: face.status(project)[key] for key in COUNTS})
    if any(verb == "recrawl" for verb, _ in SCENARIOS[name]):
        found = assert_same(faces, lambda face: without_times(face.diff(project)))
        assert bool(found["changed"] and found["added"]) == (name == "diff")


def assert_same(faces: tuple[Face, Face, Face], look: Callable[[Face], Any]) -> Any:
    first, *others = map(look, faces)
    assert first
    for other in others:
        assert other == first
    return first


def without_times(found: Mapping[str, Any]) -> dict[str, Any]:
    kinds = ("added", "removed", "changed", "moved", "redirected", "failing", "noise")
    urls = {kind: [each["url"] for each in found[kind]] for kind in kinds}
    return {**urls, **{name: found[name] for name in ("old", "new", "unchanged", "pending")}}
