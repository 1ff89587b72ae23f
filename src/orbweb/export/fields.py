"""The exported fields of a page, in every format. A record is a function of the captured page alone."""

from __future__ import annotations

import json
import re
from typing import Any

from orbweb.export.escaping import json_line, utf8
from orbweb.store.documents import Captured
from orbweb.store.rows import moment

__all__ = ["FRONT_MATTER", "METADATA", "front_matter", "json_line", "metadata", "utf8"]

# Characters to escape inside YAML double quotes besides those that JSON escapes: controls, line breaks, byte order
# marks and lone surrogates.
_UNQUOTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


METADATA = (
    "url",
    "final_url",
    "alternates",
    "status",
    "depth",
    "title",
    "description",
    "language",
    "author",
    "published",
    "captured_at",
    "content_type",
    "truncated",
    "bytes",
    "words",
    "tokens",
    "generator",
    "confidence",
    "content_sha256",
    "body_sha256",
    "redirects",
)


def metadata(page: Captured) -> dict[str, Any]:
    """All fields except the text itself, in the order of METADATA."""
    document = page.document
    return {
        "url": page.url,
        "final_url": page.final_url,
        "alternates": [url for _, url in page.alternates],
        "status": page.status,
        "depth": page.depth,
        "title": document.title,
        "description": document.description,
        "language": document.language,
        "author": document.author,
        "published": document.published,
        "captured_at": moment(page.captured_at),
        "content_type": page.content_type,
        "truncated": page.truncated,
        "bytes": page.size,
        "words": document.words,
        "tokens": document.tokens,
        "generator": document.generator,
        "confidence": document.confidence,
        "content_sha256": page.content_sha256.hex(),
        "body_sha256": page.body_sha256.hex(),
        "redirects": [url for _, url in page.redirects],
    }


FRONT_MATTER = (
    "url",
    "title",
    "description",
    "language",
    "author",
    "published",
    "captured_at",
    "truncated",
    "words",
    "tokens",
    "content_sha256",
    "body_sha256",
    "alternates",
    "redirects",
)


def front_matter(page: Captured) -> str:
    """YAML between two lines of hyphens. Empty fields are omitted, and `truncated` if it is false."""
    known = metadata(page)
    lines = [f"{name}:{_yaml(known[name])}" for name in FRONT_MATTER if _is_stated(known[name])]
    return "\n".join(["---", *lines, "---", "", ""])


def _is_stated(value: object) -> bool:
    return value is not False and value not in ("", [], None)


def _yaml(value: object) -> str:
    """A number, string or list of strings as YAML, with the separator after its key. JSON strings are YAML."""
    if isinstance(value, list):
        return "".join(f"\n  -{_yaml(each)}" for each in value)
    text = json.dumps(value, ensure_ascii=False)
    return " " + _UNQUOTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
