"""What a style sheet loads: URLs, strings, escapes, comments, broken and hostile texts."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import assert_linear, part
from orbweb.parsing import css
from orbweb.parsing.css import references

examples = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def hrefs(text: str) -> list[str]:
    return [reference.href for reference in references(text)]


def test_kinds_in_the_order_of_the_text() -> None:
    text = """
    @charset "utf-8"; @import "a.css"; @import url(b.css) screen; @import/**/url("c.css") layer(x) supports(a: b);
    @namespace svg url(http://www.w3.org/2000/svg); @namespace "http://www.w3.org/1999/xhtml";
    @font-face { font-family: "F"; src: local("F"), url(f.woff2) format("woff2"), url('g.woff') }
    @media print { a:hover { background: url(h.png) no-repeat, red } }
    b { background: image-set("i.avif" type("image/avif"), url(j.png) 2x, 'k.png' calc((2x))); content: "no" }
    i { cursor: src("l.cur"), auto; --later: url(m.png) }
    """
    assert list(references(text)) == [
        ("a.css", "style"),
        ("b.css", "style"),
        ("c.css", "style"),
        ("f.woff2", "font"),
        ("g.woff", "font"),
        ("h.png", "image"),
        ("i.avif", "image"),
        ("j.png", "image"),
        ("k.png", "image"),
        ("l.cur", "image"),
        ("m.png", "image"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("url(a.png)", ["a.png"]),
        ("URL(a.png)", ["a.png"]),
        ("url( \t\n a.png \f)", ["a.png"]),
        ("url('a b.png')", ["a b.png"]),
        ('url( " a.png " )', ["a.png"]),
        ("url(a.png", ["a.png"]),
        ("url('a.png", ["a.png"]),
        ("url(a,b;c{d}.png)", ["a,b;c{d}.png"]),
        ("url(//h/a.png)", ["//h/a.png"]),
        ("url(\u00e4.png)", ["\u00e4.png"]),
        ("url(a\\ b\\).png)", ["a b).png"]),
        ("url('a\\'b\\\nc\\64\ne.png')", ["a'bcde.png"]),
        ("url(\\61 b\\000063.png)", ["abc.png"]),
        ("url(a\\0 \\d800 \\110000 b)", ["a\ufffd\ufffd\ufffdb"]),
        ("u\\72l(a.png)", ["a.png"]),
        ("\\75 rl('a.png')", ["a.png"]),
        ("x:url(a)url(b),url(c)", ["a", "b", "c"]),
        ("src( /**/ 'a' )", ["a"]),
        ("-webkit-image-set(url(a) 1x)", ["a"]),
        ("image-set('a' 1x, cross-fade('no', url(b)), 'c') 'no'", ["a", "b", "c"]),
        ("image-set('a'; b: 'no'", ["a"]),
        ("image-set('a' } @import 'b'", ["a", "b"]),
        ("image-set('a' @import 'b'", ["a", "b"]),
        ("@IMPORT 'a'", ["a"]),
        ("@im\\70ort 'a'", ["a"]),
        ("@import 'a' url(b)", ["a", "b"]),
        ("@import url()", []),
        ("@import screen; a { b: url(c) }", ["c"]),
        ("@font-face { src: url(a) } b { c: url(d) }", ["a", "d"]),
        ("@font-face { src: url(a) @import 'b'", ["a", "b"]),
        ("@supports (background: url(no)) { a { b: url(c) } }", ["c"]),
        ("@-moz-document url(http://no/), domain(no) { a { b: url(c) } }", ["c"]),
    ],
)
def test_urls(text: str, expected: list[str]) -> None:
    assert hrefs(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "url()",
        "url('')",
        "url(  )",
        "url(#filter)",
        "url(data:image/png;base64,AAAA)",
        "url('DATA:,x')",
        "@import 'data:text/css,';",
        "/* url(a) */",
        "/* url(a)",
        "'url(a)'",
        '"\\"url(a)"',
        "url(a b)",
        "url(a'b)",
        "url(a(b)",
        "url(a\\\nb)",
        "url(/**/'a')",
        "url('a\nb')",
        "@import 'a\nb';",
        "#url(a)",
        "10url(a)",
        "-url(a)",
        "my-url(a)",
        "url (a)",
        "src(a)",
        "type('a')",
        "rgba(0,0,0,.5) var(--a) format('woff')",
        "@namespace url(a);",
        "@namespace b 'a';",
        "@media 'a' { }",
        "@",
        "\\",
        "a { b: 'c' }",
    ],
)
def test_what_loads_nothing(text: str) -> None:
    assert hrefs(text) == []
    assert hrefs(text.removesuffix("\\") + "\n} ) */ ' x{y:url(z)}")[-1:] in ([], ["z"])


@pytest.mark.parametrize("broken", ["url(a b)", "url(a'b)", "url('a\n)", "@import 'a\n;", "10url(a)", "#url(a)"])
def test_what_comes_after_a_broken_url_is_found(broken: str) -> None:
    assert hrefs(broken + "; c { d: url(e) }") == ["e"]


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (b"a{}", None, "UTF-8"),
        (b'@charset "koi8-r";', None, "KOI8-R"),
        (b'@charset "koi8-r";', "text/css; charset=big5", "Big5"),
        (b'\xef\xbb\xbf@charset "koi8-r";', "text/css; charset=big5", "UTF-8"),
        (b"\xff\xfea\0", None, "UTF-16LE"),
        (b'@charset "utf-16";', None, "UTF-8"),
        (b'@charset "nonsense";', None, "UTF-8"),
        (b"@charset 'koi8-r';", None, "UTF-8"),
        (b' @charset "koi8-r";', None, "UTF-8"),
    ],
)
def test_encodings(body: bytes, content_type: str | None, encoding: str) -> None:
    assert css.encoding_of(body, content_type) == encoding


HOSTILE = [
    *(
        "image-set(",
        "url(",
        "src( ",
        "url('",
        "a(",
        "\\61(",
        "(",
        ")",
        "@",
        "@import ",
        "@import/*",
        "@import url(",
    ),
    *(
        "@font-face{",
        "@namespace ",
        "@namespace a(",
        "@supports ((",
        "a",
        "\\",
        "\\\n",
        '"',
        '"\n',
        "'\\",
        "/*",
        "/",
    ),
    *(
        "#",
        "*",
        " ",
        "{",
        "url(\\",
        "image-set('a",
        "image-set(a(",
        "@font-face image-set(",
        "@font-face{@font-face",
    ),
]


@pytest.mark.alone
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    text = unit * (500_000 // len(unit))
    assert_linear(lambda some: deque(references(some), maxlen=0), part(text), text)


@pytest.mark.alone
def test_a_large_style_sheet_is_read_at_once() -> None:
    rule = ".a-{} > b:hover {{ margin: 0 auto; color: rgba(1, 2, 3, .5); background: url('i/{}.png') }} /* c */\n"
    text = "".join(rule.format(number, number) for number in range(10_000))
    assert hrefs(text) == [f"i/{number}.png" for number in range(10_000)]
    assert_linear(hrefs, part(text), text)


PIECES = [
    *HOSTILE,
    "x.png",
    "url(x.png)",
    "'x'",
    ")",
    "}",
    ";",
    "*/",
    "\u00e4",
    "\x00",
    "@import 'x';",
    "image-set('x')",
]


@examples
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_mixture_gives_an_answer_that_can_be_encoded(text: str) -> None:
    for href, kind in references(text):
        assert href.encode()
        assert not href.startswith("#")
        assert kind in ("style", "font", "image")


@examples
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_url_can_be_quoted(text: str) -> None:
    escaped = "".join(f"\\{ord(character):x} " for character in text)
    plain = text.replace("\x00", "\ufffd").strip()
    kept = [plain] if plain and not plain.startswith("#") else []
    assert hrefs(f"url('{escaped}')") == hrefs(f"url({escaped})") == hrefs(f"@import '{escaped}'") == kept
