"""A site of real pages beside eight kinds of traps, each without end."""

from __future__ import annotations

import hashlib
import random
from urllib.parse import parse_qs, urlsplit

from servers.site import Answer, Request, html

REAL = 500
_WORDS = [
    f"{start}{middle}{end}"
    for start in ("bra", "ke", "lo", "mi", "tu")
    for middle in ("sta", "ri", "no", "vel")
    for end in ("m", "ka", "nt", "sh", "do")
]


def _page(title: str, text: str, *hrefs: str) -> Answer:
    links = "".join(f'<li><a href="{href}">{href}</a>' for href in hrefs)
    return html(f"<!doctype html><title>{title}</title><main><h1>{title}</h1><p>{text}</p></main><ul>{links}</ul>")


class TrapSite:
    """`answer` knows every page there is; `is_trap` tells a request that a trap swallowed."""

    def answer(self, request: Request) -> Answer:
        parts = urlsplit(request.target)
        path, query = parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}
        if path in ("/robots.txt", "/sitemap.xml"):
            return html("", status=404)
        trap = path.split("/")[1]
        made = getattr(self, f"_{trap}", None) if trap in TRAPS else None
        if made is not None:
            return made(path, query)
        return self._real(path, query)

    def _real(self, path: str, query: dict[str, str]) -> Answer:
        number = (
            0 if path == "/" else int(path.removeprefix("/docs/page-")) if path.startswith("/docs/page-") else -1
        )
        if not 0 <= number < REAL:
            return html("<h1>Nothing here</h1>", status=404)
        words = random.Random(number).choices(_WORDS, k=60)
        children = [f"/docs/page-{child}" for child in range(4 * number + 1, 4 * number + 5) if child < REAL]
        traps = list(ENTRANCES) if number in (0, 7, 100) else []
        made_up = hashlib.sha256(f"{number} {query}".encode()).hexdigest()[:24]
        variants = [f"/docs/page-{number}?sid={made_up}"] if number and number % 50 == 0 else []
        return _page(f"Page {number}", " ".join(words), *children, *traps, *variants, "/")

    def _calendar(self, path: str, query: dict[str, str]) -> Answer:
        year, month = (int(part) for part in path.split("/")[2:4])
        before, after = year * 12 + month - 2, year * 12 + month
        steps = [f"/calendar/{at // 12}/{at % 12 + 1:02}" for at in (before, after)]
        days = " ".join(str(day) for day in range(1, 31))
        return _page(f"Events in {year}-{month}", f"Monday Tuesday Wednesday {days}", *steps, "/")

    def _events(self, path: str, query: dict[str, str]) -> Answer:
        at = int(query["year"]) * 12 + int(query["month"])
        return _page("Events", f"No events in {at}", f"/events?month={at % 12 + 1}&year={at // 12}", "/")

    def _loop(self, path: str, query: dict[str, str]) -> Answer:
        return _page("Loop", "Round and round it goes", f"{path.rstrip('/')}/more/loop/", "/")

    def _shop(self, path: str, query: dict[str, str]) -> Answer:
        names = ("brand", "colour", "price", "size", "sort")
        more = [
            "/shop?" + "&".join(f"{n}={v}" for n, v in sorted({**query, name: value}.items()))
            for name in names
            for value in ("one", "two")
            if name not in query
        ]
        return _page("Shop", "Kettles, pans and spoons for every kitchen", *more, "/docs/page-3", "/")

    def _archive(self, path: str, query: dict[str, str]) -> Answer:
        number = int(query.get("page", "1"))
        return _page("Archive", f"Nothing more on list {number}", f"/archive?page={number + 1}", "/")

    def _visit(self, path: str, query: dict[str, str]) -> Answer:
        made_up = hashlib.sha256(path.encode()).hexdigest()
        return _page(
            "Welcome",
            "You are welcome, whoever you are",
            f"/visit/{made_up[:32]}/start",
            f"/visit/{made_up[32:]}/start",
            "/",
        )

    def _deep(self, path: str, query: dict[str, str]) -> Answer:
        step = hashlib.sha256(path.encode()).hexdigest()[:5]
        return _page("Deeper", "There is always one more door", f"{path.rstrip('/')}/{step}", "/")

    def _fresh(self, path: str, query: dict[str, str]) -> Answer:
        stamp = int(query.get("t", "1700000000"))
        return _page("Fresh", "The newest of the newest", f"/fresh?t={stamp + 17}", f"/fresh?t={stamp + 40}", "/")


ENTRANCES = (
    "/calendar/2026/01",
    "/events?month=1&year=2026",
    "/loop/",
    "/shop?sort=one",
    "/archive?page=2",
    "/visit/0123456789abcdef0123456789abcdef/start",
    "/deep/a/b/c",
    "/fresh?t=1700000000",
)
TRAPS = frozenset(entrance.split("/")[1].partition("?")[0] for entrance in ENTRANCES)


def is_trap(target: str) -> bool:
    """Whether a request went into a trap: a made-up URL, or another spelling of a real page."""
    return target.split("/")[1].partition("?")[0] in TRAPS or "sid=" in target
