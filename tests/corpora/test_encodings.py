"""Decoding against pages whose text or encoding others have noted; each difference is decided."""

from __future__ import annotations

import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from orbweb.parsing import page as page_parser
from orbweb.parsing.encodings import encoding_named, encoding_of

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpora" / "encodings"
DECISION = ROOT / "docs" / "explanation" / "pages.md"

if not CORPUS.is_dir():
    pytest.skip(f"the encoding corpora are not at {CORPUS}: conformance is NOT checked", allow_module_level=True)


def cases() -> list[dict[str, Any]]:
    return json.loads((CORPUS / "manifest.json").read_text())


def body_of(case: dict[str, Any]) -> bytes:
    return gzip.decompress((CORPUS / case["file"]).read_bytes())


def has_its_text(case: dict[str, Any]) -> bool:
    text = page_parser.dom(body_of(case), case.get("http_content_type")).markup()
    shown = html.unescape(text)
    return all(html.unescape(part) in shown for part in case.get("text_contains", ())) and not any(
        part in shown for part in case.get("text_not_contains", ())
    )


def has_its_encoding(case: dict[str, Any]) -> bool:
    """A body of ASCII alone is the same in all of them."""
    body = body_of(case)
    found = encoding_of(body, case.get("http_content_type"))
    return body.isascii() or found == encoding_named(case["encoding"])


def wrong() -> set[str]:
    return {
        Path(case["file"]).name
        for case in cases()
        if not has_its_text(case) or (case["encoding"] and not has_its_encoding(case))
    }


def decided() -> set[str]:
    return set(re.findall(r"^\| `(\S+\.html\.gz)` \| \S", DECISION.read_text(), re.MULTILINE))


def test_every_page_is_decoded_as_noted_or_the_difference_is_decided() -> None:
    assert wrong() == decided()
