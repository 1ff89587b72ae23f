"""The HTTP API, version 1: one module per resource."""

from __future__ import annotations

from fastapi import APIRouter

from orbweb.server.api import health

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX)
for _module in (health,):
    router.include_router(_module.router)
