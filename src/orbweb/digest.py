"""The parallel stages in one pure step: a body becomes links, hashes and a compressed frame.

A `Digester` lives as long as its process, because its memo and its compressor do; what it returns depends
on the body, the URL and the settings alone, so it does not matter which process answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orbweb import parse
from orbweb.model import Digest, Failed, FailKind
from orbweb.store.blobs import new_compressor, pack
from orbweb.urls import Resolver, UrlRules

HTML_TYPES = ("text/html", "application/xhtml+xml")
UNDECLARED = ("", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*")
SNIFFED = 1024
ERROR_LENGTH = 500

_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body|title|h1|div|p|table|a)[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether the answer is a page: by its declared type, or by its first bytes where it declares none."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind in HTML_TYPES:
        return True
    return kind in UNDECLARED and _HTML_START.match(body[:SNIFFED]) is not None


@dataclass(frozen=True, slots=True)
class Job:
    """A page on its way to a digester."""

    ticket: int
    url: str
    content_type: str | None
    body: bytes


class Digester:
    """Digests pages of one project."""

    def __init__(self, rules: UrlRules) -> None:
        self._resolver = Resolver(rules)
        self._compressor = new_compressor()

    def digest(self, job: Job) -> Digest | Failed:
        """What the page holds. A page that breaks a library fails by itself, with the library's words."""
        try:
            return self._digest(job)
        except Exception as error:  # noqa: BLE001
            return Failed(FailKind.UNPARSABLE, f"{type(error).__name__}: {error}"[:ERROR_LENGTH])

    def _digest(self, job: Job) -> Digest:
        parsed = parse.parse(job.body, job.url, content_type=job.content_type, resolver=self._resolver)
        blob = pack(job.body, self._compressor)
        return Digest(parsed, blob, blob.sha256)
