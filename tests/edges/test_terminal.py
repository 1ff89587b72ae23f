"""The command line on a terminal: the live display, its end, Ctrl-C, colours."""

from __future__ import annotations

import io
import re
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

import orbweb
from harness import ORBWEB, Cli, wait_until
from orbweb.app import AlsoOnHold
from orbweb.cli.layout import Done, crawl_lines, done_lines
from orbweb.cli.output.summary import crawl_summary
from orbweb.cli.terminal import REDRAW_S, Block, cut
from orbweb.events import HostQueue, OpenRequest, Snapshot
from screens import Screen, Terminal, terminal
from servers.pages import Unending, chain, page
from servers.site import Answer, StaticSite, serve

SIZES = (44, 80, 200)
LONG = "/" + "\u65e5\u672c\u8a9e-and-a-very-long-name-" * 6
ESCAPE = "\x1b]0;owned\x07\x1b[31m"


def site() -> dict[str, Answer]:
    pages = chain(30, delay_s=0.05)
    return {**pages, "/": page("start", *pages, "/gone", LONG), "/30": page(f"a {ESCAPE} title")}


def on_terminal(cli: Cli, *words: str, columns: int, **env: str) -> AbstractContextManager[Terminal]:
    """orbweb on a terminal, in the workspace of the test, whose path is short from there."""
    named = {"ORBWEB_WORKSPACE": cli.workspace.name, **env}
    return terminal([*ORBWEB, *words], columns=columns, cwd=cli.workspace.parent, env=named)


def crawled(shown: Terminal, *codes: int) -> Screen:
    """What is on the screen when the command has ended; no line wrapped, and nothing was drawn too often."""
    code = shown.wait()
    assert code in codes, shown.screen.text
    assert shown.screen.wraps == []
    assert shown.screen.frames <= (time.monotonic() - shown.started_at) / REDRAW_S + 1
    assert "Crawling" not in shown.screen.text
    return shown.screen


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("more", [(), ("-v",)], ids=["plain", "verbose"])
def test_nothing_wraps_in_a_crawl_and_a_recrawl(columns: int, more: tuple[str, ...], cli: Cli) -> None:
    with serve(StaticSite(site())) as server:
        words = ("crawl", server.url, "--project", "site", "--rate", "max", "--workers", "2", *more)
        with on_terminal(cli, *words, columns=columns) as shown:
            shown.wait_for(lambda text: "queued" in text)
            screen = crawled(shown, 3)
        assert screen.frames > 1
        assert re.search(r"^  pages +31  ", screen.text, re.MULTILINE)
        assert ("FAIL" in screen.text) == bool(more)
        with on_terminal(cli, "recrawl", "site", "--rate", "max", *more, columns=columns) as shown:
            crawled(shown, 3)


@pytest.mark.parametrize("columns", SIZES)
def test_a_pause_neither_floods_the_terminal_nor_counts(columns: int, cli: Cli) -> None:
    with serve(Unending()) as server:
        words = ("crawl", server.url, "--project", "site", "--rate", "max")
        with on_terminal(cli, *words, columns=columns) as shown:
            shown.wait_for(lambda text: "queued" in text)
            cli("pause", "site").ok()
            before = shown.wait_for(lambda text: "Paused" in text)
            frames = shown.screen.frames
            shown.wait_for(lambda _: shown.screen.frames > frames + 5)
            assert len(shown.screen.text.splitlines()) <= len(before.splitlines()) + 1
            cli("unpause").ok()
            shown.wait_for(lambda text: "resumed" in text and "Paused" not in text)
            shown.type(b"\x03")
            crawled(shown, 4)


def at_rest(seen: list[Snapshot]) -> list[Snapshot]:
    """The snapshots on hold after the last commit: what was in flight or in a worker is finished first."""
    held = [now for now in seen if now.held and not now.in_flight]
    return [now for now in held if now.visited == held[-1].visited]


def test_the_time_on_hold_does_not_count(tmp_path: Path) -> None:
    space, seen = orbweb.open(tmp_path / "w"), list[Snapshot]()
    with serve(Unending()) as server:
        running = space.start(server.url, project="site", rate="max", on_progress=AlsoOnHold(seen.append))
        wait_until(lambda: seen[-1].visited > 3)
        space.pause("site")
        wait_until(lambda: len(at_rest(seen)) > 4)
        space.unpause("site")
        wait_until(lambda: not seen[-1].held)
        space.stop("site")
        running.result()
    held = at_rest(seen)
    assert len({now.seconds for now in held}) == 1
    assert len({now.eta_s for now in held[1:]}) == 1
    assert seen[-1].seconds >= held[-1].seconds


def test_snapshots_name_what_is_in_flight(tmp_path: Path) -> None:
    space, seen = orbweb.open(tmp_path / "w"), list[Snapshot]()
    pages = {"/": page("start", "/slow"), "/slow": page("slow", delay_s=600)}
    with serve(StaticSite(pages)) as server:
        running = space.start(server.url, project="site", rate="max", on_progress=seen.append)
        wait_until(lambda: [each.url for each in seen[-1].in_progress] == [f"{server.url}slow"])
        first = seen[-1].in_progress[0].age_s
        wait_until(lambda: seen[-1].in_progress[0].age_s > first + 0.3)
        space.stop("site")
        running.result()
    assert seen[-1].stopping


def test_ctrl_c_says_how_to_stop_at_once_and_the_second_one_does(cli: Cli) -> None:
    pages = {"/": page("start", "/slow"), "/slow": page("slow", delay_s=600)}
    with serve(StaticSite(pages)) as server:
        words = ("crawl", server.url, "--project", "site", "--rate", "max")
        with on_terminal(cli, *words, columns=80) as shown:
            shown.wait_for(lambda text: "/slow" in text)
            assert "Ctrl-C" not in shown.screen.text
            shown.type(b"\x03")
            shown.wait_for(lambda text: "waiting for 1 request; press Ctrl-C again to stop at once" in text)
            shown.type(b"\x03")
            screen = crawled(shown, 4)
    assert "Interrupted (cancelled)" in screen.text
    status = cli.check("site")
    assert (status["state"], status["visited"], status["queued"]) == ("paused", 1, 1)
    with serve(StaticSite({"/slow": page("slow")}), port=server.port):
        assert cli.resume("site").ok().json["pages"] == 2


def test_a_dumb_terminal_gets_no_sequence(cli: Cli) -> None:
    with serve(StaticSite(site())) as server:
        words = ("crawl", server.url, "--project", "site", "--rate", "max")
        with on_terminal(cli, *words, columns=80, TERM="dumb") as shown:
            screen = crawled(shown, 3)
    assert (screen.frames, screen.colours) == (0, 0)


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_that_want_them(env: dict[str, str], coloured: bool, cli: Cli) -> None:
    for words in (["--help"], ["status", "nothing"]):
        with terminal([*ORBWEB, *words], columns=80, rows=80, cwd=cli.workspace.parent, env=env) as shown:
            shown.wait()
        assert bool(shown.screen.colours) is coloured


def test_a_pipe_gets_no_colours_unless_they_are_forced(cli: Cli) -> None:
    assert "\x1b" not in cli("--help").out
    assert "\x1b[1m" in cli("--help", env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in cli("--help", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_an_export_and_the_doctor_draw_a_bar(cli: Cli) -> None:
    now = Done("page", 1_200, 4_800, 10.0, failed=2)
    for columns in SIZES:
        (line,) = done_lines(now, columns - 1, 24)
        assert line.cell_len < columns
    assert "1,200 of 4,800 pages  about 30 s left  2 failed" in line.plain
    with serve(StaticSite(chain(5))) as server:
        cli.crawl(server.url, "--project", "site", "--rate", "max").ok()
    seen: list[tuple[int, int]] = []
    assert orbweb.open(cli.workspace).doctor(on_progress=lambda *now: seen.append(now)).healthy
    assert seen == [(number, 12) for number in range(1, 13)]


# Pure: the lines of the display.


def snapshot(**given: object) -> Snapshot:
    counts = {"visited": 1_234_567, "failed": 12_345, "queued": 7_654_321, "pages": 1_200_000, "skipped": 9}
    known: dict[str, object] = {
        **counts,
        "settled": 50_000,
        "in_flight": 3,
        "seconds": 4_000.0,
        "budget": None,
        "held": False,
        "stopping": False,
        "in_progress": tuple(OpenRequest(f"http://h{at}.test{LONG}{ESCAPE}\n", 9.0 - at) for at in range(8)),
        "slowest": tuple(HostQueue(f"h{at}.test{LONG}", 40, 60.0, 5.0) for at in range(8)),
    }
    return Snapshot(**{**known, **given})  # type: ignore[arg-type]


VARIANTS = (
    *({}, {"budget": 100_000}, {"is_recrawl": True, "reused": 40_000}),
    *(
        {"held": True, "held_by": "paused by control/x.pause"},
        {"stopping": True},
        {"in_flight": 0, "stopping": True},
    ),
    {"in_progress": (), "slowest": ()},
)


@pytest.mark.parametrize("columns", [1, 10, 43, 59, 79, 199])
@pytest.mark.parametrize("rows", [1, 7, 23])
def test_no_line_exceeds_the_terminal(columns: int, rows: int) -> None:
    for given in VARIANTS:
        lines = crawl_lines(snapshot(**given), columns, rows)
        assert all(line.cell_len <= columns and line.plain.isprintable() for line in lines)
        assert len(lines) <= (1 if columns < 60 or rows < 8 else 9)


def test_a_host_that_lets_wait_and_slow_requests_are_named() -> None:
    lines = [line.plain for line in crawl_lines(snapshot(), 120, 24)]
    assert lines[0].startswith("Crawling  1,200,000 pages  12,345 failed  7,654,321 queued  12.5/s  1:06:40")
    assert lines[1].startswith("    9 s  http://h0.test/")
    assert any("40 URLs, one every 5 s, next in 1 min" in line for line in lines)
    (line,) = crawl_lines(snapshot(slowest=(HostQueue("one.test", 40, 0.4, 0.5),), in_progress=()), 120, 24)
    assert "one.test" not in line.plain


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 10, "short"),
        ("0123456789", 10, "0123456789"),
        ("0123456789x", 10, "01234\u2026789x"),
        ("\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e", 7, "\u65e5\u2026\u8a9e"),
        ("abc", 1, ""),
        ("abc", 0, ""),
    ],
)
def test_a_text_is_cut_in_the_middle_by_its_width(text: str, width: int, expected: str) -> None:
    assert cut(text, width) == expected
    assert cell_len(cut(text, width)) <= width


def test_the_block_is_drawn_at_most_every_100_ms_and_loses_no_line() -> None:
    stream, now = io.StringIO(), [0.0]
    block = Block(stream, clock=lambda: now[0])
    for tick in range(1_000):
        now[0] = tick / 100
        block.show(lambda _columns, _rows: [Text("first"), Text("second")])
        block.add_above(Text(f"note {tick}"))
    block.close()
    screen = Screen(80)
    screen.feed(stream.getvalue())
    assert screen.frames <= 101
    assert screen.text.split() == [word for tick in range(1_000) for word in ("note", str(tick))]


def test_a_summary_fits_the_terminal_and_has_no_control_characters(cli: Cli) -> None:
    with serve(StaticSite(site())) as server:
        report = cli.crawl(server.url, "--project", "site", "--rate", "max", "--page-limit", "9").ok().json
    report = {**report, "workspace": f"/{ESCAPE}"}
    for width in SIZES:
        lines = crawl_summary(report, width=width, colour=False, again="orbweb resume site").splitlines()
        assert all(line.isprintable() for line in lines)
        assert all(len(line) <= width for line in lines[:-1])
    again = f"orbweb resume site --workspace /{'x' * 100}"
    assert again in crawl_summary({**report, "queued": 1}, width=80, colour=False, again=again).splitlines()
