"""Every verb returns frozen records with exact types; their `report()` is what the command prints as JSON."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import orbweb
import typed_use
from harness import Cli
from orbweb.app import workspace as door
from orbweb.app.results.record import plain, record
from orbweb.parsing.http_heads import Exchange
from servers.pages import page
from servers.site import Answer, StaticSite, html, redirect, serve

NAMES: dict[str, Any] = {
    **{name: getattr(orbweb, name) for name in orbweb.__all__ if name[0].isupper()},
    "Future": Future,
    "Exchange": Exchange,
    "Iterator": Iterator,
}
ROOT = Path(__file__).resolve().parents[2]
SPELLED = {
    "ProjectStatus": {"in_progress": "inProgress"},
    "QueueStatus": {
        "project_id": "projectID",
        "current_run_id": "currentRunID",
        "run_crawl_ids": "runCrawlIDs",
        "run_state": "runState",
        "has_queue": "hasQueue",
    },
}
"""Fields that have their name of the API in `--json`."""
TWICE = {"canResume"}
"""Names of the API that stand beside the field's own."""
VOLATILE = {"seconds", "freed", "ended_at", "robots_at"}
FAST: dict[str, Any] = {"rate": "max", "processes": 0}


def returned(verb: str) -> Any:
    """The type that a verb is annotated to return."""
    return eval(getattr(orbweb.Workspace, verb).__annotations__["return"], vars(door) | NAMES)


def parts(hint: Any) -> Iterator[Any]:
    """A type, the types that it is made of, and those of the fields of records."""
    yield hint
    for each in get_args(hint):
        if each is not Ellipsis:
            yield from parts(each)
    if isinstance(hint, type) and issubclass(hint, orbweb.Record):
        for each in get_type_hints(hint).values():
            yield from parts(each)


def is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, orbweb.Record | orbweb.Exported | orbweb.PipelineResult)


PUBLIC = [name for name, found in vars(orbweb.Workspace).items() if callable(found) and name[0] != "_"]
REPORTING = {verb for verb in PUBLIC if any(map(is_record, parts(returned(verb))))}
CRAWLING = {"crawl", "acrawl", "start", "resume", "recrawl", "discover", "scrape", "run"}


# The types.


@pytest.mark.parametrize("verb", PUBLIC)
def test_a_verb_is_annotated_with_exact_types(verb: str) -> None:
    found = list(parts(returned(verb)))
    assert Any not in found
    assert not any(each is dict or get_origin(each) is dict for each in found)


def records() -> set[type[orbweb.Record]]:
    named = {getattr(orbweb, name) for name in orbweb.__all__}
    return {each for each in named if is_record(each) and each is not orbweb.Record}


@pytest.mark.parametrize("kind", sorted(records(), key=lambda kind: kind.__name__))
def test_a_record_is_frozen_and_slotted(kind: type) -> None:
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__slots__" in vars(kind)
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")


def test_every_record_in_a_record_has_a_name_in_the_library() -> None:
    found = {each for verb in REPORTING for each in parts(returned(verb)) if is_record(each)}
    assert found | {orbweb.Deletion} == records()


@dataclass(frozen=True, slots=True)
class Inner(orbweb.Record):
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outer(orbweb.Record):
    from_: int
    inner: Inner | None
    by_name: Mapping[str, Inner]
    pairs: tuple[tuple[int, int], ...]
    late: int = 7


ROW = {"from": 1, "inner": {"names": ["a"]}, "by_name": {"b": {"names": []}}, "pairs": [[1, 2]]}


def test_a_row_becomes_a_record_and_a_row_again() -> None:
    made = record(Outer, ROW)
    assert made == Outer(1, Inner(("a",)), {"b": Inner(())}, ((1, 2),), 7)
    assert plain(made) == {**ROW, "late": 7}
    assert record(Outer, {**ROW, "inner": None}).inner is None
    with pytest.raises(FrozenInstanceError):
        made.late = 8  # type: ignore[misc]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**ROW, "new": 1}, r"Outer: missing \[\], unknown \['new'\]"),
        ({key: ROW[key] for key in ROW if key != "from"}, r"Outer: missing \['from'\], unknown \[\]"),
        ({**ROW, "inner": {}}, r"Inner: missing \['names'\]"),
    ],
    ids=["unknown", "missing", "nested"],
)
def test_no_field_of_a_row_is_dropped_or_made_up(row: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        record(Outer, row)


def test_the_guide_lists_what_each_verb_returns() -> None:
    """A row of its table has verbs, and their records in the same order; or one record for all of them."""
    guide = (ROOT / "docs/how-to/library.md").read_text(encoding="utf-8")
    rows = re.search(r"^\| verb \| record \|\n\|---\|---\|\n((?:\|.*\n)+)", guide, re.MULTILINE)
    assert rows
    listed = set()
    for verbs, named in re.findall(r"^\| (.+?) \| (.+?) \|$", rows[1], re.MULTILINE):
        for verb in re.findall(r"`(\w+)`", verbs):
            listed.add(verb)
            known = {each.__name__ for each in parts(returned(verb)) if is_record(each)}
            assert known & set(re.findall(r"`(\w+)`", named)), verb
    assert listed == REPORTING - {"acrawl"}


def test_the_reference_names_the_record_of_an_object() -> None:
    meanings = tomllib.loads((ROOT / "docs/reference/meanings.toml").read_text(encoding="utf-8"))["json"]
    named = {report["record"]: set(report["fields"]) for report in meanings.values() if "record" in report}
    for name, known in named.items():
        spelled = SPELLED.get(name, {})
        found = {spelled.get(field.name, field.name) for field in fields(getattr(orbweb, name))}
        assert found - {"exit_code"} == known - TWICE, name
    returned_by_verbs = {hint.__name__ for verb in REPORTING for hint in _outer(returned(verb))}
    assert returned_by_verbs - set(named) == {"PipelineResult", "FailureCounts", "IndexEntry"}


def _outer(hint: Any) -> Iterator[Any]:
    """The records that a type names itself."""
    if is_record(hint):
        yield hint
    for each in get_args(hint):
        yield from _outer(each)


# The values.


def assert_typed(value: Any, hint: Any, where: str) -> None:
    """Whether a value is what its annotation says."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [each for each in arguments if _fits(value, each)]
        assert kinds, f"{where}: {value!r} is not {hint}"
        assert_typed(value, kinds[0], where)
    elif origin is tuple and arguments[-1] is not Ellipsis:
        assert isinstance(value, tuple), where
        for each, kind in zip(value, arguments, strict=True):
            assert_typed(each, kind, where)
    elif origin in (tuple, list):
        assert isinstance(value, origin), f"{where}: {type(value)}"
        for each in value:
            assert_typed(each, arguments[0], f"{where}[]")
    elif origin is not None and issubclass(origin, Mapping):
        for each in value.values():
            assert_typed(each, arguments[1], f"{where}{{}}")
    else:
        assert _fits(value, hint), f"{where}: {value!r} is not {hint}"
        if is_dataclass(hint):
            hints = get_type_hints(hint)
            for field in fields(hint):
                name = field.name
                assert_typed(getattr(value, name), hints[name], f"{where}.{name}")


def _fits(value: Any, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind in (int, bool, NoneType):
        return type(value) is kind
    return isinstance(value, kind) and not (kind is Sequence and isinstance(value, str))


NOISY = "<title>noisy</title><h1>noisy</h1><p>Read {} times, 1,20{} views, on 2026-01-0{}.</p>"
LONG = "<title>{0}</title><h1>long</h1><p>" + "word and another word of a long text " * 30 + "{0}</p>"
LINKED = ("a", "same", "r", "gone", "skip/x", "noisy", "edited", "lost", "was")
SITE: dict[str, Answer] = {
    "/": html(
        "<title>start</title><h1>Start</h1><h2>Here</h2><p>"
        + "".join(f"<a href=/{name}>to {name}</a> " for name in LINKED)
        + "<a href=/long1>1</a><a href=/long2>2</a><a href=/breaks>b</a><a href=/moves>m</a>"
    ),
    "/a": page("a", "/", "/only-here"),
    "/same": page("a", "/", "/only-here"),
    "/r": redirect("/a"),
    "/noisy": html(NOISY.format("some", 1, 1)),
    "/edited": html("<title>e</title><p>A line that stays.</p><p>One that goes.</p>"),
    "/lost": page("lost"),
    "/was": page("moved content"),
    "/long1": html(LONG.format("one")),
    "/long2": html(LONG.format("two")),
    "/breaks": page("breaks"),
    "/moves": page("redirected later"),
    "/only-here": page("deep"),
}
LATER: dict[str, Answer] = {
    "/noisy": html(NOISY.format("some", 2, 2)),
    "/edited": html("<title>e</title><p>A line that stays.</p><p>One that came.</p>"),
    "/lost": html("gone", 404),
    "/a": page("a", "/", "/only-here", "/is", "/new"),
    "/same": page("a", "/", "/only-here", "/is", "/new"),
    "/was": html("gone", 410),
    "/is": page("moved content"),
    "/new": page("new"),
    "/breaks": html("broken", 500),
    "/moves": redirect("/a"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Two runs of a site that was edited between them, a paused project, and a pipeline."""
    home = tmp_path_factory.mktemp("records")
    site, space = dict(SITE), orbweb.open(home / "w")
    with pytest.MonkeyPatch.context() as patch, serve(StaticSite(site)) as server:
        patch.setenv("ORBWEB_FETCH__RETRIES", "0")
        space.crawl(server.url, project="site", exclude=["/skip/"], **FAST)
        site.update(LATER)
        space.recrawl("site")
        space.crawl(server.url, project="half", budget=2, **FAST)
        space.discover(server.url, project="pipe", **FAST)
        space.scrape("pipe", budget=1)
        space.export("site", to="state", out=home / "state")
        yield home, server.url


def altered(space: orbweb.Workspace) -> None:
    """Damage for `doctor`."""
    table = space.path / "logs" / "pages-site-1.csv"
    table.write_bytes(table.read_bytes().replace(b"noisy", b"n0isy"))


Verb = Callable[[orbweb.Workspace, str], Any]


@dataclass(frozen=True)
class Case:
    """A call, the command with the same result, its exit code, and what is done before."""

    verb: str
    call: Verb
    command: tuple[str, ...]
    code: int = 0
    before: Callable[[orbweb.Workspace], object] = lambda _: None


CASES = {
    "status": Case("status", lambda s, _: s.status("site"), ("status", "site")),
    "status of a pipeline": Case("status", lambda s, _: s.status("pipe"), ("status", "pipe")),
    "status without a run": Case(
        "status", lambda s, _: s.status("half"), ("status", "half"), before=lambda s: s.delete("half", run=1)
    ),
    "statuses": Case("statuses", lambda s, _: s.statuses(), ("status",)),
    "finish": Case("finish", lambda s, _: s.finish("half"), ("finish", "half")),
    "runs": Case("runs", lambda s, _: s.runs("site"), ("runs", "site")),
    "queue": Case("queue", lambda s, _: s.queue("half"), ("queue", "half")),
    "pages": Case("pages", lambda s, _: s.pages("site"), ("pages", "site")),
    "near duplicates": Case(
        "near_duplicates",
        lambda s, _: s.near_duplicates("site", within=20),
        ("pages", "site", "--near-duplicates", "--within", "20"),
    ),
    "gone": Case("gone", lambda s, _: s.gone("site"), ("pages", "site", "--gone")),
    "failed": Case("failed", lambda s, _: s.failed("site"), ("failed", "site")),
    "search": Case("search", lambda s, _: s.search("site", "moved"), ("search", "site", "moved")),
    "page index": Case("page_index", lambda s, _: list(s.page_index("site")), ("index", "site")),
    "show": Case("show", lambda s, url: s.show("site", url), ("show", "site", "URL")),
    "show an alternate": Case("show", lambda s, url: s.show("site", f"{url}same"), ("show", "site", "URLsame")),
    "show what is gone": Case("show", lambda s, url: s.show("site", f"{url}was"), ("show", "site", "URLwas")),
    "show what was not visited": Case(
        "show", lambda s, url: s.show("site", f"{url}skip/x"), ("show", "site", "URLskip/x")
    ),
    "explain": Case("explain", lambda s, url: s.explain("site", f"{url}a"), ("explain", "site", "URLa")),
    "explain what is queued": Case(
        "explain", lambda s, url: s.explain("half", f"{url}gone"), ("explain", "half", "URLgone")
    ),
    "explain what is unknown": Case(
        "explain", lambda s, url: s.explain("site", f"{url}never"), ("explain", "site", "URLnever"), code=3
    ),
    "diff": Case("diff", lambda s, _: s.diff("site"), ("diff", "site")),
    "rules": Case("rules", lambda s, _: s.rules("half", exclude=["/r$"]), ("rules", "half", "--exclude", "/r$")),
    "settings": Case("settings", lambda s, _: s.settings("site"), ("settings", "site")),
    "validate policy": Case(
        "validate_policy",
        lambda s, _: s.validate_policy("https://github.com/a/b", profile="github"),
        ("validate-policy", "https://github.com/a/b", "--profile", "github"),
    ),
    "plan of URLs": Case(
        "plan",
        lambda s, url: s.plan([url, f"{url}gone"], rate="max"),
        ("plan", "URL", "URLgone", "--rate", "max"),
        3,
    ),
    "plan of a project": Case(
        "plan",
        lambda s, _: s.plan("site", exclude=["/long"]),
        ("plan", "site", "--exclude", "/long"),
    ),
    "export": Case(
        "export",
        lambda s, _: s.export("site", to="csv", out=s.path.parent / "pages.csv"),
        ("export", "site", "--to", "csv", "--out", "HOME/pages.csv"),
    ),
    "report": Case(
        "write_report",
        lambda s, _: s.write_report("site", out=s.path.parent / "report.html"),
        ("report", "site", "--out", "HOME/report.html"),
    ),
    "extract": Case("extract", lambda s, _: s.extract("site", everything=True), ("extract", "site", "--all")),
    "replay": Case("replay", lambda s, _: s.replay("site", verify=True), ("replay", "site", "--verify")),
    "import": Case(
        "import_state",
        lambda s, _: s.import_state(s.path.parent / "state", project="moved"),
        ("import", "HOME/state", "--project", "moved"),
    ),
    "configure": Case("configure", lambda s, _: s.configure(), ("configure",)),
    "reset": Case("reset", lambda s, _: s.reset(), ("reset", "--yes")),
    "delete": Case("delete", lambda s, _: s.delete("site"), ("delete", "site", "--yes")),
    "rename": Case("rename", lambda s, _: s.rename("pipe", "other"), ("rename", "pipe", "other")),
    "doctor": Case("doctor", lambda s, _: s.doctor(), ("doctor",), code=3, before=altered),
}


def test_every_verb_that_reports_is_called_here() -> None:
    assert {case.verb for case in CASES.values()} | CRAWLING | {"failure_counts"} == REPORTING


@pytest.mark.parametrize("name", CASES)
def test_the_report_of_a_verb_is_what_its_command_prints(
    name: str, crawled: tuple[Path, str], tmp_path: Path
) -> None:
    case, (home, url) = CASES[name], crawled
    texts = []
    for who in ("python", "shell"):
        space = orbweb.open(shutil.copytree(home, tmp_path / who, symlinks=True) / "w")
        case.before(space)
        if who == "python":
            found = case.call(space, url)
            hint = returned(case.verb)
            assert_typed(found, list[get_args(hint)[0]] if get_origin(hint) is Iterator else hint, case.verb)  # type: ignore[misc]
            shown = _plain(found)
        else:
            words = [word.replace("URL", url).replace("HOME", str(tmp_path / who)) for word in case.command]
            shown = Cli(space.path)(*words, "--json").ok(case.code).json
        texts.append(json.dumps(_steady(shown)).replace(str(tmp_path / who), "HOME"))
    assert texts[0] == texts[1]


def _plain(found: Any) -> Any:
    return [_plain(each) for each in found] if isinstance(found, list) else found.report()


def _steady(report: Any) -> Any:
    """A report without what differs from one call to the next."""
    if isinstance(report, dict):
        return {key: _steady(value) for key, value in report.items() if key not in VOLATILE}
    return [_steady(each) for each in report] if isinstance(report, list) else report


def test_the_edited_site_differs_in_every_way(crawled: tuple[Path, str]) -> None:
    """So that the records of all of them were made."""
    found = orbweb.open(crawled[0] / "w").diff("site")
    assert found.differs
    for name in ("added", "removed", "changed", "moved", "redirected", "failing", "noise"):
        assert getattr(found, name), name


def test_what_only_python_counts(crawled: tuple[Path, str]) -> None:
    found = orbweb.open(crawled[0] / "w").failure_counts("site")
    assert_typed(found, orbweb.FailureCounts, "failure_counts")
    assert found.report()["by_kind"] == found.by_kind


def test_crawls_and_pipelines(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(SITE)) as server:
        assert_typed(space.crawl(server.url, project="site", **FAST), orbweb.CrawlResult, "crawl")
        done = space.run(server.url, project="pipe", rate="max")
    assert isinstance(done.scraped, orbweb.CrawlResult)
    assert_typed(done.scraped, orbweb.CrawlResult, "scraped")
    assert_typed(done.discovery, orbweb.CrawlResult, "discovery")
    report = done.report()
    assert report is not None
    assert report["discovery"]["project"] == "pipe.discovery"
    json.dumps(report)


def test_what_is_deleted_is_told_before(crawled: tuple[Path, str], tmp_path: Path) -> None:
    space = orbweb.open(shutil.copytree(crawled[0], tmp_path / "h", symlinks=True) / "w")
    told: list[orbweb.Deletion] = []
    done = space.delete("half", confirm=told.append)
    assert_typed(told[0], orbweb.Deletion, "confirm")
    assert done.report() == {**told[0].report(), "freed": done.freed}


def test_a_typed_program(crawled: tuple[Path, str]) -> None:
    space, url = orbweb.open(crawled[0] / "w"), crawled[1]
    lines = typed_use.summary(space, "site")
    assert f"{url}: {space.status('site').pages}" in lines
    assert f"{url} -> {url}gone: to gone" in lines
    assert typed_use.link_texts(space, "site", url)[:2] == ["Start", "Here"]
    assert typed_use.changed(space, "site")[f"{url}edited"] == 0
    assert typed_use.planned(space, "site") == 0
