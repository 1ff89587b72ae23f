"""Pages of a run that need JavaScript, which orbweb does not run: read from the stored bodies of short pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orbweb.app.directory import OpenWorkspace
from orbweb.errors import StoreError, option
from orbweb.store.queries import reports

Report = dict[str, Any]

SHORT = 150
"""Tokens: a longer page is not looked at."""
MOST = 500
"""Short pages that a report on a whole run looks at."""
EXAMPLES = 3


def shells(workspace: OpenWorkspace, run_id: int) -> Report:
    """How many of the short pages of a run are shells, and some of them; of very many, the first are looked at."""
    found = []
    with workspace.reader() as read:
        short = reports.short_pages(workspace.db, run_id, tokens=SHORT, most=MOST)
        for url, body_sha256, words in short:
            if _evidence(read, body_sha256, words):
                found.append(url)
    return {"count": len(found), "examples": found[:EXAMPLES]}


def evidence(workspace: OpenWorkspace, page: Report) -> str | None:
    """Why a page seems to need JavaScript; None if it does not. `page` has `tokens`, `words` and `body_sha256`."""
    with workspace.reader() as read:
        return _of_page(read, page)


def mark(workspace: OpenWorkspace, pages: list[Report]) -> list[Report]:
    """The pages of a list, each with `needs_javascript`."""
    with workspace.reader() as read:
        return [{**page, "needs_javascript": _of_page(read, page) is not None} for page in pages]


def note(found: Report, pages: int) -> str:
    """What a person should know about the shells of a run."""
    examples = "".join(f"\n  {url}" for url in found["examples"])
    return (
        f"{found['count']} of {pages} pages have almost no text without JavaScript, which orbweb does not run yet:"
        f"{examples}\n  Links that scripts add are not found either. What helps: the site's sitemap "
        f"({option('sitemap', 'only')}), its API or feeds, or a version of it without scripts."
    )


def _of_page(read: Callable[[bytes], bytes], page: Report) -> str | None:
    if page["tokens"] is None or page["tokens"] > SHORT or not page["body_sha256"]:
        return None
    return _evidence(read, bytes.fromhex(page["body_sha256"]), page["words"])


def _evidence(read: Callable[[bytes], bytes], body_sha256: bytes, words: int) -> str | None:
    """A body that is not stored here, or damaged, tells nothing."""
    from orbweb.extraction import shell

    try:
        return shell.evidence(read(body_sha256), words)
    except StoreError:
        return None
