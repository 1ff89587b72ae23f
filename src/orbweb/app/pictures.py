"""Pictures of runs, and numbers as people read them, for the pages of the server: those of the report."""

from __future__ import annotations

from orbweb.export.report import svg
from orbweb.export.report.markup import Markup
from orbweb.export.report.pictures import Bar, Thread, bars_of, thread_of
from orbweb.export.report.sections import MapSection, sections_of, short_hosts
from orbweb.export.report.site_map import SPOKES, link_counts, tree_of, web_of
from orbweb.export.report.texts import (
    NOTHING,
    WEB,
    host_of,
    in_full,
    many,
    number,
    rest_of,
    short,
    size,
    took,
    words,
)

__all__ = [
    "NOTHING",
    "SPOKES",
    "WEB",
    "Bar",
    "MapSection",
    "Markup",
    "Thread",
    "bars_of",
    "host_of",
    "in_full",
    "link_counts",
    "many",
    "number",
    "rest_of",
    "sections_of",
    "short",
    "short_hosts",
    "size",
    "svg",
    "thread_of",
    "took",
    "tree_of",
    "web_of",
    "words",
]
