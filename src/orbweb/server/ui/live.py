"""The live page: what the crawl of a project is doing, how to steer it, and what a new rule would do."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from orbweb.app import ProjectRules
from orbweb.app.results.listings import RulePreview
from orbweb.errors import OrbwebError, UsageError
from orbweb.server.events import BEAT_S, MOST_STREAMS, TICK_S, StreamLife
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import coming_crawl, project_frame, project_path, run_path
from orbweb.server.ui.live_board import LiveBoard, board_of
from orbweb.server.ui.live_chart import ChartWindow, chart_of, label_of
from orbweb.server.ui.live_view import LiveView
from orbweb.server.ui.templating import field_of, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

RuleKind = Literal["exclude", "include", "max_depth"]
KINDS: dict[RuleKind, str] = {"exclude": "exclude", "include": "include", "max_depth": "max depth"}
SETTINGS: dict[RuleKind, str] = {
    "exclude": "scope.exclude",
    "include": "scope.include",
    "max_depth": "limits.max_depth",
}
SPANS: dict[str, int | None] = {"5 min": 300, "1 h": 3600, "all": None}
SPAN = "5 min"
EXAMPLES = 7
COLUMNS = ("at", "rate", "failed", "p50", "p95")


@dataclass(frozen=True, slots=True)
class Example:
    """A queued URL that a rule would remove, with the part that matches if the pattern is plain text."""

    host: str
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class RuleBox:
    """The rule box: what was typed, what it would do, or what is wrong with it."""

    kind: RuleKind
    pattern: str
    error: str = ""
    queued: int = 0
    removed: int = 0
    left: str = ""
    examples: tuple[Example, ...] = ()
    command: str = ""

    @property
    def stay(self) -> int:
        return self.queued - self.removed

    @property
    def share(self) -> float:
        """How much of the queue stays, in percent."""
        return round(100 * self.stay / self.queued, 3) if self.queued else 100.0


def rule_kind(word: str) -> RuleKind:
    return word if word in KINDS else "exclude"


def rule_options(kind: RuleKind, pattern: str) -> dict[str, object]:
    """One rule as options; UsageError if a depth is not a number."""
    if kind != "max_depth":
        return {kind: [pattern]}
    if not pattern.isdecimal() or len(pattern) > 6:
        raise UsageError(f"{pattern!r} is not a number of links")
    return {kind: int(pattern)}


def previewed(project: str, kind: RuleKind, pattern: str, found: RulePreview, rate: float) -> RuleBox:
    stay = found.queued - found.removed
    return RuleBox(
        kind,
        pattern,
        queued=found.queued,
        removed=found.removed,
        left=f"about {texts.span(stay / rate)}" if rate > 0 else texts.NOTHING,
        examples=tuple(example_of(url, pattern if kind == "exclude" else "") for url in found.examples[:EXAMPLES]),
        command=command_of(project, kind, pattern),
    )


def example_of(url: str, pattern: str) -> Example:
    host, rest = texts.host_of(url), texts.rest_of(url)
    at = rest.find(pattern) if pattern else -1
    if at < 0:
        return Example(host, rest, "", "")
    return Example(host, rest[:at], pattern, rest[at + len(pattern) :])


def command_of(project: str, kind: RuleKind, pattern: str) -> str:
    return shlex.join(["orbweb", "rules", project, f"--{kind.replace('_', '-')}", pattern])


def changed_rules(kind: RuleKind, pattern: str, known: ProjectRules, *, undo: bool) -> dict[str, object]:
    """The options that add a rule to those of a project, or take it away again."""
    if kind == "max_depth":
        return rule_options(kind, pattern) if pattern else {"max_depth": None}
    before = [str(each) for each in cast("list[str]", known.rules.get(SETTINGS[kind]) or ())]
    kept = [each for each in before if each != pattern]
    return {kind: kept if undo else [*kept, pattern]}


@router.get("/p/{project}/live")
def live(
    request: Request, served: Served, project: str, kind: str = "exclude", pattern: str = "", span: str = SPAN
) -> Response:
    frame, outline = project_frame(served, project, "live")
    if outline.run is None and not outline.running and coming_crawl(served, project) is None:
        return render(request, "live_nothing.html", frame=frame, outline=outline, base=project_path(project))
    board, span = board_of(request), span if span in SPANS else SPAN
    view = _view(served, board, project)
    return render(
        request,
        "live.html",
        frame=frame,
        outline=outline,
        view=view,
        base=project_path(project),
        lists=run_path(project),
        rule=_rule_box(served, project, rule_kind(kind), pattern.strip(), view),
        in_force=_in_force(served, project),
        kinds=KINDS,
        chart=chart_of(board.window(project, SPANS[span])),
        span=span,
        spans=tuple(SPANS),
    )


def _in_force(served: Services, project: str) -> list[tuple[RuleKind, str]]:
    """The rules of the project that this page can add."""
    known = served.workspace.rules(project).rules
    found: list[tuple[RuleKind, str]] = []
    for kind, name in SETTINGS.items():
        value = known.get(name)
        values = value if isinstance(value, list | tuple) else () if value is None else (value,)
        found += [(kind, str(each)) for each in values]
    return found


@router.get("/p/{project}/live.json")
def live_json(request: Request, served: Served, project: str) -> Response:
    """What the page shows, as its events have it."""
    served.jobs.outline(project)
    return JSONResponse(asdict(_view(served, board_of(request), project)))


@router.get("/p/{project}/live/rate.json")
def rate_json(request: Request, served: Served, project: str, span: str = SPAN) -> Response:
    """The chart as columns: time, responses and failures per second, latencies. And when hosts were slowed."""
    served.jobs.outline(project)
    window = board_of(request).window(project, SPANS.get(span, SPANS[SPAN]))
    columns = [[getattr(point, name) for point in window.points] for name in COLUMNS]
    ends = {"step": window.step, "begin": window.begin, "end": window.end, "label": label_of(window)}
    return JSONResponse({**ends, "columns": columns, "notes": notes_of(window)})


def notes_of(window: ChartWindow) -> list[tuple[float, str]]:
    return [(note.at, note.text) for note in window.notes]


@router.get("/p/{project}/live/rule")
def rule(request: Request, served: Served, project: str, kind: str = "exclude", pattern: str = "") -> Response:
    """What a rule would do, as the part of the page below its field."""
    view = _view(served, board_of(request), project)
    box = _rule_box(served, project, rule_kind(kind), pattern.strip(), view)
    return render(
        request,
        "live_rule.html",
        rule=box,
        in_force=_in_force(served, project),
        base=project_path(project),
        lists=run_path(project),
    )


@router.get("/p/{project}/live/events")
async def live_events(request: Request, served: Served, project: str) -> StreamingResponse:
    """The page as server-sent events, each of them all of it: `Last-Event-ID` needs no more than the next one."""
    streams = request.app.state.streams
    if len(streams) >= MOST_STREAMS:
        raise ProblemRaised(503, "too_many_streams", f"{MOST_STREAMS} streams are open")
    board = board_of(request)
    await to_thread.run_sync(served.jobs.outline, project)
    known = await to_thread.run_sync(served.jobs.project, project)
    life = StreamLife(request, served, known.id)

    async def stream() -> AsyncIterator[str]:
        streams.add(asyncio.current_task())
        try:
            async for text in _events(served, life, board, project):
                yield text
        finally:
            streams.discard(asyncio.current_task())

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _events(served: Services, life: StreamLife, board: LiveBoard, project: str) -> AsyncIterator[str]:
    before: LiveView | None = None
    number, beats = 0, 0.0
    yield ": orbweb\n\n"
    while await life.lasts():
        view = await to_thread.run_sync(_view, served, board, project)
        same = before is not None and replace(view, updated=before.updated) == before
        if view.at_work or not same:
            number, beats = number + 1, 0.0
            data = {**asdict(view), "points": [], "notes": []}
            if view.at_work:
                window = board.latest(project)
                data["points"] = [[getattr(point, name) for name in COLUMNS] for point in window.points]
                data["notes"] = notes_of(window)
            yield f"id: {number}\nevent: live\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
        before, beats = view, beats + TICK_S
        if beats >= BEAT_S:
            beats = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(TICK_S)


def _view(served: Services, board: LiveBoard, project: str) -> LiveView:
    found = board.look(project)
    coming = None if found.at_work else coming_crawl(served, project)
    return found if coming is None else replace(found, state=coming)


def _rule_box(served: Services, project: str, kind: RuleKind, pattern: str, view: LiveView) -> RuleBox:
    if not pattern or view.run is None:
        return RuleBox(kind, pattern)
    try:
        wanted: dict[str, Any] = {"include": (), "exclude": (), "max_depth": None, **rule_options(kind, pattern)}
        found = served.jobs.preview_rules(project, **wanted)
    except OrbwebError as error:
        return RuleBox(kind, pattern, error=_without_name(str(error), kind))
    return previewed(project, kind, pattern, found, float(view.rate.removesuffix("/s")))


def _without_name(text: str, kind: RuleKind) -> str:
    """An error at the field it belongs to, which is named there already."""
    return text.removeprefix(f"`{kind}`: ")


@router.post("/p/{project}/rule")
def apply_rule(request: Request, served: Served, project: str) -> Response:
    """Add the rule; a crawl at work applies it when its requests in flight are done."""
    kind, pattern = rule_kind(field_of(request, "kind")), field_of(request, "pattern").strip()
    page = f"{project_path(project)}/live"
    undo = field_of(request, "undo") == "1"
    if not pattern and not undo:
        return done(page)
    workspace = served.workspace
    before = workspace.rules(project)
    old_depth = before.rules.get(SETTINGS["max_depth"])
    try:
        options = changed_rules(kind, pattern, before, undo=undo)
        found = workspace.rules(project, **options)  # type: ignore[arg-type]
    except UsageError:
        return done(f"{page}?kind={kind}&pattern={texts.segment(pattern)}#rule")
    skipped, back = sum(found.skipped.values()), sum(found.came_back.values())
    if undo:
        return done(page, Toast(f"{texts.many(back, 'URL')} came back"))
    fields = {"kind": kind, "pattern": pattern, "undo": "1"}
    if kind == "max_depth":
        fields["pattern"] = "" if old_depth is None else str(old_depth)
    text = f"{texts.many(skipped, 'URL')} skipped" if found.in_force else "The crawl applies the rule in a moment"
    return done(page, Toast(text, pattern, f"{project_path(project)}/rule", fields))


@router.post("/p/{project}/pause")
def pause(served: Served, project: str) -> Response:
    served.workspace.pause(project)
    return done(
        f"{project_path(project)}/live", Toast("The crawl is on hold", undo=f"{project_path(project)}/unpause")
    )


@router.post("/p/{project}/unpause")
def unpause(served: Served, project: str) -> Response:
    served.workspace.unpause(project)
    return done(f"{project_path(project)}/live", Toast("The crawl continues"))


@router.post("/p/{project}/stop")
def stop(served: Served, project: str) -> Response:
    served.workspace.stop(project, wait=False)
    return done(f"{project_path(project)}/live", Toast("The crawl stops; its queue is kept"))
