"""What a page states about itself: title, description, language, author, date."""

from __future__ import annotations

from dataclasses import dataclass

from turbohtml import Document as Dom


@dataclass(frozen=True, slots=True)
class About:
    """Statements of a page; empty where there is none."""

    title: str
    description: str
    language: str
    author: str
    published: str


def read(dom: Dom) -> About:
    """The statements of a page."""
    title = dom.select_one("title")
    return About(" ".join(title.text.split()) if title else "", "", "", "", "")
