"""Bodies that others collected for the tests of their crawlers: whole ones, bombs, and some without their end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbweb.fetching.content_coding import BadCoding, decoder

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "content-encoding"
MOST = 5_000_000

if not CORPUS.is_dir():
    pytest.skip(f"the bodies are not at {CORPUS}: decoding is NOT checked", allow_module_level=True)

OFFERED = ("gzip", "deflate", "br")
CASES = [
    (case["file"], case["content_encoding"], case["kind"])
    for case in json.loads((CORPUS / "manifest.json").read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("file", "coding", "kind"), [case for case in CASES if case[1] in OFFERED])
def test_a_body_is_whole_or_too_large_or_without_its_end(file: str, coding: str, kind: str) -> None:
    decoding = decoder(coding)
    found = decoding.decode((CORPUS / file).read_bytes(), MOST)
    is_too_large = len(found) >= MOST
    assert {"html": (False, True), "bomb": (True, False), "truncated": (False, False)}[kind] == (
        is_too_large,
        decoding.ended,
    )
    assert found.lstrip().lower().startswith(b"<") or kind != "html"


@pytest.mark.parametrize(("file", "coding"), [case[:2] for case in CASES if case[1] == "zstd"])
def test_a_coding_that_is_not_offered_is_refused(file: str, coding: str) -> None:
    with pytest.raises(BadCoding, match="was not offered"):
        decoder(coding).decode((CORPUS / file).read_bytes(), MOST)
