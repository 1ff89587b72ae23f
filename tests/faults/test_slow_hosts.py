"""R8: hosts that keep a thousand connections busy, and what a good host beside them pays for it, in operations.

The ratio of speeds is measured by `bench/dripping.py`; here its causes are counted.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

import orbweb
from harness import Cli, wait_until
from orbweb.engine.leasing import Leasing
from servers.churn import spawn
from servers.pages import page
from servers.site import StaticSite, serve

HANGING = ("--hosts", "10", "--pages", "120", "--breaks", "0", "--ends", "0", "--hangs")
PAGES = 1_200
PATIENT = {"ORBWEB_FETCH__TIMEOUT_S": "300"}
MOST_GROUPS = 8


def wide(pages: int, delay_s: float = 0.0) -> StaticSite:
    leaves = [f"/{number}" for number in range(pages)]
    found = {leaf: replace(page(f"page {leaf}"), delay_s=delay_s) for leaf in leaves}
    return StaticSite({"/": page("start", *leaves), **found})


def test_requests_that_hang_do_not_split_the_groups_of_a_good_host(cli: Cli) -> None:
    """They fill most of a window of 1,024; results of the good host had to be written a handful at a time. The
    failpoint kills the crawl if it writes more groups than it should."""
    env = {"ORBWEB_FAULT": f"group_committed:{MOST_GROUPS}", "ORBWEB_ENGINE__GROUP_MS": "10000", **PATIENT}
    options = ("--order", "relaxed", "--workers", 1024, "--rate", "max", "--sitemap", "off", "--project", "site")
    with spawn(*HANGING) as hanging, serve(wide(PAGES)) as good:
        crawl = cli.start("crawl", good.url, *hanging.urls, *options, "--processes", 0, env=env)
        wait_until(lambda: len(good.log) > PAGES or crawl.poll() is not None, 90)
        wait_until(lambda: crawl.poll() is not None or hanging.stats()["open"] > 800, 90)
        for _ in range(2):
            if crawl.poll() is None:
                crawl.send_signal(signal.SIGTERM)
        crawl.communicate(timeout=60)
    assert crawl.returncode == 4


def test_a_lane_without_room_is_looked_at_once_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of the good host come in batches, so that it has room for many places in one turn."""
    turns, looks, leases = 0, 0, 0
    fill, lease_from = Leasing.fill, Leasing._lease_from

    def counted_fill(self: Leasing) -> None:
        nonlocal turns
        turns += 1
        fill(self)

    def counted_lease(self: Leasing, lane: str) -> bool:
        nonlocal looks, leases
        looks += 1
        done = lease_from(self, lane)
        leases += done
        return done

    monkeypatch.setattr(Leasing, "fill", counted_fill)
    monkeypatch.setattr(Leasing, "_lease_from", counted_lease)
    monkeypatch.setenv("ORBWEB_FETCH__TIMEOUT_S", "2")
    monkeypatch.setenv("ORBWEB_FETCH__RETRIES", "0")
    with spawn(*HANGING) as hanging, serve(wide(400, 0.1)) as good:
        orbweb.crawl(
            [good.url, *hanging.urls],
            workspace=tmp_path / "workspace",
            project="site",
            order="relaxed",
            workers=440,
            processes=0,
            rate="max",
            sitemap="off",
            budget=420,
        )
    lanes = 1 + len(hanging.urls)
    assert leases >= 420
    assert looks <= leases + lanes * turns
