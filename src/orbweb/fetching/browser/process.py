"""The browser as a process: how it is started, measured and ended.

Always: its processes are one process group, which ends when the crawler does; a file names it, so that the next
start can end what a crash left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from orbweb.fetching.browser import launcher
from orbweb.fetching.browser.devtools import BrowserError, DevTools

NO_SANDBOX = "--no-sandbox"
PROFILE = "orbweb-browser-"
ENDS_S = 5.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-notifications",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    "--disable-features=AcceptCHFrame,AutofillServerCommunication,BackForwardCache,DialMediaRouteProvider,"
    "GlobalMediaControls,IsolateOrigins,LazyFrameLoading,MediaRouter,NetworkPrediction,OptimizationHints,"
    "PaintHolding,Prerender2,SpeculationRulesPrefetchProxy,Translate,site-per-process",
    "--disable-site-isolation-trials",
    "--deterministic-mode",
    "--run-all-compositor-stages-before-draw",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--lang=en-US",
    "--window-size=1280,2000",
    # Chromium never uses a proxy for loopback unless it is told to.
    "--proxy-bypass-list=<-loopback>",
)


class BrowserProcess:
    """A running browser with its profile directory, which is deleted with it. `tools` is the connection to it."""

    def __init__(self, executable: Path, flags: Sequence[str], *, on_gone: Callable[[], None]) -> None:
        self._profile = tempfile.mkdtemp(prefix=PROFILE)
        reads, theirs_to_write = os.pipe()
        theirs_to_read, writes = os.pipe()
        command = [str(executable), *FLAGS, *flags, f"--user-data-dir={self._profile}"]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), str(theirs_to_read),
                 str(theirs_to_write), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs_to_read, theirs_to_write),
                start_new_session=True,
            )
        except OSError as error:
            os.close(reads)
            os.close(writes)
            shutil.rmtree(self._profile, ignore_errors=True)
            raise BrowserError(f"the browser cannot be started: {error.strerror}") from error
        finally:
            os.close(theirs_to_read)
            os.close(theirs_to_write)
        self.tools = DevTools(reads, writes, on_gone)

    @property
    def group(self) -> int:
        """The process group of the browser."""
        return self._process.pid

    def memory(self) -> int:
        """The resident bytes of all its processes; shared pages count once per process."""
        return sum(map(_resident, members(self.group)))

    def close(self) -> None:
        """Kill it with all its processes, and delete its profile."""
        self.tools.close()
        kill_group(self.group)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDS_S)
        shutil.rmtree(self._profile, ignore_errors=True)


def members(group: int) -> list[int]:
    """The processes of a process group."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and _stat(int(name), 2) == str(group):
            found.append(int(name))
    return found


def kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _stat(pid: int, at: int) -> str | None:
    """A field of /proc/PID/stat after the name; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[at]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0
