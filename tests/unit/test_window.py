"""What waits in the window is counted as what it takes, and what may come as no less than that."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.engine.window import bytes_of, most_bytes
from orbweb.engine.workers.codec import PackedLinks, decode_page, encode_page
from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings
from orbweb.model import Blob, Link, Parsed, ProcessedPage
from orbweb.parsing.html.reference_count import references
from orbweb.urls import DEFAULT_RULES


@pytest.mark.parametrize("length", [20, 200, 8_000])
@pytest.mark.parametrize("spelled_otherwise", [False, True])
def test_links_count_with_their_length(length: int, spelled_otherwise: bool) -> None:
    def link(number: int) -> Link:
        key = f"http://h/{number:>0{length}}"
        return Link(key, f"{key}/" if spelled_otherwise else key, "a", False)

    tracemalloc.start()
    links = tuple(link(number) for number in range(1_000))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    processed = ProcessedPage(Parsed(links[:500], links[500:]), Blob(b"", b"frame", 5), b"")
    assert bytes_of(processed) == pytest.approx(taken, rel=0.1)


LINKS = st.lists(
    st.builds(
        lambda key, more, kind, nofollow: Link(key, key + more, kind, nofollow),
        st.from_regex(r"http://h/[a-z0-9%é]{0,9}", fullmatch=True),
        st.sampled_from(("", "", "/", "#x")),
        st.sampled_from(("a", "iframe", "image")),
        st.booleans(),
    ),
    max_size=8,
)


@given(LINKS, LINKS)
@settings(deadline=None, derandomize=True, database=None)
def test_links_are_the_same_when_they_were_packed(links: list[Link], resources: list[Link]) -> None:
    processed = ProcessedPage(Parsed(tuple(links), tuple(resources)), Blob(b"b" * 32, b"frame", 5), b"c" * 32)
    ticket, found = decode_page(b"".join(encode_page(7, processed)))
    assert (ticket, found) == (7, processed)
    assert isinstance(found, ProcessedPage)
    assert type(found.parsed.links) is PackedLinks
    assert (len(found.parsed.links), list(found.parsed.links)) == (len(links), links)
    assert found.parsed.resources[-3:] == tuple(resources[-3:])
    assert (found.parsed.links == [*links, Link("x", "x", "a", False)]) is False


@pytest.mark.parametrize(
    "garbled",
    [PackedLinks(b"a\nb", b"", b"\0"), PackedLinks(b"\xff", b"", b"\0"), PackedLinks(b"a", b"", b"\xff")],
)
def test_links_that_no_worker_sent_in_its_right_mind_are_refused(garbled: PackedLinks) -> None:
    with pytest.raises(ValueError, match=r"malformed|decode"):
        garbled.check()


def test_a_packed_link_takes_a_fraction() -> None:
    links = tuple(Link(f"http://h/w/{number}", f"http://h/w/{number}", "a", False) for number in range(1_000))
    processed = ProcessedPage(Parsed(links), Blob(b"b" * 32, b"frame", 5), b"c" * 32)
    tracemalloc.start()
    _, packed = decode_page(b"".join(encode_page(1, processed)))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert isinstance(packed, ProcessedPage)
    assert taken < bytes_of(processed) / 4
    assert bytes_of(packed) == pytest.approx(taken, rel=0.2)


HREFS = "".join(f"<a href=x{number}>" for number in range(3_000))
PAGES = {
    "relative": HREFS,
    "base": f"<base href='/{'a/' * 2_000}'>{HREFS}",
    "base in capitals": f"<BaSe href='/{'a/' * 2_000}'>{HREFS}",
    "not ASCII": "".join(f"<a href='/\u20ac\u20ac\u20ac{number}'>" for number in range(3_000)),
    "sources": "<img srcset='" + ", ".join(f"x{number} {number}w" for number in range(1, 3_000)) + "'>",
    "styles": "<style>" + "".join(f"@import 'x{number}';" for number in range(3_000)) + "</style>",
    "images": "<style>a{background:" + ",".join(f"url(x{number})" for number in range(3_000)) + "}</style>",
    "nothing": "",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le", "utf-16be"])
@pytest.mark.parametrize("kind", PAGES)
def test_no_result_takes_more_than_was_expected(kind: str, encoding: str) -> None:
    url = "https://docs.example.org/some/where/deep/down/the/tree/"
    job = Job(1, url, f"text/html; charset={encoding}", PAGES[kind].encode(encoding))
    processed = PageProcessor(ProcessorSettings(DEFAULT_RULES, "probe", resources=True)).process(job)
    assert isinstance(processed, ProcessedPage)
    assert bytes_of(processed) <= most_bytes(job, with_resources=True)


@given(
    st.lists(
        st.sampled_from([b"=", b",", b"(", b"@", b"<", b"<b", b"<base", b"<BASE", b"\0", b"x" * 254]), max_size=9
    )
)
@settings(deadline=None, derandomize=True, database=None)
def test_the_census_counts_every_byte(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    others = sum(map(body.count, (b",", b"(", b"@")))
    wide = any(body[at::2][:5].lower() == b"<base" for at in range(len(body)))
    assert references(body) == (body.count(b"="), others, b"<base" in body.lower() or wide)
