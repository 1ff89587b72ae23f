"""Every route of the server as its router has it, with a request of each that is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.routing import Mount

import orbweb
from orbweb.app.jobs.service import JobService, JobSettings
from orbweb.server.application import create_app
from orbweb.server.credentials import Credentials
from orbweb.server.security import allowed_hosts
from orbweb.server.services import Services

READS = ("GET", "HEAD")
STATIC = "/static/{file}"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"

QUERIES = {
    "/api/v1/projects/{project}/page": "url={url}",
    "/api/v1/projects/{project}/page/markdown": "url={url}",
    "/api/v1/projects/{project}/page/text": "url={url}",
    "/api/v1/projects/{project}/page/body": "url={url}",
    "/api/v1/projects/{project}/captures": "url={url}",
    "/api/v1/projects/{project}/captures.json": "url={url}",
    "/api/v1/projects/{project}/captures.csv": "url={url}",
    "/api/v1/projects/{project}/explain": "url={url}",
    "/api/v1/projects/{project}/search": "q=page",
    "/api/v1/projects/{project}/search.json": "q=page",
    "/api/v1/projects/{project}/search.csv": "q=page",
    "/p/{project}/runs/{run}/page": "url={url}",
    "/p/{project}/runs/{run}/page/original": "url={url}",
    "/p/{project}/runs/{run}/page/markdown": "url={url}",
    "/p/{project}/runs/{run}/search": "q=page",
    "/p/{project}/runs/{run}/search.{suffix}": "q=page",
    "/search": "q=page",
    "/p/{project}/compare": "old=1&new=2",
}
"""What a route needs in its query."""

NUMBERS = {
    "/p/{project}/exports/{number}/file": "job_id",
    "/p/{project}/exports/{number}/cancel": "job_id",
    "/tokens/{number}/revoke": "token_id",
}
"""What the parameter `number` of a page is."""


@dataclass(frozen=True)
class Target:
    """A method of a route, its path filled in."""

    method: str
    route: str
    path: str

    @property
    def is_api(self) -> bool:
        return self.path.startswith("/api/")

    @property
    def is_read(self) -> bool:
        return self.method in READS

    @property
    def media_type(self) -> str:
        return JSON if self.is_api else FORM


@dataclass(frozen=True)
class Change:
    """A request that changes something: its body, the path parameters that differ from those of the others, and
    what must be so before it: `idle`, `paused`, `failed` (a URL has failed), `crawling`, `held`, or `waiting` (a
    job is in the queue)."""

    body: Mapping[str, Any] = field(default_factory=dict)
    filled: Mapping[str, str] = field(default_factory=dict)
    before: str = "idle"
    is_refused: bool = False
    """The route itself refuses it: there is nothing to do, or the operator has not named the site."""


API = "/api/v1"
CHANGES: dict[tuple[str, str], Change] = {
    ("PUT", f"{API}/config"): Change({"project": "site", "crawlBudget": 3}),
    ("POST", f"{API}/projects"): Change({"url": "{url}", "project": "made"}),
    ("PATCH", f"{API}/projects/{{project}}"): Change({"name": "named"}, {"project": "made"}),
    ("DELETE", f"{API}/projects/{{project}}"): Change({}, {"project": "named"}),
    ("POST", f"{API}/plan"): Change({"url": "{url}"}),
    ("PATCH", f"{API}/rules/{{project}}"): Change({"exclude": ["/never/"]}),
    ("POST", f"{API}/queue/{{project}}/preview"): Change({"exclude": ["/1"]}),
    ("POST", f"{API}/projects/{{project}}/retry"): Change({"kind": "http_5xx"}),
    ("POST", f"{API}/projects/{{project}}/exports"): Change({"to": "csv"}),
    ("POST", f"{API}/crawl"): Change({"url": "{url}", "project": "more", "budget": 1, "rate": "max"}),
    ("POST", f"{API}/batch"): Change({"urls": ["http://127.0.0.1:1/"], "project": "list"}, is_refused=True),
    ("POST", f"{API}/projects/{{project}}/extract"): Change(),
    ("POST", f"{API}/resume-crawl/{{project}}"): Change({"budget": 1}, before="paused"),
    ("POST", f"{API}/crawl/{{crawl_id}}/pause"): Change(before="crawling"),
    ("POST", f"{API}/crawl/{{crawl_id}}/unpause"): Change(before="held"),
    ("POST", f"{API}/crawl/{{crawl_id}}/stop"): Change(before="crawling"),
    ("POST", f"{API}/crawl/{{crawl_id}}/finish"): Change(before="paused"),
    ("POST", f"{API}/recrawl/{{project}}"): Change({"budget": 1}),
    ("DELETE", f"{API}/queue/{{project}}"): Change(before="paused"),
    ("DELETE", f"{API}/jobs/{{job_id}}"): Change(before="waiting"),
    ("POST", f"{API}/tokens"): Change({"name": "another", "scope": "read"}),
    ("DELETE", f"{API}/tokens/{{token_id}}"): Change(),
    ("POST", "/login"): Change({"token": "{token}"}),
    ("POST", "/theme"): Change({"theme": "dark", "next": "/"}),
    ("POST", "/new"): Change({"url": "{url}", "project": "typed", "later": "1"}),
    ("POST", "/new/plan"): Change({"url": "{url}"}),
    ("POST", "/p/{project}/settings"): Change({"limits.workers": "2"}),
    ("POST", "/p/{project}/rule"): Change({"kind": "exclude", "pattern": "/never-2/"}),
    ("POST", "/p/{project}/exports"): Change({"to": "csv"}),
    ("POST", "/p/{project}/exports/{number}/cancel"): Change(is_refused=True),
    ("POST", "/p/{project}/release"): Change({"pattern": "/"}, is_refused=True),
    ("POST", "/p/{project}/diff/{old}..{new}/seen"): Change({"url": "{url}"}),
    ("POST", "/p/{project}/runs/latest/retry"): Change({"kind": "http_5xx"}, before="failed"),
    ("POST", "/p/{project}/crawl"): Change({}, {"project": "typed"}),
    ("POST", "/p/{project}/rename"): Change({"name": "renamed"}, {"project": "typed"}),
    ("POST", "/p/{project}/delete"): Change({}, {"project": "renamed"}),
    ("POST", "/p/{project}/resume"): Change(before="paused"),
    ("POST", "/p/{project}/recrawl"): Change(),
    ("POST", "/p/{project}/cancel"): Change({}, {"project": "waits"}, before="waiting"),
    ("POST", "/p/{project}/pause"): Change(before="crawling"),
    ("POST", "/p/{project}/unpause"): Change(before="held"),
    ("POST", "/p/{project}/stop"): Change(before="crawling"),
    ("POST", "/p/{project}/finish"): Change(before="paused"),
    ("POST", "/tokens"): Change({"name": "third", "scope": "read"}),
    ("POST", "/tokens/{number}/revoke"): Change(),
    ("POST", "/logout"): Change(),
}
"""A right request for each route that changes something, in an order in which all of them work."""


def routes(workspace: Path) -> list[tuple[str, str]]:
    """Every method and path of the application, without a server."""
    workspace.mkdir()
    space = orbweb.open(workspace)
    space.prepare()
    jobs = JobService(JobSettings(workspace, {}))
    try:
        credentials = Credentials("x", jobs.permission_of, cookie="c")
        app = create_app(Services(space, jobs, credentials, allowed_hosts("::1", ())))
        found = list(_flattened(app.routes))
    finally:
        jobs.close()
    mounts = [each.path for each in found if isinstance(each, Mount)]
    assert mounts == ["/static"], f"the tests do not know what is mounted at {mounts}"
    named = [
        (method, each.path) for each in found if not isinstance(each, Mount) for method in sorted(each.methods)
    ]
    return [*named, ("GET", STATIC)]


def _flattened(found: Any) -> Iterator[Any]:
    for route in found:
        inner = getattr(route, "effective_candidates", None)
        if inner is not None:
            yield from _flattened(inner())
        else:
            yield getattr(route, "starlette_route", None) or route


def filled(route: str, values: Mapping[str, Any]) -> str:
    """The path of a route, and the query that it needs."""
    own = {**values, "number": values[NUMBERS[route]]} if route in NUMBERS else values

    def value(match: re.Match[str]) -> str:
        assert match[1] in own, f"{route}: the tests have no value for the parameter {match[1]!r}"
        return str(own[match[1]])

    query = QUERIES.get(route)
    path = re.sub(r"\{(\w+)(?::\w+)?\}", value, route)
    return f"{path}?{re.sub(r'{(.+?)}', value, query)}" if query else path
