"""Markdown that is written reads back: headings, code, tables, lists and text, whatever signs they hold."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from extraction.reading import markdown_of, page_of, read, rendered, text_of, visible
from orbweb import extraction

NASTY = "*_`~#+-=|<>[](){}!\\&;:.\"'$^/ 1a\u00e9\u4e2d\U0001f600"
words = (
    st.text(st.sampled_from(NASTY), min_size=1, max_size=12).map(lambda said: " ".join(said.split())).filter(bool)
)
lines = st.text(st.sampled_from(NASTY + "\t"), max_size=16)
languages = st.sampled_from(["", "python", "c++", "c#", "shell-session", "yaml+jinja", "objective-c"])


class Heading(NamedTuple):
    level: int
    said: str


class Code(NamedTuple):
    language: str
    said: str


class Table(NamedTuple):
    rows: list[list[str]]


class Paragraph(NamedTuple):
    said: str


class Group(NamedTuple):
    tag: str
    blocks: list[Block]


Block = Heading | Code | Table | Paragraph | Group


def letters(said: str) -> str:
    return "".join(sign for sign in said if sign.isalnum())


def joined(said: list[str]) -> str:
    return "\n".join(said)


code = st.builds(Code, languages, st.lists(lines, min_size=1, max_size=4).map(joined).filter(str.strip))
tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(words, min_size=width, max_size=width), min_size=2, max_size=3).map(Table)
)
leaves = st.one_of(
    st.builds(Heading, st.integers(1, 6), words),
    code,
    tables,
    st.builds(Paragraph, words),
)
blocks = st.recursive(
    st.lists(leaves, min_size=1, max_size=4),
    lambda inner: st.builds(
        lambda tag, first, rest: [*first, Group(tag, rest)],
        st.sampled_from(["ul", "ol", "blockquote", "div", "dl"]),
        st.lists(leaves, max_size=2),
        inner,
    ),
    max_leaves=4,
)


def markup(found: list[Block]) -> str:
    parts = []
    for block in found:
        match block:
            case Heading(level, said):
                parts.append(f"<h{level}>{escape(said)}</h{level}>")
            case Code(language, said):
                parts.append(f'<pre><code class="language-{language}">{escape(said)}</code></pre>')
            case Table(rows):
                cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
                head = cells[0].replace("td>", "th>")
                parts.append(f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells[1:])}</table>")
            case Paragraph(said):
                parts.append(f"<p>{escape(said)}</p>")
            case Group("dl", inner):
                parts.append(f"<dl><dt>term</dt><dd>{markup(inner)}</dd></dl>")
            case Group("ul" | "ol" as tag, inner):
                parts.append(f"<{tag}><li>{markup(inner)}</li><li>more</li></{tag}>")
            case Group(tag, inner):
                parts.append(f"<{tag}>{markup(inner)}</{tag}>")
    return "".join(parts)


def flat(found: list[Block]) -> list[Block]:
    return [leaf for block in found for leaf in (flat(block.blocks) if isinstance(block, Group) else [block])]


@settings(deadline=None, derandomize=True, database=None)
@given(blocks)
@example([Heading(1, "a #"), Heading(2, "#"), Code("", "```\n~~~"), Table([["a|b", "`|`"], ["\\|", "-"]])])
def test_headings_code_and_tables_read_back(found: list[Block]) -> None:
    seen = read(markdown_of(markup(found)))
    said = flat(found)
    assert seen.headings == [(block.level, block.said) for block in said if isinstance(block, Heading)]
    assert seen.code == [
        (block.language, block.said.rstrip().lstrip("\n")) for block in said if isinstance(block, Code)
    ]
    assert seen.rows == [row for block in said if isinstance(block, Table) for row in block.rows]


@settings(deadline=None, derandomize=True, database=None)
@given(blocks)
def test_text_has_the_words_of_the_markdown(found: list[Block]) -> None:
    page = markup(found)
    assert "".join(text_of(page).split()) == "".join(read(markdown_of(page)).words)


TAGS = """
p div span a b i em strong code pre ul ol li dl dt dd table thead tbody tr td th caption h1 h2 h6 br hr img sup sub
math details summary blockquote figure iframe video script svg tt kbd button textarea label main section aside
"""
CLASSES = " highlight line sig admonition note math memname lineno katex fragment headerlink"
ATTRIBUTES = """
href='x'|href='javascript:y'|href='#'|colspan='9999999999'|rowspan='3'|colspan=0|start=-1|value=7|src='data:x'
|src=z|alt='*'|id=q|role=presentation|||
"""
attributes = st.sampled_from([said.strip() for said in ATTRIBUTES.split("|")])
opened = st.builds(
    "<{} class='{}' {}>".format, st.sampled_from(TAGS.split()), st.sampled_from(CLASSES.split(" ")), attributes
)
closed = st.builds("</{}>".format, st.sampled_from(TAGS.split()))
odd = st.sampled_from(["\n", " ", "\\\\(x\\\\)", "$", "&nbsp;"])
soup = st.lists(st.one_of(opened, opened, closed, words.map(escape), odd), max_size=40)


@settings(deadline=None, derandomize=True, database=None)
@given(soup.map("".join))
def test_any_markup_is_written_and_has_the_same_words_as_text(page: str) -> None:
    found = rendered(page_of(page), "https://docs.example/a/")
    assert letters(found.text) == letters(" ".join(visible(found.markdown)))


@settings(deadline=None, derandomize=True, database=None)
@given(soup.map("".join) | st.binary(max_size=200))
def test_any_page_has_a_document_and_always_the_same(page: str | bytes) -> None:
    document = extraction.extract(page, "https://docs.example/a/")
    assert document == extraction.extract(page, "https://docs.example/a/")
    words = document.text.replace("\n", " ").split(" ") if document.text else []
    assert (document.words, all(words)) == (len(words), True)
    assert 0 <= document.confidence <= 1
    assert bool(document.markdown) >= bool(document.text)


@given(st.text(max_size=80))
def test_any_text_reads_back_as_text(said: str) -> None:
    kept = "".join(sign for sign in said if sign.isprintable() and not 0xFDD0 <= ord(sign) <= 0xFDEF)
    seen = read(markdown_of(f"<p>{escape(kept)}</p>"))
    assert "".join(seen.words) == "".join(kept.split())
