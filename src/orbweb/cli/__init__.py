"""The command line: argv -> one call of `app.Workspace` -> text, JSON, exit code.

Heavy modules are imported inside the commands, so that `orbweb --help` is instant. Results go to stdout; progress,
notes and errors go to stderr.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from orbweb.errors import OrbwebError, Spelling, spelled

COLLECT_AFTER = 50_000
TYPER_INTERRUPTED = 130
"""The exit code of typer after Ctrl-C."""
OTHER_WORDS = {"bases": "base", "file": "urls", "headers": "header"}
"""Options whose name on the command line is not that of Python."""


def _option(name: str, value: str | Sequence[str]) -> str:
    flag = f"--{OTHER_WORDS.get(name, name).replace('_', '-')}"
    if isinstance(value, str):
        return f"{flag} {value}" if value else flag
    return " ".join(f"{flag} {shlex.quote(each)}" for each in value)


def _call(verb: str, arguments: Sequence[str], options: Mapping[str, str | bool]) -> str:
    given = [_option(name, "" if value is True else str(value)) for name, value in options.items()]
    return f"`{' '.join(('orbweb', verb.replace('_', '-'), *arguments, *given))}`"


COMMAND_LINE = Spelling(_option, _call, "command line")


def settle_memory() -> None:
    """Loaded modules are never garbage, and a crawl makes almost no cycles, so collect rarely."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    gc.enable()


def open_streams() -> None:
    """Replace a closed standard stream by /dev/null, so that no file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


class _Stderr(io.FileIO):
    """Standard error that may lose its reader: what is written afterwards is dropped, and nothing fails."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)


def keep_going_without_reader() -> None:
    """A crawl does not depend on who reads its progress: `orbweb crawl URL 2>&1 | head -1` goes on to its end."""
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Stderr(sys.stderr.fileno(), "w", closefd=False)),
        encoding=sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


def main() -> None:
    """Run a command and exit with its code.

    The garbage collector stays off while modules load. Pydantic would search every installed package for plugins,
    which this process does not use.
    """
    gc.disable()
    open_streams()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from orbweb.cli.commands import only

        with only(sys.argv[1:2]) as app, spelled(COMMAND_LINE):
            app(prog_name="orbweb")
    except OrbwebError as error:
        from orbweb.app import redacted

        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        sys.stderr.write(redacted(f"orbweb: {error}{notes}\n"))
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
    """The entry point of a process. It exits without tearing down the interpreter, which is faster; everything
    that must last is on disk by now."""
    open_streams()
    keep_going_without_reader()
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
