"""Links of real documentation: every destination is found, and nothing else is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from orbweb.export.links import rewrite
from orbweb.extraction import extract

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "docs-markdown" / "html"

if not CORPUS.is_dir():
    pytest.skip(f"the documentation is not at {CORPUS}: exported links are NOT checked", allow_module_level=True)

# The first page of each generator.
PAGES = {path.name.partition("__")[0]: path for path in sorted(CORPUS.iterdir(), reverse=True)}


def flat(tokens: list[Token]) -> list[Token]:
    return [found for token in tokens for found in (token, *flat(token.children or []))]


@pytest.mark.parametrize("generator", sorted(PAGES))
def test_all_destinations_and_nothing_else(generator: str) -> None:
    markdown = extract(
        gzip.decompress(PAGES[generator].read_bytes()), "https://example.org/docs/page.html"
    ).markdown
    parser = MarkdownIt("commonmark").enable("table")
    before = flat(parser.parse(markdown))
    after = flat(parser.parse(rewrite(markdown, lambda _: "file.md")))
    assert [token.type for token in before] == [token.type for token in after]
    for old, new in zip(before, after, strict=True):
        if old.type in ("code_inline", "fence", "code_block", "text"):
            assert old.content == new.content
        for attribute in ("href", "src"):
            assert old.attrGet(attribute) is None or new.attrGet(attribute) == "file.md"
