"""The files of a run, made again from the database.

Always: a file gets its name when it is whole and durable; until then the former one stays. What a crawl wrote and
what is made again are the same bytes, unless URLs were retried or the rules for page types were changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from orbweb.export.live.catalog import METADATA_LINK, OutputFile, OutputSettings, OutputSubject, forms, lead
from orbweb.export.live.file import AppendFile, writing
from orbweb.export.live.follower import PORTION
from orbweb.store import journal, workspace_files
from orbweb.store.journal import Cursor, VisitPortions

Watch = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A file that was made again: how many lines it has besides its header, and how many bytes."""

    name: str
    path: str
    lines: int
    bytes: int


def rebuild(subject: OutputSubject, wanted: OutputSettings, out: Path, watch: Watch) -> list[Rebuilt]:
    """Make the files below `out`, as they lie in a workspace; in that of the run, it goes on from there.

    `watch` is told how many visits of how many have become lines, over all files.
    """
    visits = VisitPortions(subject.db, subject.run_id)
    found = forms(subject, wanted, visits)
    latest = journal.latest(subject.db, subject.run_id)
    done = []
    for number, form in enumerate(found):
        counted = partial(_told, watch, number * latest, len(found) * latest)
        file, cursor = _made(form, out, visits, counted)
        if out == subject.workspace:
            journal.move(subject.db, subject.run_id, [(form.name, cursor)])
        if form.name == "metadata":
            lead(out / METADATA_LINK, form.path.name)
        done.append(file)
    return done


def _told(watch: Watch, before: int, total: int, at: int) -> None:
    watch(before + at, total)


def _made(
    form: OutputFile, out: Path, visits: VisitPortions, watch: Callable[[int], None]
) -> tuple[Rebuilt, Cursor]:
    path = out / form.path
    part = path.with_name(f".{path.name}.part")
    tail = AppendFile(part, form.header, None)
    count = 0
    try:
        while True:
            visits.renew()
            data, visit = form.derive(tail.visit, PORTION)
            if visit == tail.visit:
                break
            tail.append(data, visit)
            count += data.count(b"\n")
            watch(visit)
        cursor = tail.sync() or Cursor(0, 0, 0, 0)
        with writing(path):
            workspace_files.replace(out, part.relative_to(out), form.path)
            workspace_files.sync_directory(out, form.path.parent)
    except BaseException:
        workspace_files.unlink(out, part.relative_to(out))
        raise
    finally:
        tail.close()
    return Rebuilt(form.name, str(path), count, cursor.offset), cursor
