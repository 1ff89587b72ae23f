"""The stored bodies of a run as plain files, `html/aa/bb/<sha256>.html`, with `index.jsonl`."""

from __future__ import annotations

from orbweb.export.atomic_file import Out, require_path
from orbweb.export.fields import json_line
from orbweb.export.folder import ExportFolder, FileTally
from orbweb.export.source import ExportSource
from orbweb.store.queries import outline
from orbweb.store.queries.outline import StoredBody
from orbweb.store.rows import moment

INDEX = "index.jsonl"
FIELDS = (
    "url",
    "final_url",
    "file",
    "role",
    "status",
    "depth",
    "content_type",
    "encoding",
    "bytes",
    "captured_at",
    "body_sha256",
    "content_sha256",
)


class FilesExporter:
    name = "files"
    extension = None

    def write(self, source: ExportSource, out: Out) -> FileTally:
        """Write the bodies that are missing, then the index."""
        done: set[bytes] = set()
        total = outline.count_bodies(source.db, source.run_id)
        with ExportFolder(require_path(out, self.name), source.header(self.name)) as folder:
            for number, body in enumerate(outline.bodies(source.db, source.run_id), 1):
                if body.sha256 not in done and not folder.has(_file(body), body.sha256):
                    folder.put(_file(body), source.body(body.sha256.hex()))
                done.add(body.sha256)
                source.watch(number, total)
            with folder.stream(INDEX) as index:
                for body in outline.bodies(source.db, source.run_id):
                    if body.sha256 in done:
                        index.write(json_line(_record(body)))
            return folder.finish()


def _file(body: StoredBody) -> str:
    name = body.sha256.hex()
    return f"html/{name[:2]}/{name[2:4]}/{name}.html"


def _record(body: StoredBody) -> dict[str, object]:
    return {
        "url": body.url,
        "final_url": body.final_url,
        "file": _file(body),
        "role": body.role,
        "status": body.status,
        "depth": body.depth,
        "content_type": body.content_type,
        "encoding": body.encoding,
        "bytes": body.size,
        "captured_at": moment(body.captured_at),
        "body_sha256": body.sha256.hex(),
        "content_sha256": body.content_sha256.hex() if body.content_sha256 else None,
    }
