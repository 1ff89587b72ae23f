"""What of a page becomes its document, by choice of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orbweb.errors import UsageError
from orbweb.parsing.html import selectors


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of a document. `keep` and `drop` are lists of selectors in one text; empty for none."""

    links: bool = True
    images: bool = True
    title: bool = True
    keep: str = ""
    drop: str = ""


EVERYTHING = Wanted()


def selector_list(option: str, given: str | Sequence[str]) -> str:
    """One text of all selectors. UsageError names the one that is not supported."""
    each = [given] if isinstance(given, str) else list(given)
    for selector in each:
        _check(option, selector)
    return ", ".join(each)


def _check(option: str, selector: object) -> None:
    if not isinstance(selector, str):
        raise UsageError(f"{option}: {selector!r} is not a CSS selector but of type {type(selector).__name__}")
    try:
        selectors.check(selector)
    except ValueError as error:
        raise UsageError(f"{option}: {error}; supported are {_SUPPORTED}") from None


_SUPPORTED = (
    "types, classes, ids, attributes, the combinators blank, > + ~, lists, and :is, :not, :has and :last-child"
)
