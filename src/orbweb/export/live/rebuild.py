"""Rebuilds the output files of a run from the database.

A file is replaced when the new one is complete and durable. It has the same bytes that the crawl wrote, unless
URLs were retried or the rules for page types were changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from orbweb.export.live.catalog import OutputFile, OutputSettings, OutputSubject, lead, output_files
from orbweb.export.live.file import AppendFile, writing
from orbweb.export.live.follower import PORTION
from orbweb.store import journal, workspace_files
from orbweb.store.journal import Cursor, VisitPortions
from orbweb.store.workspace_paths import AnchoredPath

Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A rebuilt file, with its number of lines, without the header, and of bytes."""

    name: str
    path: str
    lines: int
    bytes: int


def rebuild(subject: OutputSubject, wanted: OutputSettings, out: Path | None, watch: Watch) -> list[Rebuilt]:
    """Write the files below `out`, as in a workspace; without it where they are, so that a crawl continues them.

    `watch` is called with the number of visits written and their total, over all files.
    """
    if out is not None:
        with writing(out):
            out.mkdir(mode=0o700, parents=True, exist_ok=True)
        subject = replace(subject, files=subject.files.below(out))
    visits = VisitPortions(subject.db, subject.run_id)
    found = output_files(subject, wanted, visits)
    latest = journal.latest(subject.db, subject.run_id)
    done = []
    for number, output in enumerate(found):
        progress = partial(_progress, watch, number * latest, len(found) * latest)
        file, cursor = _write(output, subject, visits, progress)
        if out is None:
            journal.move(subject.db, subject.run_id, [(output.name, cursor)])
        if output.name == "metadata":
            lead(subject.files, output.path.name, subject.modes)
        done.append(file)
    return done


def _progress(watch: Watch, before: int, total: int, at: int) -> None:
    watch(before + at, total)


def _write(
    output: OutputFile, subject: OutputSubject, visits: VisitPortions, watch: Callable[[int], None]
) -> tuple[Rebuilt, Cursor]:
    root = subject.files.root
    path, part = root / output.path, output.path.with_name(f".{output.path.name}.part")
    file = AppendFile(AnchoredPath(root, part), output.header, None, subject.modes)
    count = 0
    try:
        while True:
            visits.renew()
            data, visit = output.derive(file.visit, PORTION)
            if visit == file.visit:
                break
            file.append(data, visit)
            count += data.count(b"\n")
            watch(visit)
        cursor = file.sync() or Cursor(0, 0, 0, 0)
        with writing(path):
            workspace_files.replace(root, part, output.path)
            workspace_files.sync_directory(root, output.path.parent)
    except BaseException:
        workspace_files.unlink(root, part)
        raise
    finally:
        file.close()
    return Rebuilt(output.name, str(path), count, cursor.offset), cursor
