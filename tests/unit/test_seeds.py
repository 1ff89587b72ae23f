"""Base URLs and project names as a user gives them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orbweb.errors import UsageError
from orbweb.frontier.seeds import base_urls, check_project_name, project_name, read_seeds
from orbweb.urls import DEFAULT_RULES, Target, UrlRules


def one(text: str) -> Target:
    (target,) = base_urls([text], DEFAULT_RULES)
    return target


@pytest.mark.parametrize(
    ("text", "key", "url"),
    [
        ("https://example.org", "https://example.org/", "https://example.org/"),
        ("  https://example.org/docs/ ", "https://example.org/docs", "https://example.org/docs/"),
        ("example.org/docs/", "https://example.org/docs", "https://example.org/docs/"),
        ("localhost:8080/a", "https://localhost:8080/a", "https://localhost:8080/a"),
        ("HTTP://Example.ORG:80/A#part", "http://example.org/A", "http://example.org/A"),
        ("http://[::1]:8000/", "http://[::1]:8000/", "http://[::1]:8000/"),
        ("[::1]:8000", "https://[::1]:8000/", "https://[::1]:8000/"),
        ("https://example.org/~me@work/", "https://example.org/~me@work", "https://example.org/~me@work/"),
        (
            "https://example.org?mail=a@b.org",
            "https://example.org/?mail=a@b.org",
            "https://example.org/?mail=a@b.org",
        ),
        ("127.0.0.1:8000/a", "https://127.0.0.1:8000/a", "https://127.0.0.1:8000/a"),
        ("docs.Example.ORG.?q=1", "https://docs.example.org/?q=1", "https://docs.example.org./?q=1"),
        ("xn--e1afmkfd.xn--p1ai", "https://xn--e1afmkfd.xn--p1ai/", "https://xn--e1afmkfd.xn--p1ai/"),
    ],
)
def test_a_base_url(text: str, key: str, url: str) -> None:
    assert one(text) == (key, url)


@pytest.mark.parametrize(
    "text", ["index.html", "Guide.HTM", "notes.v2.txt", "paper.pdf#page=3", "index.html?a=b/c"]
)
def test_the_name_of_a_file_is_no_host(text: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(repr(text))} is a file name, not a URL; .* https://"):
        one(text)


@pytest.mark.parametrize(
    "text", ["point.md", "html.example", "example.org/index.html", "txt.example.org:80/a.pdf"]
)
def test_a_host_may_look_like_a_file_elsewhere(text: str) -> None:
    assert one(text).url.startswith(f"https://{text}")


@pytest.mark.parametrize("name", ["README.md", "docs.example/README.md", "example.org", "pages"])
def test_a_file_that_is_here_is_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match=f"^{re.escape(repr(name))} is a file, not a URL; .* https://"):
        one(name)
    assert one(f"http://{name}").url.startswith("http://")
    (tmp_path / "seeds").write_text("example.org\n")
    assert read_seeds(tmp_path / "seeds", DEFAULT_RULES) == ["https://example.org"]


def test_a_folder_or_a_very_long_word_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.org").mkdir()
    assert one("example.org").key == "https://example.org/"
    long = "example.org/" + "a" * 5_000
    assert one(long).key == f"https://{long}"


def test_order_is_kept_and_each_key_comes_once() -> None:
    given = ["https://b/", "https://a/x/", "https://b", "https://a/x", "http://b/"]
    assert [target.url for target in base_urls(given, DEFAULT_RULES)] == [
        "https://b/",
        "https://a/x/",
        "http://b/",
    ]
    assert base_urls([], DEFAULT_RULES) == []


def test_the_rules_of_the_project_decide_what_is_one_key() -> None:
    given = ["https://a/?id=1", "https://a/?id=2"]
    assert len(base_urls(given, DEFAULT_RULES)) == 2
    assert len(base_urls(given, UrlRules(keep_params=()))) == 1


@pytest.mark.parametrize("text", ["ftp://example.org/", "file:///etc/passwd", "data://x", "ws://example.org/"])
def test_other_schemes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"{text!r}: only http and https")):
        one(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "?x",
        "#x",
        "/docs",
        "./docs",
        "../docs",
        "//example.org/",
        "http:/example.org",
        "https:example.org",
        "https:\\\\example.org",
        "HTTP:/example.org",
        "example.org:99999",
        "http:8080/x",
        "python",
        "wiki/start",
        "127.0.0.1-8981",
        "8981",
        "v1.2",
        "1.2",
        "example.org-docs",
        "docs_2.x-y",
    ],
)
def test_what_is_no_url_is_refused_rather_than_guessed(text: str) -> None:
    with pytest.raises(UsageError, match="is not a URL; write it with http"):
        one(text)


@pytest.mark.parametrize("text", ["https://", "https://exa mple.org/", "https://[::1/", "http://127.0.0.1:99999/"])
def test_what_has_a_scheme_is_told_to_look_further(text: str) -> None:
    with pytest.raises(UsageError, match="is not a URL: check its host and port"):
        one(text)


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "mailto:me@example.org", "MAILTO:me@example.org", "tel:112"]
)
def test_what_leads_to_no_page_is_told_so(text: str) -> None:
    with pytest.raises(UsageError, match="only http and https"):
        one(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://user:hunter2@example.org/",
        "https://hunter2@example.org",
        "user:hunter2@example.org/docs",
        "https:///user:hunter2@example.org/",
        "https://user:hunter2@exa mple.org/",
        "ftp://user:hunter2@example.org/",
        "https://user:hunter2@example.org?x#y",
    ],
)
def test_a_password_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="user name or password") as caught:
        one(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("https://example.org/", "example.org"),
        ("https://example.org/docs/v1_2", "example.org-docs-v1-2"),
        ("http://localhost:8080/a", "localhost-8080-a"),
        ("http://[::1]:8000/", "1-8000"),
        ("https://[::]/", "site"),
        ("http://127.0.0.1:8000/index.html", "127.0.0.1-8000"),
        ("https://example.org/docs/Index.PHP", "example.org-docs"),
        ("https://example.org/a/default.aspx?x=1", "example.org-a"),
        ("https://example.org/docs/index", "example.org-docs-index"),
        ("https://example.org/docs/reindex.html", "example.org-docs-reindex.html"),
        ("https://example.org/index.html/more", "example.org-index.html-more"),
        ("https://example.org/%C3%A9", "example.org-C3-A9"),
        ("https://example.org/" + "x" * 200, "example.org-" + "x" * 88),
    ],
)
def test_a_project_without_a_name_gets_one_that_is_allowed(base: str, name: str) -> None:
    assert project_name(base) == name
    assert check_project_name(name) == name


@pytest.mark.parametrize("name", ["a", "Docs-2.0_x", "9", "x" * 100])
def test_a_good_project_name(name: str) -> None:
    assert check_project_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "-a", "_a", "a/b", "../a", "a b", "a\n", "\u00e9", "x" * 101])
def test_a_bad_project_name_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"project {name!r}: ")):
        check_project_name(name)
