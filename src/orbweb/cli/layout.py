"""The lines of the live display. Pure: what is known and the size of the terminal give the lines.

URLs and hosts come from pages: control characters are replaced, and what is too wide is cut in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from orbweb.cli.output import one_line
from orbweb.cli.output.format import many, span
from orbweb.cli.output.visits import shown, visit_parts
from orbweb.cli.terminal import cut
from orbweb.events import HostQueue, OpenRequest, Snapshot, Visit

NARROW, SHORT = 60, 8
"""Columns and rows below which everything is one line."""
BAR = 24
SLOW_S = 2.0
"""A request that takes longer, and a host that lets wait longer, is shown by itself."""
MOST = 3
GAP = "  "


class Done(NamedTuple):
    """Progress of something whose end is known."""

    what: str
    done: int
    total: int
    seconds: float
    failed: int = 0

    @property
    def rate(self) -> float:
        return self.done / self.seconds if self.seconds > 0 else 0.0


def crawl_lines(now: Snapshot, columns: int, rows: int) -> list[Text]:
    """A crawl."""
    if columns < NARROW or rows < SHORT:
        return [_fit([*_state(now, brief=True), *_percent(now), *_counts(now)], columns)]
    lines = [_fit(_bar_parts(now.settled, now.total, "URL", _eta(now)), columns)] if now.total else []
    lines.append(_fit([*_state(now), *_counts(now), *([] if now.total else [Text(_eta(now), "dim")])], columns))
    lines += [_request_line(each.url, each.age_s, columns) for each in _shown_requests(now)]
    lines += [_host_line(host, columns) for host in _shown_hosts(now)]
    if now.stopping:
        waits = f"waiting for {many(now.in_flight, 'request')}; " if now.in_flight else ""
        lines.append(_line(f"stopping: {waits}press Ctrl-C again to stop at once", columns, "yellow"))
    return lines


def _state(now: Snapshot, *, brief: bool = False) -> list[Text]:
    word = "Paused" if now.held else "Stopping" if now.stopping else "" if brief else "Crawling"
    return [Text(word, "bold yellow" if now.held or now.stopping else "bold cyan")] if word else []


def _percent(now: Snapshot) -> list[Text]:
    return [Text(f"{_share(now.settled, now.total):.0%}", "bold")] if now.total else []


def _counts(now: Snapshot) -> list[Text]:
    """The figures, the most telling first: what does not fit is left out from the end."""
    failed = Text(f"{now.failed:,} failed", "red") if now.failed else None
    reused = Text(f"{now.reused:,} unchanged") if now.reused else None
    parts = [Text(_number(now.pages, "page")), failed, Text(f"{now.queued:,} queued"), reused]
    parts += [Text(f"{now.rate:.1f}/s"), Text(_elapsed(now.seconds), "dim")]
    return [part for part in parts if part is not None]


def _eta(now: Snapshot) -> str:
    return f"about {_clock(now.eta_s)} left" if now.eta_s and now.queued else ""


def _shown_requests(now: Snapshot) -> list[OpenRequest]:
    """The oldest request; of the others, those that take long."""
    return [each for at, each in enumerate(now.in_progress[:MOST]) if at == 0 or each.age_s >= SLOW_S]


def _shown_hosts(now: Snapshot) -> list[HostQueue]:
    """Hosts that hold the crawl up. A single one is the crawl itself, unless it lets wait."""
    several = len(now.slowest) > 1
    return [
        host
        for host in now.slowest
        if host.waiting
        and (host.due_s >= SLOW_S or host.gap_s >= SLOW_S or (several and host.drained_s >= SLOW_S))
    ][:MOST]


def _request_line(url: str, seconds: float, columns: int) -> Text:
    age = f"{seconds:.0f} s" if seconds >= 1 else ""
    age = f"{age:>7}"
    style = "yellow" if seconds >= SLOW_S else "dim"
    return Text.assemble((f"{age}{GAP}", style), (cut(shown(url), columns - len(age) - len(GAP)), "dim"))


def _host_line(host: HostQueue, columns: int) -> Text:
    due = f", next in {_clock(host.due_s)}" if host.due_s >= SLOW_S else ""
    about = f"{GAP}{_number(host.waiting, 'URL')}{_pace(host.gap_s)}{due}"
    name = cut(shown(host.host), max(columns - len(about) - 9, 12))
    return _line(f"{'waits':>7}{GAP}{name}{about}", columns, "dim")


def _pace(gap_s: float) -> str:
    """How fast a host is asked."""
    if gap_s >= 1:
        return f", one every {gap_s:.3g} s"
    return f" at {1 / gap_s:.3g}/s" if gap_s else ""


# Anything else whose end is known.


def done_lines(now: Done, columns: int, _rows: int) -> list[Text]:
    left = f"about {_clock((now.total - now.done) / now.rate)} left" if now.rate and now.done < now.total else ""
    parts = _bar_parts(now.done, now.total, now.what, left)
    if now.failed:
        parts.append(Text(f"{now.failed:,} failed", "red"))
    return [_fit(parts, columns)]


# One visit, for --verbose.


def visit_line(visit: Visit, columns: int) -> Text:
    """A visit; its URL and what is said of it are cut to fit the columns."""
    mark, figures, url, remark = visit_parts(visit)
    figures = figures if columns >= NARROW else GAP
    failed = visit.state == "failed"
    room = columns - len(mark) - len(figures)
    remark = cut(remark, room // 2)
    url = cut(url, room - cell_len(remark) - len(GAP))
    style = "bold red" if failed else _status_style(visit.status)
    return Text.assemble((mark, style), (figures, "dim"), url, GAP, (remark, "red" if failed else "dim"))


def _status_style(status: int | None) -> str:
    return "green" if status and status < 300 else "cyan" if status and status < 400 else "yellow"


# Parts of lines.


def _bar_parts(done: int, total: int | None, what: str, left: str) -> list[Text]:
    share = _share(done, total)
    full = round(share * BAR)
    bar = Text.assemble(("\u2501" * full, "cyan"), ("\u2500" * (BAR - full), "dim"))
    parts = [bar, Text(f"{share:.0%}".rjust(4), "bold"), Text(f"{done:,} of {_number(total or 0, what)}")]
    return [*parts, Text(left, "dim")] if left else parts


def _share(done: int, total: int | None) -> float:
    return min(done / total, 1.0) if total else 0.0


def _number(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _clock(seconds: float) -> str:
    """A duration to come, as exact as it is known: it should not change faster than it can be read."""
    return f"{seconds:.0f} s" if seconds < 60 else span(60 * round(seconds / 60)).removesuffix(" 0 s")


def _elapsed(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _line(text: str, columns: int, style: str) -> Text:
    return Text(cut(one_line(text), columns), style)


def _fit(parts: Sequence[Text], columns: int) -> Text:
    """The parts side by side, as many as fit."""
    line = Text()
    for part in parts:
        gap = GAP if line else ""
        if line.cell_len + len(gap) + part.cell_len > columns:
            break
        line = line.append(gap).append_text(part)
    return line
