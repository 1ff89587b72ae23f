"""Settings of processing and storage: reuse, order, documents, bodies, spool, outputs.

The string under each field is its description in the reference.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from orbweb.config.section import LARGEST, Section

_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}").fullmatch


class CacheSection(Section):
    """Reuse of pages that earlier runs of the workspace captured."""

    max_age_s: float = Field(0.0, ge=0, le=3_153_600_000)
    """A page captured at most this long before the start of the run is reused without a request. 0: every page is
    requested, and reused if the server returns 304 (not modified)."""


class RecrawlSection(Section):
    """When `recrawl --due` fetches a page again; how often it changes is estimated from earlier runs."""

    min_interval_s: float = Field(3_600.0, ge=0, le=3_153_600_000)
    """A page that was requested less than this long before the start of the run is not due, however often it
    changes."""

    max_interval_s: float = Field(2_592_000.0, ge=0, le=3_153_600_000)
    """A page that was last requested longer ago than this is due, however seldom it changes [30 days]."""


class ServeSection(Section):
    """What clients of `orbweb serve` may do. Only the settings file of the workspace and the environment count."""

    private_hosts: tuple[str, ...] = ()
    """HOST:PORT of sites at private addresses that a client may crawl. All others are refused, whatever was
    crawled from the command line."""

    @field_validator("private_hosts")
    @classmethod
    def _host_and_port(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not _HOST_AND_PORT(host):
                raise ValueError(f"{host!r} is not HOST:PORT")
        return hosts


class ContentSection(Section):
    """How pages are extracted."""

    tokens: str = Field("estimate", min_length=1, max_length=100)
    """How tokens are counted: `estimate`, which needs nothing, or a tiktoken encoding such as `o200k_base`, which
    needs `orbweb[tokens]` and its data on this machine. Nothing is downloaded."""


class EngineSection(Section):
    """Order of results, worker processes, and commits."""

    order: Literal["strict", "relaxed"] = "strict"
    """`strict`: one order for the whole run. `relaxed`: one order per host, results committed as they arrive."""
    processes: int | None = Field(None, ge=0, le=64)
    """Worker processes that parse, extract, hash and compress pages; a crash of the parser costs one page.
    Unset: one, and one per core (at most 4) once thirty pages arrive within 1.2 seconds; two if a page may take
    long, so that no other waits behind it. 0: the main process parses, except very large pages; only for sites you
    trust, because a crash of the parser ends the crawl."""
    defer_s: float = Field(120.0, gt=0, le=86_400)
    """In strict order: if a host blocks the order for this long (Retry-After, robots.txt unavailable), its URLs
    are deferred to the end of the queue."""
    window: int | None = Field(None, ge=8, le=65536)
    """URLs that may be leased and not yet committed; a crash costs at most this many refetches. Unset: 1024, or
    twice `limits.workers` if that is more, so that slow requests cannot fill it."""
    window_bytes: int = Field(64_000_000, ge=1_000_000, le=LARGEST)
    """Bytes of finished results that may wait for their turn to be committed."""
    group_pages: int = Field(512, ge=1, le=8192)
    """Most commits per database transaction."""
    group_ms: int = Field(500, ge=1, le=10_000)
    """Longest time a commit waits for its transaction."""


def _octal(mode: Any) -> Any:
    """YAML reads 0600 as an octal number, but '0600' and 0o600 as text, which is octal too."""
    if isinstance(mode, str) and re.fullmatch("(0o)?[0-7]+", mode):
        mode = int(mode.removeprefix("0o"), 8)
    if isinstance(mode, str) or (isinstance(mode, int) and not 0 <= mode <= 0o777):
        raise ValueError("must be octal permissions from 0 to 0777, such as 0640")
    return mode


def _path(*placeholders: str) -> AfterValidator:
    """A path in which these words, and no others in braces, may stand."""
    rest = f"the placeholders {', '.join(placeholders)}" if placeholders else "no placeholders"

    def check(text: str | None) -> str | None:
        plain = text or ""
        for word in placeholders:
            plain = plain.replace(word, "")
        if "{" in plain or "}" in plain:
            raise ValueError(f"may have {rest}")
        if text is not None and (not text.isprintable() or text != text.strip() or text.startswith("~")):
            raise ValueError("must be a path of printable characters; ~ is not replaced")
        return text

    return AfterValidator(check)


def _file_name(text: str) -> str:
    if "/" in text or text.startswith("."):
        raise ValueError("must be a part of a file name, without / and not starting with a dot")
    return text


_LONGEST_PATH = 1000
_OPTIONAL_PATH = Field(None, min_length=1, max_length=_LONGEST_PATH)


class StoreSection(Section):
    """How bodies are stored, and the permissions of what is written."""

    root: Annotated[str | None, _path()] = _OPTIONAL_PATH
    """Directory of the bodies of all projects, relative to the workspace. Unset: store."""

    layout: Literal["segments", "files"] = "segments"
    """`segments`: a few append-only files. `files`: one file per body under store/html/aa/bb."""
    compress: bool = True
    """With `files`: write .html.zst rather than .html."""
    file_mode: Annotated[int, BeforeValidator(_octal)] = Field(0o600, ge=0, le=0o777)
    """Permissions of the files of bodies, outputs and the spool, whatever the umask. A file that is written to
    again takes them; others keep theirs."""
    dir_mode: Annotated[int, BeforeValidator(_octal)] = Field(0o700, ge=0, le=0o777)
    """Permissions of their directories; those in the workspace that exist take them. The workspace itself gets the
    search permission (x) of the same accounts and nothing else, so that they can reach what they may read."""
    reserve_mb: int = Field(64, ge=0, le=LARGEST)
    """While less disk space than this is free, no request is sent; the crawl resumes when a quarter more is
    free."""


class SpoolSection(Section):
    """The files by which discovery passes URLs to scraping."""

    dir: Annotated[str | None, _path("{project}")] = _OPTIONAL_PATH
    """Directory of the spool, relative to the workspace; may have {project}. Unset: spool."""

    rotate_mb: float = Field(64.0, gt=0, le=100_000)
    """A new file is started when the current one reaches this size."""
    rotate_s: float = Field(3_600.0, gt=0, le=31_536_000)
    """A new file is started when the current one reaches this age."""
    max_backlog_gb: float = Field(1.0, gt=0, le=100_000)
    """Discovery waits while more than this is unscraped, until it is below 80 % of it."""
    keep: Literal["all", "archive", "none"] = "all"
    """What happens to a file after scraping has moved on to the next: it stays, is moved to spool/archive, or is
    deleted."""


class BookmarkSection(Section):
    """The position of the scraper in the spool."""

    path: Annotated[str | None, _path("{project}")] = _OPTIONAL_PATH
    """File of the bookmark, relative to the workspace; may have {project}. Unset: state/spool_bookmark.json."""


class IndexSection(Section):
    """The database, which has the index of pages."""

    path: Annotated[str | None, _path()] = _OPTIONAL_PATH
    """File of the database, relative to the workspace. Unset: orbweb.db."""


class OutputsSection(Section):
    """Files that are written during a crawl; each is rebuilt if it is lost."""

    dir: Annotated[str | None, _path("{project}", "{run}", "{run_id}")] = _OPTIONAL_PATH
    """Directory of all of these files, relative to the workspace; may have {project}, {run} and {run_id}. Applies
    to new runs. Unset: logs and metadata."""
    name: Annotated[
        str | None, _path("{project}", "{run}", "{run_id}"), AfterValidator(lambda text: text and _file_name(text))
    ] = Field(None, min_length=1, max_length=200)
    """The part of each file name that tells runs apart, as in `pages-NAME.csv`; may have {project}, {run}, its
    number, and {run_id}, the UTC minute of its start, such as 2025-01-09T15-30Z. A name that another run has gets
    a number at its end. Applies to new runs. Unset: {project}-{run}."""

    pages: bool = True
    """`logs/pages-<run>.csv`: one row per visit, with seventeen columns."""
    edges: bool = True
    """`logs/edges-<run>.csv`: one row per link."""
    metadata: bool = True
    """`metadata/crawl_metadata-<run>.jsonl`: one object per visit; `metadata/crawl_metadata.jsonl` is a link to
    the latest."""
    raw: bool = False
    """Write cells unescaped, also those that a spreadsheet would evaluate as a formula."""


class MetricsSection(Section):
    """Counters of a crawl."""

    flush_interval_sec: float = Field(10.0, ge=0, le=86_400)
    """How often a row per counter is appended to `logs/crawler_metrics-<run>.csv`, besides at the end. 0: the file
    is not written."""
    host: str = Field("127.0.0.1", min_length=1, max_length=255)
    """The address on which `--metrics-port` listens. Anyone who can reach it can read the counters."""
