"""What is printed on stdout: text for people and JSON for programs, from the same report.

Always holds: the text of a report is printed without what could drive a terminal, and a reader that has gone does
not change what a command does. The modules of this package have these texts, by what they speak of; a command
imports its own, so that `orbweb --help` loads none.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from orbweb.errors import OrbwebError

MANIFEST_FIELDS = ("place", "url", "status", "body_sha256", "content_sha256", "role", "truncated")


def emit(report: Any, text: Callable[[Any], str], *, as_json: bool) -> None:
    """Print the report on stdout."""
    say(json.dumps(report, ensure_ascii=False) if as_json else printable(text(report)))


def say(text: str, *, nl: bool = True) -> None:
    """Print a text on stdout."""
    with to_reader():
        typer.echo(text, nl=nl)


@contextmanager
def to_reader() -> Iterator[None]:
    """While stdout is written. A reader that has read enough (`| head`) is no error: the exit code stays that of
    the command. A file that cannot take it is one."""
    try:
        yield
    except BrokenPipeError:
        _lead_nowhere()
    except OSError as error:
        _lead_nowhere()
        raise OrbwebError(f"standard output cannot be written: {error.strerror}") from error


def _lead_nowhere() -> None:
    """What is left in the buffer of stdout must not fail once more at the exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def printable(text: str) -> str:
    """Without the control characters that a page's title could send to a terminal."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)


def write(body: bytes, encoding: str = "utf-8") -> None:
    """What is kept, byte by byte; to a terminal as text, without what could drive it."""
    if sys.stdout.isatty():
        say(harmless(body.decode(encoding, "replace")), nl=not body.endswith(b"\n"))
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
        rows = [dict(zip(MANIFEST_FIELDS, line.split("\t"), strict=True)) for line in lines]
        say(json.dumps(rows, ensure_ascii=False))
        return
    with to_reader():
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()


def unsaid(_text: str) -> None:
    """A note that would speak of something that is not done."""
