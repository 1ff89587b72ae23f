"""The start page: all projects."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.server.services import Served
from orbweb.server.ui.frame import workspace_frame
from orbweb.server.ui.templating import render

router = APIRouter()


@router.get("/")
def projects(request: Request, served: Served) -> Response:
    return render(request, "projects.html", frame=workspace_frame(served), projects=served.workspace.statuses())
