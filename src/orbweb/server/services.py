"""What routes work with, made once in `application`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from orbweb.app import Workspace
from orbweb.app.jobs.reading import RunReader
from orbweb.app.jobs.service import JobService
from orbweb.app.tokens import Permission
from orbweb.server.credentials import Credentials, Identified
from orbweb.server.problems import ProblemRaised
from orbweb.server.security import AllowedHosts, scope_denial


@dataclass(frozen=True, slots=True)
class Services:
    """The workspace that is served, its jobs, and who may use it."""

    workspace: Workspace
    jobs: JobService
    credentials: Credentials
    hosts: AllowedHosts

    @property
    def reading(self) -> RunReader:
        """What lists of any length are read with."""
        return self.jobs.reading


def services_of(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


def who_of(request: Request) -> Identified | None:
    """Who sends a request; None on a public path."""
    found: Identified | None = request.state.who
    return found


def _require_admin(request: Request) -> None:
    who = who_of(request)
    if who is None or who.permission < Permission.ADMIN:
        denial = scope_denial(Permission.ADMIN)
        raise ProblemRaised(denial.status, denial.code, denial.detail)


Served = Annotated[Services, Depends(services_of)]
ADMIN = Depends(_require_admin)
"""For the dependencies of a route that needs the scope admin."""
