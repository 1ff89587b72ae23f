"""Becomes the browser: argv is the pid of the crawler, the two ends of its pipes, then the command of the browser.

Always: the browser is killed when the crawler ends, however that happens; the kernel sees to it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
READS, WRITES = 3, 4
"""Where Chromium looks for the pipes of the DevTools protocol."""


def main() -> None:
    parent, reads, writes = map(int, sys.argv[1:4])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    # Both may be where the other belongs.
    high_reads, high_writes = (os.dup2(each, place) for each, place in ((reads, 100), (writes, 101)))
    os.dup2(high_reads, READS)
    os.dup2(high_writes, WRITES)
    os.close(high_reads)
    os.close(high_writes)
    os.execv(sys.argv[4], sys.argv[4:])


if __name__ == "__main__":
    main()
