"""Code as the generators of documentation write it, in small and by hand: text, lines and language stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from extraction.reading import markdown_of

PYTHON = "def f():\n    pass"
RUST = "fn f() {\n    ()\n}"


def conventions() -> dict[str, tuple[str, str]]:
    """Name -> the language it states, and the markup; `=== name | language` begins each."""
    found = {}
    for part in (Path(__file__).parent / "pages" / "code.txt").read_text().split("=== ")[1:]:
        head, _, markup = part.partition("\n")
        name, _, language = head.partition("|")
        found[name.strip()] = (language.strip(), markup.removesuffix("\n"))
    return found


@pytest.mark.parametrize(("language", "markup"), conventions().values(), ids=conventions().keys())
def test_code_keeps_its_text_its_lines_and_its_language(language: str, markup: str) -> None:
    code = RUST if language == "rust" else PYTHON
    assert (
        markdown_of(f"<p>Before.</p>{markup}<p>After.</p>") == f"Before.\n\n```{language}\n{code}\n```\n\nAfter."
    )


@pytest.mark.parametrize(
    "code", ["a\n```\nb", "````", "~~~\nx", "a\n\n\nb", "    indented", "\ttab", "*_[]<>&\\|"]
)
def test_code_with_signs_of_markdown_is_not_touched(code: str) -> None:
    from html import escape

    from extraction.reading import read

    assert read(markdown_of(f"<pre>{escape(code)}</pre>")).code == [("", code)]
