"""What an export tells of a page, and how text becomes bytes.

Owns the names of the fields in every format. Always: a record is a function of the captured page alone; bytes are
UTF-8, whatever a page put into its text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from orbweb.export.escaping import json_line, utf8
from orbweb.store.documents import Captured
from orbweb.store.rows import moment

__all__ = ["FRONT_MATTER", "METADATA", "front_matter", "json_line", "metadata", "utf8"]

# What YAML wants escaped inside double quotes, besides what JSON escapes: controls, breaks, marks, halves.
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
)


def metadata(page: Captured) -> dict[str, Any]:
    """Everything but the text itself, in the order in which it is shown."""
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
)


def front_matter(page: Captured) -> str:
    """YAML between two lines of hyphens. Statements that the page does not make are left out, and
    `truncated` where it is not."""
    known = metadata(page)
    lines = [f"{name}:{_yaml(known[name])}" for name in FRONT_MATTER if _is_stated(known[name])]
    return "\n".join(["---", *lines, "---", "", ""])


def _is_stated(value: object) -> bool:
    return value is not False and value not in ("", [], None)


def _yaml(value: object) -> str:
    """A number, a text or a list of texts as YAML, with what parts it from its name. JSON strings are YAML."""
    if isinstance(value, list):
        return "".join(f"\n  -{_yaml(each)}" for each in value)
    text = json.dumps(value, ensure_ascii=False)
    return " " + _UNQUOTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
