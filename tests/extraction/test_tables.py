"""Tables: spans, blocks in cells, tables in tables, layout; and those that claim more than they hold."""

from __future__ import annotations

import pytest

from extraction.reading import markdown_of, read, text_of


def rows(page: str) -> list[list[str]]:
    return read(markdown_of(page)).rows


TABLES = {
    "rows and columns that span": (
        "<tr><th rowspan=2>a</th><th colspan=2>b</th></tr><tr><th>c</th><th>d</th></tr><tr><td>e<td>f<td>g</tr>",
        [["a", "b", ""], ["", "c", "d"], ["e", "f", "g"]],
    ),
    "short and long rows": (
        "<tr><th>a<th>b</tr><tr><td>c</tr><tr><td>d<td>e<td>f</tr>",
        [["a", "b", ""], ["c", "", ""], ["d", "e", "f"]],
    ),
    "no header": ("<tr><td>a<td>b</tr><tr><td>c<td>d</tr>", [["", ""], ["a", "b"], ["c", "d"]]),
    "bars and code": (
        "<tr><th>a|b<th><code>c|d</code></tr><tr><td><a href='x|y'>e|f</a><td>\\|</tr>",
        [["a|b", "c|d"], ["e|f", "\\|"]],
    ),
    "blocks in cells": (
        "<tr><th>a<th>b</tr><tr><td><p>c</p><p>d</p><td><ul><li>e<li>f<ul><li>g</ul></ul></tr>"
        "<tr><td>h<br>i<td><dl><dt>j<dd>k</dl></tr>",
        [["a", "b"], ["c d", "e f g"], ["h i", "j k"]],
    ),
    "one line of code": ("<tr><th>a<th>b</tr><tr><td><pre>c  d</pre><td>e</tr>", [["a", "b"], ["c d", "e"]]),
    "a table inside": (
        "<tr><th>a<th>b</tr><tr><td><table><tr><td>c<td>d<tr><td>e<td>f</table><td>g</tr>",
        [["a", "b"], ["c d e f", "g"]],
    ),
    "several heads, a foot": (
        "<thead><tr><th>a<th>b<tr><th>c<th>d</thead><tbody><tr><td>e<td>f</tbody><tfoot><tr><td>g<td>h</tfoot>",
        [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]],
    ),
    "a span of nine digits": (
        "<tr><th colspan=999999999>a</th></tr><tr><td>b<td>c</tr>",
        [["a", ""], ["b", "c"]],
    ),
    "spans that are no numbers": (
        "<tr><th colspan=x>a<th rowspan=-1>b</tr><tr><td colspan=²>c<td>d</tr>",
        [["a", "b"], ["c", "d"]],
    ),
}


@pytest.mark.parametrize(("markup", "expected"), TABLES.values(), ids=TABLES.keys())
def test_a_table_has_its_rows(markup: str, expected: list[list[str]]) -> None:
    assert rows(f"<table>{markup}</table>") == expected


def test_lines_in_a_cell_are_parted() -> None:
    page = (
        "<table><tr><th>a<th>b</tr><tr><td>c<br>d<ul><li>e<li>f</ul><td><pre>g\n  h</pre></tr></table>"
        + "<p>x</p>"
    )
    written = markdown_of(page.replace("</tr></table>", "</tr>" + "<tr><td>i<td>j</tr>" * 4 + "</table>"))
    assert "| c <br> d <br> e <br> f | `g` <br> ` h` |" in written


LAYOUT = {
    "one column": "<tr><td><p>a</p><pre>b\nc</pre></tr><tr><td>d</tr>",
    "one row": "<tr><td>a<pre>b\nc</pre><td>d</tr>",
    "headings in it": "<tr><td>a<td><pre>b\nc</pre><h2>d</h2></tr><tr><td></tr>",
    "said so": "<table role=presentation><tr><td>a<td><pre>b\nc</pre><tr><td>d<td></table>",
    "tables in it": "<tr><td><table><tr><td>a</table><td><pre>b\nc</pre></tr><tr><td>d</tr>",
}


@pytest.mark.parametrize("markup", LAYOUT.values(), ids=LAYOUT.keys())
def test_layout_becomes_blocks(markup: str) -> None:
    seen = read(markdown_of(markup if markup.startswith("<table") else f"<table>{markup}</table>"))
    assert seen.rows == []
    assert seen.code == [("", "b\nc")]
    assert text_of(f"<table>{markup}</table>").split() == ["a", "b", "c", "d"]


def test_a_caption_stands_above_its_table() -> None:
    page = "<table><caption>Cap</caption><tr><th>a<th>b<tr><td>c<td>d</table>"
    assert markdown_of(page).startswith("*Cap*\n\n| a | b |")
    assert text_of(page).startswith("Cap\na b")


def test_spans_cannot_make_a_small_page_large() -> None:
    page = "<table>" + "<tr><td rowspan=60000 colspan=1000>x</td><td>y</td></tr>" * 1_000 + "</table>"
    written = markdown_of(page)
    assert len(written) < 10 * len(page)
    assert written.count("x") == 1_000
