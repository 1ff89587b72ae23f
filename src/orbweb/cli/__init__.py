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
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn

from orbweb.errors import OrbwebError, Spelling, spelled

COLLECT_AFTER = 50_000
TYPER_INTERRUPTED = 130
"""The exit code of typer after Ctrl-C."""
DEFAULT_PLACE = "orbweb-data"
WORKSPACE_VARIABLE = "ORBWEB_WORKSPACE"
OTHER_WORDS = {"bases": "base", "file": "urls", "headers": "header"}
"""Options whose name on the command line is not that of Python."""
COMPLETE = "_ORBWEB_COMPLETE"
"""Set by the scripts of `orbweb completion`: print what could follow the words, instead of running them."""

_workspace: ContextVar[Path] = ContextVar("workspace", default=Path(DEFAULT_PLACE))


def choose_workspace(path: Path) -> Path:
    """The workspace of this command, which hints name from now on."""
    _workspace.set(path)
    return path


def _option(name: str, value: str | Sequence[str]) -> str:
    flag = f"--{OTHER_WORDS.get(name, name).replace('_', '-')}"
    if isinstance(value, str):
        return f"{flag} {value}" if value else flag
    return " ".join(f"{flag} {shlex.quote(each)}" for each in value)


def _call(verb: str, arguments: Sequence[str], options: Mapping[str, str | bool]) -> str:
    """A command to paste into the same shell: it names the workspace unless that is the default there."""
    named = {**options, **_place()}
    given = [_option(name, "" if value is True else shlex.quote(str(value))) for name, value in named.items()]
    return f"`{' '.join(('orbweb', verb.replace('_', '-'), *map(shlex.quote, arguments), *given))}`"


def _place() -> dict[str, str]:
    path = _workspace.get()
    is_default = path == Path(os.environ.get(WORKSPACE_VARIABLE) or DEFAULT_PLACE)
    return {} if is_default else {"workspace": str(path)}


COMMAND_LINE = Spelling(_option, _call, "command line")


def settle_memory() -> None:
    """Loaded modules are never garbage, and a crawl makes almost no cycles, so collect rarely."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    gc.enable()


def open_streams() -> None:
    """Replace a closed standard stream by /dev/null, so that no file of ours gets its number. The second
    name keeps it open while `sys.stderr` is another object."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            stream = os.fdopen(nowhere, mode, encoding="utf-8")
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


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
        with spelled(COMMAND_LINE):
            _run_command(sys.argv[1:])
    except OrbwebError as error:
        _print_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != TYPER_INTERRUPTED:
            raise
        sys.stderr.write("orbweb: interrupted\n")
        sys.exit(4)


def _run_command(given: Sequence[str]) -> None:
    """Print what a shell can complete or what commands there are, or run the command."""
    from orbweb.cli import arguments, commands

    if COMPLETE in os.environ:
        from orbweb.cli.completion import candidates

        sys.stdout.write("".join(f"{line}\n" for line in candidates(given, commands.lines(), commands.built)))
        return
    words = arguments.command_first(given)
    if arguments.asks_for_overview(words):
        _print_overview()
        return
    with commands.only(words[:1]) as app:
        app(words, prog_name="orbweb")


def _print_overview() -> None:
    from orbweb.cli import commands, output, overview
    from orbweb.cli.output import colour

    width = shutil.get_terminal_size().columns
    output.line(overview.text(commands.lines(), width=width, colour=colour.on(sys.stdout)))


def _print_error(error: OrbwebError) -> None:
    from orbweb.app import redacted
    from orbweb.cli.output import colour

    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    name = colour.styled("orbweb:", colour.BOLD, colour.RED, colour=colour.on(sys.stderr))
    sys.stderr.write(redacted(f"{name} {error}{notes}\n"))


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
