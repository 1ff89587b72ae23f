"""One visit as a line, for `--verbose`. Pure."""

from __future__ import annotations

from typing import NamedTuple

from orbweb.app import redacted
from orbweb.cli.output import one_line
from orbweb.cli.output.format import size
from orbweb.events import Visit


class VisitParts(NamedTuple):
    """The parts of the line: the status or FAIL, time and size, the URL, and what else there is to say."""

    mark: str
    figures: str
    url: str
    remark: str


def visit_parts(visit: Visit) -> VisitParts:
    failed = visit.state == "failed"
    mark = "FAIL" if failed else f"{visit.status or '-':>4}"
    took = f"{visit.latency_ms} ms" if visit.latency_ms < 10_000 else f"{visit.latency_ms / 1000:.1f} s"
    figures = f"  {took:>7}  {'-' if failed else size(visit.bytes):>8}  "
    return VisitParts(mark, figures, shown(visit.url), shown(_remark(visit)))


def _remark(visit: Visit) -> str:
    if visit.state == "failed":
        return f"{visit.kind}: {visit.error}"
    if visit.redirect_to:
        return f"-> {visit.redirect_to}"
    words = ["unchanged"] * visit.reused + ["truncated"] * visit.truncated
    return ", ".join(words + ["duplicate"] * (visit.role == "alternate"))


def shown(text: str) -> str:
    """A text of a page or a server in one line, without control characters and secrets."""
    return redacted(one_line(text))
