"""S6: whatever a URL holds, its file has a plain name of its own below the folder."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orbweb.export.filenames import MAX_NAME, FileNames, fold, is_safe
from orbweb.urls import canonicalize

SITE = "https://example.org"


def name(path: str, *, directory: bool = False) -> str:
    key = canonicalize(SITE + path)
    assert key is not None
    return FileNames(hosts=False).take(key, directory=directory)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "index.md"),
        ("/a", "a.md"),
        ("/a.html", "a.md"),
        ("/a/index.html", "a/index.md"),
        ("/docs/v1.2/install.HTM", "docs/v1.2/install.md"),
        ("/a?x=1", "a_x=1.md"),
        ("/a?y=2&x=1", "a_x=1,y=2.md"),
        ("/?page=2", "index_page=2.md"),
        ("/README.md", "README.md.md"),
        ("/index.php?title=Main", "index.php_title=Main.md"),
        ("/caf%C3%A9/%E6%96%87%E6%A1%A3", "café/文档.md"),
    ],
)
def test_a_plain_url_is_named_as_one_would_expect(path: str, expected: str) -> None:
    assert name(path) == expected


def test_a_directory_is_its_index() -> None:
    assert name("/a", directory=True) == "a/index.md"


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fetc%2fpasswd",
        "/..%5c..%5cwindows",
        "/a%00b",
        "/a%0ab",
        "/.git/config",
        "/.orbweb-export.jsonl",
        "/-rf",
        "/con",
        "/CON.txt/x",
        "/nul.html",
        "/lpt1?x",
        "/com%C2%B9",
        "/a.",
        "/a%20",
        "/a:stream",
        "/PROGRA~1",
        "/%E2%80%AEcod.exe",
        "/%EF%BC%8E%EF%BC%8E/x",
        "/%EF%BB%BF",
        "/%E1%85%9F",
        "/a%EF%B8%8F",
        "/%FF%FE",
        "/" + "a" * 300,
        "/" + "/".join("abcdefgh" for _ in range(200)),
        "/" + "%E6%96%87" * 200,
        "/?" + "q" * 3000,
        "/a.md/b",
    ],
)
def test_a_hostile_url_gets_a_safe_name_with_a_mark_of_its_own(path: str) -> None:
    found = name(path)
    assert_safe(found)
    assert re.search(r"-[0-9a-f]{8}\.md$", found), found


def assert_safe(found: str) -> None:
    assert found.endswith(".md")
    assert len(found.encode()) <= MAX_NAME
    assert is_safe(found)
    for part in found.split("/"):
        assert part
        assert part[0] not in ".-"
        assert part[-1] not in ". "
        assert not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", part)
        assert not set(part) & set('<>:"/\\|?*~%\x00')
        assert all(unicodedata.category(sign)[0] in "LNMPS" for sign in part)
        assert unicodedata.normalize("NFC", part) == part
    assert not any(part.lower().endswith(".md") for part in found.split("/")[:-1])


HOSTILE = ["..", ".", "/", "\\", "%2e", "%2F", "%5C", "%00", "%0d", "%20", "CON", "nul", ":", "~", "?", "&", "="]
HOSTILE += ["a", "A", "é", "e\u0301", "ß", "SS", "ﬁ", "İ", "\u0131", "\uff0e", "\u202e", "\u200d", "文"]
HOSTILE += ["%FF", ".md", ".html", "x" * 70]
SIGNS = st.one_of(st.sampled_from(HOSTILE), st.characters())
PATHS = st.lists(SIGNS, max_size=40).map(lambda signs: "/" + "".join(signs))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(PATHS, st.booleans()), max_size=12), st.booleans())
@example([("/a", False), ("/A", False), ("/a.html", False), ("/a", True), ("/a?x=1", False)], False)
def test_any_urls_get_safe_names_that_no_file_system_takes_for_one(
    paths: list[tuple[str, bool]], hosts: bool
) -> None:
    keys = {canonicalize(SITE + path): directory for path, directory in paths}
    keys.pop(None, None)
    names, again = FileNames(hosts=hosts), FileNames(hosts=hosts)
    found = [names.take(key, directory=directory) for key, directory in keys.items() if key]
    assert found == [again.take(key, directory=directory) for key, directory in keys.items() if key]
    for each in found:
        assert_safe(each)
        assert not hosts or each.startswith("example.org/")
    assert len({fold(each) for each in found}) == len(found)


def test_ten_thousand_hostile_urls_have_ten_thousand_safe_names() -> None:
    chance = random.Random(6)
    paths = ("/" + "".join(chance.choices(HOSTILE, k=chance.randint(1, 12))) for _ in range(12_500))
    keys = {key for path in paths if (key := canonicalize(SITE + path))}
    assert len(keys) > 10_000
    names = FileNames(hosts=False)
    found = [names.take(key, directory=len(key) % 2 == 0) for key in sorted(keys)]
    for each in found:
        assert_safe(each)
    assert len({fold(each) for each in found}) == len(keys)


def test_pages_that_look_alike_stay_apart_and_the_first_keeps_the_plain_name() -> None:
    names = FileNames(hosts=False)
    paths = [
        ("/a", False),
        ("/a", True),
        ("/a/index.html", False),
        ("/a?x=1", False),
        ("/A", False),
        ("/a.htm", False),
    ]
    found = []
    for path, directory in paths:
        found.append(names.take(SITE + path, directory=directory))
    assert found[:2] == ["a.md", "a/index.md"]
    assert found[3] == "a_x=1.md"
    assert re.fullmatch(r"a/index-[0-9a-f]{8}\.md", found[2])
    assert re.fullmatch(r"A-[0-9a-f]{8}\.md", found[4])
    assert re.fullmatch(r"a-[0-9a-f]{8}\.md", found[5])


def test_a_name_does_not_depend_on_pages_that_come_later() -> None:
    paths = ["/a", "/b/c", "/a%20b", "/x?y=1"]
    alone = [FileNames(hosts=False).take(SITE + path) for path in paths]
    names = FileNames(hosts=False)
    assert alone == [names.take(SITE + path) for path in paths]


def test_hosts_and_ports_are_directories() -> None:
    names = FileNames(hosts=True)
    assert names.take("https://example.org/") == "example.org/index.md"
    assert names.take("http://example.org:8080/a") == "example.org_8080/a.md"
    assert_safe(names.take("http://[2001:db8::1]/a"))
    assert names.take("https://site.md/a") == "site.md_/a.md"


@pytest.mark.parametrize(
    "listed", ["../x", "/etc/passwd", "a//b", "a/../b", "", ".", "a/", "a\\b", "con", "a\x00", ".hidden", "\ud800"]
)
def test_names_that_are_none_of_ours_are_refused(listed: str) -> None:
    assert not is_safe(listed)


def test_dots_that_lead_upwards_are_gone_before_a_name_is_made() -> None:
    assert name("/%2e%2e/%2e%2e/etc/passwd") == "etc/passwd.md"
    assert_safe(FileNames(hosts=False).take("https://example.org/../../etc/passwd"))
