"""A proxy chooser of one's own: from Python and by an entry point, asked for each request, told how it went."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, deaf_port
from orbweb.errors import ConfigError, ProxyChooserError, UsageError
from servers.dns import at, serve_names
from servers.pages import chain, page
from servers.proxy import serve_proxy
from servers.site import StaticSite, serve

FAST: dict[str, Any] = {"rate": "max", "processes": 0, "project": "site"}


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where proxies may be on this host, and nothing else was ever allowed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("ORBWEB_PROXY__ALLOW_PRIVATE", "true")
    monkeypatch.setenv("ORBWEB_FETCH__BACKOFF_S", "0.01")


class Chooser:
    """Chooses as it is told; keeps what it is asked and told."""

    def __init__(
        self, choose: Callable[[str, int], Any], learn: Callable[[str, bool], None] | None = None
    ) -> None:
        self.choose, self.learn = choose, learn
        self.hosts: list[str] = []
        self.told: list[tuple[str, bool]] = []

    def pick(self, host: str) -> str:
        self.hosts.append(host)
        chosen: str = self.choose(host, len(self.hosts))
        return chosen

    def report(self, proxy: str, ok: bool) -> None:
        self.told.append((proxy, ok))
        if self.learn is not None:
            self.learn(proxy, ok)


def installed(tmp_path: Path, source: str, value: str = "own_chooser:Own", package: str = "own_chooser") -> Path:
    """A directory with an installed package whose entry point `own` is a chooser."""
    there = tmp_path / package
    about = there / f"{package}-1.0.dist-info"
    about.mkdir(parents=True)
    (there / f"{value.partition(':')[0]}.py").write_text(source, encoding="utf-8")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[orbweb.proxy_choosers]\nown = {value}\n", encoding="utf-8")
    return there


OWN = """
import os

class Own:
    def pick(self, host):
        with open(os.environ["ASKED"], "a") as file:
            print(host, file=file)
        return os.environ["CHOSEN"]

    def report(self, proxy, ok):
        with open(os.environ["ASKED"], "a") as file:
            print(proxy == os.environ["CHOSEN"], ok, file=file)
"""


def test_a_chooser_of_python_is_asked_by_host_and_told_the_result(tmp_path: Path) -> None:
    with serve(StaticSite(chain(5))) as server, serve_proxy() as one, serve_proxy() as two:
        named = [one.url(), two.url("socks5", "ann:s3cret")]
        chooser = Chooser(lambda _host, number: named[number % 2])
        done = orbweb.crawl(server.url, workspace=tmp_path / "w", proxy_chooser=chooser, workers=1, **FAST)
        assert (done.visited, done.failed) == (6, 0)
        assert set(chooser.hosts) == {"127.0.0.1"}
        assert sorted(set(chooser.told)) == sorted((each, True) for each in named)
        assert len(chooser.told) == len(chooser.hosts) == len(server.whole_log)
        assert one.log
        assert {asked.user for asked in two.log} == {"ann:s3cret"}
    space = orbweb.open(tmp_path / "w")
    shown = {found.proxy for each in space.pages("site") if (found := space.show("site", each.url)) is not None}
    assert shown == {f"1 127.0.0.1:{two.port}", f"2 127.0.0.1:{one.port}"}
    assert b"s3cret" not in b"".join(file.read_bytes() for file in (tmp_path / "w").rglob("*") if file.is_file())


def test_a_proxy_that_fails_is_reported_and_another_can_be_chosen(tmp_path: Path) -> None:
    with serve(StaticSite(chain(2))) as server, serve_proxy() as alive, deaf_port() as port:
        dead, bad = f"http://127.0.0.1:{port}", set[str]()
        chooser = Chooser(
            lambda _host, _number: alive.url() if dead in bad else dead,
            lambda proxy, ok: None if ok else bad.add(proxy),
        )
        done = orbweb.crawl(server.url, workspace=tmp_path / "w", proxy_chooser=chooser, **FAST)
        assert (done.visited, done.failed) == (3, 0)
        assert (dead, False) in chooser.told
        assert (alive.url(), True) in chooser.told


def test_when_it_knows_none_that_works_nothing_goes_direct(tmp_path: Path) -> None:
    with serve(StaticSite(chain(1))) as server, deaf_port() as port:
        chooser = Chooser(lambda _host, _number: f"http://127.0.0.1:{port}")
        done = orbweb.crawl(server.url, workspace=tmp_path / "w", proxy_chooser=chooser, **FAST)
        assert (done.visited, done.failed) == (0, 1)
        assert not server.whole_log
    assert [failure.kind for failure in orbweb.open(tmp_path / "w").failed("site")] == ["proxy"]


def refuse(_host: str, _number: int) -> str:
    raise LookupError("the pool http://ann:s3cret@pool.test/ is empty")


NONSENSE: dict[str, tuple[Callable[[str, int], Any], str]] = {
    "an exception": (refuse, r"pick\('127\.0\.0\.1'\) raised LookupError: the pool http://pool\.test/ is empty"),
    "nothing": (lambda *_: None, r"pick\('127\.0\.0\.1'\) returned NoneType, not a proxy"),
    "no text": (lambda *_: 7, "returned int, not a proxy"),
    "an empty text": (lambda *_: "", "returned is no proxy: it must start with one of http://"),
    "direct": (lambda *_: "direct", "returned is no proxy: it must start with one of http://"),
    "another scheme": (lambda *_: "ftp://p.test:1", "returned is no proxy: it must start with one of http://"),
    "a path": (lambda *_: "http://u:s3cret@p.test:1/x", "returned is no proxy: it is not SCHEME://HOST:PORT"),
    "a bad port": (lambda *_: "http://u:s3cret@p.test:99999", "returned is no proxy: it is not a URL such as"),
    "a line break": (lambda *_: "http://p.test:1\r\nX: y", "returned is no proxy: it is not"),
    "a bad host": (lambda *_: "http://a b:1", "returned has no valid host"),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_what_is_no_proxy_ends_the_crawl_with_its_reason_and_nothing_is_sent(tmp_path: Path, what: str) -> None:
    choose, why = NONSENSE[what]
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(2))) as server:
        with pytest.raises(ProxyChooserError, match=why) as refused:
            space.crawl(server.url, proxy_chooser=Chooser(choose), **FAST)
        assert "s3cret" not in str(refused.value)
        assert isinstance(refused.value.__cause__, LookupError) == (what == "an exception")
        assert not server.whole_log
        now = space.status("site")
        assert (now.state, now.crawls[-1].ended_by) == ("paused", "error")
        assert "the proxy chooser: " in str(now.crawls[-1].error)
        with serve_proxy() as proxy:
            assert space.resume("site", proxy_chooser=Chooser(lambda *_: proxy.url())).visited == 3


def test_the_name_of_a_site_that_is_looked_up_first_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chooser is then asked in a callback of the resolver, whose exceptions would be lost."""
    with serve(StaticSite(chain(1))) as server, serve_names({"docs.test": at("127.0.0.1")}) as names:
        for name, value in names.env.items():
            monkeypatch.setenv(name, value)
        chooser = Chooser(refuse)
        with pytest.raises(ProxyChooserError, match=r"pick\('docs\.test'\) raised LookupError"):
            orbweb.crawl(
                f"http://docs.test:{server.port}/", workspace=tmp_path / "w", proxy_chooser=chooser, **FAST
            )
        assert not server.whole_log


def test_an_exception_of_report_ends_the_crawl_too(tmp_path: Path) -> None:
    def learn(_proxy: str, _ok: bool) -> None:
        raise OSError("no room")

    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(2))) as server, serve_proxy() as proxy:
        chooser = Chooser(lambda *_: proxy.url("http", "u:s3cret"), learn)
        with pytest.raises(
            ProxyChooserError, match=rf"report\('127\.0\.0\.1:{proxy.port}', True\) raised OSError"
        ):
            space.crawl(server.url, proxy_chooser=chooser, **FAST)
        assert space.status("site").state == "paused"


@pytest.mark.parametrize("given", [object(), "http://p.test:1", Chooser])
def test_what_is_no_chooser_is_refused_before_anything_is_created(tmp_path: Path, given: Any) -> None:
    with pytest.raises(ConfigError, match=r"proxy_chooser: \w+ is not a proxy chooser: it needs the methods pick"):
        orbweb.crawl("http://127.0.0.1:9/", workspace=tmp_path / "w", proxy_chooser=given, **FAST)
    assert not (tmp_path / "w").exists()


def test_a_process_beside_this_one_cannot_be_given_an_object(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"proxy_chooser: an object cannot be given .* proxy\.chooser"):
        orbweb.open(tmp_path / "w").run("http://127.0.0.1:9/", proxy_chooser=Chooser(refuse), **FAST)


# Addresses: behind a proxy of whatever choice.


def test_what_may_not_be_asked_may_not_be_asked_by_a_chosen_proxy(tmp_path: Path) -> None:
    with serve(StaticSite(chain(1))) as private, serve_proxy() as proxy:
        links = (f"{private.url}1", f"http://localhost:{private.port}/1", "http://169.254.169.254/latest", "/ok")
        chooser = Chooser(lambda *_: proxy.url())
        with serve(StaticSite({"/": page("start", *links), "/ok": page("ok")})) as server:
            orbweb.crawl(server.url, workspace=tmp_path / "w", external_hops=1, proxy_chooser=chooser, **FAST)
            assert {asked.target for asked in proxy.log} == {f"127.0.0.1:{server.port}"}
        assert not private.whole_log
    kinds = [failure.kind for failure in orbweb.open(tmp_path / "w").failed("site")]
    assert kinds == ["blocked_address"] * 3


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost"])
def test_a_chosen_proxy_at_a_private_address_is_not_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("ORBWEB_PROXY__ALLOW_PRIVATE", "false")
    with serve(StaticSite(chain(1))) as server, serve_proxy() as proxy:
        chooser = Chooser(lambda *_: f"http://{host}:{proxy.port}")
        orbweb.crawl(server.url, workspace=tmp_path / "w", proxy_chooser=chooser, **FAST)
        assert not proxy.connections
        assert not server.whole_log
        assert {ok for _, ok in chooser.told} == {False}
    (failure,) = orbweb.open(tmp_path / "w").failed("site")
    assert failure.kind == "proxy"
    assert "is not public (loopback" in failure.reason
    assert failure.reason.endswith("proxy.allow_private allows it")


# An entry point.


def test_an_installed_chooser_is_named_by_a_setting(cli: Cli, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    with serve(StaticSite(chain(2))) as server, serve_proxy() as proxy:
        env = {
            "PYTHONPATH": str(installed(tmp_path, OWN)),
            "CHOSEN": proxy.url("http", "ann:s3cret"),
            "ASKED": str(asked),
        }
        own = {**env, "ORBWEB_PROXY__CHOOSER": "own"}
        assert cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 1, env=own).code == 4
        assert cli.resume("site", "--budget", "none", env=env).ok(0).json["visited"] == 3
        assert {each.user for each in proxy.log} == {"ann:s3cret"}
    assert set(asked.read_text().splitlines()) == {"127.0.0.1", "True True"}
    assert cli.ask("show", "site", server.url, "--as", "meta", "--json").ok().json["proxy"].startswith("1 127.")


@pytest.mark.parametrize(
    ("source", "value", "why"),
    [
        (
            "raise ValueError('broken')",
            "own_chooser:Own",
            r"own_chooser:Own\) cannot be imported: ValueError: broken",
        ),
        (
            "Own = 7",
            "own_chooser:Own",
            "is not a class or a function without arguments that returns a proxy chooser",
        ),
        ("def Own(): raise OSError('no pool')", "own_chooser:Own", "raised OSError: no pool"),
        ("class Own: pass", "own_chooser:Own", "Own is not a proxy chooser: it needs the methods pick"),
        ("", "own_chooser:Missing", "cannot be imported: AttributeError"),
    ],
)
def test_an_entry_point_that_is_no_chooser_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, value: str, why: str
) -> None:
    monkeypatch.syspath_prepend(str(installed(tmp_path, source, value)))
    monkeypatch.delitem(sys.modules, "own_chooser", raising=False)
    monkeypatch.setenv("ORBWEB_PROXY__CHOOSER", "own")
    with serve(StaticSite(chain(1))) as server:
        with pytest.raises(ConfigError, match=rf"proxy\.chooser: the entry point 'own' \(.*{why}"):
            orbweb.crawl(server.url, workspace=tmp_path / "w", **FAST)
        assert not server.whole_log


def test_a_name_that_nobody_or_two_have_and_a_list_beside_it_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crawl() -> None:
        orbweb.crawl("http://127.0.0.1:9/", workspace=tmp_path / "w", **FAST)

    monkeypatch.setenv("ORBWEB_PROXY__CHOOSER", "own")
    with pytest.raises(
        ConfigError, match=r"proxy\.chooser: no installed package has an entry point 'own' .*there: none"
    ):
        crawl()
    monkeypatch.syspath_prepend(str(installed(tmp_path, OWN)))
    monkeypatch.syspath_prepend(str(installed(tmp_path, OWN, "other_chooser:Own", "other_chooser")))
    with pytest.raises(ConfigError, match=r"several .* 'own' .*\(other_chooser:Own, own_chooser:Own\)"):
        crawl()
    monkeypatch.setenv("ORBWEB_PROXY__URLS", "[http://p.test:1]")
    with pytest.raises(ConfigError, match=r"proxy\.chooser and proxy\.urls are both set"):
        crawl()
    assert not (tmp_path / "w").exists()


def test_a_foreign_workspace_runs_no_chooser_without_consent(cli: Cli, tmp_path: Path) -> None:
    """Not even its module is imported; with consent it is, and that is remembered."""
    loaded = f"open({str(tmp_path / 'loaded')!r}, 'w').close()\n"
    with serve(StaticSite(chain(2))) as server, serve_proxy() as proxy:
        env = {
            "PYTHONPATH": str(installed(tmp_path, loaded + OWN)),
            "CHOSEN": proxy.url(),
            "ASKED": str(tmp_path / "asked"),
        }
        own = {**env, "ORBWEB_PROXY__CHOOSER": "own"}
        assert cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 1, env=own).code == 4
        shutil.rmtree(tmp_path / "config")
        (tmp_path / "loaded").unlink()
        server.reset()
        refused = cli.resume("site", env=env)
        assert refused.code == 2
        assert "the program own, if it is installed, would choose the proxies (proxy.chooser)" in refused.err
        assert "chooser=own" in refused.err
        assert not (tmp_path / "loaded").exists()
        assert not server.whole_log
        words = ("--trust", "chooser=own", "--trust", f"private=127.0.0.1:{server.port}")
        assert cli.resume("site", "--budget", 1, *words, env=env).code == 4
        assert cli.resume("site", "--budget", "none", env=env).ok(0).json["visited"] == 3
