"""Lists: as JSON with the key of the next part, and as `.json` and `.csv` twins with the same query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response, StreamingResponse

from orbweb.app.listings import csv_lines
from orbweb.server.api.fields import list_shape, shape, to_json


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of a list. `more` are further members of the JSON object."""

    items: Sequence[Any]
    next: str | None = None
    more: dict[str, Any] | None = None


def listed(router: APIRouter, path: str, kind: Any, *, summary: str) -> Callable[[Callable[..., Listing]], Any]:
    """Register a function that returns a Listing of records of this kind, with its twins."""
    row = kind if not hasattr(kind, "__dataclass_fields__") else shape(kind)
    columns = list(row.__annotations__)
    name = f"{row.__name__}List"
    body = list_shape(name, row)

    def register(function: Callable[..., Listing]) -> Any:
        @wraps(function)
        def as_object(*words: Any, **given: Any) -> Response:
            found = function(*words, **given)
            items = to_json(list(found.items))
            return JSONResponse({"items": items, "next": found.next, **(found.more or {})})

        @wraps(function)
        def as_array(*words: Any, **given: Any) -> Response:
            return JSONResponse(to_json(list(function(*words, **given).items)))

        @wraps(function)
        def as_csv(*words: Any, **given: Any) -> Response:
            rows = to_json(list(function(*words, **given).items))
            lines = csv_lines(columns, [[each.get(column) for column in columns] for each in rows])
            return StreamingResponse(lines, media_type="text/csv; charset=utf-8")

        csv = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "CSV"}}
        unique = f"{name}_{function.__name__}"
        router.add_api_route(
            path, as_object, summary=summary, operation_id=unique, responses={200: {"model": body}}
        )
        router.add_api_route(
            f"{path}.json",
            as_array,
            summary=f"{summary}, as an array",
            operation_id=f"{unique}_json",
            responses={200: {"model": list[row]}},  # type: ignore[valid-type]
        )
        router.add_api_route(
            f"{path}.csv",
            as_csv,
            summary=f"{summary}, as CSV",
            operation_id=f"{unique}_csv",
            response_class=StreamingResponse,
            responses=csv,  # type: ignore[arg-type]
        )
        return function

    return register
