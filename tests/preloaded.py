"""Processes of orbweb that start with its modules loaded: forks of one that has loaded them.

To load them is two thirds of the processor time of a small crawl, and the tests start thousands. What starts is a
process as any other: a child of the caller, with its own arguments, environment, directory, streams and signals.
`edges/test_preloaded.py` proves that it does the same. `make crash` starts each process from nothing, as users do.

Two processes fork in turn, so that two commands in a row have different hash seeds, as two processes of a user.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
REQUEST_BYTES = 1 << 18
FROM_NOTHING = "START_FROM_NOTHING"
OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC")
"""Variables that are read before the first line of Python runs."""
NOT_LOADED = ("orbweb.server", "orbweb.integrations")

LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def can_start(command: list[str], env: Mapping[str, str]) -> bool:
    """Whether a fork is the same as a start from nothing."""
    return (
        sys.platform == "linux"
        and FROM_NOTHING not in os.environ
        and (command[:3] == [sys.executable, "-m", "orbweb"] or command[:2] == [sys.executable, "-c"])
        and _of_the_interpreter(env) == _of_the_interpreter(os.environ)
    )


def _of_the_interpreter(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(OF_THE_INTERPRETER)}


class Forker:
    """A process that has loaded orbweb."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number, nowhere = theirs.fileno(), subprocess.DEVNULL
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(number)], pass_fds=[number], stdin=nowhere, stdout=nowhere
            )

    def fork(self, streams: list[int], request: dict[str, Any]) -> int:
        """The process id of a new child of the caller; the forker is its grandparent, and its parent has ended."""
        socket.send_fds(self._socket, [json.dumps(request).encode()], streams)
        return int(self._socket.recv(32))

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


_forkers: deque[Forker] = deque()


class Started(subprocess.Popen[str]):
    """`python -m orbweb`, or a program with `-c`, by a fork; all else is that of a Popen, as of any child."""

    def _execute_child(self, *given: Any) -> None:
        """Called by `Popen.__init__`, which has no public place to start a process in another way."""
        args, cwd, env = given[0], given[5], given[6]
        (stdin, _, _, stdout, _, stderr) = given[10:16]
        request = {
            "program": None if args[1] == "-m" else args[2],
            "argv": args[3:],
            "cwd": str(cwd),
            "env": dict(env),
            "umask": _umask(),
            "limits": [resource.getrlimit(limit) for limit in LIMITS],
        }
        streams = [number if each == -1 else each for number, each in enumerate((stdin, stdout, stderr))]
        try:
            self.pid = _fork(streams, request)
            self._child_created = True
        finally:
            self._close_pipe_fds(*given[10:16])


def _fork(streams: list[int], request: dict[str, Any]) -> int:
    if not _forkers:
        _forkers.extend((Forker(), Forker()))
        for each in _forkers:
            atexit.register(each.close)
    _forkers.rotate()
    _adopt_orphans(True)
    try:
        return _forkers[0].fork(streams, request)
    finally:
        _adopt_orphans(False)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _adopt_orphans(whether: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(whether), 0, 0, 0)


def main() -> None:
    """Fork for each request, until the process that asks has ended."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    _load()
    while True:
        request, streams, *_ = socket.recv_fds(requests, REQUEST_BYTES, 3)
        if not request:
            return
        child = _fork_twice()
        if not child:
            requests.close()
            signal.signal(signal.SIGINT, interrupt)
            _become(streams, **json.loads(request))
            return
        for stream in streams:
            os.close(stream)
        requests.send(str(child).encode())


def _fork_twice() -> int:
    """0 in the new process, and its id in this one, where its parent has ended by then."""
    reading, writing = os.pipe()
    parent = os.fork()
    if not parent:
        child = os.fork()
        if child:
            os.write(writing, str(child).encode())
            os._exit(0)
    os.close(writing)
    if parent:
        os.waitpid(parent, 0)
    told = os.read(reading, 32) if parent else b"0"
    os.close(reading)
    return int(told)


def _load() -> None:
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    import orbweb

    for found in pkgutil.walk_packages(orbweb.__path__, "orbweb."):
        if not found.name.startswith(NOT_LOADED) and not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    gc.collect()
    gc.freeze()
    gc.enable()


def _become(
    streams: list[int],
    program: str | None,
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    umask: int,
    limits: list[Any],
) -> None:
    """Be a new process of Python."""
    os.umask(umask)
    for limit, values in zip(LIMITS, limits, strict=True):
        resource.setrlimit(limit, tuple(values))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(cwd)
    sys.path[0] = cwd
    sys.argv = ["-c", *argv]
    importlib.reload(sys.modules["orbweb.failpoints"])
    if program is None:
        runpy.run_module("orbweb", run_name="__main__", alter_sys=True)
    else:
        exec(program, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
