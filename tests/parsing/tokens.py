"""Tokens: markup and what it is read as, in the form of html5lib's `.test` files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.parsing.html.token_stream import tokens


class Case(NamedTuple):
    """One case in one state of the tokenizer."""

    name: str
    markup: str
    state: str
    last: str
    """The name of the last start tag; empty if there was none."""
    output: list[Any]


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file, one for each state that a case begins in."""
    for number, case in enumerate(json.loads(path.read_text("utf-8")).get("tests", ())):
        plain = _unescaped if case.get("doubleEscaped") else lambda value: value
        for state in case.get("initialStates", ["Data state"]):
            yield Case(
                f"{path.name}:{number} {case['description']} ({state})",
                plain(case["input"]),
                state.removesuffix(" state"),
                case.get("lastStartTag", ""),
                _joined(plain(case["output"])),
            )


def _unescaped(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"\\u([0-9A-Fa-f]{4})", lambda found: chr(int(found[1], 16)), value)
    if isinstance(value, list):
        return [_unescaped(one) for one in value]
    if isinstance(value, dict):
        return {_unescaped(key): _unescaped(one) for key, one in value.items()}
    return value


def _joined(output: list[Any]) -> list[Any]:
    """Characters that follow each other as one token: how many there are is not said by the tests."""
    found: list[Any] = []
    for token in output:
        if token[0] == "Character" and found and found[-1][0] == "Character":
            found[-1] = ["Character", found[-1][1] + token[1]]
        else:
            found.append(list(token))
    return found


def actual(case: Case) -> list[Any]:
    """What our tokenizer reads."""
    return _joined(tokens(case.markup.encode("utf-8", "surrogatepass"), case.state, case.last))
