"""Numbers, sizes, durations and names as people read them. Pure."""

from __future__ import annotations

from typing import Any

from orbweb.errors import call

Report = dict[str, Any]


def many(number: int, word: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {word}" if number == 1 else f"{number} {plural or word + 's'}"


def words(name: str) -> str:
    """The name of a state or a reason, without underscores."""
    return name.replace("_", " ")


def size(number: int) -> str:
    """A number of bytes."""
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def span(seconds: float) -> str:
    """A duration."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def hint(verb: str, *arguments: str, **options: str | bool) -> str:
    """A command to paste into the shell."""
    return call(verb, *arguments, **options).strip("`")
