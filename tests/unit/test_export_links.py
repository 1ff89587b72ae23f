"""Links between exported pages: destinations change, everything else stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from effort import assert_linear, part
from orbweb.export.links import LinkRewriter, relative, rewrite
from orbweb.urls import DEFAULT_RULES

FILES = {
    "https://example.org/": "index.md",
    "https://example.org/docs": "docs/index.md",
    "https://example.org/docs/a": "docs/a.md",
    "https://example.org/docs/b_(c)": "docs/b_c_-1234abcd.md",
    "https://example.org/docs/caf%C3%A9": "docs/café.md",
    "https://example.org/x?a=1&b=2": "x_a=1,b=2.md",
}
LINKS = LinkRewriter(FILES, DEFAULT_RULES)


def rewritten(markdown: str) -> str:
    return LINKS.rewrite(markdown, "docs/index.md")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[a](https://example.org/docs/a)", "[a](a.md)"),
        ("[a](https://example.org/docs/a/)", "[a](a.md)"),
        ("[a](https://example.org/docs/a?utm_source=x#part)", "[a](a.md#part)"),
        ("[up](https://example.org/)", "[up](../index.md)"),
        ("[self](https://example.org/docs/#part)", "[self](#part)"),
        ("[self](https://example.org/docs/)", "[self](index.md)"),
        ("[far](https://example.com/docs/a)", "[far](https://example.com/docs/a)"),
        ("[gone](https://example.org/gone#x)", "[gone](https://example.org/gone#x)"),
        ("[t](https://example.org/docs/a 'title')", "[t](a.md 'title')"),
        ('[t](<https://example.org/docs/a> "title")', '[t](<a.md> "title")'),
        ("[p](https://example.org/docs/b_(c))", "[p](b_c_-1234abcd.md)"),
        (r"[p](https://example.org/docs/b_\(c\))", "[p](b_c_-1234abcd.md)"),
        ("[é](https://example.org/docs/café)", "[é](caf%C3%A9.md)"),
        ("[q](https://example.org/x?b=2&amp;a=1)", "[q](../x_a=1,b=2.md)"),
        ("![i](https://example.org/i.png)", "![i](https://example.org/i.png)"),
        ("[![i](https://example.org/i.png)](https://example.org/docs/a)", "[![i](https://example.org/i.png)](a.md)"),
        ("`[a](https://example.org/docs/a)`", "`[a](https://example.org/docs/a)`"),
        ("``x ` [a](https://example.org/docs/a)``", "``x ` [a](https://example.org/docs/a)``"),
        (r"\`[a](https://example.org/docs/a)`", r"\`[a](a.md)`"),
        ("a ` b\n\n[a](https://example.org/docs/a) `", "a ` b\n\n[a](a.md) `"),
        (r"[a\](https://example.org/docs/a)", r"[a\](https://example.org/docs/a)"),
        ("[angle](https://example.org/docs/a#x<y>)", "[angle](a.md#x<y>)"),
        ("<https://example.org/docs/a>", "[https://example.org/docs/a](a.md)"),
        ("<https://example.org/x?a=1&b=2>", r"[https://example.org/x?a=1\&b=2](../x_a=1,b=2.md)"),
        ("<https://example.com/> `<https://example.org/>`", "<https://example.com/> `<https://example.org/>`"),
        ("[mail](mailto:a@example.org)", "[mail](mailto:a@example.org)"),
        ("[frag](#here) [empty]()", "[frag](#here) [empty]()"),
        ("| [a](https://example.org/docs/a) | `]( ` |", "| [a](a.md) | `]( ` |"),
    ],
)  # fmt: skip
def test_destinations(markdown: str, expected: str) -> None:
    assert rewritten(markdown) == expected


@pytest.mark.parametrize(
    "code",
    [
        "```\n[a](https://example.org/docs/a)\n```",
        "~~~python\n[a](https://example.org/docs/a)\n~~~",
        "````\n```\n[a](https://example.org/docs/a)\n````",
        "- ```\n  [a](https://example.org/docs/a)\n  ```",
        "1. x\n\n   ```\n   [a](https://example.org/docs/a)\n   ```",
        "> ```\n> [a](https://example.org/docs/a)\n> ```",
        "```\n[a](https://example.org/docs/a)",
    ],
)
def test_code_is_left_alone(code: str) -> None:
    assert rewritten(code) == code
    before = "[a](https://example.org/docs/a)\n\n"
    assert rewritten(before + code) == "[a](a.md)\n\n" + code


def test_relative() -> None:
    assert relative("", "a.md") == "a.md"
    assert relative("a/b", "a/c/d.md") == "../c/d.md"
    assert relative("a/b", "a/b/c.md") == "c.md"
    assert relative("a", "b c/ü.md") == "../b%20c/%C3%BC.md"


PIECES = st.sampled_from(
    [
        "[a](https://example.org/docs/a)",
        "[b](https://example.org/#x)",
        "[c](https://elsewhere.org/)",
        "<https://example.org/docs/a> ",
        "![i](<https://example.org/docs/a>)",
        " `code [a](https://example.org/docs/a)` ",
        " ``\\` [a](https://example.org/docs/a) ` `` ",
        "\n```sh\n[a](https://example.org/docs/a)\n```\n",
        "\n~~~\n``` [a](https://example.org/docs/a)\n~~~\n",
        "\n- item ",
        "\n> quoted ",
        "\n\n",
        "words ",
        "\\[ ",
        "\\` ",
        "**bold** ",
        "\n# Heading ",
        "\n| x | y |\n| --- | --- |\n| [a](https://example.org/docs/a) | `a` |\n",
    ]
)


def flat(tokens: list[Token]) -> list[Token]:
    return [found for token in tokens for found in (token, *flat(token.children or []))]


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_a_commonmark_parser_sees_other_destinations_and_nothing_else(markdown: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    before, after = flat(parser.parse(markdown)), flat(parser.parse(rewritten(markdown)))
    assert [token.type for token in before] == [token.type for token in after]
    expected = {"https://example.org/docs/a": "a.md", "https://example.org/#x": "../index.md#x"}
    for old, new in zip(before, after, strict=True):
        if old.type in ("code_inline", "fence", "code_block", "text"):
            assert old.content == new.content
        for attribute in ("href", "src"):
            destination = old.attrGet(attribute)
            assert new.attrGet(attribute) == expected.get(str(destination), destination)


@pytest.mark.alone
@pytest.mark.parametrize(
    "piece",
    [
        "](",
        "](a",
        "](<a",
        "`",
        "[](",
        "](\\",
        "](((",
        "\n```",
        "> ",
        "- ",
        "](a(b",
        "<http",
        "<https://",
        "\\",
        "](\n",
        "`` ` ",
    ],
)
def test_the_work_grows_with_the_length_only(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert rewrite(text, lambda _: None) == text
    assert_linear(lambda some: rewrite(some, lambda _: None), part(text), text)


@pytest.mark.alone
def test_runs_of_backticks_of_every_length_are_no_trap() -> None:
    text = "[a](b)" + " ".join("`" * length for length in range(1, 1200))
    assert rewrite(text, lambda _: "c").startswith("[a](c)")
    assert_linear(lambda some: rewrite(some, lambda _: "c"), part(text), text)
