"""Lists: as JSON with the key of the next part, and as `.json` and `.csv` twins with the same query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response, StreamingResponse

from orbweb.app.listings import csv_lines
from orbweb.server.api.fields import list_shape, rows_shape, shape, to_json

CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "CSV"}
}


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

        unique = f"{name}_{function.__name__}"
        router.add_api_route(path, as_object, summary=summary, operation_id=unique, response_model=body)
        router.add_api_route(
            f"{path}.json",
            as_array,
            summary=f"{summary}, as an array",
            operation_id=f"{unique}_json",
            response_model=rows_shape(row),
        )
        router.add_api_route(
            f"{path}.csv",
            as_csv,
            summary=f"{summary}, as CSV",
            operation_id=f"{unique}_csv",
            response_model=None,
            response_class=StreamingResponse,
            responses=CSV,
        )
        return function

    return register
