"""The parts of an engine. `app.build` chooses each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orbweb.engine.backpressure import Brake
from orbweb.engine.commit import Committer
from orbweb.engine.control import ControlFiles
from orbweb.engine.robots_gate import RobotsGate
from orbweb.engine.sitemaps import SitemapReader
from orbweb.events import Snapshot
from orbweb.fetching.revalidation import Revalidator
from orbweb.frontier import Frontier
from orbweb.frontier.dispatch import Dispatcher
from orbweb.frontier.spool.source import SpoolSource


@dataclass(frozen=True, slots=True)
class EngineParts:
    """`clock` is the wall clock; `steady` starts with it and never jumps. Both are in microseconds."""

    committer: Committer
    frontier: Frontier
    dispatcher: Dispatcher
    robots: RobotsGate
    sitemaps: SitemapReader | None
    revalidator: Revalidator
    control: ControlFiles
    brakes: Sequence[Brake]
    spool: SpoolSource | None
    clock: Callable[[], int]
    steady: Callable[[], int]


@dataclass(frozen=True, slots=True)
class EngineEvents:
    """Callbacks of the engine: progress several times a second, also on hold; notes for the user; each unit of
    work that is durable; and why the crawl is on hold (None: it is not), after the snapshot that shows it."""

    on_progress: Callable[[Snapshot], None]
    note: Callable[[str], None]
    on_written: Callable[[], None]
    on_paused: Callable[[str | None], None]
