"""How records become JSON: names in camelCase, ids as `ID`; and the shapes of requests and responses in OpenAPI.

The fields of a request are made from the table of options, those of a response from the record that a verb
returns.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict

from orbweb.app import Kind, Option
from orbweb.app.jobs.remote import camel, remote_options
from orbweb.errors import UsageError
from orbweb.server.problems import MEDIA_TYPE

_typed_dict: Any = TypedDict
"""TypedDict, for fields that are known at run time only."""
STRICT = {"extra": "forbid", "strict": True}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong (RFC 9457); `code` is stable.",
    "properties": {"type": _TEXT, "title": _TEXT, "status": _NUMBER, "code": _TEXT, "detail": _TEXT},
    "required": ["type", "title", "status", "code", "detail"],
}
_PROBLEMS = {
    400: "The body is not JSON",
    401: "No token",
    403: "The token may not do this, or the operator has not allowed it",
    404: "There is nothing of that name or id",
    408: "The body did not arrive in time",
    409: "Something is in the way, or there is nothing to do",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "The request is not valid",
    503: "The server does as much of this as it can",
}


def problems() -> dict[int | str, dict[str, Any]]:
    """The problems of a route, for OpenAPI."""
    return {
        status: {"description": about, "content": {MEDIA_TYPE: {"schema": PROBLEM}}}
        for status, about in _PROBLEMS.items()
    }


def field_name(name: str) -> str:
    """A name in JSON: `run_id` is `runID`."""
    made = camel(name.removesuffix("_"))
    return f"{made[:-2]}ID" if made.endswith("Id") else made


def to_json(value: Any) -> Any:
    """A record as JSON. The keys of a mapping are data, and stay as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field_name(each.name): to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {field_name(name): to_json(each) for name, each in value._asdict().items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value


@cache
def shape(kind: Any) -> Any:
    """The type of a record as JSON, for OpenAPI."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else list(kind._fields)
    return _typed_dict(kind.__name__, {field_name(name): _shape_of(hints[name]) for name in names})


def list_shape(name: str, row: Any) -> Any:
    """The type of a part of a list."""
    return _typed_dict(name, {"items": rows_shape(row), "next": str | None})


def rows_shape(row: Any) -> Any:
    """The type of an array of rows."""
    return list.__class_getitem__(row)


def _shape_of(hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(_shape_of(each) for each in arguments)]  # noqa: UP007
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return list[_shape_of(arguments[0])]  # type: ignore[misc]
        return list[Any]
    if origin is list or origin is Sequence:
        return list[_shape_of(arguments[0])]  # type: ignore[misc]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _shape_of(arguments[1])]  # type: ignore[misc]
    if origin is Literal:
        return hint
    if hint is object:
        return Any
    if isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_fields")):
        return shape(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return str
    return hint


_TYPES: dict[Kind, Any] = {
    Kind.INTEGER: int,
    Kind.LIMIT: int | None,
    Kind.RATE: float | Literal["max"],
    Kind.FLAG: bool,
    Kind.SWITCH: bool,
    Kind.TEXT: str,
    Kind.TEXTS: list[str],
    Kind.HEADERS: dict[str, str | None],
}


def _type_of(option: Option) -> Any:
    if option.kind is not Kind.CHOICE:
        return _TYPES[option.kind]
    found: Any = Literal.__getitem__(option.choices)
    return found | None if option.removable else found


def options_body(name: str, verb: str, *, leave_out: Container[str] = (), **more: Any) -> Any:
    """The body of a request that takes the options of a verb, without some: every one of them may be left out."""
    options = [each for each in remote_options(verb) if each.name not in leave_out]
    found = {field_name(each.name): NotRequired[_type_of(each)] for each in options}
    made = _typed_dict(name, {**more, **found})
    made.__pydantic_config__ = STRICT
    return made


def given_options(verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a body, by their names in Python."""
    names = {field_name(each.name): each.name for each in remote_options(verb)}
    return {names[field]: value for field, value in body.items() if field in names}


def text_of(body: Mapping[str, Any], name: str) -> str | None:
    found = body.get(name)
    if found is not None and (not isinstance(found, str) or not found.strip()):
        raise UsageError(f"`{name}`: give a text")
    return found
