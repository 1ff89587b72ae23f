"""What `diff` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class AddedPage(Record):
    """A page that only the later run has."""

    url: str


@dataclass(frozen=True, slots=True)
class RemovedPage(Record):
    """A page that only the earlier run has, and why."""

    url: str
    why: str


@dataclass(frozen=True, slots=True)
class ChangedPage(Record):
    """A page with other text: the ignored noise by kind, and the lines of a unified diff of its Markdown."""

    url: str
    noise: Mapping[str, int]
    lines_added: int
    lines_removed: int
    diff: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MovedPage(Record):
    """The same content at another URL; `from_` is the earlier one."""

    url: str
    from_: str


@dataclass(frozen=True, slots=True)
class RedirectedPage(Record):
    """A page that redirects now."""

    url: str
    to: str


@dataclass(frozen=True, slots=True)
class FailingUrl(Record):
    """A URL that fails now and did not before."""

    url: str
    kind: str
    status: int | None


@dataclass(frozen=True, slots=True)
class NoisyPage(Record):
    """A page in which only noise changed, counted by kind."""

    url: str
    noise: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RunDiff(Record):
    """How two runs of a project differ, each list in URL order.

    `unchanged`, `unvisited` and `pending` count pages; `left_out` counts those that a rule skips now, by reason.
    """

    project: str
    old: int
    new: int
    added: tuple[AddedPage, ...]
    removed: tuple[RemovedPage, ...]
    changed: tuple[ChangedPage, ...]
    moved: tuple[MovedPage, ...]
    redirected: tuple[RedirectedPage, ...]
    failing: tuple[FailingUrl, ...]
    noise: tuple[NoisyPage, ...]
    unchanged: int
    unvisited: int
    pending: int
    left_out: Mapping[str, int]

    @property
    def differs(self) -> bool:
        """Whether there are changes other than noise."""
        return any((self.added, self.removed, self.changed, self.moved, self.redirected, self.failing))
