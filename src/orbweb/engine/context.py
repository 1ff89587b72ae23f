"""What the parts of the commit share: the run, and the collaborators that decide about a URL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orbweb.engine.startup import Startup
from orbweb.frontier import Frontier
from orbweb.policy.rules import Policy
from orbweb.policy.traps import Traps
from orbweb.store import RunStore
from orbweb.urls import UrlRules


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """`is_fed`: URLs come from a spool, not from links. `drop_query`: requests are sent without a query."""

    url_rules: UrlRules
    drop_query: bool = False
    is_fed: bool = False
    stores_resources: bool = False


@dataclass(frozen=True, slots=True)
class RunContext:
    """The run that a crawl works on. `lane_of` gives the lane of a key."""

    settings: CommitSettings
    store: RunStore
    frontier: Frontier
    policy: Policy
    traps: Traps
    startup: Startup
    lane_of: Callable[[str], str]
