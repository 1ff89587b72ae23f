"""Which project a word of the command line means, and the words that a shell can complete.

An exact name always wins; else a unique prefix counts, but never for the discovery of a pipeline, which would pass
for the project that scrapes. Without a word it is the only project, or for a command about running crawls the only
one that is running.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from orbweb.errors import NotTrusted, UnknownProject, UsageError

NAMES_SHOWN = 10
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names that a shell reads as one word. A foreign workspace may have others, which are not completed."""


def chosen(word: str | None, names: Sequence[str], where: Path) -> str:
    """The project that the word means; the word itself if there is none, so that the command says so."""
    if word is not None:
        return _matching(word, names)
    if len(names) == 1:
        return names[0]
    if not names:
        raise UnknownProject(f"{where} has no projects yet; start one with `orbweb crawl URL`")
    raise UsageError(f"which project? {where} has {listed(names)}")


def _matching(word: str, names: Sequence[str]) -> str:
    if word in names or not word:
        return word
    from orbweb.app import DISCOVERY

    found = [name for name in names if name.startswith(word) and not name.endswith(DISCOVERY)]
    if len(found) > 1:
        raise UsageError(f"{word!r} is the beginning of several projects: {listed(found)}")
    return found[0] if found else word


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(sorted(names)[:NAMES_SHOWN]) + more


def resolve(word: str | None, where: Path, *, running: bool = False) -> str:
    """The project of the workspace that the word means; the word itself if the workspace is not trusted, so that
    consent given to the command counts."""
    from orbweb.app import Workspace

    opened = Workspace(where)
    try:
        names = opened.projects()
    except NotTrusted:
        if word is None:
            raise
        return word
    if word is None and running and len(names) > 1:
        at_work = [name for name in names if opened.status(name).running]
        names = at_work or names
    return chosen(word, names, where)


def completions(where: Path) -> list[str]:
    """The names that a shell may complete; none if the workspace cannot be read."""
    from orbweb.app import Workspace
    from orbweb.errors import OrbwebError

    try:
        return [name for name in Workspace(where).projects() if PLAIN.fullmatch(name)]
    except (OrbwebError, OSError):
        return []
