"""Words of the command line before they are parsed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from orbweb.errors import UsageError

WORKSPACE = "--workspace"
FLAGS = frozenset({"-q", "--quiet", "-v", "--verbose"})
HELP = frozenset({"-h", "--help"})


def command_first(words: Sequence[str]) -> list[str]:
    """The words with the command in front: options that every command has may stand before it."""
    at = 0
    while at < len(words) and (words[at] in FLAGS or words[at].partition("=")[0] == WORKSPACE):
        at += 2 if words[at] == WORKSPACE else 1
    if at > len(words):
        raise UsageError(f"{WORKSPACE} needs a directory")
    if at == len(words) or words[at].startswith("-"):
        return [*words[at:]]
    return [words[at], *words[:at], *words[at + 1 :]]


def asks_for_overview(words: Sequence[str]) -> bool:
    """Whether there is no command, or only a question for help."""
    return not words or words[0] in HELP
