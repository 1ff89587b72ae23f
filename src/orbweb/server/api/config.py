"""Settings of projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias

from fastapi import APIRouter, Body
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from orbweb.app import ProjectSettings
from orbweb.errors import UsageError
from orbweb.server.api.crawls import urls_of
from orbweb.server.api.fields import given_options, options_body, shape, text_of, to_json
from orbweb.server.services import Served, Services

router = APIRouter(tags=["settings"])

INCREMENTAL, BUDGET = "incrementalCrawlingEnabled", "crawlBudget"
if TYPE_CHECKING:
    ConfigBody: TypeAlias = dict[str, Any]
else:
    ConfigBody = options_body(
        "ConfigBody",
        "crawl",
        url=NotRequired[str],
        urls=NotRequired[list[str]],
        project=NotRequired[str],
        settings=NotRequired[dict[str, Any]],
        **{INCREMENTAL: NotRequired[bool], BUDGET: NotRequired[int | None]},
    )


class Configured(TypedDict):
    """A project whose settings were stored."""

    projectID: int
    project: str


@router.put("/config", summary="Store settings of a project")
def put_config(
    served: Served,
    body: Annotated[
        ConfigBody,
        Body(
            openapi_examples={
                "budget": {
                    "summary": "A budget per crawl",
                    "value": {"url": "https://example.org/docs/", INCREMENTAL: True, BUDGET: 100},
                },
                "key": {
                    "summary": "Any setting by its key",
                    "value": {"project": "example.org", "settings": {"fetch.timeout_s": 20}},
                },
            }
        ),
    ],
) -> Configured:
    """Store settings with a project, which is created by its `url` if it is new. Besides the options of a crawl,
    `settings` takes any setting by its key, except those of the person at the machine."""
    number = store_settings(served, body, text_of(body, "project"))
    return Configured(projectID=number, project=served.jobs.project(str(number)).name)


def store_settings(served: Services, body: Any, word: str | None) -> int:
    """Store the settings of a body; the id of the project."""
    options = given_options("crawl", body)
    if "new_run" in options or "refresh" in options:
        raise UsageError("`newRun` and `refresh` are for one crawl; they cannot be stored")
    settings = dict(body.get("settings", {}))
    if INCREMENTAL in body:
        settings["incremental"] = body[INCREMENTAL]
    if BUDGET in body:
        settings["limits.budget"] = body[BUDGET]
    name = served.jobs.project(word).name if word is not None and word.isdigit() else word
    return served.jobs.save_settings(urls_of(body), name, options, settings)


@router.get(
    "/config/{project}",
    summary="The effective settings of a project",
    responses={200: {"model": shape(ProjectSettings)}},
)
def get_config(project: str, served: Served) -> Response:
    """Every setting as the next crawl would use it, its default, and where the value comes from."""
    found = served.workspace.settings(served.jobs.project(project).name)
    return JSONResponse(to_json(found))
