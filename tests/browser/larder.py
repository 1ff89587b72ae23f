"""The web of a fictional tool on four hosts, for pictures and tests of the interface.

A pure function of its size and edition. A later edition has changed, new and removed pages; every edition has
pages that fail in several ways.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from html import escape

from servers.site import NOT_FOUND, Answer, Ending, Request, html, redirect, text

DOCS, API, FORUM, LEGACY = (f"{name}.larder.example" for name in ("docs", "api", "forum", "legacy"))
HOSTS = (DOCS, API, FORUM, LEGACY)
REMOVED_EVERY, CHANGED_EVERY, LOST_EVERY = 23, 5, 29

LISTED = 400
"""Pages that the sitemap has."""

NOUNS = (
    *("shelf", "batch", "label", "unit", "recipe", "shopping-list", "expiry", "barcode", "freezer", "household"),
    *("reminder", "import", "export", "journal", "lock", "member", "backup", "price", "store", "scale"),
)
VERBS = ("create", "list", "merge", "split", "move", "rename", "delete", "sort", "print", "share")
SENTENCES = (
    "A {noun} is stored as one line of text, so that it can be read and repaired with any editor.",
    "Nothing is changed until the whole {noun} was read; an error leaves everything as it was.",
    "The command prints the number of the {noun}, which other commands take as their argument.",
    "Two people may {verb} a {noun} at the same time: the later one is asked before anything is overwritten.",
    "Dates are those of the household, not of the machine, because batches are opened in a kitchen.",
    "With --dry-run the changes are printed and not made.",
    "A {noun} that was never opened is listed last, whatever its date.",
    "Old versions are kept for thirty days and can be brought back with larder undo.",
    "If the {noun} belongs to another household, the command ends with the exit code 4.",
    "The order of a list is that of the journal, and stays the same on every machine.",
)


class LarderSite:
    """The four hosts. `size` is the number of pages of `docs`; each of the others has a third of it. A page takes
    up to twice `delay_s`. When it `is_mended`, no page fails."""

    def __init__(self, size: int, *, edition: int = 1, delay_s: float = 0.0) -> None:
        self.size, self.edition, self.delay_s = size, edition, delay_s
        self.is_mended = False

    def answer(self, request: Request) -> Answer:
        host = request.host.partition(":")[0]
        if host not in HOSTS:
            return NOT_FOUND
        if request.path == "/robots.txt":
            return text(f"User-agent: *\nDisallow: /private/\nSitemap: http://{host}/sitemap.xml\n")
        if request.path == "/sitemap.xml":
            return self._sitemap(host)
        if request.target == "/":
            return html(self._front(host), delay_s=self.delay_s)
        paths = pages(host, self._size(host))
        at = paths.get(request.target, paths.get(f"{request.target}/", -1))
        if at < 0:
            return _other(request)
        return self._page(host, request.target, at, request.nth)

    def _size(self, host: str) -> int:
        return self.size if host == DOCS else self.size // 3

    def _sitemap(self, host: str) -> Answer:
        if host != DOCS:
            return NOT_FOUND
        entries = "".join(
            f"<url><loc>http://{host}{path}</loc></url>" for path in list(pages(host, self._size(host)))[:LISTED]
        )
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
        return Answer(200, (("Content-Type", "application/xml"),), body.encode())

    def _front(self, host: str) -> str:
        links = [path for path, at in pages(host, self._size(host)).items() if at < 40]
        others = [f"http://{each}/" for each in HOSTS if each != host]
        return _document(
            "Larder", "en", f"<p>{_sentence(random.Random(host), 'shelf', 'list')}</p>" + _list(links + others)
        )

    def _page(self, host: str, target: str, at: int, nth: int) -> Answer:
        fault = None if self.is_mended else _fault(host, at, nth)
        if fault is not None:
            return fault
        is_late = self.edition > 1
        if is_late and at % REMOVED_EVERY == 11:
            return NOT_FOUND
        if at % 31 == 17:
            return redirect(f"http://{host}/")
        return html(self._body(host, target, at), delay_s=self.delay_s * (at * 7 % 20) / 10)

    def _body(self, host: str, target: str, at: int) -> str:
        paths = list(pages(host, self._size(host)))
        noun, verb = NOUNS[at % len(NOUNS)], VERBS[at // len(NOUNS) % len(VERBS)]
        chance = random.Random(f"{host} {at}")
        title = f"{verb.capitalize()} a {noun}".replace("-", " ") + (
            f", part {at // 200 + 1}" if at >= 200 else ""
        )
        links = [paths[(at * 3 + step) % len(paths)] for step in range(1, 9)]
        links += [f"{target.rstrip('/')}/missing-{at}/"] * (at % LOST_EVERY == 5)
        links += ["/private/notes/", "https://example.com/larder/"] * (at % 19 == 3)
        links += [f"/archive/1.{at % 4}/{noun}/"] * (host == DOCS and at % 7 == 2)
        links += [f"/new-in-{self.edition}-{at}/"] * (self.edition > 1 and at % REMOVED_EVERY == 2)
        return _document(
            title, "de" if "/de/" in target else "en", self._text(chance, at, noun, verb) + _list(links)
        )

    def _text(self, chance: random.Random, at: int, noun: str, verb: str) -> str:
        parts = []
        for heading in ("Before you begin", "How it works", "Options", "See also")[: 2 + at % 3]:
            lines = " ".join(_sentence(chance, noun, verb) for _ in range(3 + at % 4))
            parts.append(f"<h2>{heading}</h2><p>{lines}</p>")
        if self.edition > 1 and at % CHANGED_EVERY == 1:
            parts.insert(
                1, f"<p>Since version 1.{self.edition + 3} a {noun} can be locked while somebody else cooks.</p>"
            )
        if self.edition > 1 and at % CHANGED_EVERY == 3:
            parts.append(f"<p>Last updated on {10 + self.edition} November 2026.</p>")
        elif at % CHANGED_EVERY == 3:
            parts.append("<p>Last updated on 2 October 2026.</p>")
        if at % 3 == 0:
            parts.append(
                f"<pre><code>larder {verb} {noun} --household ours\n# {noun} 4 of 12, oldest first</code></pre>"
            )
        if at % 4 == 0:
            rows = "".join(f"<tr><td>{each}</td><td>{chance.randrange(2, 90)}</td></tr>" for each in NOUNS[:5])
            parts.append(f"<table><tr><th>Kind</th><th>Number</th></tr>{rows}</table>")
        return "".join(parts)


def pins(port: int) -> list[str]:
    """Options of `serve` by which the hosts are at a port of this machine."""
    return [word for host in HOSTS for word in ("--resolve", f"{host}:80:127.0.0.1:{port}")]


@cache
def pages(host: str, size: int) -> dict[str, int]:
    """The paths of a host, with the number of each."""
    return {path: at for at, path in enumerate(_paths(host, size))}


def _paths(host: str, size: int) -> Iterator[str]:
    for at in range(size):
        noun, verb, more = NOUNS[at % len(NOUNS)], VERBS[at // len(NOUNS) % len(VERBS)], at // 200
        tail = f"{more}/" if more else ""
        if host == FORUM:
            yield f"/t/how-to-{verb}-a-{noun}/{3900 + at}"
        elif host == API:
            yield f"/v2/{noun}/{verb}/{tail}"
        elif host == LEGACY:
            yield f"/1.x/manual/{verb}/{noun}/{tail}"
        else:
            section = ("reference", "how-to", "explanation", "de/anleitung", "releases/1.4")[at % 5]
            yield f"/{section}/{noun}/{verb}/{tail}"


def _other(request: Request) -> Answer:
    """Pages besides: those of the archive, those that came with an edition, and a loop of redirects."""
    if request.path == "/loop/":
        return redirect("/loop/again/")
    if request.path == "/loop/again/":
        return redirect("/loop/")
    if request.path.startswith(("/archive/", "/new-in-")):
        title = request.path.strip("/").replace("/", " ")
        return html(_document(title, "en", f"<p>{_sentence(random.Random(title), 'shelf', 'list')}</p>"))
    return NOT_FOUND


def _fault(host: str, at: int, nth: int) -> Answer | None:
    """What is wrong with a page whenever it is requested; some pages pass at the second try."""
    if host == FORUM and at % 13 == 7:
        return html("<h1>Bad gateway</h1>", 502)
    if host == FORUM and at % 11 == 4 and nth == 1:
        return Answer(503, (("Retry-After", "1"),))
    if host == LEGACY and at % 9 == 5:
        return Answer(200, ending=Ending.DROP)
    if host == LEGACY and at % 10 == 6:
        return redirect("/loop/")
    if host == API and at % 17 == 9:
        return html("<h1>Forbidden</h1>", 403)
    return None


def _sentence(chance: random.Random, noun: str, verb: str) -> str:
    return chance.choice(SENTENCES).format(noun=noun.replace("-", " "), verb=verb)


def _list(links: list[str]) -> str:
    return "<ul>" + "".join(f'<li><a href="{escape(each)}">{escape(each)}</a></li>' for each in links) + "</ul>"


def _document(title: str, language: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="{language}"><title>{escape(title)}</title>'
        f"<main><h1>{escape(title)}</h1>{body}</main></html>"
    )
