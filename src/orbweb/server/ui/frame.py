"""The frame of a page: breadcrumbs, the pill of the running crawl, search, the thread and the tabs.

`project_frame` and `workspace_frame` read what it shows in a time that does not grow with a run;
`frame_of_project` makes it of what was read, and is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orbweb.app import RunningCrawl, RunOutline
from orbweb.app.jobs.records import CRAWLS, JobState
from orbweb.app.pictures import Thread, thread_of
from orbweb.server.services import Services
from orbweb.server.ui.format import rate, segment

CHOICES = 24
"""Projects or runs that a breadcrumb offers."""
LATEST = 200
"""Jobs among which those that wait are looked for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of the menu of a breadcrumb."""

    text: str
    href: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class Crumb:
    """A step of the way to a page; the last one is the page itself. `choices` are others of its kind."""

    text: str
    href: str
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of a project: its key, its word, its page, and the number of what it lists; None if it counts nothing.
    `tone` is red for a number of failures."""

    name: str
    text: str
    href: str
    count: int | None = None
    tone: str = ""


@dataclass(frozen=True, slots=True)
class LivePill:
    """The crawl at work, for the top bar: how many more there are, and how many wait."""

    project: str
    rate: str
    href: str
    state: str
    more: int
    waiting: int


@dataclass(frozen=True, slots=True)
class SearchBox:
    """Where the search box of the top bar leads."""

    action: str
    label: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class PageFrame:
    """Everything around the content of a page. `tab` is the name of the current one; `run` that of a URL, a number
    or `latest`."""

    crumbs: tuple[Crumb, ...] = ()
    live: LivePill | None = None
    search: SearchBox = SearchBox("/search", "Search all projects")
    project: str | None = None
    run: str = "latest"
    thread: Thread | None = None
    tabs: tuple[Tab, ...] = ()
    tab: str = ""


BARE = PageFrame()


def project_path(project: str) -> str:
    return f"/p/{segment(project)}"


def run_path(project: str, run: int | str | None = "latest") -> str:
    """The path below which the lists of a run are."""
    return f"{project_path(project)}/runs/{'latest' if run is None else run}"


def workspace_frame(served: Services, *crumbs: Crumb) -> PageFrame:
    """The frame of a page that belongs to no project."""
    waiting = len(waiting_projects(served))
    return replace(BARE, crumbs=crumbs, live=pill_of(served.jobs.running(), None, waiting))


def project_frame(
    served: Services, project: str, tab: str, *, run: int | None = None, query: str = ""
) -> tuple[PageFrame, RunOutline]:
    """The frame of a page of a project, and the numbers of its run. UnknownProject, or NothingToDo if the run does
    not exist. A list of a run names it; `run` None is the latest."""
    outline = served.jobs.outline(project, run=run)
    frame = frame_of_project(outline, served.workspace.projects(), tab=tab, named=run is not None)
    live = pill_of(served.jobs.running(), outline.project, len(waiting_projects(served)))
    return replace(frame, live=live, search=replace(frame.search, query=query)), outline


def frame_of_project(outline: RunOutline, projects: Sequence[str], *, tab: str, named: bool) -> PageFrame:
    """The frame of a page of a project. `named`: the URL names a run, so that the tabs stay in it."""
    run = str(outline.run) if named and outline.run is not None else "latest"
    tabs = tabs_of(outline, run)
    current = next((each for each in tabs if each.name == tab), None)
    base = run_path(outline.project, run)
    crumbs = [Crumb(outline.project, project_path(outline.project), _projects(projects, outline.project))]
    if current is not None and current.href.startswith(f"{base}/") and outline.run is not None:
        crumbs.append(Crumb(f"run {outline.run}", project_path(outline.project), _runs(outline, current, base)))
    if current is not None and tab != "overview":
        crumbs.append(Crumb(current.text, current.href))
    return PageFrame(
        crumbs=tuple(crumbs),
        search=SearchBox(f"{base}/search", f"Search {outline.project}"),
        project=outline.project,
        run=run,
        thread=thread_of(
            outline.visited, outline.failed, outline.queued, sum(outline.skipped.values()), pages=outline.pages
        ),
        tabs=tabs,
        tab=tab,
    )


def tabs_of(outline: RunOutline, run: str) -> tuple[Tab, ...]:
    """The tabs of a project, with the counts of the run."""
    base, lists = project_path(outline.project), run_path(outline.project, run)
    return (
        Tab("overview", "Overview", base),
        Tab("live", "Live", f"{base}/live"),
        Tab("pages", "Pages", f"{lists}/pages", outline.pages),
        Tab("failed", "Failed", f"{lists}/failed", outline.failed, "red" if outline.failed else ""),
        Tab("queue", "Queue", f"{lists}/queue", outline.queued),
        Tab("skipped", "Skipped", f"{lists}/skipped", sum(outline.skipped.values())),
        Tab("changes", "Changes", f"{base}/diff/{_compared(outline)}"),
        Tab("search", "Search", f"{lists}/search"),
        Tab("map", "Map", f"{lists}/map"),
        Tab("exports", "Exports", f"{base}/exports"),
        Tab("settings", "Settings", f"{base}/settings"),
    )


def _compared(outline: RunOutline) -> str:
    """The run that is shown and the one before it: `2..3`; of a first run, `latest`."""
    before = [each for each in outline.runs if outline.run is not None and each < outline.run]
    return f"{before[0]}..{outline.run}" if before else "latest"


@dataclass(frozen=True, slots=True)
class WaitingCrawl:
    """A crawl that waits for its turn: its job, its place in the line from 1 on, and since when."""

    project: str
    job: int
    place: int
    since: str


def waiting_crawls(served: Services) -> list[WaitingCrawl]:
    """The crawls that wait for their turn, the next first."""
    found = [job for job in served.jobs.jobs(LATEST) if job.kind in CRAWLS and job.state is JobState.QUEUED]
    if not found:
        return []
    names = {each.id: each.name for each in served.jobs.projects()}
    known = [job for job in reversed(found) if job.project_id in names]
    return [
        WaitingCrawl(names[job.project_id], job.id, place, job.created_at) for place, job in enumerate(known, 1)
    ]


def waiting_projects(served: Services) -> list[str]:
    """The projects whose crawls wait for their turn, the next first."""
    return [each.project for each in waiting_crawls(served)]


def coming_crawl(served: Services, project: str) -> str | None:
    """Whether the newest job of a project is a crawl that is still to come: `waiting` for its turn, or `starting`
    while its process comes up."""
    latest = served.jobs.jobs(1, project_id=served.jobs.project(project).id)
    for job in latest:
        if job.kind in CRAWLS and job.state is JobState.QUEUED:
            return "waiting"
        if job.kind in CRAWLS and job.state is JobState.RUNNING and job.crawl_id is None:
            return "starting"
    return None


def pill_of(running: Sequence[RunningCrawl], project: str | None, waiting: int) -> LivePill | None:
    """The crawl at work: that of this project if it has one, else the first."""
    if not running:
        return None
    first = next((each for each in running if each.project == project), running[0])
    return LivePill(
        first.project,
        rate(first.rate),
        f"{project_path(first.project)}/live",
        first.state,
        len(running) - 1,
        waiting,
    )


def _projects(names: Sequence[str], current: str) -> tuple[Choice, ...]:
    found = [Choice(name, project_path(name), current=name == current) for name in names[:CHOICES]]
    return tuple(found) if len(names) > 1 else ()


def _runs(outline: RunOutline, tab: Tab, base: str) -> tuple[Choice, ...]:
    rest = tab.href.removeprefix(base)
    found = [
        Choice(f"run {each}", run_path(outline.project, each) + rest, current=each == outline.run)
        for each in outline.runs[:CHOICES]
    ]
    return tuple(found) if len(found) > 1 else ()
