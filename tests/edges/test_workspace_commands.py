"""configure, reset, seeds and validate-policy, as a user meets them."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import pytest

import orbweb
from harness import ORBWEB, Cli, Result, kill, run, trust, wait_until
from orbweb import config
from servers.pages import page
from servers.site import Answer, Request, StaticSite, serve

SITE = StaticSite({"/": page("start", "/a", "/b"), "/a": page("a"), "/b": page("b")})
HERE = orbweb.open("no workspace")
FAST = ("--rate", "max", "--project", "site")


def orb(*args: object, typed: str = "") -> Result:
    """A command that has no workspace, or names it in its own way."""
    return run([*ORBWEB, *map(str, args)], cwd=Path.cwd(), typed=typed)


@pytest.mark.parametrize("profile", config.PROFILES)
def test_configure_writes_what_can_be_edited_and_used(tmp_path: Path, profile: str) -> None:
    home = tmp_path / "w"
    report = orb("configure", "--profile", profile, "--dir", home, "--json").ok().json
    files = [str(home / name) for name in ("orbweb.yaml", "seeds.txt", ".orbweb.schema.json")]
    folders = ("logs", "metadata", "spool", "spool/discoveries", "state", "store")
    assert report == {
        "workspace": str(home),
        "profile": profile,
        "files": files,
        "written": files,
        "edited": [],
        "unchanged": [],
        "folders": [str(home / name) for name in folders],
    }
    assert config.read_file(home / "orbweb.yaml") == config.read_profile(profile)
    for name in ("logs", "metadata", "spool/discoveries", "state", "store"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o700
    assert {stat.S_IMODE((home / name).stat().st_mode) for name in ("orbweb.yaml", "seeds.txt")} == {0o600}


def test_configure_replaces_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "w", tmp_path / "mine"
    orb("configure", "--dir", home).ok()
    (home / "seeds.txt").unlink()
    elsewhere.write_text("mine")
    (home / "seeds.txt").symlink_to(elsewhere)
    (home / "orbweb.yaml").write_text("limits: {rate: 1}")
    refused = orb("configure", "--profile", "site", "--dir", home).ok(1)
    assert "seeds.txt: is a symbolic link" in refused.err
    assert (home / "orbweb.yaml").read_text() == "limits: {rate: 1}"
    orb("configure", "--profile", "site", "--dir", home, "--force").ok()
    assert config.read_file(home / "orbweb.yaml") == config.read_profile("site")
    assert elsewhere.read_text() == "mine"


def test_configure_can_be_repeated_and_says_what_it_did(tmp_path: Path) -> None:
    home = tmp_path / "w"
    orb("configure", "--dir", home).ok()
    (home / "orbweb.yaml").write_text("limits: {rate: 1}\n")
    (home / "state").rmdir()
    (home / "spool/discoveries").rmdir()
    (home / "seeds.txt").unlink()
    again = orb("configure", "--dir", home, "--json").ok().json
    assert again["edited"] == [str(home / "orbweb.yaml")]
    assert again["written"] == [str(home / "seeds.txt")]
    assert again["unchanged"] == [str(home / ".orbweb.schema.json")]
    assert again["folders"] == [str(home / "spool/discoveries"), str(home / "state")]
    assert (home / "orbweb.yaml").read_text() == "limits: {rate: 1}\n"
    text = orb("configure", "--dir", home).ok().out
    assert f"left as edited (--force writes it again): {home / 'orbweb.yaml'}" in text
    assert f"unchanged: {home / 'seeds.txt'}" in text
    assert "written" not in text


def test_configure_leaves_what_was_crawled(cli: Cli) -> None:
    with serve(SITE) as server:
        cli.crawl(server.url, *FAST).ok()
    before = cli.manifest_hash("site")
    orb("configure", "--dir", cli.workspace).ok()
    assert cli.manifest_hash("site") == before
    assert cli("doctor", "--json").ok().json["healthy"]


def test_status_shows_what_is_stored_and_a_crawl_what_it_found(cli: Cli) -> None:
    site = StaticSite(
        {
            "/": page("start", "/a", "/b", "/x/1", "https://other.example/"),
            "/a": page("a", "/", "/b"),
            "/b": page("b", "/a", "/x/2"),
            "/x/1": page("one"),
            "/x/2": page("two"),
        }
    )
    with serve(site) as server:
        done = cli.crawl(server.url, *FAST, "--exclude", "/x/").ok().json
        plain = cli("recrawl", "site", "--no-progress").ok().out
    figures = ("links_found", "links_known", "refused_by_policy", "refused_by_caps", "retries", "discoveries")
    assert [done[name] for name in figures] == [8, 3, 3, 0, 0, 0]
    assert "8 links found" in plain
    assert "3 refused by policy, 0 by caps; 0 retries" in plain
    stored = cli.ask("status", "site", "--json").ok().json["stored"]
    segments = sum(file.stat().st_size for file in (cli.workspace / "store/segments").iterdir())
    assert stored["bodies"] == 3
    assert 0 < stored["body_bytes"] < segments
    assert stored["index_bytes"] >= (cli.workspace / "orbweb.db").stat().st_size
    assert stored["spool_files"] == 0
    for text in (cli.ask("status", "site").ok().out, cli.ask("status").ok().out):
        assert re.search(r"workspace: 3 bodies, [\d.]+ \w+; index [\d.]+ \w+; 0 spool files", text)


def test_the_end_of_a_discovery_tells_what_it_wrote(cli: Cli) -> None:
    with serve(SITE) as server:
        done = cli("discover", server.url, *FAST, "--json", "--no-progress").ok().json
    assert done["discoveries"] == 3
    assert cli.ask("status", "site.discovery", "--json").ok().json["stored"]["spool_files"] == 1


class Flaky:
    """A site whose start fails at first."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self._pages, self._failed = StaticSite(pages), False

    def answer(self, request: Request) -> Answer:
        if request.target == "/" and not self._failed:
            self._failed = True
            return Answer(500)
        return self._pages.answer(request)


def test_retries_and_caps_are_told_at_the_end(cli: Cli, tmp_path: Path) -> None:
    pages = {f"/p/{number}": page(f"page {number}") for number in range(5)}
    own = tmp_path / "own.yaml"
    own.write_text(
        "fetch: {backoff_s: 0.01}\npolicy:\n  groups: [{name: p, pattern: '/(p)/', caps: {pages: 2}}]\n"
    )
    with serve(Flaky({"/": page("start", *pages), **pages})) as server:
        done = cli.crawl(server.url, *FAST, "--config", own).ok().json
    assert (done["links_found"], done["links_known"]) == (5, 0)
    assert (done["refused_by_caps"], done["retries"]) == (3, 1)


def test_a_crawl_without_a_url_uses_what_is_in_the_workspace(cli: Cli) -> None:
    orb("configure", "--dir", cli.workspace).ok()
    empty = cli.crawl(*FAST)
    assert empty.code == 2
    assert f"{cli.workspace / 'seeds.txt'}: contains no URL" in empty.err
    with serve(SITE) as server:
        (cli.workspace / "seeds.txt").write_text(f"# where to begin\n\n  {server.url}  # the start\n")
        (cli.workspace / "orbweb.yaml").write_text("limits: {max_depth: 0}\n")
        assert cli.crawl(*FAST, *trust(server.url)).ok().json["visited"] == 1
        (cli.workspace / "orbweb.yaml").write_text("limits: {max_depth: 1}\n")
        (cli.workspace / "seeds.txt").write_text("nonsense of a later day")
        assert cli.crawl("--project", "site", "--new-run").ok().json["visited"] == 3


def test_seeds_are_read_from_a_file(cli: Cli, tmp_path: Path) -> None:
    seeds = tmp_path / "list"
    with serve(SITE) as server:
        seeds.write_text(f"{server.url}a\n{server.url}b\n{server.url}a/\n")
        done = cli.crawl("--seeds", seeds, *FAST).ok()
        assert sorted(base["url"] for base in done.json["bases"]) == [f"{server.url}a", f"{server.url}b"]
        seeds.write_text(f"{server.url}a\n# fine\nftp://example.org/\n")
        refused = cli.crawl("--seeds", seeds, "--rate", "max")
        assert refused.code == 2
        assert f"{seeds}, line 3: 'ftp://example.org/': only http and https" in refused.err
        both = cli.crawl(server.url, "--seeds", seeds)
        assert both.code == 2
        assert "--seeds" in both.err
    assert cli.crawl("--seeds", tmp_path / "none").code == 2


def contents(home: Path) -> set[str]:
    return {entry.name for entry in home.iterdir()}


def test_reset_wipes_what_crawls_left_and_can_be_repeated(cli: Cli, tmp_path: Path) -> None:
    orb("configure", "--dir", cli.workspace).ok()
    with serve(SITE) as server:
        cli.crawl(server.url, *FAST).ok()
        (cli.workspace / "notes.txt").write_text("mine")
        (cli.workspace / "stop").touch()
        wiped = cli("reset", "--yes", "--json").ok().json["wiped"]
        assert {"store", "logs", "spool", "state", "orbweb.db", "stop"} <= set(wiped)
        kept = {
            ".orbweb.schema.json",
            "orbweb.db",
            "orbweb.yaml",
            "seeds.txt",
            "notes.txt",
            "limiter.db",
            "locks",
            "identity",
            *("logs", "metadata", "spool", "state", "store"),
        }
        assert contents(cli.workspace) - {"limiter.db-wal", "limiter.db-shm"} == kept
        left = sorted(str(path.relative_to(cli.workspace)) for path in (cli.workspace / "spool").rglob("*"))
        assert left == ["spool/discoveries"]
        assert not any(any((cli.workspace / name).iterdir()) for name in ("logs", "metadata", "state", "store"))
        assert cli("reset", "--yes").ok().code == 0
        assert cli.ask("status", "--json").ok().json == []
        assert cli.crawl(server.url, *FAST).ok().json["run"] == 1


def test_reset_asks_for_the_name(cli: Cli) -> None:
    with serve(SITE) as server:
        cli.crawl(server.url, *FAST).ok()
    for typed in ("", "yes\n", "\n"):
        refused = orb("reset", "--workspace", cli.workspace, typed=typed).ok(2)
        assert "nothing was deleted" in refused.err
        assert cli.check("site")["visited"] == 3
    orb("reset", "--workspace", cli.workspace, typed=f"{cli.workspace.name}\n").ok()
    assert cli.ask("status", "--json").ok().json == []


def test_reset_follows_no_link(cli: Cli, tmp_path: Path) -> None:
    orb("configure", "--dir", cli.workspace).ok()
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "file").write_text("mine")
    (cli.workspace / "logs").rmdir()
    (cli.workspace / "logs").symlink_to(outside)
    (cli.workspace / "state" / "link").symlink_to(outside / "deep")
    cli("reset", "--yes").ok()
    assert (outside / "deep" / "file").read_text() == "mine"
    assert not os.path.lexists(cli.workspace / "logs")


def test_reset_needs_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for home in (tmp_path, tmp_path / "none"):
        refused = orb("reset", "--yes", "--workspace", home).ok(2)
        assert "is not an orbweb workspace" in refused.err
    assert contents(tmp_path) == {"logs"}


def test_reset_waits_for_no_crawl(cli: Cli) -> None:
    with serve(SITE) as server:
        process = cli.start("crawl", server.url, "--project", "site", "--rate", "0.2")
        wait_until(lambda: server.log)
        busy = cli("reset", "--yes")
        assert (busy.code, "is being crawled" in busy.err) == (5, True)
        kill(process)
        cli("reset", "--yes").ok()


RULES = """
policy:
  hosts: [h.org]
  deny: ['/private/']
  page_types: [{type: issue, pattern: '/issues/', score: 4}]
  groups: [{name: repository, pattern: '/(?P<owner>[^/.]+)/(?P<repo>[^/]+)/', caps: {pages: 3, issue: 1}}]
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return file


def test_caps_count_down_in_the_order_of_the_file(tmp_path: Path, rules: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text(
        "# first\nhttps://h.org/a/b/issues/1\nallow https://h.org/a/b/x\nhttps://h.org/a/b/x/\n\n"
        "deny https://h.org/a/b/issues/2\nallow https://h.org/a/b/y\ndeny https://h.org/a/b/z\n"
        "deny https://h.org/private/x\ndeny https://other.org/\n"
    )
    found = orb("validate-policy", "--config", rules, "--urls", urls, "https://h.org/", "--json").ok().json
    assert [ruling["verdict"] for ruling in found] == [
        "allow", "allow", "allow", "deny", "allow", "deny", "deny", "deny", "allow",
    ]  # fmt: skip
    first, second, again, third, *_ = found
    assert (first["page_type"], first["score"]) == ("issue", 4)
    assert first["groups"] == [{"group": "repository", "name": "a/b", "left": {"pages": 2, "issue": 0}}]
    assert second["groups"] == again["groups"] == [{"group": "repository", "name": "a/b", "left": {"pages": 1}}]
    assert (third["reason"], third["rule"]) == ("cap", "policy.groups[0].caps.issue: 1 of repository a/b")
    assert [ruling["rule"] for ruling in found[6:]] == ["policy.deny[0]: /private/", "policy.hosts: h.org", None]


def test_what_is_judged_otherwise_is_named(tmp_path: Path, rules: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("allow https://h.org/private/x\ndeny https://h.org/private/x\ndeny https://h.org/x\n")
    done = orb("validate-policy", "--config", rules, "--urls", urls).ok(3)
    told = f"orbweb: {urls}, line 1: https://h.org/private/x is deny (excluded: policy.deny[0]: /private/)"
    assert done.err.splitlines() == [
        f"{told}, expected allow",
        f"orbweb: {urls}, line 3: https://h.org/x is allow, expected deny",
    ]


def test_a_long_rule_is_shown_by_its_ends(tmp_path: Path) -> None:
    file, urls = tmp_path / "long.yaml", tmp_path / "urls.txt"
    pattern = "/first|" + "/other|" * 40 + "/last$"
    file.write_text(f"policy: {{deny: ['{pattern}', '{'x' * 104}']}}")
    urls.write_text("allow https://h.org/last\n")
    done = orb("validate-policy", "--config", file, "--urls", urls, f"https://h.org/{'x' * 104}").ok(3)
    rule = f"policy.deny[0]: {pattern}"
    length = f"({len(rule)} characters; --json prints all)"
    for shown in (done.out.splitlines()[1].strip(), done.err):
        assert "excluded: policy.deny[0]: /first|/other|" in shown
        assert f" ... er|/other|/other|/other|/last$ {length}" in shown
    assert len(done.out.splitlines()[1]) < 180
    assert f"policy.deny[1]: {'x' * 104}\n" in done.out
    assert HERE.validate_policy("https://h.org/last", config=file)[0].rule == rule


def test_bad_rules_and_bad_urls_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    for text, told in (
        ("policy: {deny: [a, b, c, '(']}", "bad.yaml: policy.deny[3]: '(' is not an RE2 pattern"),
        ("policy: {groups: [{name: g, pattern: a, caps: {issue: 1}}]}", "policy.groups[0].caps.issue: no rule"),
        ("policy: {hosts: ['a b']}", "policy.hosts[0]: "),
        (
            "policy: {page_types: [{type: pages, pattern: a}]}",
            "policy.page_types[0].type: pages is the name of the cap",
        ),
        ("policy: {scores: [{pattern: a, score: 5000}]}", "policy.scores[0].score: "),
        ("profile: none-such", "profile: "),
    ):
        bad.write_text(text)
        with pytest.raises(orbweb.ConfigError, match=re.escape(told)):
            HERE.validate_policy("https://h.org/", config=bad)
    urls = tmp_path / "urls.txt"
    urls.write_text("https://h.org/\nallow nonsense\n")
    assert f"{urls}, line 2: 'nonsense' is not" in orb("validate-policy", "--urls", urls).ok(2).err
    with pytest.raises(orbweb.UsageError, match="a file of them: file=FILE"):
        HERE.validate_policy()


def test_the_settings_of_the_workspace_are_used_unless_others_are_named(cli: Cli, rules: Path) -> None:
    orb("configure", "--dir", cli.workspace).ok()
    (cli.workspace / "orbweb.yaml").write_text(RULES)
    asked = ("validate-policy", "https://h.org/private/x", "--json")
    assert cli.ask(*asked).ok().json[0]["verdict"] == "deny"
    assert cli.ask(*asked, "--profile", "docs").ok().json[0]["verdict"] == "allow"


def test_without_hosts_every_host_is_in_the_scope() -> None:
    found = orb("validate-policy", "--profile", "docs", "https://any.org/api/x", "https://any.org/login").ok()
    assert found.out.startswith(
        "allow  https://any.org/api/x\n       type reference\ndeny   https://any.org/login\n"
    )


def test_from_python(tmp_path: Path, rules: Path) -> None:
    (ruling,) = HERE.validate_policy("https://github.com/a/b/pull/1", profile="github")
    assert (ruling.verdict, ruling.page_type) == ("allow", "pull")
    assert HERE.validate_policy(["https://h.org/private/x"], config=rules)[0].reason == "excluded"
    home = tmp_path / "w"
    orbweb.open(home).configure(profile="site")
    with serve(SITE) as server:
        (home / "seeds.txt").write_text(server.url)
        done = orbweb.open(home).crawl(project="p", rate="max", profile="docs", trust=trust(server.url)[1])
        assert (done.visited, done.exit_code) == (3, 0)
    assert "orbweb.db" in orbweb.open(home).reset().wiped
    again = orbweb.open(home).configure(profile="site")
    assert (again.edited, again.written) == ((str(home / "seeds.txt"),), ())


@pytest.mark.parametrize("profile", config.PROFILES)
def test_configure_writes_every_setting_with_its_default(tmp_path: Path, profile: str) -> None:
    """A line that starts with `# ` is a setting; all of them together are what holds anyway."""
    orbweb.open(tmp_path).configure(profile=profile)  # type: ignore[arg-type]
    file = tmp_path / "orbweb.yaml"
    first, *lines = file.read_text().splitlines()
    assert first == "# yaml-language-server: $schema=.orbweb.schema.json"
    opened = [line.removeprefix("# ") for line in lines]
    (tmp_path / "all.yaml").write_text("\n".join(opened))
    written = config.read_file(tmp_path / "all.yaml")
    assert config.build(written, source="all") == config.build(config.read_profile(profile), source="profile")
    keys = {f"{key}.{name}" for key, inside in written.items() if isinstance(inside, dict) for name in inside}
    assert keys | set(written) >= {key for key, _, _ in config.keys()}  # noqa: SIM118
    for number, line in enumerate(lines):
        if line.startswith("#   "):
            assert lines[number - 1].startswith("##"), f"{line}: no explanation"


def test_one_setting_is_changed_by_deleting_its_mark(tmp_path: Path) -> None:
    orbweb.open(tmp_path).configure(profile="docs")
    file = tmp_path / "orbweb.yaml"
    text = file.read_text().replace("# limits:", "limits:").replace("#   rate: 2.0", "  rate: 0.5")
    file.write_text(text)
    assert config.read_file(file)["limits"] == {"rate": 0.5}
    file.write_text(text.replace("limits:", "# limits:"))
    with pytest.raises(orbweb.ConfigError, match=r"orbweb\.yaml: .*(rate|line)"):
        config.read_file(file)


def test_the_schema_is_beside_the_settings_and_knows_them_all(tmp_path: Path) -> None:
    orbweb.open(tmp_path).configure()
    schema = json.loads((tmp_path / ".orbweb.schema.json").read_text())
    for key, meaning, _ in config.keys():  # noqa: SIM118
        section, _, name = key.partition(".")
        found = schema["properties"][section]
        if name:
            found = schema["$defs"][found["$ref"].rpartition("/")[2]]["properties"][name]
        assert found["description"] == " ".join(meaning.split())
    assert schema["additionalProperties"] is False
