"""The gate in front of all routes: judges each request by `security`, bounds its body, checks the token of a form,
and adds the headers that every response has."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orbweb.errors import Spelling, spelled
from orbweb.server.credentials import Credentials, Identified
from orbweb.server.problems import Problem
from orbweb.server.security import (
    HEADERS,
    LARGEST_BODY,
    LOGIN,
    AllowedHosts,
    Denial,
    RequestHead,
    judge,
)

FORM_TOKEN = "form_token"  # noqa: S105
_FIELDS = 500

Answer = Callable[[Request, Problem], Response]
"""The response to a problem: JSON, or a page."""


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _option(name: str, value: str | Sequence[str]) -> str:
    return f"`{camel(name)}`: {value}" if value else f"`{camel(name)}`"


def _call(verb: str, arguments: Sequence[str], options: Mapping[str, str | bool]) -> str:
    return f"`{' '.join((verb, *arguments, *(f'{name}={value}' for name, value in options.items())))}`"


_log = logging.getLogger("orbweb.server")

SPELLING = Spelling(_option, _call, "request")


class TooLarge(Exception):
    """The body of a request exceeds the limit."""


class SecurityMiddleware:
    """Wraps the whole application. `request.state.who` is who sends a request (None: nobody known, on a public
    path), `request.state.form` the fields of a form."""

    def __init__(self, app: ASGIApp, *, hosts: AllowedHosts, credentials: Credentials, answer: Answer) -> None:
        self._app, self._hosts, self._credentials, self._answer = app, hosts, credentials, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            with spelled(SPELLING):
                await self._handle(scope, receive, _with_headers(send))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = head_of(scope)
        found = judge(head, self._hosts, self._credentials)
        request, bounded = Request(scope, receive), _bounded(receive)
        if not isinstance(found, Denial):
            request.state.who, request.state.form = found, {}
            try:
                if not head.is_read and not head.is_api:
                    body = await _read(bounded)
                    request.state.form = _fields(body)
                    found, bounded = self._judge_form(head, found, request.state.form) or found, _replayed(body)
                if not isinstance(found, Denial):
                    await self._answered(request, bounded, send)
                    return
            except TooLarge:
                found = Denial(413, "body_too_large", f"a body may have {LARGEST_BODY} bytes")
        await self._refusal(request, head, found)(scope, receive, send)

    async def _answered(self, request: Request, receive: Receive, send: Send) -> None:
        """The response of the application; an internal error becomes a problem, unless a response has begun."""
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(request.scope, receive, watched)
        except TooLarge:
            raise
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
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


def _bounded(receive: Receive) -> Receive:
    """The body of a request, up to the limit."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            raise TooLarge
        return message

    return limited


async def _read(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _replayed(body: bytes) -> Receive:
    """A body that was read, for the route."""

    async def again() -> Message:
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
