"""The documentation names everything there is, and everything it names is there."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

import orbweb
from harness import Cli
from orbweb import config, failpoints, lifecycle
from orbweb.cli import demo
from orbweb.cli.output import MANIFEST_FIELDS
from orbweb.config import template
from orbweb.export.live.metrics import COUNTERS, GAUGES
from orbweb.export.live.rows import COLUMNS
from orbweb.model import FailKind, Reuse, Role, SkipReason, Source
from orbweb.store.queries.vanished import Past, tombstone
from servers.site import StaticSite, html, serve

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
KEPT_OUT = {"__pycache__", ".venv", ".git", "orbweb-data", "build", "dist"}
BY_HAND = {"README.md"}


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", REFERENCE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


generate = load_generator()
MADE: dict[str, str] = generate.pages()


def files(*suffixes: str) -> Iterator[Path]:
    """The text files of the repository, without what the developer's tools leave behind."""
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts
        hidden = inside[0].startswith(".") and inside[0] not in (".ci", ".gitignore")
        if hidden or KEPT_OUT.intersection(inside) or any(part.endswith("_cache") for part in inside):
            continue
        if path.is_file() and (not suffixes or path.suffix in suffixes):
            yield path


PAGES = list(files(".md"))
DOCS = "\n".join(path.read_text(encoding="utf-8") for path in PAGES if path.is_relative_to(ROOT / "docs"))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("name", sorted(MADE))
def test_the_reference_is_what_the_code_makes_of_it_now(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == MADE[name], "run `make docs`"


def test_the_schema_is_what_the_code_makes_of_it_now() -> None:
    assert template.shipped_schema() == template.schema_text(), "run `make docs`"


def test_nothing_else_poses_as_reference() -> None:
    assert {path.name for pattern in ("*.md", "*.1") for path in REFERENCE.glob(pattern)} == set(MADE) | BY_HAND


NAMES = {
    "settings": [key for key, _, _ in config.keys()],  # noqa: SIM118
    "commands": [f"orbweb {command.name}" for command in generate.command_list()],
    "options": [flag for command in generate.command_list() for each in command.options for flag in each.flags],
    "states": [*lifecycle.RunState, *lifecycle.CrawlState, *lifecycle.ItemState, *lifecycle.EndedBy],
    "reasons": [*SkipReason, *FailKind, *Source, *Role, *Reuse],
    "failpoints": list(failpoints.POINTS),
    "columns": [column for columns in generate.all_columns().values() for column, _ in columns],
    "tables": list(generate.all_columns()),
    "manifest columns": list(MANIFEST_FIELDS),
    "pages columns": list(COLUMNS),
    "metrics": [*COUNTERS, *GAUGES],
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_name_is_in_the_documentation(kind: str) -> None:
    missing = [name for name in NAMES[kind] if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", DOCS)]
    assert not missing


# Links.


@cache
def parsed(path: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))


def links(path: Path) -> Iterator[str]:
    for token in parsed(path):
        for child in token.children or ():
            target = child.attrGet("href" if child.type == "link_open" else "src")
            if isinstance(target, str):
                yield target


def anchors(path: Path) -> set[str]:
    """The fragments that a heading of the page gets on a code host."""
    tokens = parsed(path)
    heads = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_resolve(path: Path) -> None:
    broken = []
    for link in links(path):
        target, _, fragment = link.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        found = (path.parent / target).resolve() if target else path
        if not found.exists() or (fragment and fragment not in anchors(found)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("start", ["README.md", "docs/README.md"])
def test_every_page_can_be_reached_from_the_readme(start: str) -> None:
    reached, waiting = set(), [ROOT / start]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = [link.partition("#")[0] for link in links(page) if "://" not in link]
        waiting += [(page.parent / target).resolve() for target in targets if target]
    assert {path for path in PAGES if path.is_relative_to(ROOT / "docs")} <= reached


# Commands in the text.


def shell_lines(path: Path) -> Iterator[str]:
    """What a reader is told to type: the lines of fenced blocks, up to a comment or a pipe."""
    for token in parsed(path):
        if token.type == "fence" and token.info in ("", "sh", "console"):
            for line in token.content.splitlines():
                yield re.split(r"\s#|\s[|>&;]+\s|\s\[OPTIONS\]", line.removeprefix("$ "))[0].strip()


def typed(program: str) -> list[tuple[str, list[str]]]:
    """The pages and the words after the program's name, for each line that calls it."""
    starts = re.compile(rf"(?:\.venv/bin/)?{program}\s").match
    lines = [(relative(path), line) for path in PAGES for line in shell_lines(path) if starts(line)]
    return [(page, shlex.split(line)[1:]) for page, line in lines]


@pytest.mark.parametrize(("page", "words"), typed("orbweb"), ids=lambda value: " ".join(value) if value else "")
def test_commands_in_the_text_exist(page: str, words: list[str]) -> None:
    known = {command.name: command for command in generate.command_list()}
    if words[0].startswith("--"):
        assert words[0] in ("-h", "--help", "--version")
        return
    assert words[0] in known
    flags = {flag for option in known[words[0]].options for flag in option.flags} | {"-h", "--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= flags


def test_make_targets_in_the_text_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for _, words in typed("make") for word in words if "=" not in word}
    named |= set(re.findall(r"`make ([a-z-]+)`", "\n".join(path.read_text(encoding="utf-8") for path in PAGES)))
    assert named <= targets


def test_every_room_is_in_the_architecture() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src/orbweb"
    rooms = [path.name for path in source.iterdir() if (path / "__init__.py").exists()]
    base = [path.name for path in source.glob("*.py") if not path.name.startswith("_")]
    assert [name for name in rooms if f"`{name}/`" not in page] == []
    assert [name for name in base if f"`{name}`" not in page] == []
    assert [name for name in re.findall(r"`src/orbweb/([^`]+)`", page) if not (source / name).exists()] == []


def test_each_step_of_a_urls_way_names_one_file() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. (.*(?:\n   .*)*)", page, re.MULTILINE)
    assert [len(re.findall(r"`src/orbweb/[^`]+\.py`", step)) for step in steps] == [1] * 9


# What a reader sees first.


def test_the_readme_takes_a_few_minutes_to_read() -> None:
    assert 600 <= len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_the_python_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = [token.content for token in parsed(ROOT / "README.md") if token.info == "python"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBWEB_LIMITS__RATE", "max")
    with demo.serve() as url:
        exec(compile(example.replace("https://example.org/docs/", url), "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 17
    assert lines[0].startswith(f"{url} Larder ")


# Decisions.

DECISIONS = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=relative)
def test_a_decision_has_its_parts_and_is_listed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.name[:4]}. ")
    assert re.search(r"^Status: (accepted|replaced by .+), \d{4}-\d\d-\d\d\.", text, re.MULTILINE)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Choice", "Rejected", "Price"]
    assert path.name in links(path.with_name("README.md"))


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


# What programs read.


def test_json_fields_are_those_of_the_reference(cli: Cli) -> None:
    with serve(StaticSite({"/": html('<a href="/gone">gone</a>')})) as server:
        crawl = cli.crawl(server.url, "--project", "site", "--rate", "max").ok(3).json
        workspace = orbweb.open(cli.workspace)
        found = {
            "crawl": crawl,
            "status": workspace.status("site"),
            "runs": workspace.runs("site")[0],
            "crawls": workspace.status("site").crawls[0],
            "queue": workspace.queue("site"),
            "pages": workspace.pages("site")[0],
            "gone": tombstone([Past(2, "/", None, 404, "-"), Past(1, "/", None, 200, "primary")]) or {},
            "failed": workspace.failed("site")[0],
            "diff": workspace.diff("site", 1, 1),
            "show": workspace.show("site", server.url) or {},
            "explain": orbweb.open(cli.workspace).explain("site", server.url),
            "extract": cli("extract", "site", "--json").ok().json,
            "plan": orbweb.open(cli.workspace).plan(server.url, rate="max"),
            "replan": orbweb.open(cli.workspace).plan("site"),
            "rules": orbweb.open(cli.workspace).rules("site"),
            "fetch": cli("fetch", server.url, "--json", "--rate", "max").ok().json[0],
            "export": asdict(orbweb.open(cli.workspace).export("site", to="llms", out=cli.workspace / "llms")),
            "report": cli("report", "site", "--out", str(cli.workspace.parent / "report.html"), "--json")
            .ok()
            .json,
            "replay": cli("replay", "site", "--json").ok().json,
            "retry": cli("retry", "site", "--json").ok().json,
            "manifest": cli("manifest", "site", "--hash", "--json").ok().json,
            "doctor": cli("doctor", "--json").ok().json,
            "import": _imported(cli),
            "search": orbweb.open(cli.workspace).search("site", "gone")[0],
            "validate-policy": orbweb.open(cli.workspace).validate_policy(server.url)[0],
            "settings": workspace.settings("site"),
            "rename": workspace.rename("moved", "renamed"),
            "delete": workspace.delete("renamed"),
            "configure": orbweb.open(cli.workspace.parent / "other").configure(),
            "reset": orbweb.open(cli.workspace.parent / "other").reset(),
        }
    told = {name: set(report["fields"]) for name, report in generate.MEANINGS["json"].items()}
    printed = {
        name: report.report() if isinstance(report, orbweb.Record) else report for name, report in found.items()
    }
    assert {name: set(report) for name, report in printed.items()} == told


def _imported(cli: Cli) -> dict[str, Any]:
    folder = cli.workspace / "state"
    orbweb.open(cli.workspace).export("site", to="state", out=folder)
    return orbweb.open(cli.workspace).import_state(folder, project="moved").report()


def flattened(settings: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def test_options_set_the_settings_that_the_reference_says(cli: Cli) -> None:
    values = {
        "profile": "site",
        "user_agent": "test/1.0",
        "resolve": "example.org:80:127.0.0.1",
        "limits.rate": "max",
        "scope.include": "/",
        "scope.exclude": "/no",
        "engine.order": "strict",
        "store.layout": "files",
        "scope.strict_path": None,
        "fetch.allow_private": None,
        "sitemap.mode": "off",
        "resources.mode": "check",
        "fetch.headers": "X-A: b",
    }
    options: list[object] = []
    for key, name in generate.flag_names().items():
        value = values.get(key, 1)
        options += [generate.crawl_flags()[name], *([] if value is None else [value])]
    with serve(StaticSite({"/": html("one page")})) as server:
        cli.crawl(server.url, "--project", "site", *options).ok()
    with sqlite3.connect(cli.workspace / "orbweb.db") as db:
        (settings,) = db.execute("SELECT settings FROM projects").fetchone()
    db.close()
    stored = {"fetch.headers" if key == "fetch.headers.x-a" else key for key in flattened(json.loads(settings))}
    assert stored == set(generate.flag_names())


def test_no_path_of_a_developers_machine_is_in_the_repository() -> None:
    machine = re.compile(r"(?<![\w.~<>)}\]-])/(?:work|root|home|tmp|Users)/")
    told = []
    for path in files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        told += [f"{relative(path)}: {line.strip()[:100]}" for line in text.splitlines() if machine.search(line)]
    assert not told


def test_what_the_demo_is_shown_to_print_is_what_it_prints(cli: Cli) -> None:
    """Every line of the examples with the bundled site, but for its port, durations and where the workspace is."""
    done = cli("demo", "--no-progress").ok(3)
    start = cli("pages", "demo", "--json").ok().json[0]["url"]
    here = f" --workspace {cli.workspace}"
    printed = done.err + done.out.replace(here, "").replace(str(cli.workspace), "orbweb-data")
    for words in (
        *(["pages", "demo"], ["failed", "demo"], ["search", "demo", "oldest", "first", "--limit", "2"]),
        ["explain", "demo", start.replace("docs/", "blog/larder-1-4.html")],
        ["explain", "demo", f"{start}secret.html"],
    ):
        printed += cli(*words).ok(0, 3).out
    known = set(_without_chance(printed).splitlines())
    for page in ("README.md", "docs/how-to/read.md", "docs/how-to/explain.md", "docs/tutorial.md"):
        tokens = MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8"))
        examples = [token.content for token in tokens if token.type == "fence" and token.info in ("", "console")]
        shown = "\n".join(each for each in examples if "demo " in each or "Crawled 19 URLs" in each)
        lines = [line for line in _without_chance(shown).splitlines() if line and line[0] not in "$."]
        assert lines, page
        assert [line for line in lines if line not in known and "on purpose" not in line] == [], page


def _without_chance(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "TIME", text)
    return re.sub(r"in \d+\.\d s", "in N s", re.sub(r"127\.0\.0\.1:\d+", "HOST", text))
