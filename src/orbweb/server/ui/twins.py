"""The twins of a list: the same rows as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would run; a text of ours that begins so is told apart by a quote."""


def twin(rows: Sequence[Mapping[str, Any]], suffix: str, name: str) -> Response:
    """The rows as the suffix of the URL asks: `json`, or else `csv`. Rows have the same keys."""
    if suffix == "json":
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        text, kind = f"[\n{lines}\n]\n", "application/json"
    else:
        text, kind = _csv(rows), "text/csv; charset=utf-8"
    return Response(text, media_type=kind, headers={"content-disposition": f'inline; filename="{name}.{suffix}"'})


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    if rows:
        writer.writerow(rows[0].keys())
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value
