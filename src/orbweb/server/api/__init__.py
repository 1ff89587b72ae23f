"""The HTTP API, version 1: one module per resource."""

from __future__ import annotations

from fastapi import APIRouter

from orbweb.server import events
from orbweb.server.api import (
    config,
    crawls,
    failures,
    health,
    jobs,
    pages,
    planning,
    projects,
    queue,
    reading,
    runs,
    tokens,
)
from orbweb.server.api.fields import problems

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX, responses=problems())
for _module in (
    *(config, crawls, queue, runs, events, projects, pages, failures, planning, reading, jobs, tokens, health),
):
    router.include_router(_module.router)
