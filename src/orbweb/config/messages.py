"""Error messages of settings.

A message names the key and the reason, and never quotes a value that may be a secret.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100

# Values of these keys may be secrets, intended or by mistake: no error quotes them.
_UNQUOTED = ("fetch.headers", "fetch.params", "fetch.auth", "proxy.urls")
_TRIED = ("float", "literal['max']", "[key]")
_WHOLE, _NUMBER, _LIST, _KEYS = (
    *("must be a whole number", "must be a number", "must be a list", "must be keys with values"),
)
# The errors of pydantic, by type, with the names of its context.
_REASONS = {
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": "must be a smaller number",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _KEYS,
    "model_type": _KEYS,
    "model_attributes_type": _KEYS,
    "invalid_key": "keys must be text",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "missing": "is missing",
}
# The YAML parser quotes an unknown alias, anchor or tag; it may be a password that begins with * & or !.
_QUOTED = re.compile(r"(?<=[\s(])(?!'<[a-z ]+>'|'.'|\".\")(['\"]).+\1")


def explain(problems: Sequence[Any], known: Iterable[str]) -> str:
    """The message of pydantic's errors, in the words of YAML; `known` are all valid keys."""
    keys = list(known)
    found: dict[str, list[Any]] = {}
    for problem in problems:
        found.setdefault(_key(problem["loc"]), []).append(problem)
    return "; ".join(_explain(key, each, keys) for key, each in found.items())


def _explain(key: str, problems: Sequence[Any], known: Sequence[str]) -> str:
    """The message about one key. Where several types are allowed, there is a problem with each."""
    first = problems[0]
    if first["type"] == "extra_forbidden":
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"unknown key {key}{hint}"
    message = " or ".join(dict.fromkeys(map(_reason, problems))).replace(" or must be ", " or ")
    value = first["input"]
    shown = _SHORT.repr(value)
    if isinstance(value, list | tuple) and any(message.startswith(_SHORT.repr(each)) for each in value):
        return f"{key}: {message}"
    if key.startswith(_UNQUOTED) or key in ("fetch", "proxy") or message.startswith(shown):
        return f"{key}: {message}"
    return f"{key}: {message}" if first["type"] == "missing" else f"{key}: {message}, got {shown}"


def _reason(problem: Any) -> str:
    """What is wrong. A type of error that is not listed gets general words, never those of pydantic."""
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return _REASONS.get(problem["type"], "is not allowed here").format_map(problem.get("ctx", {}))


def _key(places: Iterable[str | int]) -> str:
    """The dotted key, with list indexes in brackets, without what pydantic adds: the types of a union that it
    tried, and the mark of a key."""
    parts = (f"[{place}]" if isinstance(place, int) else f".{place}" for place in places if place not in _TRIED)
    return "".join(parts).removeprefix(".")


def yaml_reason(error: yaml.YAMLError) -> str:
    """The line and the problem, without what the parser quotes."""
    mark = getattr(error, "problem_mark", None)
    problem = _QUOTED.sub("...", getattr(error, "problem", None) or "unreadable")
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)


def reason(error: Exception) -> str:
    """Why a file could not be read as text."""
    return error.strerror or str(error) if isinstance(error, OSError) else "not UTF-8 text"
