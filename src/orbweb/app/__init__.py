"""Composition: the only place that builds things.

Here are the verbs. `crawl`, `resume` and `recrawl` turn base URLs and settings into an engine at work on a run;
for a project whose name ends with `.discovery` that is discovery, which keeps no bodies and writes the spool.
`scrape` does the same for the lines of the spool. `rules` changes by what a run is judged; `extract`, `replay`,
`retry`, `adopt` and `doctor` ask nothing of a server. Always holds: the project is owned by this process while it
works; whatever happens, the run is left in a state from which `resume` goes on. A verb loads its module when it is
first asked for: no command needs them all.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from orbweb.app.crawls import check_new, crawl, recrawl, resume
    from orbweb.app.health import doctor
    from orbweb.app.judging import rules
    from orbweb.app.offline import adopt, extract, extract_code, replay, replay_code, retry
    from orbweb.app.request import PlanRequest, Request
    from orbweb.app.services import has_work, scrape
    from orbweb.app.session import exit_code

__all__ = [
    "PlanRequest",
    "Request",
    "adopt",
    "check_new",
    "crawl",
    "doctor",
    "exit_code",
    "extract",
    "extract_code",
    "has_work",
    "recrawl",
    "replay",
    "replay_code",
    "resume",
    "retry",
    "rules",
    "scrape",
]

_HOMES = {
    "crawls": ("check_new", "crawl", "recrawl", "resume"),
    "health": ("doctor",),
    "judging": ("rules",),
    "offline": ("adopt", "extract", "extract_code", "replay", "replay_code", "retry"),
    "request": ("PlanRequest", "Request"),
    "services": ("has_work", "scrape"),
    "session": ("exit_code",),
}

if not TYPE_CHECKING:
    from orbweb import late

    __getattr__ = late(__name__, _HOMES)
