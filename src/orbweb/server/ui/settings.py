"""The settings of a project: every value with where it comes from, validated at its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app.jobs.remote import about_settings, remote_options
from orbweb.app.results.listings import RulePreview
from orbweb.errors import Busy, OrbwebError
from orbweb.server.problems import problem_of
from orbweb.server.services import Served, Services
from orbweb.server.ui.format import many
from orbweb.server.ui.frame import project_frame, project_path
from orbweb.server.ui.setting_form import changed, errors_of, groups_of, stored_lines
from orbweb.server.ui.templating import form_of, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

REMOVING = {"scope.include": "include", "scope.exclude": "exclude", "limits.max_depth": "max_depth"}
"""Settings whose effect on the queue can be counted before they are saved."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What saving would do: the settings that would change, and what leaves the queue."""

    changed: tuple[str, ...] = ()
    preview: RulePreview | None = None
    unknown: str = ""


def _page(
    request: Request,
    served: Services,
    project: str,
    *,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    outlook: Outlook | None = None,
    status: int = 200,
) -> Response:
    frame, outline = project_frame(served, project, "settings")
    settings, about = served.workspace.settings(project).settings, about_settings()
    shown = [each for each in settings if each.key in about]
    return render(
        request,
        "settings.html",
        status=status,
        frame=frame,
        outline=outline,
        project=project,
        base=project_path(project),
        groups=groups_of(settings, about, remote_options("crawl"), typed or {}, errors or {}),
        differing=sum(each.differs for each in shown),
        total=len(shown),
        stored=stored_lines(settings, about),
        errors=errors or {},
        outlook=outlook,
    )


@router.get("/p/{project}/settings")
def show(request: Request, served: Served, project: str) -> Response:
    return _page(request, served, project)


@router.post("/p/{project}/settings")
def save(request: Request, served: Served, project: str) -> Response:
    """Save what was changed, or only say what that would do."""
    typed = {name: values[-1] for name, values in form_of(request).items()}
    given = changed(served.workspace.settings(project).settings, about_settings(), typed)
    is_preview = "preview" in typed
    if not given:
        return _page(request, served, project, typed=typed, outlook=Outlook(unknown="No setting is changed."))
    try:
        if is_preview:
            return _page(request, served, project, typed=typed, outlook=_outlook(served, project, given))
        text = _save(served, project, given)
    except OrbwebError as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        errors = {"": problem.detail} if isinstance(error, Busy) else errors_of(problem.detail, list(given))
        outlook = Outlook(unknown="Cannot be told until every setting is right.")
        return _page(request, served, project, typed=typed, errors=errors, outlook=outlook, status=problem.status)
    return done(f"{project_path(project)}/settings", Toast(text))


def _outlook(served: Services, project: str, given: Mapping[str, Any]) -> Outlook:
    outline = served.jobs.outline(project)
    rules = {name: given[key] for key, name in REMOVING.items() if key in given}
    if not rules or outline.run is None or not outline.queued:
        return Outlook(tuple(given))
    return Outlook(tuple(given), served.jobs.preview_rules(project, **rules))


def _save(served: Services, project: str, given: Mapping[str, Any]) -> str:
    """Rules are applied at once, also to the running crawl; the rest is stored for the next one."""
    rules = {each.setting: each.name for each in remote_options("rules") if each.setting}
    options: Any = {rules[key]: value for key, value in given.items() if key in rules}
    rest = {key: value for key, value in given.items() if key not in rules}
    if rest:
        served.jobs.save_settings((), project, {}, dict(given))
    text = f"{many(len(given), 'setting')} saved"
    if not options:
        return text
    before = served.jobs.outline(project)
    found = served.workspace.rules(project, **options)
    skipped = sum(found.skipped.values())
    if before.run is None or not (skipped or found.came_back):
        return text
    return f"{text}, {many(skipped, 'queued URL')} skipped, {sum(found.came_back.values())} came back"
