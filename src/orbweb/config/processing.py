"""Settings of how the work is done and what is kept of it: reuse, order, documents, bodies, spool, outputs.

Owns their limits and their meaning: the text under each is what the reference says of it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from orbweb.config.section import LARGEST, Section


class CacheSection(Section):
    """What earlier runs of the workspace captured, and a run may take over."""

    max_age_s: float = Field(0.0, ge=0, le=3_153_600_000)
    """A page captured at most so long before the run began is taken as it is, and nothing is sent. 0: every page
    is asked for, and taken over if the server says that it is unchanged (304)."""


class RecrawlSection(Section):
    """When `recrawl --due` asks for a page again: how often it changes is estimated from the runs there are."""

    min_interval_s: float = Field(3_600.0, ge=0, le=3_153_600_000)
    """A page that was asked for less than this long before the run began is not due, however often it changes."""

    max_interval_s: float = Field(2_592_000.0, ge=0, le=3_153_600_000)
    """A page that was asked for longer ago than this is due, however seldom it changes [30 days]."""


class ContentSection(Section):
    """What is made of pages."""

    tokens: str = Field("estimate", min_length=1, max_length=100)
    """What counts tokens: `estimate`, which needs nothing, or an encoding of tiktoken such as `o200k_base`, which
    needs `orbweb[tokens]` and its data on this machine. Nothing is downloaded."""


class EngineSection(Section):
    """How the work is ordered and shared."""

    order: Literal["strict", "relaxed"] = "strict"
    """`strict`: one order for the whole run. `relaxed`: one order per host, results as they come."""
    processes: int | None = Field(None, ge=0, le=64)
    """Worker processes that parse, read, hash and compress pages; a crash of the parser costs one page there.
    Unset: one, and when thirty pages come in 1.2 seconds one per core, at most 4; two where a page may take
    long, so that no other waits behind it. 0: the main process parses, except very large pages; only
    for sites you trust, because a crash of the parser ends the crawl."""
    defer_s: float = Field(120.0, gt=0, le=86_400)
    """In strict order: a host that keeps everyone waiting so long (Retry-After, no robots.txt) has its URLs
    put back, and the order moves on."""
    window: int | None = Field(None, ge=8, le=65536)
    """Places that may be leased and not yet committed; a crash costs at most so many refetches. Unset: 1024, or
    twice `limits.workers` if that is more, so that slow requests cannot fill it."""
    window_bytes: int = Field(64_000_000, ge=1_000_000, le=LARGEST)
    """Bytes of finished results that may wait for their turn."""
    group_pages: int = Field(512, ge=1, le=8192)
    """Commits per database transaction at most."""
    group_ms: int = Field(500, ge=1, le=10_000)
    """Longest time a commit waits for its transaction."""


def _octal(mode: Any) -> Any:
    """YAML reads 0600 as octal, and '0600' and 0o600 as texts, which are no decimal numbers either."""
    if isinstance(mode, str) and re.fullmatch("(0o)?[0-7]+", mode):
        mode = int(mode.removeprefix("0o"), 8)
    if isinstance(mode, str) or (isinstance(mode, int) and not 0 <= mode <= 0o777):
        raise ValueError("permissions are octal, 0 to 0777, such as 0640")
    return mode


class StoreSection(Section):
    """Where bodies go."""

    layout: Literal["segments", "files"] = "segments"
    """`segments`: few append-only files. `files`: one file a body under store/html/aa/bb."""
    compress: bool = True
    """With `files`: write .html.zst rather than .html."""
    file_mode: Annotated[int, BeforeValidator(_octal)] = Field(0o600, ge=0, le=0o777)
    """Permissions of the files of the `files` layout."""
    reserve_mb: int = Field(64, ge=0, le=LARGEST)
    """While less disk space is free nothing is asked for; a crawl goes on when there is a quarter more."""


class SpoolSection(Section):
    """What discovery hands to scraping."""

    rotate_mb: float = Field(64.0, gt=0, le=100_000)
    """A file that has grown to this is followed by another."""
    rotate_s: float = Field(3_600.0, gt=0, le=31_536_000)
    """So is one that is as old as this."""
    max_backlog_gb: float = Field(1.0, gt=0, le=100_000)
    """When more than this is not yet scraped, discovery waits until it is less than 80 % of it."""
    keep: Literal["all", "archive", "none"] = "all"
    """What becomes of a file when scraping has gone on to the next: it stays, goes to spool/archive, or is
    deleted."""


class OutputsSection(Section):
    """Files that follow a crawl in the workspace; each is made again if it is lost."""

    pages: bool = True
    """`logs/pages-<run>.csv`: a row a visit, with seventeen columns."""
    edges: bool = True
    """`logs/edges-<run>.csv`: a row a link."""
    metadata: bool = True
    """`metadata/crawl_metadata-<run>.jsonl`: an object a visit; `metadata/crawl_metadata.jsonl` leads to it."""
    raw: bool = False
    """Cells as they are, also those that a spreadsheet would compute."""


class MetricsSection(Section):
    """Counters of a crawl."""

    flush_interval_sec: float = Field(10.0, ge=0, le=86_400)
    """`logs/crawler_metrics-<run>.csv` gets a row a counter so often, and at the end. 0: it is not written."""
    host: str = Field("127.0.0.1", min_length=1, max_length=255)
    """The address at which `--metrics-port` listens. Whoever can reach it can read the counters."""
