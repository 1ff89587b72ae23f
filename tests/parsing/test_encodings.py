"""Which encoding a body is in, and what a header declares."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import TIMES, assert_linear
from orbweb.parsing import encodings
from orbweb.parsing import page as page_parser
from orbweb.parsing.encodings import MAX_GUESSED, MAX_HEAD, PRESCAN, encoding_named, encoding_of, media_type

KOI = "<meta charset=koi8-r>"


def encoding(markup: str | bytes, content_type: str | None = None) -> str:
    body = markup.encode("latin-1") if isinstance(markup, str) else markup
    return encoding_of(body, content_type)


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=koi8-r", "UTF-8"),
        (b"\xff\xfe<\0p\0>\0", "text/html; charset=utf-8", "UTF-16LE"),
        (b"\xfe\xff\0<\0p\0>", "text/html; charset=utf-8", "UTF-16BE"),
        (b"<meta charset=koi8-r>", "text/html; charset=big5", "Big5"),
        (b"<\0?\0x\0m\0l\0", "text/html; charset=utf-8", "UTF-8"),
        (b"<\0?\0x\0m\0l\0", None, "UTF-16LE"),
        (b"\0<\0?\0x\0m\0l", None, "UTF-16BE"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>", None, "Big5"),
        (b"<?xml version='1.0' encoding='koi8-r'?>\xc3\xa9", None, "KOI8-R"),
        (b"\xc3\xa9", None, "UTF-8"),
        (b"ascii", None, "UTF-8"),
        (b"", None, "UTF-8"),
        (b"caf\xe9 au lait", None, "windows-1252"),
        (b"\xff", None, "windows-1252"),
    ],
)
def test_mark_header_meta_xml_bytes_in_this_order(body: bytes, content_type: str | None, expected: str) -> None:
    assert encoding_of(body, content_type) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html;charset=koi8-r", "KOI8-R"),
        ("text/html; CHARSET=KOI8-R", "KOI8-R"),
        ('text/html; charset="koi8-r"', "KOI8-R"),
        ('text/html; charset="koi8-r', "KOI8-R"),
        ("text/html; charset='koi8-r'", "KOI8-R"),
        ("text/html; charset = koi8-r ; x", "KOI8-R"),
        ("text/html; x; y=z; charset=koi8-r; charset=big5", "KOI8-R"),
        ('text/html; x="; charset=big5"; charset=koi8-r', "KOI8-R"),
        ("text/html; charset=iso-8859-1", "windows-1252"),
        ("text/html; charset=utf-16", "UTF-16LE"),
        ("text/html; charset=x-user-defined", "x-user-defined"),
        ("text/html; charset=iso-2022-kr", "replacement"),
        ("text/html; charset=", "UTF-8"),
        ("text/html; charset", "UTF-8"),
        ("text/html; charset=bogus", "UTF-8"),
        ("text/html; charset=utf-7", "UTF-8"),
        ("text/html; charset=rot13", "UTF-8"),
        ("text/html; xcharset=koi8-r", "UTF-8"),
        ("charset=koi8-r", "UTF-8"),
        ("", "UTF-8"),
    ],
)
def test_header(content_type: str, expected: str) -> None:
    assert encoding_of(b"x", content_type) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<meta charset=koi8-r>", "KOI8-R"),
        ("<META CHARSET='KOI8-R'>", "KOI8-R"),
        ('<meta/charset="koi8-r"/>', "KOI8-R"),
        ("<meta charset \n=\t koi8-r >", "KOI8-R"),
        ("<meta charset=' koi8-r '>", "KOI8-R"),
        ("<meta charset='&#107;oi8-r'>", "KOI8-R"),
        ("<meta x='>' charset=koi8-r>", "KOI8-R"),
        ("<meta charset=koi8-r charset=big5>", "KOI8-R"),
        ("<meta charset=bogus><meta charset=koi8-r>", "KOI8-R"),
        ("<meta charset><meta charset=><meta charset=koi8-r>", "KOI8-R"),
        ("<meta charset=koi8-r", "UTF-8"),
        ("<meta charset='koi8-r>", "UTF-8"),
        ("<metacharset=koi8-r>", "UTF-8"),
        ("<metax charset=koi8-r>", "UTF-8"),
        ("</meta charset=koi8-r>", "UTF-8"),
        ("<meta data-charset=koi8-r>", "UTF-8"),
        ("<meta charset=utf-16le>\xe9", "UTF-8"),
        ("<meta charset=utf-16>", "UTF-8"),
        ("<meta charset=x-user-defined>", "windows-1252"),
        ("<meta charset=hz-gb-2312>", "replacement"),
        ("<meta http-equiv=content-type content='text/html; charset=koi8-r'>", "KOI8-R"),
        ("<meta content='text/html; charset=koi8-r' http-equiv=Content-Type>", "KOI8-R"),
        ("<meta http-equiv=content-type content='charset charset = \"koi8-r\"; x'>", "KOI8-R"),
        ("<meta http-equiv=content-type content='charset=\"koi8-r'>", "UTF-8"),
        ("<meta http-equiv=content-type content='text/html'>", "UTF-8"),
        ("<meta http-equiv=content-type content='charset=koi8-r' charset=big5>", "Big5"),
        ("<meta http-equiv=content-type content='charset=koi8-r' charset=bogus>", "UTF-8"),
        ("<meta content='charset=koi8-r'>", "UTF-8"),
        ("<meta http-equiv=refresh content='charset=koi8-r'>", "UTF-8"),
    ],
)
def test_meta(markup: str, expected: str) -> None:
    assert encoding(markup) == expected


@pytest.mark.parametrize(
    "before",
    [
        "",
        "text < 3 <1 </ <> </> ",
        "<!doctype html><html><head>",
        "<!-- <meta charset=big5> -->",
        "<!-- a -- b - > c -->",
        "<!-->",
        "<!--->",
        "<!x <meta charset=big5>",
        "<?x <meta charset=big5>",
        "</1 <meta charset=big5>",
        "<a title='<meta charset=big5>'>",
        '<a title="<meta charset=big5>" x=<b>',
        "<p x=a'><p =y=z>",
        "<bogus>",
        "<template>",
        "</head><body>",
        "<noscript>",
        "<title><meta charset=big5></title>",
        "<script>'<meta charset=big5>' </scripty></SCRIPT >",
        "<style><meta charset=big5></style>",
        "<svg><![CDATA[<meta charset=big5>]]></svg>",
    ],
)
def test_the_first_meta_that_is_one_counts_anywhere_in_the_first_bytes(before: str) -> None:
    assert encoding(before + KOI) == "KOI8-R"
    assert encoding(before + " " * (PRESCAN - 1 - len(before)) + KOI) == "KOI8-R"


@pytest.mark.parametrize(
    "before", ["<!-- ", "<title>", "<script>", "<style></styles>", "<textarea>", "<a title='", "<!", "<a "]
)
def test_what_is_never_closed_hides_a_meta(before: str) -> None:
    assert encoding(before + KOI) == "UTF-8"


@pytest.mark.parametrize(
    ("head", "counts"),
    [
        ("", True),
        ("<html lang=x><head><title>x</title><base><link><meta name=x><style></style><script></script>", True),
        ("<noscript></noscript><object></object><!-- x -->", True),
        ("<bogus>", False),
        ("</head>", False),
        ("<body>", False),
        ("<template>", False),
        ("<noscript><template></template>", False),
    ],
)
def test_after_the_first_bytes_a_meta_counts_in_the_head(head: str, counts: bool) -> None:
    assert encoding(head + " " * (PRESCAN - len(head)) + KOI) == ("KOI8-R" if counts else "UTF-8")
    assert encoding(head + " " * MAX_HEAD + KOI) == "UTF-8"


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("<?xml version='1.0' encoding='koi8-r'?>", "KOI8-R"),
        ('<?xml encoding \n= "koi8-r" >', "KOI8-R"),
        ("<?xml encoding='utf-16'?>", "UTF-8"),
        ("<?xml encoding='koi8-r", "UTF-8"),
        ("<?xml encoding=koi8-r?>", "UTF-8"),
        ("<?xml encoding='koi8 r'?>", "UTF-8"),
        ("<?xml ?> encoding='koi8-r'>", "UTF-8"),
        (" <?xml encoding='koi8-r'?>", "UTF-8"),
    ],
)
def test_xml_declaration(declaration: str, expected: str) -> None:
    assert encoding(declaration) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Съешь же ещё этих мягких французских булок", "windows-1251"),
        ("Съешь же ещё этих мягких французских булок", "KOI8-U"),
        ("これは文字コードの実験です。日本語の文章。", "Shift_JIS"),
        ("これは文字コードの実験です。日本語の文章。", "EUC-JP"),
        ("这是一个字符编码测试。中文网页的内容。", "GBK"),
    ],
)
def test_a_guess_from_the_letters(text: str, expected: str) -> None:
    letters = text.encode("koi8-r" if expected == "KOI8-U" else expected)
    body = b"<p>" + letters
    assert encoding_of(body) == expected
    assert encoding_of(b"<script><meta charset=big5></script>" + body) == expected
    assert encoding_of(b"x" * 2 * MAX_GUESSED + body) == expected
    assert encoding_of(body + (b"</p><p>" + letters) * (MAX_GUESSED // len(body))) == expected


def test_japanese_in_escapes_is_not_guessed() -> None:
    body = "これは文字実験です。".encode("iso-2022-jp")
    assert encoding_of(body) == "UTF-8"
    assert encoding_of(body + b"\xff") == "windows-1252"
    assert encoding_of(body, "text/html; charset=iso-2022-jp") == "ISO-2022-JP"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("utf8", "UTF-8"),
        ("\t\n\f\r UTF-8 ", "UTF-8"),
        ("latin1", "windows-1252"),
        ("x-sjis", "Shift_JIS"),
        ("", None),
        (" ", None),
        ("\u212aoi8-r", None),
        ("utf-8\0", None),
        ("\ud800", None),
        ("x" * 100_000, None),
    ],
)
def test_label(label: str, expected: str | None) -> None:
    assert encoding_named(label) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, ""),
        ("", ""),
        (" Text/HTML ; charset=x", "text/html"),
        ("text/html,text/html", "text/html,text/html"),
        ("html", ""),
        ("; charset=x", ""),
    ],
)
def test_media_type(content_type: str | None, expected: str) -> None:
    assert media_type(content_type) == expected


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "text"),
    [
        (b"\xef\xbb\xbf<p>\xff\xc3\xa9", "text/html", "UTF-8", "\ufffd\u00e9"),
        (b"<p>\xf0\x9f\x98<b>", "text/html; charset=utf-8", "UTF-8", "\ufffd"),
        (b"\xff\xfe<\0p\0>\0\xe9\0\0\xd8", None, "UTF-16LE", "\u00e9\ufffd"),
        (b"<p>\x81", "text/html; charset=latin1", "windows-1252", "\x81"),
        (b"<p>\xe9\x81\xff", "text/html; charset=shift_jis", "Shift_JIS", "\u9a55\ufffd"),
        (b"<p>\xe9", "text/html; charset=x-user-defined", "x-user-defined", "\uf7e9"),
        (b"<p>x", "text/html; charset=iso-2022-kr", "replacement", "\ufffd"),
        (b"<head></head>" + b" " * PRESCAN + b"<meta charset=koi8-r>\xe9", None, "windows-1252", "\u00e9"),
    ],
)
def test_the_text_is_that_of_a_browser(body: bytes, content_type: str | None, encoding: str, text: str) -> None:
    document = page_parser.dom(body, content_type)
    assert (document.encoding, document.said().strip()) == (encoding, text)


@pytest.mark.parametrize(
    "unit",
    [
        *(b"<", b"<a ", b"<a b='", b'<a b="', b"<!--", b"<!-- -", b"<!", b"</", b"-", b"=", b"<link>", b"<title>"),
        *(b"<meta ", b"<meta charset='x' ", b"<meta http-equiv=content-type content='charset "),
        *(b"<?xml encoding", b"<script></script ", b"<p>\xe9 "),
    ],
)
@pytest.mark.parametrize("tail", [b"", b"\xff", b">\xff"])
@pytest.mark.alone
def test_hostile_bytes_are_judged_at_once(unit: bytes, tail: bytes) -> None:
    def judged(parts: int) -> object:
        body = unit * (2 * MAX_HEAD * parts // TIMES // len(unit)) + tail
        return encoding_of(body, "text/html" + (unit * (10_000 * parts // TIMES)).decode("latin-1"))

    assert_linear(judged, 1, TIMES)


PIECES = [
    *(
        b"<meta ",
        b"charset",
        b"=",
        b"koi8-r",
        b"'",
        b'"',
        b">",
        b"<",
        b"/",
        b"<!--",
        b"-->",
        b"-",
        b"&#107;",
        b" ",
    ),
    *(b"<meta charset=big5>", b"http-equiv=content-type ", b"content='", b"charset=utf-16", b"<head>", b"</head>"),
    *(b"<?xml ", b"encoding='latin1'", b"?>", b"<title>", b"</title>", b"<script>", b"</script>", b" " * 1000),
    *(b"\xff\xfe", b"\xe9", b"\0", b"\xc3\xa9"),
]
BODIES = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join))


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(
    BODIES, st.one_of(st.none(), st.text(max_size=40), st.text(max_size=20).map("text/html; charset={}".format))
)
def test_any_bytes_have_an_encoding_and_a_dom(body: bytes, content_type: str | None) -> None:
    found = encoding_of(body, content_type)
    assert encoding_named(found) == found
    assert page_parser.dom(body, content_type).encoding == found


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(BODIES)
def test_the_first_meta_known_from_another_page_changes_nothing(body: bytes) -> None:
    assert encodings._by_meta(body) == encodings._by_tags(body)
