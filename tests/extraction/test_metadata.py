"""What a page states about itself, and which statement wins."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.extraction import metadata
from orbweb.parsing import page as page_parser

URL = "https://docs.example.org/guide/pipes.html"


def read(head: str, body: str = "", *, url: str = URL, attributes: str = "") -> metadata.About:
    page = f"<!doctype html><html {attributes}><head>{head}</head><body>{body}</body></html>"
    return metadata.read(page_parser.dom(page.encode(), "text/html; charset=utf-8"), url)


def linked(*objects: object) -> str:
    return (
        f'<script type="application/ld+json">{json.dumps(objects[0] if len(objects) == 1 else objects)}</script>'
    )


TITLES = [
    ("<title>Pipes</title>", "", "Pipes"),
    ("<title>  Pipes\n and  taps </title>", "", "Pipes and taps"),
    ("<title>Pipes - Example</title>", "", "Pipes"),
    ("<title>Pipes | example.org</title>", "", "Pipes"),
    ("<title>Example: Pipes</title>", "", "Pipes"),
    ("<title>Pipes - The Plumber</title>", "", "Pipes - The Plumber"),
    ('<title>Pipes - The Plumber</title><meta property="og:site_name" content="The Plumber">', "", "Pipes"),
    ('<title>The Plumber » Pipes</title><meta name="application-name" content="the plumber">', "", "Pipes"),
    ("<title>io — Core tools — Python 3.11 documentation</title>", "<h1>io — Core tools¶</h1>", "io — Core tools"),
    ("<title>Plumbing: Documentation: 15: Pipes</title>", "<h1>Pipes</h1>", "Pipes"),
    ("<title>Taps - The Book</title>", "<h1>The Book</h1><main><h2>Taps</h2></main>", "Taps"),
    ("<title>Taps - The Book</title>", "<h1>Taps</h1><main><h2>x</h2></main>", "Taps - The Book"),
    ("<title>Pipes: an introduction</title>", "<h1>Pipes</h1>", "Pipes: an introduction"),
    ('<meta property="og:title" content="Pipes"><title>Buy pipes now!!</title>', "<h1>PIPES</h1>", "Pipes"),
    ('<meta property="og:title" content="Example"><title>Pipes</title>', "", "Pipes"),
    ('<meta name="title" property="og:title" content="Pipes">', "", "Pipes"),
    ("<title>Example</title>", "", "Example"),
    ("<title></title>", "<h1>Pipes <a class=headerlink>#</a></h1>", "Pipes"),
    ("<title>   </title>", "<h1></h1>", ""),
    ("", "<svg><title>Icon</title></svg><p>text", ""),
    ("<title>C#</title>", "<h1>C# ¶</h1>", "C#"),
    ("<title>#</title>", "", "#"),
    ("", "<h1>C#</h1>", "C#"),
    (linked({"@type": "Article", "headline": "Pipes"}) + "<title>P | Q</title>", "", "Pipes"),
    (
        linked({"@type": "BlogPosting", "headline": "One"}, {"@type": "BlogPosting", "headline": "Two"})
        + "<title>All posts</title>",
        "",
        "All posts",
    ),
]


@pytest.mark.parametrize(("head", "body", "title"), TITLES)
def test_title(head: str, body: str, title: str) -> None:
    assert read(head, body).title == title


def test_a_title_has_one_line_and_a_length() -> None:
    title = read(f"<title>{'pipe ' * 100_000}</title>").title
    assert len(title) <= metadata.MAX_TITLE
    assert title.endswith("pipe")
    assert len(read(f"<title>{'p' * 100_000}</title>").title) == metadata.MAX_TITLE
    assert read(f"<title>{' | '.join('abcdefghijklmnopqrstuvwxyz' * 20)}</title>").title


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ('<meta name="description" content=" On\n pipes. ">', "On pipes."),
        ('<meta name="Description" content="On pipes.">', "On pipes."),
        ('<meta property="og:description" content="B"><meta name="description" content="A">', "A"),
        ('<meta name="description" content=" "><meta property="og:description" content="B">', "B"),
        (linked({"@graph": [{"@type": ["WebPage", "FAQPage"], "description": "C"}]}), "C"),
        ("", ""),
    ],
)
def test_description(head: str, description: str) -> None:
    assert read(head).description == description


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("en", "en"),
        ("EN-us", "en-US"),
        ("en_GB", "en-GB"),
        ("de_DE.UTF-8", "de-DE"),
        ("zh-hans-cn", "zh-Hans-CN"),
        ("es-419", "es-419"),
        ("sl-rozaj-biske", "sl-rozaj-biske"),
        ("en-x-AB-Latn", "en-x-ab-latn"),
        (" fr ", "fr"),
        ("en, fr", ""),
        ("x-default", ""),
        ("und", ""),
        ("{{ lang }}", ""),
        ("english language", ""),
        ("e", ""),
        ("en-" + "a" * 50, ""),
        ("", ""),
    ],
)
def test_language_tag(text: str, tag: str) -> None:
    assert metadata.language_tag(text) == tag


def test_language_is_that_of_the_root_before_any_meta() -> None:
    locale = '<meta property="og:locale" content="fr_FR">'
    header = '<meta http-equiv="Content-Language" content="it">'
    assert read(locale + header, attributes='lang="de-at"').language == "de-AT"
    assert read(locale + header, attributes='lang="???"').language == "it"
    assert read(locale).language == "fr-FR"
    assert (
        read(linked({"@type": "WebPage", "inLanguage": {"@type": "Language", "name": "pt-br"}})).language
        == "pt-BR"
    )
    assert read("<title>Ein deutscher Titel</title>").language == ""


AUTHORS = [
    ('<meta name="author" content=" Ada\n Lovelace ">', "", "Ada Lovelace"),
    ('<meta name="author" content="By Ada Lovelace">', "", "Ada Lovelace"),
    ('<meta name="author" content="Byron">', "", "Byron"),
    ('<meta property="article:author" content="https://example.org/ada">', "", ""),
    (linked({"@type": "NewsArticle", "author": {"name": "Ada"}}) + '<meta name="author" content="B">', "", "Ada"),
    (linked({"@type": "Article", "author": [{"name": "Ada"}, "Ben", {"name": "Ada"}]}), "", "Ada, Ben"),
    (
        linked({"@graph": [{"@type": "Article", "author": {"@id": "#a"}}, {"@id": "#a", "name": "Ada"}]}),
        "",
        "Ada",
    ),
    (linked({"@type": "Organization", "name": "Acme"}), "", ""),
    ("", "<span itemprop=author itemscope><b itemprop=name>Ada</b> wrote</span><i itemprop=author>Ben</i>", "Ada"),
    ("", '<a rel="author" href="/ada">Ada</a>', "Ada"),
    ("", "<p>by Ada</p>", ""),
]


@pytest.mark.parametrize(("head", "body", "author"), AUTHORS)
def test_author(head: str, body: str, author: str) -> None:
    assert read(head, body).author == author


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024-2-9", "2024-02-09"),
        ("2024-02-29T23:59:59.123+02:00", "2024-02-29"),
        ("2024-02-29 10:00", "2024-02-29"),
        ("2024/02/29", "2024-02-29"),
        ("20240229", "2024-02-29"),
        ("20240229T101500Z", "2024-02-29"),
        ("2024-02", "2024-02"),
        ("2024", "2024"),
        ("Thu, 29 Feb 2024 10:15:00 GMT", "2024-02-29"),
        ("29 February 2024", "2024-02-29"),
        ("February 29th, 2024", "2024-02-29"),
        ("Sept. 3, 2021", "2021-09-03"),
        ("2023-02-29", ""),
        ("2024-00-10", ""),
        ("0001-01-01T00:00:00", ""),
        ("02/03/2024", ""),
        ("yesterday", ""),
        ("1700000000", ""),
        ("29 Foo 2024", ""),
        ("", ""),
    ],
)
def test_iso_date(text: str, day: str) -> None:
    assert metadata.iso_date(text) == day


@pytest.mark.parametrize(
    ("head", "body", "day"),
    [
        ('<meta property="article:published_time" content="2024-02-29T10:00:00Z">', "", "2024-02-29"),
        (linked({"@type": "TechArticle", "datePublished": "2024-02-29"}), "", "2024-02-29"),
        (linked({"@type": "Article", "dateModified": "2024-02-29"}), "", ""),
        ('<meta name="date" content="nonsense"><meta name="dc.date" content="2024">', "", "2024"),
        ("", '<time itemprop="datePublished" datetime="2024-02-29">yesterday</time>', "2024-02-29"),
        ("", '<time class="entry-date published" datetime="2024-02-29T08:00">', "2024-02-29"),
        ("", "<time pubdate>29 Feb 2024</time>", "2024-02-29"),
        ("", '<span itemprop="datePublished" content="2024-02-29">x</span>', "2024-02-29"),
        ("", '<time datetime="2024-02-29">an event</time>', ""),
    ],
)
def test_published(head: str, body: str, day: str) -> None:
    assert read(head, body).published == day


def test_hostile_linked_data_says_nothing() -> None:
    deep = '<script type="application/ld+json">' + "[" * 50_000 + "</script>"
    large = '<script type="application/ld+json">{"@type": "Article", "headline": "' + "x" * 300_000 + '"}</script>'
    odd = linked({"@type": {"a": 1}, "@graph": "x", "author": 5, "mainEntity": [[[[[[{"@type": "Article"}]]]]]]})
    broken = '<script type="application/ld+json">{"@type": "Article", "headline": </script>'
    assert read(deep + large + odd + broken + "<title>Pipes</title>").title == "Pipes"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["@type", "@graph", "@id", "author", "name", "headline", "mainEntity", "datePublished", "@value"]
            ),
            inner | st.sampled_from(["Article", "WebPage", "#a"]),
            max_size=5,
        )
    ),
    max_leaves=25,
)
names = st.sampled_from(sorted(metadata._NAMES))
pages = st.builds(
    lambda metas, data, title, heading, tail: (
        "".join(f'<meta name="{name}" content="{value}">' for name, value in metas)
        + f'<script type="application/ld+json">{json.dumps(data)}</script><title>{title}</title>'
        + f"<h1>{heading}</h1>{tail}"
    ),
    st.lists(st.tuples(names, st.text(max_size=60)), max_size=6),
    json_values,
    st.text(max_size=60)
    | st.lists(st.sampled_from(["a", "Example", " | ", " - ", ": ", "»"]), max_size=9).map("".join),
    st.text(max_size=40),
    st.text(alphabet="<>/\"' =abitemproptimedatetime0123-", max_size=60),
)


@settings(max_examples=200, deadline=None)
@given(pages)
def test_any_page_has_short_statements_and_the_same_again(page: str) -> None:
    def about() -> metadata.About:
        return metadata.read(
            page_parser.dom(page.encode("utf-8", "surrogatepass"), "text/html; charset=utf-8"), URL
        )

    said = about()
    assert said == about()
    for text, limit in (
        (said.title, metadata.MAX_TITLE),
        (said.description, metadata.MAX_DESCRIPTION),
        (said.author, metadata.MAX_AUTHOR),
        (said.language, metadata.MAX_TAG),
        (said.published, 10),
    ):
        assert len(text) <= limit
        assert text == " ".join(text.split())
