"""The limit of open files of this process, and how many connections fit into it.

The soft limit is raised to what a crawl can use, never beyond the hard limit. That is safe because nothing calls
select(), which fails above 1,024, and worker processes close the files they inherit.
"""

from __future__ import annotations

import resource
from pathlib import Path

USEFUL = 4096
SPARE = 40
"""Files that are opened later: databases, bodies, outputs, name servers, and a socket while it is created."""
SPARE_PER_PROCESS = 4
LEAST = 8
_OPEN = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")


def raise_limit() -> int:
    """Raise the soft limit to what is useful and the hard limit allows; return the limit in effect."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = USEFUL if hard == resource.RLIM_INFINITY else min(USEFUL, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return USEFUL if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def open_now() -> int:
    return sum(1 for _ in _OPEN.iterdir())


def connections(limit: int, used: int, processes: int) -> int:
    """How many connections fit, given the limit, the number of open files and the number of worker processes."""
    return max(LEAST, limit - used - SPARE - SPARE_PER_PROCESS * processes)
