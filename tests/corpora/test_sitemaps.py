"""Sitemaps, indexes, feeds and lists that others have read: every entry that they found, and no other."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from orbweb.parsing.sitemaps import SitemapKind, parse

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "sitemaps"

if not CORPUS.is_dir():
    pytest.skip(f"the sitemap corpora are not at {CORPUS}: conformance is NOT checked", allow_module_level=True)

CASES: list[dict[str, Any]] = json.loads((CORPUS / "manifest.json").read_text())


def test_the_whole_corpus_is_here() -> None:
    assert len(CASES) == 27


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_every_document_is_read_as_noted(case: dict[str, Any]) -> None:
    sitemap = parse((CORPUS / "files" / case["file"]).read_bytes(), "https://www.example.com/" + case["file"])
    entries = sitemap.children if sitemap.kind is SitemapKind.INDEX else sitemap.entries
    if case["kind"] == "broken":
        assert [entry.url for entry in entries] == ["http://cs.harding.edu/fmccown/sitemaps/something.html"]
        return
    assert (sitemap.kind, len(entries)) == (case["kind"], case["count"])
    assert {entry.url for entry in entries} == set(case.get("urls", [entry.url for entry in entries]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_a_document_cut_anywhere_loses_only_what_was_cut_off(case: dict[str, Any]) -> None:
    body = (CORPUS / "files" / case["file"]).read_bytes()
    body = gzip.decompress(body) if case["file"].endswith(".gz") else body
    whole = parse(body, "https://www.example.com/")
    if whole.kind is SitemapKind.TEXT:
        return
    for length in range(0, len(body), max(1, len(body) // 50)):
        part = parse(body[:length], "https://www.example.com/")
        urls = [entry.url for entry in part.entries + part.children]
        assert urls == [entry.url for entry in whole.entries + whole.children][: len(urls)]
        assert part.problem
