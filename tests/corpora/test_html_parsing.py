"""The parser against the public tests of the HTML standard: every tree and every token that applies to it.

Trees: all but fragments and pages with scripts, without the comments, doctypes and processing instructions that
our trees do not keep. Tokens: all, in each state that a case begins in, without the errors that we do not report.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from parsing import tokens, trees

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "html-parsing"
TREES, TOKENS = 1_726, 7_032
"""Cases that apply; fewer would mean that they are not read."""

if not CORPUS.is_dir():
    pytest.skip(f"{CORPUS} is missing: the HTML standard is NOT checked", allow_module_level=True)


def test_all_trees_are_those_of_the_standard() -> None:
    found = [case for path in sorted(CORPUS.glob("tree-construction/*.dat")) for case in trees.cases(path)]
    applying = [case for case in found if case.applies]
    assert len(applying) == TREES
    assert [
        (case.name, case.data) for case in applying if trees.actual(case.data) != trees.expected(case.tree)
    ] == []


def test_all_tokens_are_those_of_the_standard() -> None:
    applying = [case for path in sorted(CORPUS.glob("tokenizer/*.test")) for case in tokens.cases(path)]
    assert len(applying) == TOKENS
    assert [(case.name, case.markup) for case in applying if tokens.actual(case) != case.output] == []
