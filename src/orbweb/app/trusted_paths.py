"""Where the files of a workspace are, once its user has allowed the places outside of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from orbweb.app.consent_store import ConsentStore, folder
from orbweb.errors import NotTrusted, call, option
from orbweb.store import workspace_paths
from orbweb.store.workspace_paths import WorkspacePaths


def trusted_paths(path: Path) -> WorkspacePaths:
    """Where the files of a workspace are; NotTrusted if some are outside and the user has not allowed that."""
    found = workspace_paths.locate(path)
    outside = list(found.outside)
    allowed = ConsentStore(folder(os.environ)).of(path) if outside else frozenset()
    missing = [(key, text) for key, text in outside if path_word(text) not in allowed]
    if missing:
        raise outside_refused(path, missing)
    return found


def path_word(text: str) -> str:
    """The word of consent to a path outside of a workspace."""
    return f"path={text}"


def outside_refused(path: Path, missing: Sequence[tuple[str, str]]) -> NotTrusted:
    lines = [f"  {key}: {text} is outside of the workspace" for key, text in missing]
    words = tuple(path_word(text) for _, text in missing)
    return NotTrusted(
        "\n".join(
            [
                f"{path} asks for what you have not allowed it on this machine; nothing was opened:",
                *lines,
                "Only your own settings may name such a path: a file outside of any workspace, given with "
                f"{option('config', 'FILE')}. If you trust the author of this workspace, "
                f"call {call('crawl')} or {call('resume')} with: {option('trust', list(words))}",
            ]
        ),
        words,
    )
