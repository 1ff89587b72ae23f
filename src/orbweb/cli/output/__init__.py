"""What is printed on stdout: text for people and JSON for programs, from the same report.

Text is printed without control characters. A reader that has gone away does not change what a command does. The
modules of this package format reports; a command imports its own, so that `orbweb --help` loads none.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import typer

from orbweb.errors import OrbwebError

_QUIET = ContextVar("quiet", default=False)
PAGER = "less -FRX"
MANIFEST_FIELDS = ("place", "url", "status", "body_sha256", "content_sha256", "role", "truncated")


def emit(report: Any, text: Callable[[Any], str], *, as_json: bool, paged: bool = False) -> None:
    """Print the report on stdout; with `paged`, a long text on a terminal through a pager.

    It is a record, a list of them, or plain already; `text` gets it as plain rows.
    """
    found = _plain(report)
    if as_json:
        line(json.dumps(found, ensure_ascii=False))
        return
    shown = printable(text(found))
    if not (paged and sys.stdout.isatty() and _through_pager(shown)):
        line(shown)


def _plain(report: Any) -> Any:
    """The objects that `--json` prints."""
    from orbweb.app import Record

    if isinstance(report, list):
        return [_plain(each) for each in report]
    return report.report() if isinstance(report, Record) else report


def _through_pager(text: str) -> bool:
    """Show a text that is longer than the terminal in the user's pager; whether it was shown."""
    import shlex
    import shutil
    import subprocess

    command = shlex.split(os.environ.get("PAGER") or PAGER)
    if text.count("\n") + 1 < shutil.get_terminal_size().lines or not command or shutil.which(command[0]) is None:
        return False
    left: bytes | None = f"{text}\n".encode("utf-8", "replace")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as pager:
        while True:
            try:
                pager.communicate(left)
            except KeyboardInterrupt:
                left = None
            else:
                return True


def line(text: str, *, nl: bool = True) -> None:
    """Print a text on stdout, with its colours."""
    with to_reader():
        typer.echo(text, nl=nl, color=True)


@contextmanager
def quieted(quiet: bool) -> Iterator[None]:
    """Within the block, print results and errors only, if `quiet`."""
    token = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    return _QUIET.get()


def note(text: str, *, nl: bool = True) -> None:
    """Print a text on stderr, unless notes are unwanted. A question, which ends without a new line, never is."""
    if not (nl and _QUIET.get()):
        problem(text, nl=nl)


def problem(text: str, *, nl: bool = True) -> None:
    """Print on stderr what went wrong."""
    typer.echo(printable(text), nl=nl, err=True)


@contextmanager
def to_reader() -> Iterator[None]:
    """Wrap writes to stdout. A reader that closes the pipe (`| head`) is not an error: the exit code stays that of
    the command. A file that cannot be written is one."""
    try:
        yield
    except BrokenPipeError:
        _discard_stdout()
    except OSError as error:
        _discard_stdout()
        raise OrbwebError(f"cannot write to standard output: {error.strerror}") from error


def _discard_stdout() -> None:
    """What is left in the buffer of stdout must not fail again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def printable(text: str) -> str:
    """Without the control characters that a page's title could send to a terminal."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)


def one_line(text: str) -> str:
    """As `printable`, in one line."""
    return " ".join(printable(text).split("\n")).replace("\t", " ")


def write(body: bytes, encoding: str = "utf-8") -> None:
    """The exact bytes; to a terminal as text, without control characters."""
    if sys.stdout.isatty():
        line(harmless(body.decode(encoding, "replace")), nl=not body.endswith(b"\n"))
        return
    with to_reader():
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()


def harmless(text: str) -> str:
    """As `printable`, whatever its lines end with."""
    return printable(text.replace("\r\n", "\n"))


def manifest(lines: Iterable[str], *, as_json: bool) -> None:
    """Line by line, however long it is; as JSON one array of objects."""
    if as_json:
        rows = [dict(zip(MANIFEST_FIELDS, each.split("\t"), strict=True)) for each in lines]
        line(json.dumps(rows, ensure_ascii=False))
        return
    with to_reader():
        for each in lines:
            sys.stdout.write(each + "\n")
        sys.stdout.flush()
