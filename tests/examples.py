"""Runs the dialogues with Python of a how-to page."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

HOW_TO = Path(__file__).resolve().parents[1] / "docs" / "how-to"


def run_examples(page: str, url: str, section: str | None = None) -> int:
    """Run the examples of a page, or of one of its sections. Returns their number."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    if section is not None:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {"url": url}, page, page, 0)
    told: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not results.failed, "".join(told)
    return results.attempted
