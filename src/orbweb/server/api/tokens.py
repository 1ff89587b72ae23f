"""Tokens: who else may use this server, and for what. All of it needs the scope admin."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from fastapi import APIRouter, Body
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from orbweb.app.jobs.service import TokenSummary
from orbweb.server.api.fields import STRICT, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.services import ADMIN, Served

router = APIRouter(tags=["tokens"], dependencies=[ADMIN])


class TokenBody(TypedDict):
    """A name to recognise it by, and what it may do."""

    name: str
    scope: NotRequired[Literal["read", "crawl", "admin"]]
    __pydantic_config__ = STRICT  # type: ignore[misc]


class NewToken(TypedDict):
    """A new token. `token` is shown this once; only a hash of it is stored."""

    id: int
    name: str
    scope: str
    createdAt: str
    token: str


@listed(router, "/tokens", TokenSummary, summary="The stored tokens, without their texts")
def tokens(served: Served) -> Listing:
    return Listing(served.jobs.tokens())


@router.post("/tokens", summary="Create a token", status_code=201, responses={201: {"model": NewToken}})
def add_token(
    served: Served, body: Annotated[TokenBody, Body(examples=[{"name": "dashboard", "scope": "read"}])]
) -> Response:
    made, token = served.jobs.add_token(body["name"], body.get("scope", "read"))
    return JSONResponse({**to_json(made), "token": token}, 201)


@router.delete("/tokens/{token_id}", summary="Revoke a token", status_code=204)
def revoke_token(token_id: int, served: Served) -> Response:
    """Logins with it end, too."""
    served.jobs.revoke_token(token_id)
    return Response(status_code=204)
