"""The URL layer: one identity per URL, and shortcuts that never change an answer."""

from __future__ import annotations

import pickle

import ada_url
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orbweb import urls
from orbweb.urls import DEFAULT_RULES, MAX_URL, Parts, Resolver, Target, UrlRules

examples = settings(max_examples=200, deadline=None, derandomize=True, database=None)

SCHEMES = st.sampled_from(["http://", "https://", "HTTP://", "http:", "//", "ftp://", ""])
USERS = st.sampled_from(["", "", "", "user@", "user:pass@", "a@b@"])
HOSTS = st.sampled_from(
    [
        "h",
        "example.org",
        "Example.ORG",
        "www.example.org.",
        "a..",
        ".",
        "b\u00fccher.example",
        "xn--bcher-kva.example",
        "xn--a",
        "127.0.0.1",
        "0x7f.1",
        "1.2.3..",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "ab--c.example",
    ]
)
PORTS = st.sampled_from(["", "", ":", ":80", ":443", ":8080", ":0", ":65536"])
SEGMENTS = st.sampled_from(
    [
        "a",
        "b.html",
        "",
        ".",
        "..",
        "%2e",
        ".%2E",
        "...",
        "x;y=1",
        "a:b",
        "[x]",
        "a b",
        "\u00e9",
        "%c3%a9",
        "%zz",
        "%4%31",
        "%41%2f",
        "{|}^`",
        "\\",
        "-_~.",
        "'",
        "A(1)",
    ]
)
PATHS = st.lists(SEGMENTS, max_size=5).map("/".join)
PAIRS = st.sampled_from(
    [
        "a=1",
        "b=2",
        "b=",
        "b",
        "=1",
        "",
        "utm_source=x",
        "UTM%5Fmedium=x",
        "gclid=1",
        "id[]=3",
        "id%5B%5D=3",
        "q=a+b",
        "q=a%20b",
        "q=a b",
        "q=%zz",
        "x=?/",
        "q='",
        "\u00e9=\u00fc",
    ]
)
QUERIES = st.one_of(st.just(""), st.lists(PAIRS, max_size=5).map(lambda pairs: "?" + "&".join(pairs)))
FRAGMENTS = st.sampled_from(["", "", "#", "#top", "#/a?b"])
PREFIXES = st.sampled_from(["", "", "", "/", "../", "../../", "./", "?", " ", "\t", "http:", "//h/"])
BUILT = st.builds("{}{}{}{}/{}{}{}".format, SCHEMES, USERS, HOSTS, PORTS, PATHS, QUERIES, FRAGMENTS)
RELATIVE = st.builds("{}{}{}{}".format, PREFIXES, PATHS, QUERIES, FRAGMENTS)
ANY_URL = st.one_of(BUILT, RELATIVE, st.text(max_size=30))
PAGES = st.builds("http://{}{}/{}{}".format, HOSTS, PORTS, PATHS, QUERIES)
RULES = st.sampled_from(
    [DEFAULT_RULES, UrlRules(frozenset()), UrlRules(keep_params=("a", "id*")), UrlRules(keep_params=())]
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("HTTP://Example.ORG:80/A/../b/./c", "http://example.org/b/c"),
        ("https://example.org:443", "https://example.org/"),
        ("https://example.org:8443/", "https://example.org:8443/"),
        ("http://example.org/dir/", "http://example.org/dir"),
        ("http://example.org/dir/?a=1", "http://example.org/dir?a=1"),
        ("http://example.org//a///b//", "http://example.org/a/b"),
        ("http://example.org///", "http://example.org/"),
        ("http://example.org/%7Ea%2fb%c3%a9", "http://example.org/~a%2Fb%C3%A9"),
        ("http://example.org/%4%31", "http://example.org/%2541"),
        ("http://example.org/[x]|", "http://example.org/%5Bx%5D%7C"),
        ("http://example.org/?b=2&a=1&b=1", "http://example.org/?a=1&b=1&b=2"),
        ("http://example.org/?a=b c&d=e+f&g=h%20i", "http://example.org/?a=b+c&d=e+f&g=h+i"),
        ("http://example.org/?x[]=1", "http://example.org/?x%5B%5D=1"),
        ("http://example.org/?a=&b&=c&&", "http://example.org/?a=&b"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org/?utm_source=n&id=1&FBCLID=2&utm%5Fmedium=x", "http://example.org/?id=1"),
        ("http://example.org/?utmost=1", "http://example.org/?utmost=1"),
        ("http://user:pass@example.org/#top", "http://example.org/"),
        ("http://example.org./", "http://example.org/"),
        ("http://example.org.:8080/", "http://example.org:8080/"),
        ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::0001]:80/", "http://[::1]/"),
        (" \thttp://example.org/a\nb ", "http://example.org/ab"),
    ],
)
def test_canonical_form(url: str, key: str) -> None:
    assert urls.canonicalize(url) == key


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a",
        "/a",
        "//h/a",
        "mailto:a@b",
        "ftp://h/",
        "javascript:0",
        "http://",
        "http://a b/",
        "http://h/\ud800",
    ],
)
def test_what_is_not_an_absolute_http_url_has_no_key(url: str) -> None:
    assert urls.canonicalize(url) is None


def test_an_allow_list_replaces_the_list_of_dropped_parameters() -> None:
    url = "http://h/?utm_source=n&id=1&Page=2&x=3"
    assert (
        urls.canonicalize(url, UrlRules(keep_params=("ID", "page", "utm_*")))
        == "http://h/?Page=2&id=1&utm_source=n"
    )
    assert urls.canonicalize(url, UrlRules(keep_params=())) == "http://h/"
    assert urls.canonicalize(url, UrlRules(frozenset({"x"}))) == "http://h/?Page=2&id=1&utm_source=n"


def test_rules_travel_to_worker_processes() -> None:
    rules = UrlRules(keep_params=("id",))
    copy = pickle.loads(pickle.dumps(rules))
    assert copy == rules
    assert copy.keeps("id")
    assert not copy.keeps("x")


def test_a_target_keeps_the_spelling_but_not_the_secrets() -> None:
    found = urls.target("http://user:pass@H/Dir/?b=2&a=1#top")
    assert found == Target("http://h/Dir?a=1&b=2", "http://h/Dir/?b=2&a=1")


@examples
@given(ANY_URL, RULES)
@example("http://1.2.3../", DEFAULT_RULES)
@example("http://./", DEFAULT_RULES)
def test_a_key_stays_as_it_is(url: str, rules: UrlRules) -> None:
    key = urls.canonicalize(url, rules)
    assert key is None or urls.canonicalize(key, rules) == key


@examples
@given(ANY_URL, RULES)
def test_the_url_of_a_target_has_its_key_and_no_secrets(url: str, rules: UrlRules) -> None:
    found = urls.target(url, "http://user@h/", rules=rules)
    if found is None:
        return
    parsed = ada_url.URL(found.url)
    assert parsed.href == found.url
    assert parsed.username == parsed.password == parsed.hash == ""
    assert urls.canonicalize(found.url, rules) == found.key


@examples
@given(PAGES, st.lists(st.one_of(RELATIVE, BUILT, st.text(max_size=20)), max_size=12), st.integers(1, 8), RULES)
@example(
    "http://h/a/b?q", ["?x", "", "#f", "http:?y", "http:", " ?z", "\t", "c", "c/", "//h", "/"], 100, DEFAULT_RULES
)
@example(
    "http://h/a",
    ["http://h/", "https://h/b/", "http://xn--a/", "http://h", "ht\ntp:?y", "x\t?", "x ", "x #f"],
    100,
    DEFAULT_RULES,
)
@example("http://h//a//b/", ["../../../x", "../x/", "..//x"], 100, DEFAULT_RULES)
def test_the_memo_never_changes_an_answer(page: str, hrefs: list[str], entries: int, rules: UrlRules) -> None:
    expected = [urls.target(href, page, rules=rules) for href in hrefs]
    own = urls.target(page, rules=rules)
    resolver = Resolver(rules, entries=entries)
    for _ in range(3):
        view = resolver.page(page)
        if view is None:
            assert own is None
            return
        assert view.own == own
        assert [view.target(href) for href in hrefs] == expected


@examples
@given(st.lists(RELATIVE, min_size=1, max_size=12), st.permutations(["a.html", "b.html?q=1", "", "c;d", "e:f"]))
def test_the_memo_of_a_directory_serves_all_its_pages(hrefs: list[str], files: list[str]) -> None:
    resolver = Resolver()
    for file in files:
        page = f"https://example.org/x/y/{file}"
        view = resolver.page(page)
        assert view is not None
        for href in hrefs:
            assert view.target(href) == urls.target(href, page)


def test_the_memo_is_bounded() -> None:
    resolver = Resolver(entries=10)
    page = resolver.page("http://h/")
    assert page is not None
    for number in range(1000):
        assert page.target(f"d{number}/p{number}") == (f"http://h/d{number}/p{number}",) * 2
    assert len(page._known) <= 10


def test_long_directories_are_not_remembered() -> None:
    """They would fill the memo, which is bounded by entries, with megabytes each."""
    resolver = Resolver()
    page = resolver.page(f"http://h/{'a/' * 2_000}")
    assert page is not None
    for number in range(100):
        assert page.target(f"../{number}") == Target(*[f"http://h/{'a/' * 1_999}{number}"] * 2)
    assert not resolver._directories


@pytest.mark.parametrize("href", ["../" * 8 + "x", "../" * 9 + "x", "../" * 80 + "x/", "../" * 2_000 + "x"])
def test_a_reference_far_up_ends_at_the_root(href: str) -> None:
    page = Resolver().page("http://h/a/b/c")
    assert page is not None
    assert page.target(href) == urls.target(href, "http://h/a/b/c")
    assert page.target(href).key == "http://h/x"


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("http://h/" + "a" * (MAX_URL - 9), True),
        ("http://h/" + "a" * (MAX_URL - 8), False),
        ("http://h/" + "\u00e9" * (MAX_URL // 6 - 2), True),
        ("http://h/" + "\u00e9" * (MAX_URL // 6), False),
        (" " * MAX_URL + "http://h/", False),
    ],
)
def test_a_url_that_is_too_long_is_none(url: str, known: bool) -> None:
    assert (urls.target(url) is not None) is known
    assert (urls.canonicalize(url) is not None) is known
    assert (Resolver().page("http://h/").target(url) is not None) is known


def test_a_resolver_has_no_page_for_what_is_not_http() -> None:
    assert Resolver().page("ftp://h/a") is None
    assert Resolver().page("a/b") is None


@examples
@given(BUILT)
def test_split_agrees_with_the_parser(url: str) -> None:
    key = urls.canonicalize(url)
    if key is None:
        return
    parsed = ada_url.URL(key)
    parts = urls.split(key)
    port = int(parsed.port or {"http:": 80, "https:": 443}[parsed.protocol])
    assert parts == Parts(parsed.protocol[:-1], parsed.hostname, port, parsed.pathname, parsed.search[1:])
    assert urls.site(key) == f"{parsed.hostname}:{port}"


@pytest.mark.parametrize(
    ("key", "site", "scope"),
    [
        ("http://h/a", "h:80", "h"),
        ("https://h/", "h:443", "h"),
        ("https://h:8443/a?b:c/d", "h:8443", "h:8443"),
        ("http://[::1]/", "[::1]:80", "[::1]"),
        ("http://[::1]:8080/", "[::1]:8080", "[::1]:8080"),
        ("http://h:443/", "h:443", "h"),
    ],
)
def test_sites(key: str, site: str, scope: str) -> None:
    assert urls.site(key) == site
    assert urls.scope_site(key) == scope


@pytest.mark.parametrize("url", ["http://h.test./a", "http://h.test.:80/a", "http://h.test/a"])
def test_a_dot_at_the_end_of_a_host_makes_no_other_site(url: str) -> None:
    """What a request uses is spelled as it was found; the limits of a host count for every spelling."""
    assert urls.site(url) == "h.test:80"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("http://h/a", "https://h/b", True),
        ("http://h:8080/", "https://h:8080/", True),
        ("http://h/", "http://h:8080/", False),
        ("http://h/", "http://www.h/", False),
    ],
)
def test_same_site(left: str, right: str, same: bool) -> None:
    assert urls.same_site(left, right) is same


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("https://example.org/", "https://example.org/"),
        ("https://example.md/", "https://example.md/"),
        ("https://example.org/docs?id=1", "https://example.org/docs?id=1"),
        ("https://example.org/index.html", "https://example.org/"),
        ("https://example.org:8443/docs/index.HTM", "https://example.org:8443/docs"),
        ("https://example.org/docs/page.php?id=1/2.html", "https://example.org/docs"),
        ("https://example.org/a/b/guide.pdf", "https://example.org/a/b"),
        ("https://example.org/release-2.0", "https://example.org/release-2.0"),
        ("https://example.org/a.b/c", "https://example.org/a.b/c"),
    ],
)
def test_a_base_url_that_names_a_file_covers_its_directory(key: str, scope: str) -> None:
    assert urls.scope(key) == scope
