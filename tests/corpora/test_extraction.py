"""The main content against pages whose content people have marked, judged by the scorers of the corpora."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orbweb import extraction
from orbweb.extraction.generators import TABLE

SHARED = Path(__file__).parents[2].parent / "shared"
CORPORA = SHARED / "corpora"
EVERY = 2
"""Of the pages of a data set one in so many is read here: a floor that is missed shows in half of them as well."""
FLOORS = {"aeb": {"f1": 0.945}, "wcxb": {"f1": 0.83, "documentation.f1": 0.92}, "trafilatura": {"f1": 0.915}}
DOCS_FLOORS = {
    "code_exact": 0.97,
    "lang": 0.85,
    "table_rows": 0.97,
    "headings": 0.98,
    "links": 0.97,
    "nest": 1.0,
    "word_recall": 0.98,
    "word_precision": 0.97,
}

if not (CORPORA / "extraction").is_dir():
    pytest.skip(f"the extraction corpora are not at {CORPORA}: quality is NOT checked", allow_module_level=True)


def scorer(name: str) -> ModuleType:
    sys.path.insert(0, str(SHARED / "tools"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(SHARED / "tools"))


@pytest.mark.parametrize("name", FLOORS)
def test_main_content_is_found(name: str) -> None:
    folder, pages, judge, summarize = scorer("score_extraction").DATASETS[name]
    found = islice(pages(CORPORA / "extraction" / folder), None, None, EVERY)
    figures = summarize([judge(extraction.extract(html, absolute(url)).text, truth) for url, html, truth in found])
    for figure, floor in FLOORS[name].items():
        assert figures[figure] >= floor, figure


def absolute(url: str) -> str:
    return url if url.startswith("http") else "https://example.com/"


@pytest.mark.parametrize("known", [True, False])
def test_documentation_keeps_all_of_its_content_and_nothing_of_its_navigation(known: bool) -> None:
    """Of a generator that nobody knows, too: there will always be another one."""
    docs = scorer("score_docs")
    right: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    pages: list[dict[str, Any]] = docs.read_json(CORPORA / "docs-markdown" / "truth.json.gz")
    for page in pages[::EVERY]:
        html = docs.read(CORPORA / "docs-markdown" / page["file"]).decode("utf-8", "replace")
        url = docs.page_url(page)
        document = extraction.extract(html if known else disguised(html), url)
        assert bool(document.generator) is known
        for figure, (part, of) in docs.score(document.markdown, page["truth"], url).items():
            right[figure] += part
            whole[figure] += of
    assert right["nav_leak"] <= 0.01 * whole["nav_leak"]
    for figure, floor in DOCS_FLOORS.items():
        assert whole[figure], figure
        assert right[figure] >= floor * whole[figure], figure


def disguised(html: str) -> str:
    """The page with other names in the place of those that generators are known by."""
    marks = (re.split("[.#]", mark) for generator in TABLE for mark in generator.marks)
    names = {mark[1] for mark in marks if len(mark) == 2}
    html = re.sub(r"<meta[^>]*generator[^>]*>", "", html, flags=re.IGNORECASE)
    return re.sub(
        r"(?<=\s)((?:class|id)=[\"'])([^\"']*)",
        lambda found: found[1] + " ".join(f"zz{name}" if name in names else name for name in found[2].split()),
        html,
    )
