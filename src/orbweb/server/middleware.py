"""The gate in front of all routes: judges each request by `security`, reads its body within bounds, and checks the
token of a form. It answers HEAD, ends the streams of revoked tokens, and adds the headers of every response."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orbweb.app import redacted
from orbweb.app.jobs.remote import REQUESTS
from orbweb.errors import spelled
from orbweb.server.credentials import Credentials, Identified
from orbweb.server.problems import Problem, serving
from orbweb.server.security import (
    HEADERS,
    LOGIN,
    AllowedHosts,
    Denial,
    RequestHead,
    identify,
    judge,
    largest_body,
    too_large,
)

FORM_TOKEN = "form_token"  # noqa: S105
BODY_S = 30
"""How long a body may take to arrive."""
LOOK_AGAIN_S = 1.0
"""A response that takes longer than this is sent on only while its token is valid."""
END: Message = {"type": "http.response.body", "body": b"", "more_body": False}
_FIELDS = 500

Answer = Callable[[Request, Problem], Response]
"""The response to a problem: JSON, or a page."""


_log = logging.getLogger("orbweb.server")


class BodyRefused(Exception):
    """A body exceeds a limit."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial.detail)
        self.denial = denial


class _Complete(Exception):
    """The response is complete, whatever the route would still send."""


class _Revoked(Exception):
    """The token of a response that is still being sent was revoked: it is cut off."""


class SecurityMiddleware:
    """Wraps the whole application. `request.state.who` is who sends a request (None: nobody known, on a public
    path), `request.state.form` the fields of a form. `workspace` is the path that no answer names."""

    def __init__(
        self, app: ASGIApp, *, hosts: AllowedHosts, credentials: Credentials, answer: Answer, workspace: Path
    ) -> None:
        self._app, self._hosts, self._credentials, self._answer = app, hosts, credentials, answer
        self._workspace = workspace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            with spelled(REQUESTS), serving(self._workspace):
                await self._handle(scope, receive, _with_headers(send))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = head_of(scope)
        found = judge(head, self._hosts, self._credentials)
        request = Request(scope, receive)
        if not isinstance(found, Denial):
            request.state.who, request.state.form = found, {}
            try:
                if not head.is_read:
                    body = await _read(receive, largest_body(head))
                    receive = _replayed(body, receive)
                    if not head.is_api:
                        request.state.form = _fields(body)
                        found = self._judge_form(head, found, request.state.form) or found
            except BodyRefused as refused:
                found = refused.denial
        if isinstance(found, Denial):
            await self._refusal(request, head, found)(scope, receive, send)
        else:
            await self._answered(request, receive, self._watched(head, found, send))

    def _watched(self, head: RequestHead, who: Identified | None, send: Send) -> Send:
        """Sends nothing but the head in answer to HEAD, and nothing more once the token is revoked: an event
        stream ends, anything else is cut off, because a part of it must not look complete."""
        looked_at, is_stream = time.monotonic(), False

        async def watched(message: Message) -> None:
            nonlocal looked_at, is_stream
            if message["type"] == "http.response.start":
                is_stream = any(value.startswith(b"text/event-stream") for _, value in message["headers"])
            elif head.method == "HEAD":
                await send(END)
                raise _Complete
            elif who is not None and time.monotonic() - looked_at >= LOOK_AGAIN_S:
                looked_at = time.monotonic()
                if identify(head, self._credentials) is None:
                    if not is_stream:
                        raise _Revoked
                    await send(END)
                    raise _Complete
            await send(message)

        return watched

    async def _answered(self, request: Request, receive: Receive, send: Send) -> None:
        """The response of the application; an internal error becomes a problem, unless a response has begun."""
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        scope = {**request.scope, "method": "GET"} if request.method == "HEAD" else request.scope
        try:
            await self._app(scope, receive, watched)
        except _Complete:
            return
        except _Revoked:
            raise
        except Exception as error:
            _log.error(_report(request, error))
            if has_begun:
                raise
            problem = Problem(500, "internal_error", "an internal error; the log of the server has more")
            await self._answer(request, problem)(request.scope, receive, send)

    @staticmethod
    def _judge_form(head: RequestHead, who: Identified | None, form: Mapping[str, list[str]]) -> Denial | None:
        """A form of a page must carry the token of its login. The login itself has none: it carries a token of the
        server, which no other site knows."""
        if head.path == LOGIN:
            return None
        wanted = who.form_token if who is not None else None
        given = form.get(FORM_TOKEN, [""])[-1]
        if wanted is not None and hmac.compare_digest(given.encode(), wanted.encode()):
            return None
        return Denial(403, "form_token_missing", "the form is out of date: reload the page and send it again")

    def _refusal(self, request: Request, head: RequestHead, denial: Denial) -> Response:
        if denial.status == HTTPStatus.UNAUTHORIZED and head.is_read and not head.is_api:
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"{LOGIN}?next={quote(head.path + query, safe='')}", 303)
        response = self._answer(request, Problem(denial.status, denial.code, denial.detail))
        if denial.status == HTTPStatus.UNAUTHORIZED:
            response.headers["www-authenticate"] = "Bearer"
        return response


def _report(request: Request, error: Exception) -> str:
    """An internal error for the log, without what looks like a secret in a URL."""
    trace = "".join(traceback.format_exception(error))
    return redacted(f"{request.method} {request.url.path} failed\n{trace}")


def head_of(scope: Scope) -> RequestHead:
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        headers[key] = (*headers.get(key, ()), value.decode("latin-1"))
    return RequestHead(scope["method"], scope["path"], scope["scheme"], headers)


def _fields(body: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict")
    except ValueError:
        return {}


async def _read(receive: Receive, largest: int) -> bytes:
    """The body of a request; BodyRefused if it is too large or comes too slowly."""
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                found += message.get("body", b"")
                if len(found) > largest:
                    raise BodyRefused(too_large(largest))
                if not message.get("more_body"):
                    return bytes(found)
    except TimeoutError:
        raise BodyRefused(Denial(408, "body_too_slow", f"the body did not arrive within {BODY_S} s")) from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, for the route; then what the connection reports."""
    is_read = False

    async def again() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    """Adds the headers of every response, unless a route has set its own."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[Any] = message.setdefault("headers", [])
            names = {name.lower() for name, _ in given}
            given += [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in names]
        await send(message)

    return sent
