"""Error messages of settings.

A message names the key and the reason, and never quotes a value that may be a secret.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100

# Values of these keys may be secrets, intended or by mistake: no error quotes them.
_UNQUOTED = ("fetch.headers", "fetch.params", "fetch.auth", "proxy.urls")
_TRIED = ("float", "literal['max']")
# The YAML parser quotes an unknown alias, anchor or tag; it may be a password that begins with * & or !.
_QUOTED = re.compile(r"(?<=[\s(])(?!'<[a-z ]+>'|'.'|\".\")(['\"]).+\1")


def explain(problem: Any, known: Iterable[str]) -> str:
    """The message of a pydantic error; `known` are all valid keys."""
    key = _key(problem["loc"])
    if problem["type"] == "extra_forbidden":
        close = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"unknown key {key}{hint}"
    message = _in_yaml(problem["msg"].removeprefix("Value error, "))
    shown = _SHORT.repr(problem["input"])
    if key.startswith(_UNQUOTED) or key in ("fetch", "proxy") or message.startswith(shown):
        return f"{key}: {message}"
    return f"{key}: {message}, got {shown}"


def _key(places: Iterable[str | int]) -> str:
    """The dotted key, with list indexes in brackets, without the types of a union that pydantic tried."""
    parts = (f"[{place}]" if isinstance(place, int) else f".{place}" for place in places if place not in _TRIED)
    return "".join(parts).removeprefix(".")


def _in_yaml(message: str) -> str:
    """A message of pydantic with Python's type names replaced by those of YAML."""
    message = re.sub(" or instance of [A-Za-z]+$", "", message)
    return message.replace("a valid tuple", "a list").replace("a valid dictionary", "keys with values")


def yaml_reason(error: yaml.YAMLError) -> str:
    """The line and the problem, without what the parser quotes."""
    mark = getattr(error, "problem_mark", None)
    problem = _QUOTED.sub("...", getattr(error, "problem", None) or "unreadable")
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)


def reason(error: Exception) -> str:
    """Why a file could not be read as text."""
    return error.strerror or str(error) if isinstance(error, OSError) else "not UTF-8 text"
