"""S15: what a workspace names of this machine is used only where its user allowed it, on this machine."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, wait_until
from orbweb.app.consent_store import ConsentStore, identity
from servers.dns import at, serve_names
from servers.pages import page
from servers.site import Answer, Request, Server, StaticSite, serve

SECRET = "s3cret-of-this-machine"
LEAK = {"x-leak": "$ORG_SECRET"}
QUIET = ("--json", "--no-progress")

Forge = Callable[[dict[str, Any]], None]


class Echo:
    """A site that keeps every word of what it was sent."""

    def __init__(self, *, slow_s: float = 0.0) -> None:
        self.heard: list[str] = []
        self._pages = StaticSite({"/": page("start", "/a", "/b", "/c"), **{f"/{x}": page(x) for x in "abc"}})
        self._slow_s = slow_s

    def answer(self, request: Request) -> Answer:
        self.heard.append(f"{request.target} {dict(request.headers)}")
        time.sleep(self._slow_s)
        return self._pages.answer(request)


@contextmanager
def echo(**options: Any) -> Iterator[tuple[Server, Echo]]:
    site = Echo(**options)
    with serve(site) as server:
        yield server, site


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a secret, on which nothing was ever allowed."""
    monkeypatch.setenv("ORG_SECRET", SECRET)
    monkeypatch.setenv("ORG_AUTH", f"ann:{SECRET}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def foreign(tmp_path: Path) -> orbweb.Workspace:
    return orbweb.open(tmp_path / "foreign")


def begun(workspace: orbweb.Workspace, server: Server, **options: Any) -> None:
    """A paused run that somebody else began: nothing of it is allowed here."""
    workspace.crawl(server.url, project="site", rate="max", budget=1, **options)
    shutil.rmtree(Path(workspace.path).parent / "config", ignore_errors=True)
    server.reset()


def forged(workspace: Path, change: Forge, column: str = "settings") -> None:
    """What is stored of a project, as somebody else may have changed it."""
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db, db:
        (text,) = db.execute(f"SELECT {column} FROM projects WHERE name = 'site'").fetchone()
        stored = json.loads(text)
        change(stored)
        db.execute(f"UPDATE projects SET {column} = ? WHERE name = 'site'", (json.dumps(stored),))


def setting(section: str, key: str, value: object) -> Forge:
    return lambda settings: settings.setdefault(section, {}).update({key: value})


FORGED: dict[str, tuple[Forge, str]] = {
    "header": (setting("fetch", "headers", LEAK), "$ORG_SECRET={origin}"),
    "cookie": (setting("fetch", "headers", {"cookie": "$ORG_SECRET"}), "$ORG_SECRET={origin}"),
    "param": (setting("fetch", "params", {"leak": "$ORG_SECRET"}), "$ORG_SECRET={origin}"),
    "auth": (setting("fetch", "auth", "$ORG_AUTH"), "$ORG_AUTH={origin}"),
    "path": (setting("fetch", "headers", {"x-leak": "$PATH"}), "$PATH={origin}"),
    "proxy": (setting("proxy", "urls", ["http://192.0.2.1:3128"]), "proxy=http://192.0.2.1:3128"),
    "proxy of the environment": (setting("proxy", "urls", ["$ORG_SECRET"]), "proxy=$ORG_SECRET"),
    "proxy chooser": (setting("proxy", "chooser", "canary"), "chooser=canary"),
    "pin": (lambda settings: settings.update(resolve=["x.test:80:10.0.0.1"]), "resolve=x.test:80:10.0.0.1"),
    "name server": (setting("fetch", "dns_servers", ["127.0.0.1:9"]), "dns=127.0.0.1:9"),
    "private addresses": (setting("fetch", "allow_private", value=True), "allow_private={origin}"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_a_workspace_names_is_refused_before_any_request(foreign: orbweb.Workspace, name: str) -> None:
    change, word = FORGED[name]
    with echo() as (server, site):
        begun(foreign, server)
        forged(foreign.path, change)
        site.heard.clear()
        wanted = {word.format(origin=server.url.rstrip("/")), f"private=127.0.0.1:{server.port}"}
        for go_on in (foreign.resume, foreign.recrawl, lambda name: foreign.crawl(project=name)):
            with pytest.raises(orbweb.NotTrusted) as refused:
                go_on("site")
            assert set(refused.value.words) == wanted
            assert all(each in str(refused.value) for each in wanted)
            assert SECRET not in str(refused.value)
        assert site.heard == []
        assert server.whole_log == ()


def test_a_private_base_url_of_a_workspace_is_not_reached(foreign: orbweb.Workspace) -> None:
    """By an address it is refused at once; by a name, when that is found to be at a private address."""
    with echo() as (server, site):
        begun(foreign, server)
        site.heard.clear()
        with pytest.raises(orbweb.NotTrusted, match=rf"trust=\['private=127\.0\.0\.1:{server.port}'\]$"):
            foreign.resume("site")
        assert site.heard == []
        assert foreign.resume("site", budget=None, trust=f"private=127.0.0.1:{server.port}").visited == 4


def test_a_base_url_whose_name_is_at_a_private_address(
    foreign: orbweb.Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who named it resumes without a question; with a workspace from elsewhere it is judged as any name is."""
    with echo() as (server, site), serve_names({"wiki.test": at("127.0.0.1", ttl=60)}) as names:
        monkeypatch.setenv("ORBWEB_FETCH__DNS_SERVERS", f"['127.0.0.1:{names.port}']")
        monkeypatch.setenv("ORBWEB_FETCH__RETRIES", "0")
        options: dict[str, Any] = {"rate": "max", "budget": 1}
        foreign.crawl(f"http://wiki.test:{server.port}/", project="site", **options)
        assert foreign.resume("site").failed == 0
        shutil.rmtree(tmp_path / "config")
        site.heard.clear()
        assert foreign.resume("site").failed == 1
        assert site.heard == []
        (failure,) = foreign.failed("site")
        assert failure.kind == "blocked_address"
        assert f"allow it with trust=private=wiki.test:{server.port}" in failure.reason
        foreign.retry("site")
        assert foreign.resume("site", budget=None, trust=f"private=wiki.test:{server.port}").failed == 0
        assert site.heard


def test_a_run_with_other_base_urls_than_its_project_is_judged_by_its_own(foreign: orbweb.Workspace) -> None:
    """What is sent goes to the base URLs of the run, whatever the project says they are."""
    with echo() as (server, site), echo() as (other, _):
        begun(foreign, server)
        forged(foreign.path, setting("fetch", "headers", LEAK))
        forged(foreign.path, lambda bases: bases.__setitem__(slice(None), [other.url]), column="bases")
        site.heard.clear()
        with pytest.raises(orbweb.NotTrusted) as refused:
            foreign.resume("site", trust=[f"$ORG_SECRET={other.url.rstrip('/')}"])
        assert f"$ORG_SECRET={server.url.rstrip('/')}" in refused.value.words
        assert site.heard == []


def test_settings_and_seeds_in_the_directory_are_of_the_workspace(cli: Cli) -> None:
    with echo() as (server, site):
        cli("configure").ok()
        seeds, settings = cli.workspace / "seeds.txt", cli.workspace / "orbweb.yaml"
        seeds.write_text(server.url)
        settings.write_text("fetch: {headers: {x-leak: $ORG_SECRET}}\nlimits: {rate: max}\n")
        word = f"$ORG_SECRET={server.url.rstrip('/')}"
        done = cli.crawl("--project", "site")
        assert done.code == 2
        assert f"--trust '{word}'" in done.err
        for also in (("--config", settings), ("--seeds", seeds)):
            assert cli.crawl("--project", "site", *also).code == 2
        assert cli("fetch", server.url, "--config", settings).code == 2
        assert cli("plan", server.url, "--config", settings).code == 2
        assert cli("run", *QUIET).code == 2
        assert site.heard == []
        cli.crawl("--project", "site", "--trust", word).ok()
        assert SECRET in "".join(site.heard)
        cli("recrawl", "site", *QUIET).ok()


def test_a_variable_of_the_users_own_is_not_sent_where_a_workspace_says(
    foreign: orbweb.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting of the shell is for the sites the user names, not for those of a workspace from elsewhere."""
    with echo() as (server, site):
        begun(foreign, server)
        site.heard.clear()
        monkeypatch.setenv("ORBWEB_FETCH__HEADERS", "{x-key: $ORG_SECRET}")
        with pytest.raises(orbweb.NotTrusted, match=r"\$ORG_SECRET="):
            foreign.resume("site", trust=[f"private=127.0.0.1:{server.port}"])
        assert site.heard == []


def test_consent_is_for_one_variable_one_origin_and_one_workspace(
    foreign: orbweb.Workspace, tmp_path: Path
) -> None:
    with echo() as (mine, _), echo() as (theirs, site):
        begun(foreign, theirs)
        forged(foreign.path, setting("fetch", "headers", LEAK))
        for server in (mine, theirs):
            own = orbweb.open(tmp_path / f"own-{server.port}")
            own.crawl(server.url, project="site", rate="max", headers={"x-key": "$ORG_SECRET"})
        site.heard.clear()
        with pytest.raises(orbweb.NotTrusted) as refused:
            foreign.resume("site")
        assert f"$ORG_SECRET={theirs.url.rstrip('/')}" in refused.value.words
        assert site.heard == []


def test_your_own_workspace_goes_on_without_a_question(cli: Cli, tmp_path: Path) -> None:
    """Options are consent; it is remembered beside no workspace, and goes with one that is moved or copied."""
    with echo() as (server, site):
        header = ("--header", "Authorization: $ORG_SECRET")
        asked = (server.url, "--rate", "max", "--project", "site", "--allow-private", "--budget", 1)
        cli.crawl(*asked, *header, "--resolve", f"x.test:80:127.0.0.1:{server.port}").ok(4)
        cli.resume("site").ok(4)
        assert cli("recrawl", "site", *QUIET).code == 2, "a paused run is another reason"
        moved = Cli(cli.workspace.rename(tmp_path / "moved"))
        moved.resume("site").ok(4)
        copied = Cli(Path(shutil.copytree(moved.workspace, tmp_path / "copied")))
        copied.resume("site", "--budget", "none").ok()
        assert all(SECRET in said for said in site.heard if "robots" not in said)
        kept = tmp_path / "config" / "orbweb" / "consent.json"
        assert SECRET not in kept.read_text()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_both_services_go_on_by_what_discovery_was_given(cli: Cli) -> None:
    with echo() as (server, site):
        asked = (server.url, "--rate", "max", "--project", "site", "--header", "X-Key: $ORG_SECRET")
        cli("discover", *asked, *QUIET).ok()
        cli("scrape", *QUIET).ok()
        assert len([said for said in site.heard if SECRET in said]) >= 8


@pytest.mark.parametrize("place", ["none", "unwritable"])
def test_a_machine_that_remembers_nothing_is_given_consent_each_time(cli: Cli, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    env = {"XDG_CONFIG_HOME": "", "HOME": "" if place == "none" else str(tmp_path / "file")}
    with echo() as (server, site):
        first = cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 1, env=env).ok(4)
        assert "consent cannot be stored" in first.err
        site.heard.clear()
        assert cli.resume("site", env=env).code == 2
        assert site.heard == []
        cli.resume("site", "--trust", f"private=127.0.0.1:{server.port}", env=env).ok(4)


def test_a_file_that_changes_under_a_crawl_sends_nothing(cli: Cli) -> None:
    with echo(slow_s=0.05) as (server, site):
        cli("configure").ok()
        settings = cli.workspace / "orbweb.yaml"
        settings.write_text("limits: {rate: 4}\n")
        (cli.workspace / "seeds.txt").write_text(server.url)
        running = cli.start("crawl", "--project", "site", "--trust", f"private=127.0.0.1:{server.port}")
        wait_until(lambda: len(site.heard) > 1)
        settings.write_text("fetch: {headers: {x-leak: $ORG_SECRET}, allow_private: true}\nlimits: {rate: max}\n")
        running.send_signal(signal.SIGHUP)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 0, err
        assert "after a restart" in err
        assert not [said for said in site.heard if SECRET in said]
        assert cli.crawl("--project", "site", "--new-run").code == 2


def test_an_imported_state_is_not_trusted(cli: Cli, tmp_path: Path) -> None:
    with echo() as (server, site):
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 1).ok(4)
        cli("export", "site", "--to", "state", "--out", tmp_path / "state", "--no-progress").ok()
        file = tmp_path / "state" / "state.json"
        state = json.loads(file.read_text())
        state["settings"]["fetch"] = {"headers": LEAK}
        file.write_text(json.dumps(state))
        cli("import", tmp_path / "state", "--project", "theirs", "--no-progress").ok()
        site.heard.clear()
        assert cli.resume("theirs").code == 2
        assert site.heard == []


def test_a_workspace_of_your_own_may_name_private_base_urls(cli: Cli, tmp_path: Path) -> None:
    """In `seeds.txt`, or taken over by `import`; on another machine, or if it was there before, it may not."""
    with echo() as (server, site):
        cli("configure").ok()
        (cli.workspace / "seeds.txt").write_text(server.url)
        cli.crawl("--project", "site", "--rate", "max", "--budget", 1).ok(4)
        cli("export", "site", "--to", "state", "--out", tmp_path / "state", "--no-progress").ok()
        moved = Cli(tmp_path / "moved")
        moved("import", tmp_path / "state", "--no-progress").ok()
        moved.resume("site", "--budget", "none").ok()
        site.heard.clear()
        elsewhere = {"XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}
        assert cli.resume("site", env=elsewhere).code == 2
        strange = Cli(tmp_path / "strange")
        strange.workspace.mkdir()
        (strange.workspace / "seeds.txt").write_text(server.url)
        assert strange.crawl("--project", "site").code == 2
        assert site.heard == []


@pytest.mark.parametrize("word", ["", "yes", "$ORG_SECRET", "proxy=", "$X=ftp://a", "private=a b"])
def test_trust_takes_the_words_of_a_refusal_only(foreign: orbweb.Workspace, word: str) -> None:
    with echo() as (server, _), pytest.raises(orbweb.UsageError, match=r"^trust '"):
        foreign.crawl(server.url, trust=[word])


# The file of consent.


def test_many_processes_remember_at_once(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with ThreadPoolExecutor(8) as pool:
        words = [f"private=10.0.0.{number}:80" for number in range(40)]
        done = list(pool.map(lambda word: ConsentStore(tmp_path / "c").add(tmp_path / "w", [word]), words))
    assert done == [None] * 40
    assert ConsentStore(tmp_path / "c").of(tmp_path / "w") == set(words)


def test_a_workspace_without_an_identity_has_no_consent(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    assert identity(tmp_path / "w") is None
    assert ConsentStore(tmp_path / "c").of(tmp_path / "w") == frozenset()
    ConsentStore(tmp_path / "c").add(tmp_path / "w", ["private=a:1"])
    (tmp_path / "w" / "identity").write_text("not one\n")
    assert ConsentStore(tmp_path / "c").of(tmp_path / "w") == frozenset()


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"workspace": "/", "allowed": [1]}}', "\udcff"])
def test_a_damaged_file_of_consent_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "w").mkdir()
    consents = ConsentStore(tmp_path / "c")
    consents.add(tmp_path / "w", ["private=a:1"])
    (tmp_path / "c" / "consent.json").write_text(text, errors="surrogateescape")
    with pytest.raises(orbweb.ConfigError, match=r"consent\.json: not a valid consent file"):
        consents.of(tmp_path / "w")
