"""Marks: URLs that an imported crawl has seen, of which only the SHA-256 of their text is known.

Another crawler may write a URL differently, so the text of a URL is tried in a few forms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

RULE = "seen: marked as seen before the import"


def is_marked(key: str, url: str, has_mark: Callable[[bytes], bool]) -> bool:
    """Whether the URL is marked as it was found, or as its key, with or without a slash at the end."""
    forms = {url, key, key.rstrip("/"), key if key.endswith("/") else f"{key}/"}
    return any(has_mark(hashlib.sha256(form.encode("utf-8", "replace")).digest()) for form in forms)
