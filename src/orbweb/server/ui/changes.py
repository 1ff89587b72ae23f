"""The changes between two runs: lists by kind, hunks, and what someone has looked at already."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import RunDiff, RunOutline
from orbweb.model import Document
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.comparisons import comparisons_of
from orbweb.server.ui.format import segment
from orbweb.server.ui.frame import PageFrame, project_frame, project_path, run_path
from orbweb.server.ui.hunks import Hunk, hunks_of
from orbweb.server.ui.templating import field_of, form_of, now, render
from orbweb.server.ui.toast import done
from orbweb.server.ui.twins import twin

router = APIRouter()

PER_PAGE = 25
DATED = 24
"""Runs that are offered with the day on which they began."""
ROOM = 30_000
"""Characters of hunks on a page of the list."""
SHARE = 6_000
"""Characters of hunks of one of its pages."""
WHOLE = 400_000
"""Characters of hunks of a page that is shown alone."""
KINDS = (
    ("added", "+", "accent"),
    ("removed", "\N{MINUS SIGN}", "red"),
    ("moved", "→", ""),
    ("redirected", "", ""),
    ("failing", "", ""),
    ("changed", "~", ""),
)
_PAIR = re.compile(r"(?:([0-9]{1,9})\.\.([0-9]{1,9})|latest)(?:\.(json|csv))?")


@dataclass(frozen=True, slots=True)
class ListedKind:
    """A kind of change: how many there are, and the list of them."""

    name: str
    sign: str
    tone: str
    count: int
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change in the list. `note` says why, where from or where to."""

    url: str
    added: int
    removed: int
    note: str
    seen: bool
    href: str


@dataclass(frozen=True, slots=True)
class Article:
    """A changed page with its hunks. `more` hunks are left out, with `more_added` and `more_removed` lines."""

    change: ShownChange
    title: str
    hunks: tuple[Hunk, ...]
    more: int
    more_added: int
    more_removed: int
    note: str
    page: str
    whole: str


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """What a page of changes shows."""

    kind: str = ""
    noise: bool = False
    unseen: bool = False
    after: str = ""
    only: str = ""

    def url(self, base: str, **changed: Any) -> str:
        """The same page with other values; a value that is as it comes is left out."""
        values: dict[str, Any] = {
            "kind": self.kind, "noise": self.noise, "unseen": self.unseen, "after": self.after, "only": self.only,
            **changed,
        }  # fmt: skip
        given = {name: 1 if value is True else value for name, value in values.items() if value}
        return f"{base}?{urlencode(given)}" if given else base


def counts_of(diff: RunDiff) -> Mapping[str, int]:
    return {name: len(getattr(diff, name)) for name, _, _ in KINDS}


def first_kind(counts: Mapping[str, int]) -> str:
    """The kind that is shown unless one is named: changed pages, or else the first that there are."""
    return "changed" if counts["changed"] else next((name for name, count in counts.items() if count), "changed")


def kinds_of(counts: Mapping[str, int], query: ChangesQuery, base: str) -> tuple[ListedKind, ...]:
    return tuple(
        ListedKind(
            name, sign, tone, counts[name], query.url(base, kind=name, after="", only=""), name == query.kind
        )
        for name, sign, tone in KINDS
    )


def changes_of(diff: RunDiff, kind: str, seen: Collection[str], pages: str) -> list[ShownChange]:
    """The changes of a kind; `pages` is the path of the lists of the project."""
    made = []
    for each in getattr(diff, kind):
        run = diff.old if kind in ("removed", "redirected") else diff.new
        made.append(
            ShownChange(
                each.url,
                getattr(each, "lines_added", 0),
                getattr(each, "lines_removed", 0),
                _note(kind, each),
                each.url in seen,
                f"{pages}/runs/{run}/page?url={segment(each.url)}",
            )
        )
    return made


def _note(kind: str, each: Any) -> str:
    if kind == "failing":
        return f"{each.kind}, HTTP {each.status}" if each.status else str(each.kind)
    names = {"removed": "why", "moved": "from_", "redirected": "to"}
    return str(getattr(each, names[kind])) if kind in names else ""


def part_of(changes: Sequence[ShownChange], query: ChangesQuery) -> tuple[list[ShownChange], str]:
    """The changes of a page of the list, and the key of the next page; empty if there is none."""
    wanted = [each for each in changes if not (query.unseen and each.seen)]
    if query.only:
        return [each for each in wanted if each.url == query.only], ""
    begin = next((at + 1 for at, each in enumerate(wanted) if each.url == query.after), 0) if query.after else 0
    part = wanted[begin : begin + PER_PAGE]
    return part, part[-1].url if begin + PER_PAGE < len(wanted) else ""


def fitting(hunks: Sequence[Hunk], room: int) -> int:
    """How many of the hunks fit in so many characters; one always does."""
    used = 0
    for number, hunk in enumerate(hunks):
        used += hunk.size
        if used > room:
            return max(1, number)
    return len(hunks)


def article_of(
    change: ShownChange, diff: Sequence[str], document: Document | None, room: int, whole: str
) -> Article:
    hunks = hunks_of(diff, document.markdown if document else "")
    kept = fitting(hunks, room)
    rest = hunks[kept:]
    return Article(
        change=change,
        title=document.title if document else "",
        hunks=hunks[:kept],
        more=len(rest),
        more_added=sum(each.added for each in rest),
        more_removed=sum(each.removed for each in rest),
        note=diff[0] if diff and not hunks else "",
        page=change.href,
        whole=whole,
    )


def _articles(
    served: Services, diff: RunDiff, part: Sequence[ShownChange], query: ChangesQuery, base: str
) -> list[Article]:
    """The pages of this part of the list, as far as there is room."""
    lines = {each.url: each.diff for each in diff.changed}
    room, made = WHOLE if query.only else ROOM, []
    for change in part:
        if room <= 0:
            break
        document = served.workspace.document(diff.project, change.url, run=diff.new)
        whole = query.url(base, only=change.url, after="")
        share = WHOLE if query.only else SHARE
        made.append(article_of(change, lines[change.url], document, min(room, share), whole))
        room -= sum(hunk.size for hunk in made[-1].hunks) + 200
    return made


def _runs_named(served: Services, project: str, pair: str) -> tuple[RunOutline | None, RunOutline, str]:
    found = _PAIR.fullmatch(pair)
    if found is None:
        raise ProblemRaised(404, "not_found", f"{pair!r} are not two runs; write 2..3")
    new = served.jobs.outline(project, run=int(found[2]) if found[2] else None)
    before = [each for each in new.runs if new.run is not None and each < new.run]
    number = int(found[1]) if found[1] else before[0] if before else None
    old = served.jobs.outline(project, run=number) if number is not None else None
    return old, new, found[3] or ""


def _rows(diff: RunDiff, changes: Sequence[ShownChange], kind: str) -> list[dict[str, Any]]:
    return [
        {
            "url": each.url,
            "kind": kind,
            "linesAdded": each.added,
            "linesRemoved": each.removed,
            "note": each.note,
            "seen": each.seen,
            "old": diff.old,
            "new": diff.new,
        }
        for each in changes
    ]


@router.get("/p/{project}/diff/{pair}")
def show(
    request: Request,
    served: Served,
    project: str,
    pair: str,
    kind: str = "",
    noise: int = 0,
    unseen: int = 0,
    after: str = "",
    only: str = "",
) -> Response:
    frame, outline = project_frame(served, project, "changes")
    old, new, suffix = _runs_named(served, project, pair)
    if old is None or new.run is None:
        return render(request, "changes.html", frame=frame, outline=outline, view="none", project=project)
    diff = comparisons_of(request).compared(old, new, keep_noise=bool(noise))
    dates = {each.run: texts.day(each.started_at, now()) for each in served.jobs.histories(project, limit=DATED)}
    runs: dict[str, Any] = {"old": old, "new": new, "outline": outline, "project": project, "dates": dates}
    if diff is None:
        response = render(request, "changes.html", frame=frame, view="wait", **runs)
        response.headers["refresh"] = "1"
        return response
    counts = counts_of(diff)
    query = ChangesQuery(kind if kind in counts else first_kind(counts), bool(noise), bool(unseen), after, only)
    seen = served.jobs.seen_urls(project, (diff.old, diff.new))
    changes = changes_of(diff, query.kind, seen, project_path(project))
    if suffix:
        kept = [each for each in changes if not (query.unseen and each.seen)]
        return twin(_rows(diff, kept, query.kind), suffix, f"{project}-{diff.old}-{diff.new}-{query.kind}")
    return _page(request, served, frame, diff, query, changes, runs)


def _page(
    request: Request,
    served: Services,
    frame: PageFrame,
    diff: RunDiff,
    query: ChangesQuery,
    changes: Sequence[ShownChange],
    runs: Mapping[str, Any],
) -> Response:
    base = f"{project_path(diff.project)}/diff/{diff.old}..{diff.new}"
    part, following = part_of(changes, query)
    asked = query.url("", after="", only="")
    return render(
        request,
        "changes.html",
        frame=frame,
        view="list",
        diff=diff,
        query=query,
        base=base,
        here_url=query.url(base),
        asked=asked,
        kinds=kinds_of(counts_of(diff), query, base),
        part=part,
        total=len(changes),
        unseen=sum(not each.seen for each in changes),
        place=next((at for at, each in enumerate(changes, 1) if part and each.url == part[0].url), 0),
        articles=_articles(served, diff, part, query, base) if query.kind == "changed" else [],
        next=query.url(base, after=following, only="") if following else None,
        first=query.url(base, after="", only="") if query.after or query.only else None,
        noise_url=query.url(base, noise=not query.noise, after="", only=""),
        unseen_url=query.url(base, unseen=not query.unseen, after="", only=""),
        lists=run_path(diff.project, diff.new),
        left_out=sum(diff.left_out.values()),
        **runs,
    )


@router.post("/p/{project}/diff/{old}..{new}/seen")
def mark(request: Request, served: Served, project: str, old: int, new: int) -> Response:
    """Remember that these changes were looked at, or forget it."""
    seen = field_of(request, "seen") != "0"
    for url in form_of(request).get("url", [])[:PER_PAGE]:
        served.jobs.mark_seen(project, (old, new), url[:4000], seen=seen)
    asked = field_of(request, "asked")
    return done(f"{project_path(project)}/diff/{old}..{new}{asked if asked.startswith('?') else ''}")
