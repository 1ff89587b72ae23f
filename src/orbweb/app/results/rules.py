"""What `rules`, `settings` and `validate_policy` return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class ProjectRules(Record):
    """The rules of a project by their settings, and what a change of them did to its run.

    `in_force` is False until a crawl has applied them. `came_back` counts the URLs that were queued again, by
    their old reason, and `skipped` those that are skipped now, by their new one.
    """

    project: str
    running: bool
    run: int | None
    run_state: str | None
    in_force: bool
    rules: Mapping[str, bool | int | str | Sequence[str] | None]
    came_back: Mapping[str, int]
    skipped: Mapping[str, int]
    queued: int


@dataclass(frozen=True, slots=True)
class EffectiveSetting(Record):
    """One setting: its value and its default, as in JSON, and where the value comes from.

    `option` is the option that sets it, if there is one. A value that may be a secret is redacted.
    """

    key: str
    option: str | None
    value: object
    default: object
    source: str
    differs: bool


@dataclass(frozen=True, slots=True)
class ProjectSettings(Record):
    """Every setting of a project, and the settings file that was read."""

    project: str
    file: str | None
    settings: tuple[EffectiveSetting, ...]


@dataclass(frozen=True, slots=True)
class GroupRoom(Record):
    """A group of the policy that a URL belongs to, its name in it, and what is left of each cap."""

    group: str
    name: str
    left: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PolicyVerdict(Record):
    """The verdict of the policy on a URL. `where` and `expected` are from the file; `wrong` if they disagree."""

    url: str
    key: str
    verdict: str
    reason: str | None
    rule: str | None
    page_type: str
    score: int
    groups: tuple[GroupRoom, ...]
    expected: str | None
    where: str | None
    wrong: bool
