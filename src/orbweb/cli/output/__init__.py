"""What is printed on stdout: text for people and JSON for programs, from the same report.

Always holds: the text of a report is printed without what could drive a terminal. The modules of this package
have these texts, by what they speak of; a command imports its own, so that `orbweb --help` loads none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import typer

MANIFEST_FIELDS = ("place", "url", "status", "body_sha256", "content_sha256", "role")


def emit(report: Any, text: Callable[[Any], str], *, as_json: bool) -> None:
    """Print the report on stdout."""
    typer.echo(json.dumps(report, ensure_ascii=False) if as_json else printable(text(report)))


def printable(text: str) -> str:
    """Without the control characters that a page's title could send to a terminal."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)


def write(body: bytes, encoding: str = "utf-8") -> None:
    """What is kept, byte by byte; to a terminal as text, without what could drive it."""
    if sys.stdout.isatty():
        typer.echo(harmless(body.decode(encoding, "replace")), nl=not body.endswith(b"\n"))
        return
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def harmless(text: str) -> str:
    """As `printable`, with its tabs."""
    return "\t".join(printable(part) for part in text.replace("\r\n", "\n").split("\t"))


def manifest(lines: Iterable[str], *, as_json: bool) -> None:
    """Line by line, however long it is; as JSON one array of objects."""
    if as_json:
        rows = [dict(zip(MANIFEST_FIELDS, line.split("\t"), strict=True)) for line in lines]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    for line in lines:
        sys.stdout.write(line + "\n")


def unsaid(_text: str) -> None:
    """A note that would speak of something that is not done."""
