"""Static files. A URL with the hash of a file is cached for good; without it, a browser asks again each time."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "static"
FOR_GOOD = "public, max-age=31536000, immutable"


def static_url(name: str) -> str:
    """The URL of a static file, for templates."""
    return f"/static/{name}?v={_hash(name)}"


@cache
def _hash(name: str) -> str:
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:16]


class _CachedFiles(StaticFiles):
    def file_response(
        self, full_path: os.PathLike[str] | str, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = FOR_GOOD if scope["query_string"].startswith(b"v=") else "no-cache"
        return response


def static_files() -> StaticFiles:
    return _CachedFiles(directory=FOLDER)
