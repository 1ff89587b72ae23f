"""Links against pages whose links others have listed; each difference is decided, none is by accident."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from orbweb import urls
from orbweb.model import Parsed
from orbweb.parsing import page as page_parser
from orbweb.urls import Resolver

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpora" / "links"
DECISION = ROOT / "docs" / "explanation" / "pages.md"

if not CORPUS.is_dir():
    pytest.skip(f"the link corpora are not at {CORPUS}: conformance is NOT checked", allow_module_level=True)

Differences = set[tuple[str, str, str, str]]


def cases() -> list[dict[str, Any]]:
    return [case for file in ("scrapy.json", "wpull.json") for case in json.loads((CORPUS / file).read_text())]


def parsed(case: dict[str, Any]) -> Parsed:
    body = (CORPUS / "files" / case["file"]).read_bytes()
    content_type = case.get("http_headers", {}).get("content-type")
    return page_parser.parse(
        body, case["base_url"], resolver=Resolver(), content_type=content_type, resources=True
    )


def keys(listed: list[str]) -> set[str]:
    return {urls.canonicalize(url) or url for url in listed}


def differences() -> Differences:
    """File, list, what we do with it, URL."""
    found: Differences = set()
    for case in cases():
        page = parsed(case)
        links = case.get("linked_urls") or case.get("linked_urls_with_fragments") or []
        for name, links_there, links_here in (
            ("links", links, page.links),
            ("resources", case.get("inline_urls"), page.resources),
        ):
            if links_there is None:
                continue
            theirs, ours = keys(links_there), {link.key for link in links_here}
            found |= {(case["file"], name, "left out", key) for key in theirs - ours}
            found |= {(case["file"], name, "added", key) for key in ours - theirs}
    return found


def decided() -> Differences:
    row = r"^\| (\S+) \| (links|resources) \| (left out|added) \| (.*?) \| \S"
    return {
        (file, name, what, urls.canonicalize(url) or url)
        for file, name, what, listed in re.findall(row, DECISION.read_text(), re.MULTILINE)
        for url in re.findall(r"`([^`]+)`", listed)
    }


def test_every_link_is_found_or_its_difference_is_decided() -> None:
    assert differences() == decided()


@pytest.mark.parametrize(
    ("file", "encoding"), [("mojibake.html", "Shift_JIS"), ("linkextractor_noenc.html", "UTF-8")]
)
def test_links_are_decoded_before_they_are_resolved(file: str, encoding: str) -> None:
    content_type = "text/html; charset=Shift_JIS" if encoding == "Shift_JIS" else None
    body = (CORPUS / "files" / file).read_bytes()
    page = page_parser.parse(body, "http://example.com/", resolver=Resolver(), content_type=content_type)
    expected = {"mojibake.html": "文字化け", "linkextractor_noenc.html": "sample_ñ.html"}[file]
    assert page.encoding == encoding
    assert page.links[0].url == urls.resolve(expected, "http://example.com/")
