"""Runs the server until a signal ends it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from orbweb.app import Workspace
from orbweb.app.jobs.remote import operator_rules
from orbweb.app.jobs.service import JobService, JobSettings
from orbweb.app.tokens import check_token, new_token
from orbweb.errors import UsageError, option
from orbweb.server.application import create_app
from orbweb.server.connections import BoundedProtocol
from orbweb.server.credentials import Credentials
from orbweb.server.security import allowed_hosts, is_loopback
from orbweb.server.services import Services

TOKEN_VARIABLE = "ORBWEB_TOKEN"  # noqa: S105
GRACE_S = 1
MOST_CONNECTIONS = 800
"""Further ones are answered with 503. Below the number of files that a process may open."""
BACKLOG = 128

Print = Callable[[str], None]
Prepare = Callable[[], None]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What the user of `serve` chooses. `private_hosts`: sites at private addresses that requests may crawl."""

    workspace: Path
    host: str = "127.0.0.1"
    port: int = 8080
    max_active: int = 1
    autoresume: bool = True
    allow_hosts: Sequence[str] = ()
    private_hosts: Sequence[str] = ()
    resolve: Sequence[str] = ()


def serve(
    settings: ServeSettings,
    environ: Mapping[str, str] = os.environ,
    print_line: Print = print,
    prepare: Prepare = _nothing,
) -> None:
    """Serve a workspace; returns when the server has ended. UsageError before anything is served if a host that
    others can reach is served without a token given by the user. `prepare` is called when the port is taken, and
    before the workspace is served."""
    given = environ.get(TOKEN_VARIABLE) or None
    if given is not None:
        check_token(given, TOKEN_VARIABLE)
    elif not is_loopback(settings.host):
        raise UsageError(
            f"{option('host')} {settings.host}: others can reach this server, so it needs a token of your choice; "
            f"set the environment variable {TOKEN_VARIABLE}"
        )
    rules = operator_rules(
        settings.workspace, environ, private_hosts=settings.private_hosts, pins=settings.resolve
    )
    # What a request makes this process fetch itself, such as a plan, uses the operator's pins too.
    os.environ.update(rules.environment({}))
    with _bound(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        prepare()
        workspace = Workspace(settings.workspace)
        workspace.prepare()
        token = given or new_token()
        jobs = JobService(
            JobSettings(
                settings.workspace, _without_token(environ), settings.max_active, settings.autoresume, rules
            )
        )
        services = Services(
            workspace,
            jobs,
            Credentials(token, jobs.permission_of, cookie=f"orbweb_login_{port}"),
            allowed_hosts(settings.host, settings.allow_hosts),
        )
        server = _server(services)
        url = f"http://{_shown(settings.host)}:{port}/"
        print_line(f"serving {settings.workspace} at {url}")
        if given is None:
            print_line(f"token: {token}")
            # A browser keeps what follows the # to itself: it reaches no log and no other site.
            print_line(f"open {url}login#token={token}")
        try:
            server.run(sockets=[listener])
        finally:
            # A second Ctrl-C ends uvicorn without the end of the application.
            jobs.close()


def _without_token(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of jobs, which do not need the token."""
    return {name: value for name, value in environ.items() if name != TOKEN_VARIABLE}


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens, before anything is printed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(f"cannot serve at {_shown(host)}:{port}: {_why_not(error)}") from error
    return listener


def _why_not(error: OSError) -> str:
    """Why a socket cannot be bound, and what to choose instead."""
    if error.errno == errno.EADDRINUSE:
        return f"another program uses this port; choose another {option('port')}, 0 for any that is free"
    if error.errno == errno.EACCES:
        return f"this user may not use the port; choose a {option('port')} from 1024 on"
    return f"{error.strerror}; choose an address of this machine with {option('host')}"


def _server(services: Services) -> uvicorn.Server:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        partial(create_app, services),
        factory=True,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        loop="asyncio",
        http=BoundedProtocol,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_S,
    )
    return _StoppingServer(config, services.jobs.stop)


class _StoppingServer(uvicorn.Server):
    """Begins to stop its crawls when the signal arrives, not when the last client has gone."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        # uvicorn handles signals a little later, and sends them again when it has ended, which must not end the
        # process.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_stop()
        super().handle_exit(sig, frame)
