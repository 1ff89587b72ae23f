"""Results that wait for their turn take at most `engine.window_bytes`, whatever pages bring; all have their turn.

Each page has so many links that a few of them fill the window, and the head of the order comes last.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import orbweb
from orbweb.engine.window import Slot, Window, most_bytes
from orbweb.engine.workers.page import Job
from servers.pages import page
from servers.site import Answer, Request, StaticSite, html, redirect, serve

PAGES = 24
LINKS = 1_000
SMALL = 1_000_000
"""The least that `engine.window_bytes` may be."""


class Watched(Window):
    """A window that knows how much was in it."""

    peaks: list[int]

    def hold(self, slot: Slot) -> None:
        super().hold(slot)
        self.peaks.append(self.bytes)


@pytest.fixture
def peaks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(Watched, "peaks", found, raising=False)
    monkeypatch.setattr("orbweb.engine.loop.Window", Watched)
    return found


def wide(number: int) -> Answer:
    links = "".join(f"<a href=http://elsewhere.example/{number}/{link}>x</a>" for link in range(LINKS))
    return html(f"<title>{number}</title><p>page {number}</p>{links}")


def late(request: Request) -> Answer:
    """The head of the order: two failures, and then a redirect, which puts another head before all that wait."""
    return Answer(500) if request.nth <= 2 else redirect("/later")


def site() -> StaticSite:
    answers: dict[str, object] = {f"/{number}": wide(number) for number in range(PAGES)}
    start = page("start", "/late", *(f"/{number}" for number in range(PAGES)))
    return StaticSite({**answers, "/": start, "/late": late, "/later": html("<p>late", delay_s=0.5)})  # type: ignore[dict-item]


def crawled(workspace: Path, config: Path, *bases: str, **options: object) -> list[str]:
    space = orbweb.open(workspace)
    space.crawl(bases, project="site", rate="max", sitemap="off", config=config, **options)  # type: ignore[arg-type]
    return list(space.manifest("site"))


def config(path: Path, window_bytes: int) -> Path:
    path.write_text(f"engine: {{window_bytes: {window_bytes}}}\nfetch: {{backoff_s: 0.3}}\n")
    return path


@pytest.mark.parametrize("processes", [0, 2])
def test_waiting_results_take_no_more_than_they_may(peaks: list[int], tmp_path: Path, processes: int) -> None:
    small, large = config(tmp_path / "small.yaml", SMALL), config(tmp_path / "large.yaml", 64_000_000)
    with serve(site()) as server:
        bounded = crawled(tmp_path / "small", small, server.url, workers=32, processes=processes)
        highest = max(peaks)
        assert bounded == crawled(tmp_path / "large", large, server.url, workers=32, processes=0)
    assert len(bounded) == PAGES + 3
    one_page = most_bytes(Job(0, f"{server.url}10", "text/html", wide(10).body), with_resources=False)
    assert highest <= SMALL + one_page
    assert max(peaks) > 2 * (SMALL + one_page), "with more room more has waited"


@pytest.mark.parametrize("processes", [0, 2])
def test_each_lane_goes_on(tmp_path: Path, processes: int) -> None:
    small = config(tmp_path / "small.yaml", SMALL)
    with serve(site()) as one, serve(site()) as two:
        done = crawled(tmp_path / "w", small, one.url, two.url, workers=32, processes=processes, order="relaxed")
    assert len(done) == 2 * (PAGES + 3)
