"""Traps beside real pages: every real page is captured, and hardly a request goes into a trap."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import Cli
from servers.site import serve
from servers.traps import REAL, TrapSite, is_trap


@pytest.mark.parametrize("workers", [1, 32])
def test_real_pages_are_captured_and_traps_are_parked(tmp_path: Path, workers: int) -> None:
    cli = Cli(tmp_path)
    with serve(TrapSite()) as server:
        done = (
            cli.crawl(server.url, "--project", "p", "--workers", workers, "--rate", "max", "--budget", 3000)
            .ok(0)
            .json()
        )
        hits = [hit.path for hit in server.log]
    real = {f"/docs/page-{number}" for number in range(1, REAL)} | {"/"}
    assert real <= set(hits)
    swallowed = [target for target in hits if is_trap(target)]
    assert len(swallowed) <= 0.05 * len(hits), (len(swallowed), sorted(swallowed))
    assert done["ended_by"] == "exhausted"
    assert done["skipped"]["trap"] > 0
    cli.check("p")
