"""A new crawl: the form, the plan beside it, and the start."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import CrawlPlan, Option
from orbweb.app.jobs.remote import remote_options
from orbweb.app.jobs.service import ActiveCrawl
from orbweb.app.setting_sources import names_contact
from orbweb.errors import NotTrusted, OrbwebError, UsageError
from orbweb.server.problems import problem_of
from orbweb.server.services import Served, Services
from orbweb.server.ui.crawl_form import LABELS, Typed, placed, read, sections
from orbweb.server.ui.frame import Crumb, project_path, workspace_frame
from orbweb.server.ui.plan_view import PlanView, plan_view
from orbweb.server.ui.problem_page import AskedPage, active_crawl, problem_page
from orbweb.server.ui.templating import form_of, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

PROFILES = (("docs", "docs"), ("site", "site"), ("github", "github"), ("", "none"))
PLANS_AT_ONCE = 3
LONGEST = 4_000
"""Characters of a shareable URL."""

_planning = threading.BoundedSemaphore(PLANS_AT_ONCE)


@dataclass(frozen=True, slots=True)
class PlanState:
    """The plan beside the form: read, refused, or not read yet. `name` is that of the project if none is given."""

    plan: PlanView | None = None
    refusal: str = ""
    seconds: float = 0.0
    name: str = ""


def _options() -> list[Option]:
    return remote_options("crawl")


def _texts(request: Request) -> dict[str, str]:
    """The fields of the form; several of one name are lines of it."""
    names = {"url", "project", *(option.name for option in _options())}
    return {name: "\n".join(values) for name, values in form_of(request).items() if name in names}


def _shared(request: Request) -> dict[str, str]:
    """The fields that a shared URL fills in."""
    names = ["url", "project", *(option.name for option in _options())]
    return {name: "\n".join(request.query_params.getlist(name)) for name in names if name in request.query_params}


def form_url(texts: dict[str, str]) -> str:
    """The form with these fields, as a URL."""
    given = [(name, line) for name, text in texts.items() for line in text.splitlines() if line.strip()]
    found = f"/new?{urlencode(given)}" if given else "/new"
    return found if len(found) <= LONGEST else "/new"


def _page(request: Request, served: Services, typed: Typed, plan: PlanState, *, status: int = 200) -> Response:
    settings = served.jobs.new_settings()
    agents = {each.key: str(each.value) for each in settings}
    agent = typed.texts.get("user_agent", "").strip() or agents.get("user_agent", "")
    return render(
        request,
        "new_crawl.html",
        status=status,
        frame=workspace_frame(served, Crumb("New crawl", "/new")),
        typed=typed,
        labels=LABELS,
        made_name=plan.name or _made_name(served, typed),
        profiles=PROFILES,
        profile=typed.texts.get("profile", ""),
        sections=sections(_options(), typed, settings, has_contact=names_contact(agent)),
        state=plan,
    )


@router.get("/new")
def show(request: Request, served: Served) -> Response:
    typed = read(_shared(request), _options())
    return _page(request, served, replace(typed, errors={}), PlanState())


@router.post("/new")
def start(request: Request, served: Served) -> Response:
    texts = _texts(request)
    typed = read(texts, _options())
    if typed.errors:
        return _page(request, served, typed, PlanState(), status=422)
    try:
        if "later" in form_of(request):
            number = served.jobs.save_settings(typed.urls, typed.project, typed.options, {})
            name = served.jobs.project(str(number)).name
            return done(project_path(name), Toast(f"{name} is stored, nothing is crawled yet"))
        started = served.jobs.crawl(typed.urls, project=typed.project, options=typed.options, wait=False)
    except ActiveCrawl as error:
        return _already(request, served, error, texts)
    except (UsageError, NotTrusted) as error:
        return _page(request, served, _refused(typed, error), PlanState(), status=problem_of(error).status)
    return done(f"{project_path(served.jobs.project(str(started.project_id)).name)}/live")


def _made_name(served: Services, typed: Typed) -> str:
    """The name that a project of these URLs would get; empty if they are not right yet."""
    with suppress(OrbwebError):
        return served.jobs.name_for(typed.urls) if typed.urls else ""
    return ""


def _refused(typed: Typed, error: OrbwebError) -> Typed:
    name, text = placed(problem_of(error).detail, _options())
    return replace(typed, errors={name: text})


def _already(request: Request, served: Services, error: ActiveCrawl, texts: dict[str, str]) -> Response:
    """The project is being crawled: nothing was started, and nothing that was typed is lost."""
    names = {"url": "base URL", **{option.name: option.setting or option.name for option in _options()}}
    asked = AskedPage(
        tuple((names.get(name, name), text) for name, text in texts.items() if text.strip()),
        form_url(texts),
    )
    return problem_page(
        request,
        problem_of(error),
        told=active_crawl(served, error),
        asked=asked,
        frame=workspace_frame(served, Crumb("New crawl", "/new")),
    )


@router.post("/new/plan")
def plan(request: Request, served: Served) -> Response:
    """The plan: alone for the module that asks while someone types, with the whole form without JavaScript."""
    typed = read(_texts(request), _options())
    found, typed = _read_plan(served, typed)
    if "fragment" in request.query_params:
        return render(request, "plan.html", state=found, typed=typed)
    return _page(request, served, typed, found)


def _read_plan(served: Services, typed: Typed) -> tuple[PlanState, Typed]:
    name = _made_name(served, typed)
    if typed.errors:
        return PlanState(refusal=_first(typed), name=name), typed
    if not _planning.acquire(blocking=False):
        return PlanState(refusal="Other plans are being read. Read this one again in a moment.", name=name), typed
    begun = time.monotonic()
    try:
        found = served.jobs.plan(typed.urls, typed.options)
    except OrbwebError as error:
        refused = _refused(typed, error)
        return PlanState(refusal=_first(refused), name=name), refused
    finally:
        _planning.release()
    if not isinstance(found, CrawlPlan):
        return PlanState(refusal="This is a project, not a URL."), typed
    return PlanState(plan_view(found), "", time.monotonic() - begun, name), typed


def _first(typed: Typed) -> str:
    """The first error of a form, with the field that it is about."""
    name, text = next(iter(typed.errors.items()))
    return text if name == "url" else f"{LABELS.get(name, name)}: {text}"
