"""Which settings are in force, where they come from, and how long an option holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from servers.pages import chain
from servers.site import StaticSite, serve

FAST: dict[str, Any] = {"project": "site", "rate": "max", "processes": 0}


def by_key(report: orbweb.ProjectSettings) -> dict[str, orbweb.EffectiveSetting]:
    return {each.key: each for each in report.settings}


def test_options_of_resume_hold_for_one_crawl_unless_they_are_saved(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(20))) as server:
        space.crawl(server.url, budget=2, **FAST)
        assert space.resume("site", budget=5).crawl_visited == 5
        assert space.resume("site").crawl_visited == 2, "the stored budget is back"
        assert space.resume("site", budget=3, save=True).crawl_visited == 3
        assert space.resume("site").crawl_visited == 3, "saved"
        last = space.resume("site", budget=None)
    assert (last.queued, last.run_state, last.visited) == (0, "completed", 21)
    assert by_key(space.settings("site"))["limits.budget"].value == 3


def test_sessions_with_other_budgets_visit_what_one_session_visits(tmp_path: Path) -> None:
    with serve(StaticSite(chain(12))) as server:
        whole, parts = orbweb.open(tmp_path / "whole"), orbweb.open(tmp_path / "parts")
        whole.crawl(server.url, **FAST)
        parts.crawl(server.url, budget=3, **FAST)
        for budget in (1, 4, 2):
            assert parts.resume("site", budget=budget).crawl_visited == budget
        parts.resume("site", budget=None)
    assert parts.manifest_hash("site") == whole.manifest_hash("site")


def test_rules_of_a_file_given_to_recrawl_hold_for_that_run_only(tmp_path: Path) -> None:
    file = tmp_path / "fewer.yaml"
    file.write_text("scope: {exclude: ['/[3-6]$']}\n")
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(6))) as server:
        assert space.crawl(server.url, **FAST).visited == 7
        fewer = space.recrawl("site", config=file)
        assert (fewer.visited, fewer.queued, fewer.run_state) == (3, 0, "completed")
        assert by_key(space.settings("site"))["scope.exclude"].source == "default"
        assert space.crawl(project="site").visited == 7
        assert space.recrawl("site", config=file, save=True).visited == 3
        assert by_key(space.settings("site"))["scope.exclude"].value == ["/[3-6]$"]


def test_a_resumed_run_keeps_the_rules_of_a_file_until_its_crawl_ends(tmp_path: Path) -> None:
    file = tmp_path / "fewer.yaml"
    file.write_text("scope: {exclude: ['/[4-6]$']}\n")
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(6))) as server:
        space.crawl(server.url, budget=1, **FAST)
        fewer = space.resume("site", config=file, budget=None)
        assert (fewer.visited, fewer.queued, fewer.run_state) == (4, 0, "completed")
        again = space.resume("site", budget=None)
    assert (again.visited, again.run_state) == (7, "completed"), "by the stored rules there is more"


def test_where_a_value_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = orbweb.open(tmp_path / "w")
    monkeypatch.setenv("TOKEN_OF_SITE", "secret")
    with serve(StaticSite(chain(1))) as server:
        space.crawl(server.url, profile="site", headers={"x-key": "hunter2", "x-token": "$TOKEN_OF_SITE"}, **FAST)
    file = tmp_path / "own.yaml"
    file.write_text("fetch: {timeout_s: 7}\nlimits: {workers: 9}\n")
    monkeypatch.setenv("ORBWEB_FETCH__RETRIES", "4")
    monkeypatch.setenv("ORBWEB_LIMITS__WORKERS", "11")
    found = by_key(space.settings("site", config=file, max_depth=5))
    assert {key: (each.value, each.source) for key, each in found.items() if each.differs} == {
        "profile": ("site", "project"),
        "fetch.headers": ({"x-key": "[redacted]", "x-token": "$TOKEN_OF_SITE"}, "project"),
        "limits.rate": ("max", "project"),
        "engine.processes": (0, "project"),
        "fetch.timeout_s": (7.0, str(file)),
        "limits.workers": (11, "environment variable ORBWEB_LIMITS__WORKERS"),
        "fetch.retries": (4, "environment variable ORBWEB_FETCH__RETRIES"),
        "limits.max_depth": (5, "options"),
        **{key: (each.value, each.source) for key, each in found.items() if each.source == "profile site"},
    }
    assert found["limits.rate"].default == 2.0
    assert (found["limits.rate"].option, found["fetch.timeout_s"].option) == ("rate", None)
    assert "hunter2" not in repr(space.settings("site"))


def test_the_settings_file_of_the_workspace_is_named(cli: Cli) -> None:
    space = orbweb.open(cli.workspace)
    with serve(StaticSite(chain(1))) as server:
        space.crawl(server.url, **FAST)
    (cli.workspace / "orbweb.yaml").write_text("limits: {rate: 3}\n")
    report = cli("settings", "site", "--json").ok().json
    assert report["file"] == str(cli.workspace / "orbweb.yaml")
    assert by_key(space.settings("site"))["limits.rate"].source == report["file"]
    shown = cli("settings", "site").ok().out
    assert [line.split() for line in shown.splitlines() if line.startswith("limits")] == [
        ["limits.rate", "3", "2", report["file"]]
    ]
    assert f"orbweb settings site --all --workspace {cli.workspace}" in shown
    assert len(cli("settings", "site", "--all").ok().out.splitlines()) == len(report["settings"]) + 1
    assert "no project 'nix'" in cli("settings", "nix").ok(2).err


def test_stored_options_and_their_changes_are_noted(cli: Cli) -> None:
    with serve(StaticSite(chain(3))) as server:
        first = cli.crawl(server.url, "--project", "site", "--rate", "max", "--max-depth", "2").ok()
        assert "stored options" not in first.err
        again = cli("recrawl", "site", "--workers", "3", "--no-progress").ok()
        assert "stored options in force: rate max, max-depth 2 (`orbweb settings site --workspace" in again.err
        assert "workers" not in again.err
        changed = cli.crawl("--project", "site", "--max-depth", "1", "--header", "x-key: hunter2").ok()
        assert "stored options in force: rate max (" in changed.err
        assert "changes stored options: header none -> x-key: [redacted], max-depth 2 -> 1" in changed.err
        same = cli.crawl("--project", "site", "--rate", "max").ok()
        assert "changes stored options" not in same.err
        saved = cli("recrawl", "site", "--rate", "50", "--save", "--no-progress").ok()
        assert "changes stored options: rate max -> 50" in saved.err
