"""Our own cases of the HTML standard, in the forms of the public tests; those are in tests/corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsing import tokens, trees

OWN = Path(__file__).parent


@pytest.mark.parametrize("case", list(trees.cases(OWN / "own.dat")), ids=lambda case: case.name)
def test_markup_becomes_the_tree_of_the_standard(case: trees.Case) -> None:
    assert trees.actual(case.data) == trees.expected(case.tree)


@pytest.mark.parametrize("case", list(tokens.cases(OWN / "own.test")), ids=lambda case: case.name)
def test_markup_is_read_as_the_tokens_of_the_standard(case: tokens.Case) -> None:
    assert tokens.actual(case) == case.output
