"""How the base URLs of a run ended: which gave a page, and why the others did not.

`crawl`, `plan` and `fetch` read it from here, so that they agree.
"""

from __future__ import annotations

from typing import NamedTuple

from orbweb.lifecycle import ItemState
from orbweb.model import FailKind, Role, SkipReason
from orbweb.parsing.encodings import HTML_TYPES, media_type
from orbweb.store import Queries

BY_CHOICE = (
    SkipReason.SITEMAP_ONLY,
    SkipReason.PAGE_LIMIT,
    SkipReason.FINISHED,
    SkipReason.IMPORTED,
    SkipReason.LEFT,
    SkipReason.BEFORE_BOOKMARK,
)
"""The user asked for these: a base URL that is skipped so is no problem."""


class BaseOutcome(NamedTuple):
    """How the last URL of the redirect chain of a base URL ended."""

    url: str
    state: str
    reason: str | None
    rule: str | None
    status: int | None
    kind: str | None
    error: str | None
    content_type: str | None
    role: str | None
    body_sha256: bytes | None

    @property
    def problem(self) -> str | None:
        """Why it gave no page; None if it did, or if it is still queued."""
        if self.error:
            return self.error
        if self.reason:
            return None if self.reason in BY_CHOICE else f"{self.reason}: {self.rule}"
        return f"{self.content_type or 'no declared type'}, not HTML" if self.is_no_page else None

    @property
    def is_no_page(self) -> bool:
        """Whether it was answered with something that is neither a page nor stored."""
        nothing = self.body_sha256 is None and gives_no_page(self.role, self.status, self.content_type)
        return self.state == ItemState.VISITED and nothing

    @property
    def is_noindex(self) -> bool:
        """Whether it is a page that asks not to be stored; its links may be followed."""
        return self.reason == SkipReason.NOINDEX

    @property
    def failed(self) -> FailKind | None:
        return FailKind(self.kind) if self.kind else None


def gives_no_page(role: str | None, status: int | None, content_type: str | None) -> bool:
    """Whether a visit is of something else than a page or a redirect. HTML without a page was imported without
    its body."""
    is_html = media_type(content_type) in HTML_TYPES
    return role == Role.NONE and not is_html and not 300 <= (status or 300) < 400


def base_outcomes(db: Queries, run_id: int) -> dict[int, BaseOutcome]:
    """The outcome of each base URL, by its number."""
    return {base: BaseOutcome(*outcome) for base, *outcome in db.all("base_outcomes", run_id=run_id)}


def problems(outcomes: dict[int, BaseOutcome], *, found: int) -> dict[int, str]:
    """Why base URLs gave no page, by their numbers. A noindex page is no problem if its links led to pages;
    `found` is their number."""
    return {
        number: outcome.problem
        for number, outcome in outcomes.items()
        if outcome.problem is not None and not (outcome.is_noindex and found)
    }
