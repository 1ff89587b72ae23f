"""Static files. A URL with the hash of a file is cached for good; without it, a browser asks again each time.

They are compressed, and nothing else is: they are the same for everyone, so their lengths tell nothing of a page.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
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


@cache
def _compressed(path: str, _modified_ns: int) -> bytes:
    return gzip.compress(Path(path).read_bytes(), mtime=0)


class _CachedFiles(StaticFiles):
    def file_response(
        self, full_path: os.PathLike[str] | str, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = FOR_GOOD if scope["query_string"].startswith(b"v=") else "no-cache"
        response.headers["vary"] = "accept-encoding"
        if not isinstance(response, FileResponse) or scope["method"] != "GET" or not _takes_gzip(scope):
            return response
        body = _compressed(os.fspath(full_path), stat_result.st_mtime_ns)
        kept = {name: response.headers[name] for name in ("cache-control", "vary", "last-modified")}
        # The same file in other bytes: its validator is a weak one.
        headers = {**kept, "etag": f"W/{response.headers['etag']}", "content-encoding": "gzip"}
        return Response(body, status_code, headers, response.media_type)


def _takes_gzip(scope: Scope) -> bool:
    given = Headers(scope=scope).get("accept-encoding", "")
    return "gzip" in [each.strip() for each in given.split(",")]


def static_files() -> StaticFiles:
    return _CachedFiles(directory=FOLDER)
