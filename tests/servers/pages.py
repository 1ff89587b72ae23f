"""Small pages for hand-made sites."""

from __future__ import annotations

from servers.site import NOT_FOUND, Answer, Request, html


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


class Unending:
    """A site of which every page links to the next, until `end` is called: a crawl of it lasts as long as a test
    needs it, on however slow a machine."""

    def __init__(self, *, delay_s: float = 0.03) -> None:
        self._delay_s = delay_s
        self._over = False

    def end(self) -> None:
        self._over = True

    def answer(self, request: Request) -> Answer:
        number = request.path[1:] or "0"
        if not number.isdigit():
            return NOT_FOUND
        links = () if self._over else (f"/{int(number) + 1}",)
        return page(f"page {number}", *links, delay_s=self._delay_s)
