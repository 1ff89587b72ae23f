"""R10: a host that answers 429 or 503 for a while. Nobody asks it before it says so, all pages come in the end.

How one busy answer is heeded is in `site/test_busy.py`; here the whole host is busy, to whatever is asked.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from email.utils import formatdate

import pytest

from harness import Cli
from servers.pages import chain
from servers.site import Answer, Hit, Request, StaticSite, serve

PAGES = 12
STORM_S = 3.0
LONG_STORM_S = 60.0
CAP_S = 1.0
IN_FLIGHT_S = 0.15
"""What was sent before the busy answer had come arrives within so much."""
FAST = ("--rate", "max", "--sitemap", "off", "--project", "site")
QUICK = {"ORBWEB_LIMITS__SLOWEST_S": "0.1", "ORBWEB_FETCH__MAX_RETRY_AFTER_S": str(CAP_S)}

# What the host asks for, and for how many seconds it has to be left alone then.
FORMS: dict[str, tuple[Callable[[], str | None], float]] = {
    "seconds": (lambda: "1", 1.0),
    "date": (lambda: formatdate(time.time() + 2, usegmt=True), 1.0),
    "absent": (lambda: None, 0.0),
    "absurd": (lambda: "99999999999999999999", CAP_S),
    "absurd date": (lambda: "Fri, 31 Dec 9999 23:59:59 GMT", CAP_S),
    "negative": (lambda: "-5", 0.0),
    "past": (lambda: formatdate(0, usegmt=True), 0.0),
    "garbage": (lambda: "soon, \x7f perhaps", 0.0),
    "empty": (lambda: "", 0.0),
}


class StormSite:
    """A site that is busy for so many seconds, from its first page on or from the one after that."""

    def __init__(
        self, status: int, retry_after: Callable[[], str | None], lasts_s: float, *, first: bool = False
    ) -> None:
        self._status = status
        self._retry_after = retry_after
        self._lasts_s = lasts_s
        self._first = first
        self._over_at = float("inf")
        self._calm = StaticSite(chain(PAGES))

    def answer(self, request: Request) -> Answer:
        if request.path == "/robots.txt" or (request.path == "/" and not self._first):
            return self._calm.answer(request)
        self._over_at = min(self._over_at, request.at + self._lasts_s)
        if request.at >= self._over_at:
            return self._calm.answer(request)
        asked = self._retry_after()
        headers = (("Content-Type", "text/plain"), *([("Retry-After", asked)] if asked is not None else []))
        return Answer(self._status, headers, b"busy")


def too_early(hits: Sequence[Hit], pause_s: float) -> list[tuple[float, float]]:
    """The requests that came while the host had asked to be left alone."""
    told = [hit.at for hit in hits if hit.status in (429, 503)]
    return [
        (hit.at, at) for hit in hits for at in told if at + IN_FLIGHT_S < hit.at < at + pause_s - IN_FLIGHT_S / 10
    ]


STORMS = [(429, form) for form in FORMS] + [(503, "seconds"), (503, "date")]
"""503 without Retry-After is an ordinary failure."""


@pytest.fixture(scope="module")
def storms(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], tuple[Hit, ...]]:
    """The logs of one host for every storm, crawled side by side."""
    cli = Cli(tmp_path_factory.mktemp("storms") / "workspace")
    with contextlib.ExitStack() as stack:
        sites = {
            (status, form): stack.enter_context(serve(StormSite(status, FORMS[form][0], STORM_S)))
            for status, form in STORMS
        }
        bases = [site.url for site in sites.values()]
        options = (*FAST, "--order", "relaxed", "--workers", 4 * len(bases))
        done = cli.crawl(*bases, *options, env=QUICK).ok(0)
        assert done.json["visited"] == len(bases) * (PAGES + 1)
        cli.check("site")
        return {storm: site.log for storm, site in sites.items()}


@pytest.mark.alone
@pytest.mark.parametrize(("status", "form"), STORMS)
def test_a_storm_is_waited_out(status: int, form: str, storms: dict[tuple[int, str], tuple[Hit, ...]]) -> None:
    hits = storms[status, form]
    assert sum(hit.status == status for hit in hits) > 1
    assert too_early(hits, FORMS[form][1]) == []
    assert {hit.path for hit in hits if hit.status == 200} == {"/", *(f"/{n}" for n in range(1, PAGES + 1))}


@pytest.mark.long
@pytest.mark.parametrize("form", ["seconds", "date", "absent", "absurd"])
def test_a_storm_of_a_minute_is_waited_out(cli: Cli, form: str) -> None:
    """With the defaults, but for the cap, which would be an hour."""
    retry_after, pause_s = FORMS[form]
    with serve(StormSite(429, retry_after, LONG_STORM_S)) as server:
        env = {"ORBWEB_FETCH__MAX_RETRY_AFTER_S": "5", "ORBWEB_FETCH__BUSY_RETRIES": "100"}
        done = cli.crawl(server.url, *FAST, env=env, timeout=600).ok(0)
        hits = server.log
    assert too_early(hits, 5.0 if form == "absurd" else pause_s) == []
    assert done.json["visited"] == PAGES + 1


def test_an_absurd_wish_is_cut_to_an_hour_and_shown(cli: Cli) -> None:
    with serve(StormSite(429, FORMS["absurd"][0], 1e9, first=True)) as server:
        process = cli.start("crawl", server.url, *FAST)
        assert process.stderr is not None
        note = next(line for line in process.stderr if "Retry-After" in line)
        process.terminate()
        assert process.wait(timeout=120) == 4
        process.communicate()
        assert len(server.log) == 1
    assert "cut to 3600 s" in note


GOOD_PAGES = 60
RATE = 20
KEPT = 0.9
TRIES = 3


def speed_of_good_host(cli: Cli, project: str, *beside: str) -> float:
    """The share of its rate that the good host gets, by its own log."""
    options = ("--order", "relaxed", "--rate", RATE, "--workers", 8, "--sitemap", "off", "--project", project)
    with serve(StaticSite(chain(GOOD_PAGES - 1))) as good:
        cli.crawl(good.url, *beside, *options, env=QUICK).ok(0)
        times = [hit.at for hit in good.log]
    assert len(times) == GOOD_PAGES
    return (GOOD_PAGES - 1) / RATE / (times[-1] - times[0])


@pytest.mark.alone
@pytest.mark.parametrize("first", [False, True], ids=["links", "base URL"])
def test_a_good_host_does_not_feel_the_storm(cli: Cli, first: bool) -> None:
    """In relaxed order. The machine is shared: one of three measurements has to succeed, against all of the rate
    or against what a crawl alone gets of it just now."""
    kept = []
    for number in range(TRIES):
        with serve(StormSite(429, FORMS["seconds"][0], STORM_S, first=first)) as storm:
            kept.append(speed_of_good_host(cli, f"beside{number}", storm.url))
            assert too_early(storm.log, 1.0) == []
        if kept[-1] >= KEPT or kept[-1] >= KEPT * speed_of_good_host(cli, f"alone{number}"):
            return
    pytest.fail(f"{kept} of its speed, {KEPT} promised")
