"""Small pages for hand-made sites."""

from __future__ import annotations

from servers.site import Answer, html


def page(title: str, *hrefs: str, delay_s: float = 0.0) -> Answer:
    """A page of its own content that links to the hrefs, in order."""
    links = "".join(f'<li><a href="{href}">{href}</a>' for href in hrefs)
    return html(f"<!doctype html><title>{title}</title><h1>{title}</h1><ul>{links}</ul>", delay_s=delay_s)


def chain(length: int, *, delay_s: float = 0.0) -> dict[str, Answer]:
    """A start page that links to /1 .. /length."""
    leaves = {f"/{number}": page(f"page {number}", delay_s=delay_s) for number in range(1, length + 1)}
    return {"/": page("start", *leaves), **leaves}
