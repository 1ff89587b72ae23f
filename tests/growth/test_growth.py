"""What comes of a document, and the time it takes, are in proportion to it, however it is nested and repeated.

Shapes of `shapes.py` are drawn by seeds; each is read at two sizes. A shape that fails is named by its seed.
Output is counted, and memory limited as in a crawl; time is the best of several, held against that of a plain
document of the same size and against the same shape at a quarter of it, so the tests that measure it run alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import pytest

from growth.shapes import css, robots, shape, sitemap
from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings
from orbweb.extraction import extract
from orbweb.model import ProcessedPage
from orbweb.parsing import css as style_sheets
from orbweb.parsing import sitemaps
from orbweb.policy.robots import Robots
from orbweb.store import documents
from orbweb.urls import DEFAULT_RULES

URL = "https://docs.example/guide/page.html"
SMALL, LARGE = 16_000, 64_000
OUTPUT = 100
"""Characters that one of a page may become: links behind a long `<base>` are the worst that there is."""
PLAIN_TIMES = 250
"""What nesting to the greatest depth may cost at most, against text."""
SUPERLINEAR = 3.0
"""How many times the time for each byte may grow while a document grows fourfold; 4 is quadratic."""
SHORT_S = 0.02
"""Less is not measured well."""
TRIES = 4


def output_of(body: str) -> int:
    """Characters of all that is kept of a page; it fails if it takes more memory than a crawl allows it."""
    processed = PageProcessor(ProcessorSettings(DEFAULT_RULES, "orbweb")).process(
        Job(1, URL, "text/html", body.encode())
    )
    assert isinstance(processed, ProcessedPage), processed
    packed = processed.document
    assert packed is not None
    document = documents.unpack(packed.sha256, packed.size, packed.frame, where="here")
    links = sum(len(link.url) for link in (*processed.parsed.links, *processed.parsed.resources))
    about = (document.markdown, document.text, document.title, document.description, document.author)
    return links + sum(map(len, about)) + sum(len(heading.text) for heading in document.headings)


def check_output(seed: int) -> None:
    for size in (SMALL, LARGE):
        page = shape(seed).page(size)
        assert output_of(page) <= OUTPUT * len(page), (seed, size)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_what_comes_of_a_page_is_in_proportion_to_it(first: int) -> None:
    for seed in range(first, first + 50):
        check_output(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 21_000, 1_000))
def test_what_comes_of_many_pages_is_in_proportion_to_them(first: int) -> None:
    for seed in range(first, first + 1_000):
        check_output(seed)


def read_page(body: str) -> None:
    extract(body, URL)


def read_sitemap(body: str) -> None:
    sitemaps.parse(body.encode(), URL)


def read_css(body: str) -> None:
    for _ in style_sheets.references(body):
        pass


def read_robots(body: str) -> None:
    """The longest URL that a crawl has, against these rules."""
    Robots.parse(body.encode(), "orbweb").refusal("https://docs.example/" + "ab" * 4_000)


Read = Callable[[str], None]
READERS: dict[str, tuple[Read, Callable[[int, int], str]]] = {
    "page": (read_page, lambda seed, size: shape(seed).page(size)),
    "sitemap": (read_sitemap, sitemap),
    "css": (read_css, css),
    "robots": (read_robots, robots),
}


def seconds(read: Read, body: str, enough: float = 0.0) -> float:
    """The best of several tries; one is enough if it takes no longer than that."""
    best = float("inf")
    for _ in range(TRIES):
        started = time.process_time()
        read(body)
        best = min(best, time.process_time() - started)
        if best <= enough:
            break
    return best


@cache
def plain_seconds() -> float:
    return seconds(read_page, "<main>" + "<p>Some words of a <b>sentence</b> that is not hostile." * (LARGE // 53))


def check_time(name: str, seed: int) -> None:
    read, made = READERS[name]
    limit = PLAIN_TIMES * plain_seconds()
    large = seconds(read, made(seed, LARGE), enough=SHORT_S)
    assert large <= limit, f"{name} {seed}: {large / plain_seconds():.0f} times that of text"
    if large > SHORT_S:
        small = seconds(read, made(seed, SMALL))
        grown = large / small * SMALL / LARGE
        assert grown <= SUPERLINEAR, f"{name} {seed}: {grown:.1f} times as long for each byte"


@pytest.mark.alone
@pytest.mark.parametrize("name", READERS)
def test_time_is_in_proportion(name: str) -> None:
    for seed in range(100):
        check_time(name, seed)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("first", range(1_000, 6_000, 1_000))
def test_time_is_in_proportion_for_many(name: str, first: int) -> None:
    for seed in range(first, first + 1_000):
        check_time(name, seed)
