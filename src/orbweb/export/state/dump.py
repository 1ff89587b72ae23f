"""The state of a run as plain files, from which another workspace or another crawler can continue.

`state.json` describes the run, `frontier.jsonl` lists the queued URLs in order, `fetched_urls.txt` and
`page_index.jsonl` the visited ones, `skipped.jsonl` the refused ones, `robots_cache.jsonl` the robots.txt files of
their origins. `seen.txt` has the marks of an imported crawl, if there are any. Bodies are a separate export
(`--to files`).
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from orbweb.export.atomic_file import Out, require_path
from orbweb.export.escaping import json_line, utf8
from orbweb.export.folder import ExportFolder, FileTally
from orbweb.export.source import ExportSource
from orbweb.export.state import robots
from orbweb.export.state.files import FETCHED, FRONTIER, INDEX, ROBOTS, SEEN, SKIPPED, STATE, VERSION
from orbweb.store import Row, robots_cache, runs
from orbweb.store.queries import page_index, state
from orbweb.store.rows import exact_moment, moment
from orbweb.store.unit_times import UnitTimes

FIELDS = ("id", "url", *page_index.PLACE, "due_at", *page_index.TIMES, "page_type")
"""The fields of a queued URL; a skipped one also has its reason and rule."""

ROBOTS_CACHE_S = 86_400.0
"""How long another crawler may use a robots.txt file: RFC 9309 allows a day."""


class StateExporter:
    name = "state"
    extension = None

    def write(self, source: ExportSource, out: Out) -> FileTally:
        total = state.visits(source.db, source.run_id)
        with ExportFolder(require_path(out, self.name), source.header(self.name)) as folder:
            folder.put(STATE, utf8(json.dumps(_whole(source), ensure_ascii=False, indent=1) + "\n"))
            times = UnitTimes(source.db, source.run_id)
            with folder.stream(FRONTIER) as stream:
                for row in state.queued(source.db, source.run_id):
                    stream.write(json_line(_url(source, times, row)))
            with folder.stream(SKIPPED) as stream:
                for row in state.skipped(source.db, source.run_id):
                    stream.write(json_line({**_url(source, times, row), "reason": row[-2], "rule": row[-1]}))
            with folder.stream(INDEX) as stream:
                for done, (key, entry) in enumerate(page_index.entries(source.db, source.run_id, source.store), 1):
                    stream.write(json_line({**entry, "page_type": source.page_type(key)}))
                    source.watch(done, total)
            with folder.stream(FETCHED) as stream:
                for _, entry in page_index.entries(source.db, source.run_id, source.store):
                    stream.write(utf8(f"{entry['url']}\n"))
            with folder.stream(ROBOTS) as stream:
                for file in robots_cache.known_to(source.db, source.run_id):
                    stream.write(json_line(robots.entry(file, ROBOTS_CACHE_S)))
            self._write_marks(source, folder)
            return folder.finish()

    def _write_marks(self, source: ExportSource, folder: ExportFolder) -> None:
        marks = state.marks(source.db, source.run_id)
        first = next(marks, None)
        if first is None:
            return
        with folder.stream(SEEN) as stream:
            for sha256 in chain((first,), marks):
                stream.write(utf8(f"{sha256.hex()}\n"))


def _whole(source: ExportSource) -> dict[str, Any]:
    settings, next_rank, scope_fixed, surveyed = state.facts(source.db, source.run_id)
    families = state.families(source.db, source.run_id)
    return {
        "orbweb_state": VERSION,
        "project": source.project,
        "run": source.run_number,
        "settings": json.loads(settings),
        "bases": [{"url": base.url, "scope": base.scope_key} for base in runs.bases_of(source.db, source.run_id)],
        "next_rank": next_rank,
        "scope_fixed": bool(scope_fixed),
        "surveyed": bool(surveyed),
        "families": [{**each, "sketch": each["sketch"].hex()} for each in families],
    }


def _url(source: ExportSource, times: UnitTimes, row: Row) -> dict[str, Any]:
    number, url, key, *rest, family_member, lastmod, due_at, changed_in, _reason, _rule = row
    instants = moment(due_at), *map(exact_moment, times.of(number, None, changed_in))
    known = number, url, *rest, bool(family_member), lastmod, *instants, source.page_type(key)
    return dict(zip(FIELDS, known, strict=True))
