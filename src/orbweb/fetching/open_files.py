"""How many files this process may have open, and how many of them may be connections.

The soft limit is raised as far as a crawl has use for, never beyond the hard one. That is safe here: nothing waits
for files by select(), which cannot count beyond 1,024, and worker processes close what they inherit.
"""

from __future__ import annotations

import resource
from pathlib import Path

USEFUL = 4096
SPARE = 40
"""Files that are opened later: databases, bodies, outputs, name servers, and a socket while it is made."""
SPARE_A_PROCESS = 4
LEAST = 8
_OPEN = Path("/proc/self/fd")


def raise_limit() -> int:
    """Raise the soft limit to what is useful, as far as the hard one allows. The limit that now counts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = USEFUL if hard == resource.RLIM_INFINITY else min(USEFUL, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return USEFUL if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def open_now() -> int:
    return sum(1 for _ in _OPEN.iterdir())


def connections(limit: int, used: int, processes: int) -> int:
    """How many connections fit, if so many files may be open, are open, and so many worker processes may come."""
    return max(LEAST, limit - used - SPARE - SPARE_A_PROCESS * processes)
