"""Which part of a page is its content: by generator, by its shape, and without what nobody sees."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import TIMES, assert_linear
from orbweb.extraction import class_names, generators, main_content, plain_text
from orbweb.extraction.class_names import NameKind
from orbweb.parsing import page as page_parser
from orbweb.parsing.html.selectors import select

PROSE = "The lamp must be trimmed before the oil runs low, and the wick turned down when it begins to smoke. "
LONG = f"<p>{PROSE * 2}</p><p>{PROSE * 3}</p><p>{PROSE}Mind the glass.</p>"
LINKS = "".join(f'<li><a href="/{number}">Chapter of navigation {number}</a></li>' for number in range(12))
ARTICLE = '<meta property="og:type" content="article">'


@dataclass(frozen=True)
class Chosen:
    markup: str
    said: str
    words: str
    confidence: float
    generator: str
    hidden: int


def chosen(html: str) -> Chosen:
    tree = page_parser.dom(html.encode(), "text/html; charset=utf-8")
    found = main_content.choose(tree)
    markup, said = tree.markup(found.element), tree.said(found.element)
    words = " ".join(plain_text.plain(tree, found.element).split())
    return Chosen(markup, said, words, found.confidence, found.generator, found.hidden)


def words(html: str) -> str:
    return chosen(html).words


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>Lamps</title>{head}</head><body>{body}</body></html>"


def generator(name: str) -> str:
    return f'<meta name="generator" content="{name}">'


@pytest.mark.parametrize(
    ("name", "said", "body"),
    [
        (
            "sphinx",
            "",
            '<div class="related">NAV</div><div class="documentwrapper"><div class="bodywrapper">'
            f'<div class="body" role="main"><h1>Lamps</h1>{LONG}</div></div></div>'
            '<div class="sphinxsidebar">NAV</div>',
        ),
        (
            "sphinx",
            "",
            '<nav class="wy-nav-side">NAV</nav><div class="wy-nav-content">'
            '<div class="rst-content"><div role="navigation">NAV</div>'
            '<div class="document" itemprop="articleBody"><div itemprop="articleBody">'
            f"<h1>Lamps</h1>{LONG}</div></div><footer>NAV</footer></div></div>",
        ),
        (
            "sphinx",
            "",
            '<aside>NAV</aside><div class="main"><article role="main" id="furo-main-content">'
            f'<h1>Lamps</h1>{LONG}</article><div class="related-pages">NAV</div></div>',
        ),
        (
            "sphinx",
            "",
            '<div class="bd-sidebar">NAV</div><main><div class="bd-content">'
            f'<article class="bd-article"><h1>Lamps</h1>{LONG}</article>'
            '<footer class="prev-next-footer">NAV</footer></div></main>',
        ),
        (
            "mkdocs-material",
            "",
            '<nav class="md-nav">NAV</nav><div class="md-content">'
            '<article class="md-content__inner md-typeset"><a class="md-content__button">NAV</a>'
            f"<h1>Lamps</h1>{LONG}</article></div>",
        ),
        (
            "mkdocs-material",
            "mkdocs-1.5.3",
            f'<div class="col-md-3">NAV</div><div class="col-md-9" role="main"><h1>Lamps</h1>{LONG}</div>',
        ),
        (
            "docusaurus",
            "",
            '<div id="__docusaurus"><nav>NAV</nav><main><article>'
            '<nav class="theme-doc-breadcrumbs">NAV</nav><div class="theme-doc-markdown markdown">'
            f'<h1>Lamps</h1>{LONG}</div><footer class="theme-doc-footer">NAV</footer></article>'
            "</main></div>",
        ),
        (
            "mdbook",
            "",
            '<nav id="sidebar"><div class="sidebar-scrollbox">NAV</div></nav>'
            '<div id="page-wrapper" class="page-wrapper"><div id="menu-bar">NAV</div>'
            f'<div id="content" class="content"><main><h1>Lamps</h1>{LONG}</main>'
            '<nav class="nav-wrapper">NAV</nav></div></div>',
        ),
        (
            "rustdoc",
            "rustdoc",
            '<nav class="sidebar">NAV</nav><main><div class="width-limiter">'
            '<rustdoc-search>NAV</rustdoc-search><section id="main-content" class="content">'
            f"<h1>Lamps</h1>{LONG}</section></div></main>",
        ),
        (
            "javadoc",
            "",
            '<div class="topNav"><div class="aboutLanguage">NAV</div></div><div class="header">'
            f'<h1>Lamps</h1></div><div class="contentContainer">{LONG}</div>'
            '<p class="legalCopy">NAV</p>',
        ),
        (
            "javadoc",
            "javadoc/17",
            '<div class="flex-box"><header role="banner">NAV</header><main role="main">'
            f"<h1>Lamps</h1>{LONG}</main></div>",
        ),
        (
            "docbook",
            "",
            '<div class="navheader"><table><tr><td>NAV</td></tr></table></div><div class="sect1">'
            f'<h1>Lamps</h1><div class="toc"><a href="#x">Wicks</a></div>{LONG}</div>'
            '<div class="navfooter">NAV</div>',
        ),
        (
            "asciidoc",
            "AsciiDoc 10.2.0",
            f'<div id="header"><h1>Lamps</h1></div><div id="content">{LONG}</div><div id="footer">NAV</div>',
        ),
        (
            "asciidoctor",
            "Asciidoctor 2.0.20",
            '<div id="header"><h1>Lamps</h1><div id="toc" class="toc">NAV</div></div>'
            f'<div id="content">{LONG}</div><div id="footer">NAV</div>',
        ),
        (
            "gtk-doc",
            "GTK-Doc V1.33 (XML mode)",
            '<table class="navigation" id="top"><tr><td>NAV</td></tr></table>'
            f'<div class="refentry"><h1>Lamps</h1>{LONG}</div><div class="footer">NAV</div>',
        ),
        (
            "doxygen",
            "Doxygen 1.9.4",
            '<div id="top">NAV</div><div id="doc-content"><div class="header">'
            f'<div class="summary">NAV</div><h1>Lamps</h1></div><div class="contents">{LONG}</div>'
            "</div>",
        ),
        (
            "vitepress",
            "",
            '<aside>NAV</aside><main><div class="VPDoc"><div class="vp-doc">'
            f'<h1>Lamps</h1>{LONG}</div><footer class="VPDocFooter">NAV</footer></div></main>',
        ),
        (
            "gitbook",
            "GitBook 3.2.3",
            '<div class="book-summary">NAV</div><div class="page-inner">'
            f'<section class="normal markdown-section"><h1>Lamps</h1>{LONG}</section></div>',
        ),
        (
            "docsy",
            "",
            '<aside class="td-sidebar">NAV</aside><main><div class="td-content">'
            f'<h1>Lamps</h1>{LONG}<div class="td-page-meta__lastmod">NAV</div></div></main>',
        ),
        (
            "just-the-docs",
            "",
            '<div class="side-bar">NAV</div><div class="main" id="top">'
            '<div class="main-content-wrap"><nav class="breadcrumb-nav">NAV</nav>'
            f'<div class="main-content"><h1>Lamps</h1>{LONG}</div></div></div>',
        ),
        (
            "starlight",
            "",
            '<nav>NAV</nav><main><div class="content-panel"><h1>Lamps</h1></div>'
            f'<div class="content-panel"><div class="sl-markdown-content">{LONG}</div>'
            "<footer>NAV</footer></div></main>",
        ),
        (
            "exdoc",
            "ExDoc v0.30.6",
            '<div class="sidebar">NAV</div><main><div id="content" class="content-inner">'
            f'<h1>Lamps</h1>{LONG}<div class="bottom-actions">NAV</div></div></main>',
        ),
        (
            "typedoc",
            "",
            '<div class="col-content"><ul class="tsd-breadcrumb"><li>NAV</li></ul>'
            f'<h1>Lamps</h1>{LONG}</div><div class="col-menu">NAV</div>',
        ),
        (
            "texinfo",
            "makeinfo",
            f'<div class="header"><p>NAV</p></div><h1>Lamps</h1>{LONG}',
        ),
        (
            "mediawiki",
            "",
            '<div id="mw-navigation">NAV</div><div id="content"><h1 id="firstHeading">Lamps</h1>'
            '<div id="mw-content-text"><div class="mw-parser-output">'
            f'<div id="toc" class="toc">NAV</div>{LONG}<span class="mw-editsection">NAV</span>'
            "</div></div></div>",
        ),
        (
            "quarto",
            "quarto-1.4.550",
            '<nav id="TOC">NAV</nav><main class="content" id="quarto-document-content">'
            f"<h1>Lamps</h1>{LONG}</main>",
        ),
        (
            "xenforo",
            "",
            '<h1 class="p-title-value">Lamps</h1><div class="message">'
            '<h4 class="message-name">ida</h4><div class="message-user">NAV</div>'
            f'<div class="message-body">{LONG}</div><aside class="message-signature">NAV</aside>'
            "</div>",
        ),
        (
            "stackexchange",
            "",
            '<div id="question-header"><h1>Lamps</h1></div><div id="question">'
            f'<div class="votecell">NAV</div><div class="s-prose js-post-body">{LONG}</div></div>'
            '<div class="answer"><div class="s-prose js-post-body">Trim it.</div>'
            '<div class="comments">NAV</div></div>',
        ),
        (
            "discourse",
            "Discourse 3.4.0",
            '<header>NAV</header><noscript data-path="/t/x"><div id="main-outlet"><h1>'
            '<a href="/t/lamps/1">Lamps</a></h1><div class="topic-body crawler-post">'
            f'<span class="creator">ida</span><div class="post">{LONG}</div></div></div></noscript>',
        ),
    ],
)
def test_a_generator_is_recognised_and_its_frame_is_left_out(name: str, said: str, body: str) -> None:
    found = chosen(page(body, generator(said) if said else ""))
    assert found.generator == name
    assert found.confidence > 0.9
    assert "NAV" not in found.said
    assert PROSE.strip() in found.said
    assert "Lamps" in found.said


def test_every_mark_and_selector_of_the_table_is_one() -> None:
    tree = page_parser.dom(b"<body><p>text", None)
    for made in generators.TABLE:
        assert made.marks
        assert made.main or made.parts, made.name
        for selector in (*made.main, made.parts, made.title, made.drop):
            if selector:
                select(tree, selector)
        for mark in made.marks:
            assert mark == mark.strip()
            assert mark == mark.lower() or "." in mark or "#" in mark


def test_the_marks_of_a_generator_without_its_content_are_chance() -> None:
    found = chosen(page(f'<div class="md-content"></div><div><h1>Lamps</h1>{LONG}</div>'))
    assert found.generator == ""
    assert PROSE.strip() in found.said


@pytest.mark.parametrize(
    "chrome",
    [
        f"<nav><ul>{LINKS}</ul></nav>",
        f'<div role="navigation"><ul>{LINKS}</ul></div>',
        f"<header><ul>{LINKS}</ul></header>",
        f"<footer>{LONG}</footer>",
        f"<aside>{LONG}</aside>",
        f'<div class="site-nav"><ul>{LINKS}</ul></div>',
        f'<div id="siteSidebar"><ul>{LINKS}</ul></div>',
        f'<div class="related-posts">{PROSE}</div>',
        f'<section class="cookie-consent"><p>{PROSE}</p></section>',
        f'<div id="comments"><p>{PROSE}</p></div>',
        f'<div class="story-teaser"><a href="/x">{PROSE}</a></div>',
    ],
)
def test_chrome_is_dropped_wherever_it_stands(chrome: str) -> None:
    marked = chrome.replace("The lamp", "The NAVIGATION").replace("Chapter", "NAVIGATION")
    for body in (f"{marked}<div><h1>Lamps</h1>{LONG}</div>", f"<div><h1>Lamps</h1>{LONG}{marked}</div>"):
        text = words(page(body))
        assert "NAVIGATION" not in text
        assert "Mind the glass." in text


@pytest.mark.parametrize("said", ['class="note"', 'class="my admonition"', 'role="note"'])
def test_a_note_that_stands_aside_is_content(said: str) -> None:
    assert "Mind the oil." in words(
        page(f"<div><h1>Lamps</h1>{LONG}<aside {said}>Mind the oil.</aside>{LONG}</div>")
    )


def test_a_name_that_would_take_most_of_the_page_is_no_chrome() -> None:
    assert "Mind the glass." in words(page(f'<div class="modal-page subscription"><h1>Lamps</h1>{LONG}</div>'))


SECTIONS = "".join(
    f'<section id="{name.lower().replace(" ", "-")}"><h2>{name}</h2><p>{PROSE * 2}</p></section>'
    for name in ("Oil", "Wick", "Burner")
)
"""A manual: its sections have addresses."""


def test_sections_of_a_manual_stay_though_their_names_are_words_for_chrome() -> None:
    menu = f'<section id="file-menu"><h2>File menu</h2><p>{PROSE}</p></section>'
    call = f'<dl><dt id="skipLines">skipLines(number)</dt><dd>{PROSE}</dd></dl>'
    for body in (f"<div>{SECTIONS}{menu}{call}</div>", f"<div>{menu}{call}{SECTIONS}</div>"):
        text = words(page(body))
        assert "File menu" in text
        assert "skipLines(number)" in text
    assert "File menu" not in words(page(f"<div>{LONG}{menu}</div>", ARTICLE))


def test_a_manual_keeps_its_lists_of_links_and_still_not_its_navigation() -> None:
    see = '<p>See also: <a href="/glass">glass</a>, <a href="/oil">oil</a>, <a href="/wicks">wicks</a></p>'
    text = words(page(f'<div class="sidebar"><ul>{LINKS}</ul></div><div><h1>Lamps</h1>{SECTIONS}{see}</div>'))
    assert "See also: glass, oil, wicks" in text
    assert "navigation" not in text


@pytest.mark.parametrize("listings", [0, 1])
def test_what_stands_between_the_title_and_the_sections_of_a_manual_is_content(listings: int) -> None:
    code = "<pre>trim --low</pre>" * listings
    body = f"<div><h1>Lamps</h1><p>A word before.</p><div>{SECTIONS}{LONG * 4}{code}</div></div>"
    assert words(page(body)).startswith("Lamps A word before. ")


def test_code_makes_a_manual_of_what_declares_to_be_an_article_if_there_is_much() -> None:
    last = "<p><a href='/more'>LAST LINKS</a></p>"
    assert "LAST LINKS" not in words(page(f"<div>{LONG}<pre>trim --low</pre>{last}</div>", ARTICLE))
    assert "LAST LINKS" in words(page(f"<div>{LONG}{'<pre>trim --low</pre>' * 3}{last}</div>", ARTICLE))


@pytest.mark.parametrize(
    "heading",
    [
        "<header><h1>Lamps</h1></header>",
        '<div class="top"><h1><a href="/">The House</a></h1></div><header><h1>Lamps</h1></header>',
        '<div class="top"><h2>The House</h2></div><header><h1>class Lamps</h1></header>',
        "<header><h2>lamps</h2></header>",
    ],
)
def test_the_title_comes_in_from_outside_the_content(heading: str) -> None:
    html = page(f"{heading}<div>{SECTIONS}{LONG}</div>").replace("<title>Lamps", "<title>Lamps | The House")
    assert words(html).removeprefix("class ").casefold().startswith("lamps oil the lamp")


@pytest.mark.parametrize("depth", [1, 300])
@pytest.mark.parametrize("tag", ["div", "main", "article", "section"])
def test_a_title_around_the_content_stays_where_it_is(tag: str, depth: int) -> None:
    nested = f"<{tag}>" * depth
    assert words(page(f"<h1>{nested}Lamps <pre>trim</pre></h1>")) == "Lamps trim"


@pytest.mark.parametrize("heading", ["<h1>The House</h1>", '<nav class="x"><h1>Lamps</h1></nav>', ""])
def test_no_other_heading_is_taken_for_the_title(heading: str) -> None:
    assert words(page(f"<header>{heading}</header><div>{SECTIONS}</div>")).startswith("Oil The lamp")


def test_headings_that_are_links_to_themselves_are_no_dead_links() -> None:
    own = '<h3><a href="#trim">How to trim</a></h3>'
    other = '<h3><a href="/trim">How to sell</a></h3>'
    text = words(page(f"<div><h1>Lamps</h1>{LONG}{own}{LONG}{other}{LONG}</div>", ARTICLE))
    assert "How to trim" in text
    assert "How to sell" not in text


def test_an_address_is_no_link() -> None:
    named = f'<p><a name="trim">AN ANCHOR {PROSE}</a></p>'
    linked = f'<p><a href="/trim">A LINK {PROSE}</a></p>'
    text = words(page(f"<div><h1>Lamps</h1>{LONG}{named}{linked}{LONG}</div>", ARTICLE))
    assert "AN ANCHOR" in text
    assert "A LINK" not in text


def test_a_list_of_links_may_be_longer_than_the_page_and_is_navigation_still() -> None:
    links = "".join(f'<li><a href="/{number}">Type of lamp number {number}</a></li>' for number in range(400))
    text = words(page(f'<div class="sidebar"><ul>{links}</ul></div><div><h1>Lamps</h1><p>{PROSE * 2}</p></div>'))
    assert text.startswith("Lamps The lamp must")
    assert "number 7" not in text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("navy", None),
        ("siteNav", NameKind.CHROME),
        ("SITE-NAV", NameKind.CHROME),
        ("post-tags", NameKind.CHROME),
        ("tags", None),
        ("shadow", None),
        ("x comments", NameKind.COMMENTS),
    ],
)
def test_words_are_whole_words(name: str, kind: NameKind | None) -> None:
    said = class_names.verdict(name)
    assert (said and said.kind) == kind


@pytest.mark.parametrize("inner", ["related", "share", "newsletter", "promo", "cookie", "menu", "social", "popup"])
def test_names_are_judged_from_the_outside_in(inner: str) -> None:
    teaser = f'<div class="teaser"><p>TEASER {PROSE}</p><div class="{inner}"><a href="/n">LINK</a></div></div>'
    assert "TEASER" not in words(page(f"<div>{LONG * 2}{teaser}{LONG}</div>"))


def test_an_article_is_cleaned_of_labels_captions_teasers_and_links() -> None:
    body = (
        f'<div class="page"><div class="entry"><h1>Lamps</h1><div>20 November 2019</div>{LONG}'
        '<figure><img src="l.jpg"><figcaption>LAMP IN A WINDOW, photographed by night</figcaption></figure>'
        f'<p><a href="/n">READ MORE: how to trim</a></p><p>{PROSE * 2}</p><h3>ABOUT US</h3><div>TAGS</div></div>'
        f'<div class="next"><div><a href="/2"><h4>TEASER</h4><p>TEASER {PROSE}</p></a></div></div></div>'
    )
    text = words(page(body, ARTICLE))
    assert text.startswith("Lamps The lamp must")
    for gone in ("2019", "PHOTO", "WINDOW", "READ MORE", "ABOUT", "TAGS", "TEASER"):
        assert gone not in text


def test_the_lede_between_title_and_text_belongs_to_the_article() -> None:
    lede = "Whoever owns a lamp owns a small duty: it wants to be looked after every single evening."
    body = f'<div class="top"><h1>Lamps</h1><p class="intro">{lede}</p></div><div class="entry">{LONG * 2}</div>'
    assert words(page(body, ARTICLE)).count(lede) == 1


def test_the_links_of_a_listing_are_its_content() -> None:
    items = "".join(f'<div class="item"><a href="/{n}"><h3>Lamp number {n}</h3></a></div>' for n in range(30))
    text = words(page(f"<nav>{LINKS}</nav><div>{items}</div>"))
    assert "Lamp number 0" in text
    assert "Lamp number 29" in text
    assert "navigation" not in text


def test_a_discussion_keeps_its_comments_and_an_article_does_not() -> None:
    comments = f'<div class="comments">{"".join(f"<p>REPLY {number} {PROSE}</p>" for number in range(9))}</div>'
    assert "REPLY 8" in words(page(f"<div><h1>Lamps</h1><p>{PROSE}</p></div>{comments}"))
    assert "REPLY" not in words(page(f"<div><h1>Lamps</h1>{LONG}</div>{comments}", ARTICLE))


@pytest.mark.parametrize(
    ("html", "unseen"),
    [
        ("<p hidden>GONE</p>", 4),
        ('<p aria-hidden="true">GONE</p>', 4),
        ('<p style="color:red; display : none">GONE</p>', 4),
        ('<p style="VISIBILITY: hidden">GONE</p>', 4),
        ('<span class="sr-only">GONE</span>', 4),
        ('<div hidden><p style="display:none">GONE</p></div>', 4),
        ("<template><p>GONE</p></template>", 0),
        ("<script>GONE</script><style>GONE</style><noscript>GONE</noscript>", 0),
        ("<button>GONE</button><select><option>GONE</select><dialog open>GONE</dialog>", 0),
    ],
)
def test_what_nobody_sees_is_dropped_and_hidden_text_is_counted(html: str, unseen: int) -> None:
    found = chosen(page(f"<div><h1>Lamps</h1>{LONG}{html}</div>"))
    assert "GONE" not in found.said
    assert found.hidden == unseen


@pytest.mark.parametrize(
    "html",
    [
        "<details><summary>More</summary><p>KEPT</p></details>",
        '<div role="tabpanel" hidden><p>KEPT</p></div>',
        '<div hidden="until-found"><p>KEPT</p></div>',
        "<h3><button>KEPT</button></h3>",
    ],
)
def test_what_one_click_shows_is_content(html: str) -> None:
    found = chosen(page(f"<div><h1>Lamps</h1>{LONG}{html}{LONG}</div>"))
    assert "KEPT" in found.said
    assert found.hidden == 0


def test_a_page_that_a_script_uncovers_is_not_hidden() -> None:
    assert "Mind the glass." in words(page(f'<div id="app" style="display:none"><h1>Lamps</h1>{LONG}</div>'))


def test_what_react_streams_stands_in_its_place() -> None:
    body = (
        f'<main><h1>Lamps</h1><p>{PROSE}First.</p><template id="P:1"></template><p>{PROSE}Last.</p></main>'
        f'<div hidden id="S:1"><p>{PROSE}Middle.</p></div>'
    )
    found = chosen(page(body))
    assert found.said.index("First.") < found.said.index("Middle.") < found.said.index("Last.")
    assert found.hidden == 0


def test_what_is_shown_without_scripts_counts_where_there_is_nothing_else() -> None:
    assert "Mind the glass." in words(page(f"<div>Loading</div><noscript><div>{LONG}</div></noscript>"))


def test_a_shell_with_data_gives_the_text_of_its_data() -> None:
    script = '<script type="application/ld+json">{}</script>'
    data = script.format(json.dumps({"@graph": [{"description": "short"}, {"articleBody": PROSE}]}))
    found = chosen(page('<nav>Home</nav><div id="app">Loading</div>', data))
    assert found.said == PROSE
    assert found.confidence < 0.5
    assert words(page('<div id="app">Loading</div>', script.format('{"a":'))) == "Loading"


def test_a_page_of_links_alone_keeps_them_and_a_shell_does_not() -> None:
    assert "Chapter of navigation 11" in words(page(f"<nav><ul>{LINKS}</ul></nav>"))
    assert words(page(f"<script src=app.js></script><nav><ul>{LINKS}</ul></nav>")) == ""


@pytest.mark.parametrize("html", ["", "<frameset><frame src=x></frameset>", "<body>", "text", "<p>a", "\0"])
def test_any_page_has_an_answer(html: str) -> None:
    found = chosen(html)
    assert 0 <= found.confidence <= 1
    assert found.hidden == 0


HOSTILE = {
    "nested": lambda size: "<div>" * size + "text",
    "nested blocks": lambda size: f"<div>{PROSE}<a href=x>link</a>" * size,
    "nested names": lambda size: '<div class="menu">' * size + PROSE,
    "nested hidden": lambda size: "<div hidden>" * size + PROSE,
    "nested headers": lambda size: "<header>" * size + PROSE,
    "nested posts": lambda size: f'<div class="post_body">{PROSE}' * size,
    "links": lambda size: "<a href=x>y</a> " * size,
    "items": lambda size: "<ul>" + f"<li>{PROSE}</li>" * size + "</ul>",
    "one line": lambda size: "<p>" + "word " * size * 10,
    "nested topics": lambda size: "<pre>x</pre>" * 3 + "".join(f'<div id="menu{n}">' for n in range(size)),
    "nested headings": lambda size: "<h2><div>" * size + PROSE,
    "names": lambda size: "".join(f'<div class="a{number} menu-{number}">x</div>' for number in range(size)),
}


@pytest.mark.alone
@pytest.mark.parametrize("head", [ARTICLE, "<title>text</title>"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear_in_hostile_pages(kind: str, head: str) -> None:
    small, large = (
        page_parser.dom((head + HOSTILE[kind](size)).encode(), "text/html; charset=utf-8")
        for size in (16_000 // TIMES, 16_000)
    )
    assert_linear(main_content.choose, small, large)


TAGS = [
    *("div", "p", "ul", "li", "a", "h1", "h2", "pre", "section", "nav", "article", "main", "table", "td"),
    *("template", "noscript", "span"),
]
ATTRIBUTES = (
    *("", ' class="menu"', ' class="comments x"', ' id="content"', " hidden", ' style="display:none"'),
    *(' id="word"', ' class="md-content"', ' role="main"', ' id="S:1" hidden', ' class="post_body"'),
)


def _element(tag: str, attributes: str, parts: list[str]) -> str:
    return f"<{tag}{attributes}>{''.join(parts)}</{tag}>"


NODES = st.recursive(
    st.sampled_from(["", "word", PROSE, "<br>"]),
    lambda inner: st.builds(
        _element, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES), st.lists(inner, max_size=4)
    ),
    max_leaves=25,
)


@given(NODES, st.sampled_from(["", ARTICLE, generator("Docusaurus"), generator("Discourse")]))
def test_any_markup_has_an_answer_and_always_the_same(body: str, head: str) -> None:
    html = page(body, head).replace("Lamps", "word")
    first, second = chosen(html), chosen(html)
    assert first == second
    assert 0 <= first.confidence <= 1
    assert first.hidden >= 0
