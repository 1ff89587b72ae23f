"""The github profile against a site that is built like github.com, served on loopback under that name."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness import Cli
from orbweb import config
from orbweb.app.settings import policy_rules
from orbweb.policy.rules import Policy
from servers.github import FRAME, PARTS, GitHubSite
from servers.secure import certificate
from servers.site import Server, serve

AGENT = "tests/1.0 (+mailto:tests@example.org)"
POLICY = Policy(policy_rules(config.build(config.read_profile("github"), source="github")), ())


@contextmanager
def github(home: Path, site: GitHubSite) -> Iterator[tuple[Server, list[object], dict[str, str]]]:
    """The server, and what a crawl of it needs: options and environment."""
    context, authority = certificate(home, "github.com")
    with serve(site, tls=context) as server:
        options = ["--project", "github", "--profile", "github", "--user-agent", AGENT]
        options += ["--resolve", f"github.com:443:127.0.0.1:{server.port}"]
        yield server, options, {"SSL_CERT_FILE": str(authority)}


def test_exactly_the_expected_pages_are_asked_for(cli: Cli, tmp_path: Path) -> None:
    site = GitHubSite()
    with github(tmp_path, site) as (server, options, env):
        done = cli.crawl("https://github.com/topics", *options, "--rate", "max", env=env).ok(3)
        log = server.log
    expected = site.expected()
    assert {hit.path for hit in log} == set(expected)
    assert {hit.host for hit in log} == {"github.com"}
    assert {hit.user_agent for hit in log} == {AGENT}
    assert not {hit.path for hit in log} & {link.partition("?")[0] for link in FRAME}
    assert not [hit.path for hit in log for part in PARTS if hit.path.endswith(f"/{part}")]
    cli.check("github")
    visited = {urlsplit(line[1]).path: line[1] for line in cli.manifest("github")}
    assert {path: POLICY.page_type(url) for path, url in visited.items()} == expected
    assert (done.json["skipped"]["cap"], done.json["skipped"]["robots"]) == (6 + 5, 2)
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        rules = {rule for (rule,) in db.execute("SELECT DISTINCT rule FROM urls WHERE reason = 'cap'")}
        (settings,) = db.execute("SELECT settings FROM projects").fetchone()
    assert rules == {
        "policy.groups[0].caps.issues: 5 of repository ann/lib",
        "policy.groups[0].caps.issues: 5 of repository bob/tool",
    }
    assert json.loads(settings)["profile"] == "github"
    assert "policy" not in json.loads(settings)


def test_two_services_keep_to_the_same_rules(cli: Cli, tmp_path: Path) -> None:
    site = GitHubSite()
    with github(tmp_path, site) as (server, options, env):
        cli("run", "https://github.com/topics", *options, "--rate", "max", "--json", env=env).ok(3)
        asked = {hit.path for hit in server.log}
    expected = site.expected()
    assert asked == set(expected)
    folder = cli.workspace / "spool" / "discoveries"
    lines = [json.loads(line) for path in folder.iterdir() for line in path.read_text().splitlines()]
    types = {urlsplit(line["url"]).path: line["page_type"] for line in lines}
    assert set(types.values()) >= {"topic", "repo_root", "issues", "pull", "blob"}
    assert types == {path: expected[path] for path in types}
    with (cli.workspace / "logs" / "pages-github-1.csv").open(newline="") as file:
        rows = [(urlsplit(row["url"]).path, row["page_type"]) for row in csv.DictReader(file)]
    assert sorted(rows) == sorted(types.items())


@pytest.mark.alone
def test_one_request_a_second_on_two_connections(cli: Cli, tmp_path: Path) -> None:
    with github(tmp_path, GitHubSite(delay_s=2.4)) as (server, options, env):
        done = cli.crawl("https://github.com/topics/crawler", *options, "--budget", 9, env=env).ok(4)
        times = sorted(hit.at for hit in server.whole_log)
        assert len(times) >= 10
        assert min(later - earlier for earlier, later in pairwise(times)) > 0.95
        assert server.stats["peak_pending"] == 2
        assert server.stats["peak_open"] <= 2
    for line in (
        f"user agent: {AGENT}",
        "robots.txt: https://github.com/robots.txt, obeyed",
        "terms: https://docs.",
    ):
        assert line in done.err


@pytest.mark.alone
def test_two_services_share_the_rate_and_the_connections(cli: Cli, tmp_path: Path) -> None:
    with github(tmp_path, GitHubSite(delay_s=2.4)) as (server, options, env):
        cli("run", "https://github.com/topics/crawler", *options, "--budget", 4, "--json", env=env).ok(4)
        times = sorted(hit.at for hit in server.whole_log)
        assert len(times) >= 8
        assert min(later - earlier for earlier, later in pairwise(times)) > 0.95
        assert server.stats["peak_open"] == 2


def test_without_a_contact_nothing_is_asked(cli: Cli, tmp_path: Path) -> None:
    with github(tmp_path, GitHubSite()) as (server, options, env):
        refused = cli.crawl("https://github.com/topics", *options, "--user-agent", "nobody/1.0", env=env)
        assert refused.code == 2
        assert "'nobody/1.0' has no contact" in refused.err
        assert "--user-agent" in refused.err
        assert server.whole_log == ()


def test_elsewhere_a_missing_contact_is_told(cli: Cli, tmp_path: Path) -> None:
    with github(tmp_path, GitHubSite()) as (_, options, env):
        pin = options[-2:]
        options = ["--project", "p", *pin, "--rate", "max", "--max-depth", 0]
        told = cli.crawl("https://github.com/topics", *options, env=env).ok(0)
        assert "warning: user_agent 'orbweb/" in told.err
        reached = cli.crawl("https://github.com/topics", *options, "--user-agent", AGENT, "--new-run", env=env).ok(
            0
        )
        assert "warning" not in reached.err


def test_a_profile_sticks_until_it_is_taken_back(cli: Cli, tmp_path: Path) -> None:
    with github(tmp_path, GitHubSite()) as (_, options, env):
        base = "https://github.com/topics"
        cli.crawl(base, *options, "--rate", "max", "--budget", 1, env=env).ok(4)
        again = cli.crawl("--project", "github", "--user-agent", "nobody/1.0", env=env)
        assert again.code == 2
        cli.crawl("--project", "github", "--profile", "none", "--max-depth", 0, "--new-run", env=env).ok(0)
        with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
            (settings,) = db.execute("SELECT settings FROM projects").fetchone()
        assert json.loads(settings)["profile"] is None
