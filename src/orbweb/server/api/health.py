"""Whether the server works, and which version it is."""

from __future__ import annotations

from fastapi import APIRouter

from orbweb import __version__

router = APIRouter(tags=["server"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Whether the server answers. Needs no token."""
    return {"status": "ok"}


@router.get("/version")
async def version() -> dict[str, str]:
    """The version of orbweb."""
    return {"version": __version__}
