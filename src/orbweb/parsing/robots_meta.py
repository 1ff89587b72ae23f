"""Robots directives of a page: `<meta name=robots>` and the X-Robots-Tag header.

Directives for all agents and for ours add up, and nothing revokes a `noindex` or `nofollow`. The result has the
text that decided. Only the start of a very long text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orbweb.model import Directives

HEADER = "X-Robots-Tag"
EVERYONE = "robots"

_READ = 10_000
_SHOWN = 200
_NOTHING = Directives()
_NOINDEX = frozenset(("noindex", "none"))
_NOFOLLOW = frozenset(("nofollow", "none"))

_words = re.compile(r"""[^\s,;"']+""").findall
# A name and a colon address one agent, but `max-snippet: 50`, dates and times are values.
_addressed = re.compile(
    r"\s*(?!unavailable_after\b|max-)(?=[^\s:]*[a-z*])([\w.*/-]+)\s*:(?!\s*[\d-])", re.ASCII
).match


def addressees(agent: str) -> frozenset[str]:
    """The meta names that apply to the crawler with this product token."""
    return frozenset((EVERYONE, agent.lower()))


def read(metas: Iterable[tuple[str, str]], headers: Iterable[str], agent: str) -> Directives:
    """The directives of headers and metas (name and content) for the agent. The first occurrence decides."""
    said = [(HEADER, text) for text in headers]
    said += [(f"meta {name}", text) for name, text in metas]
    if not said:
        return _NOTHING
    names = addressees(agent) | {"*"}
    noindex = nofollow = None
    for where, text in said:
        words = set(_heard(text[:_READ].lower(), names))
        shown = None if words.isdisjoint(_NOINDEX | _NOFOLLOW) else f"{where}: {_shown(text)}"
        noindex = noindex or (None if words.isdisjoint(_NOINDEX) else shown)
        nofollow = nofollow or (None if words.isdisjoint(_NOFOLLOW) else shown)
    return Directives(noindex, nofollow)


def _heard(text: str, names: frozenset[str]) -> Iterator[str]:
    """The directives for one of the names: an agent name applies up to the next one."""
    meant = True
    for part in text.split(","):
        addressed = _addressed(part)
        if addressed:
            meant = addressed[1].partition("/")[0] in names
            part = part[addressed.end() :]  # noqa: PLW2901
        if meant:
            yield from _words(part)


def _shown(text: str) -> str:
    """A value that is safe to print: one line, without control characters, of limited length."""
    line = " ".join(text[:_READ].split())
    plain = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line[: _SHOWN + 1]
    )
    return plain if len(plain) <= _SHOWN else plain[:_SHOWN] + "..."
