"""The command line: argv -> app call -> text, JSON, exit code. No decisions.

Heavy modules are imported inside the commands, so that `orbweb --help` is instant. What a program reads
goes to stdout; progress, notes and errors go to stderr.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from typing import NoReturn

from orbweb.errors import OrbwebError

COLLECT_AFTER = 50_000
TYPER_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def settle_memory() -> None:
    """What is loaded stays; what a crawl makes has almost no cycles, so it is looked through rarely."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    gc.enable()


def open_streams() -> None:
    """A standard stream that the caller has closed leads nowhere, so that no file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def main() -> None:
    """Run a command and exit with the code that tells the truth.

    Modules are not garbage: the collector stays off while they load, and `settle_memory` leaves them out later.
    Pydantic would look through every installed package for plugins; this process has no use for any.
    """
    gc.disable()
    open_streams()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from orbweb.cli.commands import only

        with only(sys.argv[1:2]) as app:
            app(prog_name="orbweb")
    except OrbwebError as error:
        from orbweb.urls import shown

        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        sys.stderr.write(shown(f"orbweb: {error}{notes}\n"))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != TYPER_INTERRUPTED:
            raise
        sys.stderr.write("orbweb: interrupted\n")
        sys.exit(4)


def run() -> NoReturn:
    """Be a process that runs a command. What it has loaded is left to the kernel, which is faster than taking it
    apart; what is to be kept is durable by now."""
    try:
        main()
    except SystemExit as end:
        code = 0 if end.code is None else end.code
    else:
        code = 0
    with contextlib.suppress(OSError, ValueError):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(code, int):
            os._exit(code)
    sys.exit(code)
