"""Whether a row of the database, by itself, can have been written by orbweb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orbweb.lifecycle import CrawlState, EndedBy, ItemState, RunState
from orbweb.model import Carried, FailKind, Reuse, Role, SkipReason, Source
from orbweb.store import unit_times
from orbweb.store.unit_times import Stretch
from orbweb.urls import UrlRules, canonicalize

_MOST = 1 << 32
_EARLIEST = -(1 << 52)
_LAST_INSTANT = 253_402_300_800_000_000
"""The end of the year 9999, in microseconds."""
_EVERY_PARAM = UrlRules(frozenset())
_VALUES: Mapping[tuple[str, str], frozenset[str]] = {
    ("runs", "state"): frozenset(RunState),
    ("crawls", "state"): frozenset(CrawlState),
    ("crawls", "ended_by"): frozenset(EndedBy),
    ("urls", "state"): frozenset(ItemState) - {ItemState.LEASED},
    ("urls", "source"): frozenset(Source),
    ("urls", "reason"): frozenset(SkipReason),
    ("urls", "carried"): frozenset(Carried),
    ("visits", "role"): frozenset(Role),
    ("visits", "kind"): frozenset(FailKind),
    ("visits", "reuse"): frozenset(Reuse),
}

_FLAGS = ("noindex", "nofollow", "links_cut", "truncated")


def misfit(table: str, row: Mapping[str, Any]) -> str | None:
    """Why a row cannot have been written by orbweb; None if it can."""
    for (name, column), values in _VALUES.items():
        if name == table and row[column] is not None and row[column] not in values:
            return f"{column} is {row[column]!r}"
    for column, value in row.items():
        if column.endswith("_at") and value is not None and not 0 <= value < _LAST_INSTANT:
            return f"{column} is not an instant: {value}"
    if table == "urls":
        return _url_misfit(row)
    if table == "visits" and not all(row[name] in (0, 1) for name in _FLAGS):
        return "a flag is neither 0 nor 1"
    if table == "projects":
        return _project_misfit(row)
    if table == "units":
        return unit_times.problem(Stretch(**row))
    return None


def _url_misfit(row: Mapping[str, Any]) -> str | None:
    if canonicalize(row["key"], _EVERY_PARAM) != row["key"]:
        return f"{row['key']!r} is not a canonical URL"
    if row["url"] is not None and not _same_page(row["url"], row["key"]):
        return f"{row['url']!r} is not a spelling of {row['key']!r}"
    if (row["state"] == ItemState.SKIPPED) != (row["reason"] is not None):
        return f"state {row['state']} with reason {row['reason']}"
    numbers = (row["id"] - 1, row["depth"], row["hops"], row["redirects"], row["base"], row["changed_in"] or 0)
    fits = all(0 <= number < _MOST for number in numbers) and _EARLIEST < (row["rank"] or 0) < _MOST
    return None if fits else "a number is out of range"


def _same_page(url: str, key: str) -> bool:
    """Whether the key may be that of the URL; which parameters are dropped depends on the project."""
    page, _, query = (canonicalize(url, _EVERY_PARAM) or "").partition("?")
    key_page, _, key_query = key.partition("?")
    return page == key_page and set(key_query.split("&")) <= {*query.split("&"), ""}


def _project_misfit(row: Mapping[str, Any]) -> str | None:
    try:
        settings, bases = json.loads(row["settings"]), json.loads(row["bases"])
    except ValueError as error:
        return f"its settings or base URLs are not JSON: {error}"
    if not isinstance(settings, dict) or not isinstance(bases, list):
        return "its settings or base URLs have the wrong type"
    invalid = [base for base in bases if not isinstance(base, str) or canonicalize(base) is None]
    return f"{invalid[0]!r} is not a base URL" if invalid else None
