"""Small pages for hand-made sites."""

from __future__ import annotations

from servers.site import Answer, html


def page(title: str, *hrefs: str, delay_s: float = 0.0) -> Answer:
    """A page of its own content that links to the hrefs, in order."""
    links = "".join(f'<li><a href="{href}">{href}</a>' for href in hrefs)
    return html(f"<!doctype html><title>{title}</title><h1>{title}</h1><ul>{links}</ul>", delay_s=delay_s)


def framed(title: str, menu: str, *hrefs: str, delay_s: float = 0.0) -> Answer:
    """A page whose main text is the title's alone; around it a menu that links to the hrefs, and a footer."""
    links = "".join(f'<li><a href="{href}">{menu} {href}</a>' for href in hrefs)
    return html(
        f"<!doctype html><title>{title}, {menu}</title><header><nav><ul>{links}</ul></nav></header>"
        f"<main><h1>{title}</h1><p>All that is to be said about {title} is said in this one paragraph.</p></main>"
        f"<footer><p>The footer of {menu}.</p></footer>",
        delay_s=delay_s,
    )


def chain(length: int, *, delay_s: float = 0.0) -> dict[str, Answer]:
    """A start page that links to /1 .. /length."""
    leaves = {f"/{number}": page(f"page {number}", delay_s=delay_s) for number in range(1, length + 1)}
    return {"/": page("start", *leaves), **leaves}
