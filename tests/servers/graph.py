"""A seeded random site with a known answer, and a very wide one.

Owns the definition of the graph, how it answers, and the reference crawl that says what a correct crawler
must find. The definition is a pure function of seed, number of pages and base path; only the jitter of the
delays is not. The reference uses no code of the crawler: it resolves and canonicalizes by itself and walks
the definition breadth-first. It never fetches, and nothing here remembers a request.

What the reference takes from the design:
- The request uses the first spelling in order; identity is the canonical key.
- A redirect is an item; its target is admitted at the end of the same depth unless it is already known, and
  a known URL keeps its place even where it is found again at a smaller depth.
- A redirect to the same key is followed inside the place; one that leads back into its own chain makes the
  item that closes it fail. A target that was also linked is not part of a chain, so no such graph is made.
- Links that are not http or https are no URLs: they appear nowhere, not even as skipped.
- 5xx is tried three times, 4xx once.
- Pages are the same where their main text is, whatever stands around it; the links of all of them count.
"""

from __future__ import annotations

import hashlib
import random
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape

from servers.site import NOT_FOUND, Answer, Request, html

HOST_MARK = "@host@"
ELSEWHERE = "elsewhere.invalid"
TRIES = 3
LONGEST_CHAIN = 4
CACHED_BODIES = 6_000
XHTML = "application/xhtml+xml"
HTML_TYPES = ("text/html; charset=utf-8", "text/html", "Text/HTML;charset=UTF-8", XHTML)


class Kind(StrEnum):
    """What a URL of the graph is."""

    PAGE = "page"
    FOLDER = "folder"
    QUERY = "query"
    ACCENT = "accent"
    COPY = "copy"
    FLAKY = "flaky"
    FILE = "file"
    REDIRECT = "redirect"
    LOOP_IN = "loop_in"
    LOOP_BACK = "loop_back"
    LOOP_SELF = "loop_self"
    MISSING = "missing"
    GONE = "gone"
    BROKEN = "broken"


SHARES = {
    Kind.FOLDER: 0.05,
    Kind.QUERY: 0.05,
    Kind.ACCENT: 0.03,
    Kind.COPY: 0.05,
    Kind.FLAKY: 0.01,
    Kind.FILE: 0.04,
    Kind.REDIRECT: 0.05,
    Kind.MISSING: 0.03,
    Kind.GONE: 0.005,
    Kind.BROKEN: 0.003,
}
PARENTS = frozenset({Kind.PAGE, Kind.FOLDER, Kind.QUERY, Kind.ACCENT, Kind.FLAKY})
SLASH_NOISE = {Kind.FOLDER: 0.6}
PLAIN = frozenset({Kind.PAGE, Kind.FOLDER, Kind.QUERY, Kind.ACCENT, Kind.COPY})
STATUS = {Kind.MISSING: 404, Kind.GONE: 410, Kind.BROKEN: 500}
FILES = (("txt", "text/plain; charset=utf-8"), ("pdf", "application/pdf"), ("png", "image/png"))


@dataclass(frozen=True, slots=True)
class Node:
    """One URL of the graph. `path` is its canonical path and query, `proper` the spelling that the server
    answers (any other use of slashes is redirected to it), `links` the hrefs as written. A copy with `chrome` has
    the main text of the page `body_of`, and around it a menu of its own with that link."""

    number: int
    kind: Kind
    path: str
    proper: str
    status: int = 200
    content_type: str = ""
    location: str = ""
    failures: int = 0
    body_of: int = -1
    base: str = ""
    links: tuple[str, ...] = ()
    chrome: str = ""

    @property
    def is_page(self) -> bool:
        return self.status == 200 and bool(self.content_type) and self.kind is not Kind.FILE


# ---------------------------------------------------------------- URLs, by the reference's own rules

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def resolve(base: str, href: str) -> str | None:
    """The URL that `href` means on the page `base`, without fragment; None where it is not http or https."""
    written = href.strip().partition("#")[0]
    scheme = _SCHEME.match(written)
    if scheme is not None:
        name = scheme[1].lower()
        return _tidy(f"{name}:{scheme[2]}") if name in ("http", "https") else None
    if written.startswith("//"):
        return _tidy(f"{base.partition(':')[0]}:{written}")
    origin, base_path, base_query = split(base)
    path, mark, query = written.partition("?")
    if not path:
        return _join(origin, base_path, query if mark else base_query)
    if not path.startswith("/"):
        path = f"{base_path.rpartition('/')[0]}/{path}"
    return _tidy(_join(origin, path, query))


def canonical(url: str) -> str:
    """The key of a resolved URL."""
    origin, path, query = split(url)
    path = re.sub("/+", "/", _ESCAPE.sub(_plain_escape, path))
    kept = sorted(item for item in query.split("&") if item and not item.startswith("utm_"))
    return _join(origin.lower(), path.rstrip("/") or "/", "&".join(kept))


def split(url: str) -> tuple[str, str, str]:
    """Origin, path (never empty) and query of an absolute URL."""
    scheme, _, rest = url.partition("://")
    location, _, query = rest.partition("?")
    host, slash, path = location.partition("/")
    return f"{scheme}://{host}", slash + path or "/", query


def _join(origin: str, path: str, query: str) -> str:
    return f"{origin}{path}?{query}" if query else f"{origin}{path}"


def _tidy(url: str) -> str:
    origin, path, query = split(url)
    return _join(origin, _ascii("/".join(_without_dots(path.split("/")))), _ascii(query))


def _without_dots(segments: list[str]) -> list[str]:
    kept: list[str] = []
    for segment in segments:
        if segment == ".." and len(kept) > 1:
            kept.pop()
        elif segment not in (".", ".."):
            kept.append(segment)
    return [*kept, ""] if segments[-1] in (".", "..") else kept


def _ascii(written: str) -> str:
    return "".join(
        char if char.isascii() else "".join(f"%{byte:02X}" for byte in char.encode()) for char in written
    )


def _plain_escape(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()


# ---------------------------------------------------------------- how a link is written


def spell(rng: random.Random, source: Node, target: Node) -> str:
    """One of the many ways to write a link to `target` on `source`."""
    path, mark, query = target.proper.partition("?")
    if mark and rng.random() < 0.5:
        query = "&".join(reversed(query.split("&")))
    if rng.random() < 0.12:
        query = "&".join(filter(None, (query, f"utm_source=news{rng.randrange(9)}&utm_medium=mail")))
    if target.kind in PLAIN and target.number and rng.random() < SLASH_NOISE.get(target.kind, 0.1):
        path = _noisy_slashes(rng, path)
    path = _noisy_escapes(rng, path)
    written = _shaped(rng, source, path) + (f"?{query}" if query else "")
    if rng.random() < 0.12:
        written += f"#part-{rng.randrange(5)}"
    return f" {written}\n" if rng.random() < 0.03 else written


def _noisy_slashes(rng: random.Random, path: str) -> str:
    if rng.random() < 0.5:
        return path.rstrip("/") if path.endswith("/") else f"{path}/"
    head, _, tail = path.rstrip("/").rpartition("/")
    return f"{head}//{tail}"


def _noisy_escapes(rng: random.Random, path: str) -> str:
    head, slash, tail = path.rstrip("/").rpartition("/")
    end = "/" if path.endswith("/") and tail else ""
    if "%C3%A9" in tail:
        tail = tail.replace("%C3%A9", rng.choice(("%C3%A9", "%c3%a9", "%C3%a9", "é")))
        tail = tail.replace("-", rng.choice(("-", "%2D", "%2d")))
    elif tail and rng.random() < 0.06:
        tail = f"%{ord(tail[0]):02x}{tail[1:]}"
    return f"{head}{slash}{tail}{end}" if tail else path


def _shaped(rng: random.Random, source: Node, path: str) -> str:
    """The path as a root-relative, relative or absolute reference."""
    shape = rng.random()
    if shape < 0.40:
        return path
    if shape < 0.75:
        return _relative(source.base or source.proper.partition("?")[0], path)
    if shape < 0.80:
        head, _, tail = path.rpartition("/")
        return f"{head}/detour/../{tail}"
    if shape < 0.84:
        return f"//{HOST_MARK}{path}"
    return f"{rng.choice(('http', 'http', 'HTTP'))}://{HOST_MARK}{path}"


def _relative(base: str, path: str) -> str:
    here, there = base.split("/")[:-1], path.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    rest = "/".join(there[shared:])
    written = "../" * (len(here) - shared) + rest
    return written if written and not rest.startswith("/") else path


# ---------------------------------------------------------------- the definition


@dataclass(slots=True)
class _Draft:
    """A node while the graph is being drawn."""

    node: Node
    children: list[int] = field(default_factory=list)
    target: int = -1
    chain: int = 0


class _Draftsman:
    """Draws the nodes of a graph: first what they are, then a tree that reaches each, then more links."""

    def __init__(self, seed: int, pages: int, base_path: str) -> None:
        self._rng = random.Random(f"graph {seed} {pages} {base_path}")
        self._pages = pages
        self._islands = max(2, pages // 50)
        self._base_path = base_path
        self._reach = max(20, pages // 25)
        self._drafts: list[_Draft] = []

    def draw(self) -> tuple[Node, ...]:
        kinds = [Kind.PAGE, *self._kinds(), *[Kind.PAGE] * self._islands]
        self._drafts = [_Draft(self._node(number, kind)) for number, kind in enumerate(kinds)]
        self._grow_tree()
        self._aim_redirects()
        originals = [draft.node.number for draft in self._main if draft.node.kind is Kind.PAGE][1:]
        nodes = [self._finished(draft) for draft in self._drafts]
        return tuple(self._copied(node, nodes, originals) for node in nodes)

    @property
    def _main(self) -> list[_Draft]:
        return self._drafts[: self._pages]

    def _kinds(self) -> list[Kind]:
        """All kinds but the root's, in random order; the way back of the loop is the last."""
        kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(share * self._pages)))]
        kinds += [Kind.LOOP_IN, Kind.LOOP_SELF]
        kinds += [Kind.PAGE] * (self._pages - len(kinds) - 2)
        self._rng.shuffle(kinds)
        return [*kinds, Kind.LOOP_BACK]

    def _node(self, number: int, kind: Kind) -> Node:
        rng, root = self._rng, self._base_path
        if number == 0:
            return Node(0, kind, root.rstrip("/") or "/", root, content_type=HTML_TYPES[0], body_of=0)
        suffix, file_type = rng.choice(FILES)
        stem = {
            Kind.FOLDER: f"d/{number}",
            Kind.QUERY: f"q/{number}?a={rng.randrange(9)}&lang=en&z={rng.randrange(99)}",
            Kind.ACCENT: f"n/caf%C3%A9-{number}",
            Kind.FILE: f"f/{number}.{suffix}",
        }.get(kind, f"{'p' if kind in PLAIN else 'x'}/{number}")
        path = root + stem
        return Node(
            number,
            kind,
            path,
            f"{path}/" if kind is Kind.FOLDER else path,
            status=STATUS.get(kind, 200),
            content_type=file_type if kind is Kind.FILE else self._html_type(),
            failures=rng.choice((1, 2)) if kind is Kind.FLAKY else 0,
            body_of=number,
            base=root if kind is Kind.PAGE and rng.random() < 0.02 else "",
        )

    def _html_type(self) -> str:
        return self._rng.choices(HTML_TYPES, weights=(80, 10, 5, 5))[0]

    def _grow_tree(self) -> None:
        """Give each node a parent before it: a page that links to it, or a redirect that leads to it."""
        rng = self._rng
        parents: list[int] = []
        waiting: list[int] = []
        for draft in self._main:
            number, kind = draft.node.number, draft.node.kind
            if kind is Kind.LOOP_BACK:
                self._pair_loop(number)
            elif number and not self._hide(draft, waiting):
                self._drafts[rng.choice(parents[-self._reach :])].children.append(number)
            if kind in PARENTS:
                parents.append(number)
            elif kind is Kind.REDIRECT and draft.chain < LONGEST_CHAIN - 1:
                waiting.append(number)

    def _hide(self, draft: _Draft, waiting: list[int]) -> bool:
        """Put a node behind a redirect that waits for a target, now and then."""
        chained = draft.node.kind is Kind.REDIRECT
        if not waiting or self._rng.random() >= (0.6 if chained else 0.05):
            return False
        before = self._drafts[waiting.pop()]
        before.target = draft.node.number
        draft.chain = before.chain + 1
        return True

    def _pair_loop(self, back: int) -> None:
        enter = next(draft for draft in self._main if draft.node.kind is Kind.LOOP_IN)
        enter.target = back
        self._drafts[back].target = enter.node.number

    def _aim_redirects(self) -> None:
        """Redirects without a hidden target lead to something that is no redirect, or off the site (-1)."""
        ends = [d.node.number for d in self._main if d.node.kind in PLAIN | {Kind.FILE, Kind.MISSING}]
        for draft in self._main:
            if draft.node.kind is Kind.LOOP_SELF:
                draft.target = draft.node.number
            elif draft.node.kind is Kind.REDIRECT and draft.target < 0 and self._rng.random() < 0.9:
                draft.target = self._rng.choice(ends)

    def _finished(self, draft: _Draft) -> Node:
        node = draft.node
        if node.kind in (Kind.REDIRECT, Kind.LOOP_IN, Kind.LOOP_BACK, Kind.LOOP_SELF):
            status = self._rng.choice((301, 302, 307, 308))
            return replace(node, status=status, content_type="", location=self._location(draft))
        return replace(node, links=self._links(draft)) if node.is_page else node

    def _location(self, draft: _Draft) -> str:
        if draft.target < 0:
            return f"http://{ELSEWHERE}/moved/{draft.node.number}"
        target = self._drafts[draft.target].node
        if target.kind in (Kind.LOOP_IN, Kind.LOOP_BACK, Kind.LOOP_SELF):
            return target.proper
        return _ascii(spell(self._rng, draft.node, target).strip())

    def _links(self, draft: _Draft) -> tuple[str, ...]:
        rng, node = self._rng, draft.node
        links = [spell(rng, node, self._drafts[child].node) for child in draft.children]
        wanted = int(31 * rng.random() ** 1.5)
        while len(links) < wanted:
            links.append(self._extra(node, links))
        rng.shuffle(links)
        return tuple(links)

    def _extra(self, node: Node, links: list[str]) -> str:
        rng = self._rng
        draw = rng.random()
        if draw < 0.80:
            return spell(rng, node, self._neighbour(node.number))
        if draw < 0.86 and links:
            return rng.choice(links)
        if draw < 0.91:
            return self._elsewhere()
        if draw < 0.94 and self._base_path != "/":
            return self._outside()
        if draw < 0.97:
            return rng.choice(
                ("mailto:help@elsewhere.invalid", "javascript:void(0)", "tel:+10000", "data:text/plain,x")
            )
        return self._base_path if node.base else rng.choice(("#top", "", "?utm_source=self"))

    def _neighbour(self, number: int) -> Node:
        """A node near `number`, sometimes any of its part; of those behind a redirect only every third."""
        rng = self._rng
        low, high = (0, self._pages - 1) if number < self._pages else (self._pages, len(self._drafts))
        if rng.random() < 0.9:
            low, high = max(low, number - self._reach), min(high, number + self._reach)
        draft = self._drafts[rng.randrange(low, high)]
        while draft.chain and draft.node.number % 3:
            draft = self._drafts[rng.randrange(low, high)]
        return draft.node

    def _elsewhere(self) -> str:
        number = self._rng.randrange(50)
        return self._rng.choice(
            (
                f"http://{ELSEWHERE}/a/{number}",
                f"https://{ELSEWHERE}/b/{number}?x=1",
                f"//{ELSEWHERE}/c/{number}#top",
                f"http://127.0.0.2:9{self._base_path}p/{number}",
            )
        )

    def _outside(self) -> str:
        number, stem = self._rng.randrange(50), self._base_path.rstrip("/")
        return self._rng.choice((f"/outside/{number}", f"{stem}-blog/{number}", f"{stem}x"))

    def _copied(self, node: Node, nodes: list[Node], originals: list[int]) -> Node:
        if node.kind is not Kind.COPY:
            return node
        original = nodes[self._rng.choice(originals)]
        chrome = f"http://{ELSEWHERE}/menu/{node.number}" if node.number % 3 else ""
        return replace(
            node,
            content_type=original.content_type,
            body_of=original.number,
            base=original.base,
            links=(chrome, *original.links) if chrome else original.links,
            chrome=chrome,
        )


# ---------------------------------------------------------------- the bodies

_WORDS = re.findall(
    r"\w+",
    """anchor archive balance barrel basket beacon border branch bridge bucket candle canvas carbon
carrier cellar chapter circle cluster column compass copper corner cotton current delta depot ember engine
factor ferry field filter forest frame garden gravel hammer harbour hollow index island kernel kettle ladder
lantern ledger letter limit linen marble margin market meadow measure mirror module morning narrow needle
notebook number orchard origin packet parcel pattern pebble pencil pillar planet pocket portal powder quarry
quiet record ribbon river rocket saddle sample scale screen season section sensor shadow signal silver socket
spiral spring stable station stream summer switch table target thread ticket timber token tower tunnel value
vector vessel village violet wagon weather window winter yellow""",
)


def _prose(count: int) -> tuple[str, ...]:
    rng = random.Random("prose")

    def sentence() -> str:
        return " ".join(rng.choices(_WORDS, k=rng.randint(6, 18))).capitalize() + "."

    return tuple(" ".join(sentence() for _ in range(rng.randint(1, 4))) for _ in range(count))


_PROSE = _prose(600)


def render(seed: int, node: Node) -> bytes:
    """The HTML of a page, 1 to 20 KB, its links in order; `HOST_MARK` stands for the host."""
    rng = random.Random(f"body {seed} {node.number}")
    name = f"Page {node.number} of graph {seed}"
    links = [_anchor(rng, href) for href in node.links]
    size = int(1_000 * 18 ** rng.random())
    parts = [_opening(name, node)]
    room = size - len(parts[0]) - sum(map(len, links))
    number = 0
    while room > 0 or links or not number:
        number += 1
        part = _section(rng, name, number, links)
        parts.append(part)
        room -= len(part)
    parts.append(f"</main>\n<footer><p>The end of {name}.</p></footer>\n</body>\n</html>\n")
    return "".join(parts).encode()


def _opening(name: str, node: Node) -> str:
    script = "<script>var decoy = '<a href=\"/decoy/script\">not a link</a>';</script>\n"
    return (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>\n'
        f'<meta charset="utf-8"/>\n<title>{name}</title>\n'
        + (f'<base href="{node.base}"/>\n' if node.base else "")
        + '</head>\n<body>\n<!-- <a href="/decoy/comment">not a link</a> -->\n'
        + (script if node.content_type != XHTML else "")
        + f"<main>\n<h1>{name}</h1>\n"
    )


def _framed(body: bytes, node: Node) -> bytes:
    menu = f'<header><nav><ul><li><a href="{node.chrome}">Menu {node.number}</a></li></ul></nav></header>\n<main>'
    return body.replace(b"<main>", menu.encode(), 1).replace(b"The end of", b"Copied from", 1)


def _section(rng: random.Random, name: str, number: int, links: list[str]) -> str:
    """One section; takes its links off the front of `links`."""
    lines = [f'<h2 id="part-{number}">{rng.choice(_WORDS).capitalize()} {number} of {name}</h2>']
    for prose in rng.choices(_PROSE, k=2):
        taken = int(rng.random() * 4)
        lines.append(f"<p>{' '.join([prose, *links[:taken]])}</p>")
        del links[:taken]
    extra = rng.random()
    if extra < 0.3:
        lines.append(_code(rng))
    elif extra < 0.5 and links:
        lines.append("<ul>" + "".join(f"<li>{link}</li>" for link in links[:3]) + "</ul>")
        del links[:3]
    return "\n".join(lines) + "\n"


def _code(rng: random.Random) -> str:
    one, two = rng.sample(_WORDS, 2)
    shown = f"def {one}({two}):\n    # see <a href='/decoy/code'>\n    return {two} < {rng.randrange(99)}\n"
    return f'<pre><code class="language-python">{escape(shown)}</code></pre>'


def _anchor(rng: random.Random, href: str) -> str:
    return f'<a href="{escape(href)}">the {rng.choice(_WORDS)}</a>'


def _file_body(node: Node) -> bytes:
    if node.content_type == "application/pdf":
        return b"%%PDF-1.4\n%% document %d (http://@host@/decoy/pdf)\n%%%%EOF\n" % node.number
    if node.content_type == "image/png":
        return _png(node.number)
    return b'Text %d is not HTML: <a href="/decoy/text">not a link</a>\n' % node.number


def _png(number: int) -> bytes:
    """A picture of one pixel whose colour is its number."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    pixel = b"\0" + (number % 2**24).to_bytes(3, "big")
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(pixel)) + chunk(b"IEND", b"")


# ---------------------------------------------------------------- the site


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the graph says to one target: a node's own answer, a correction of slashes, or nothing there."""

    status: int
    node: Node | None = None
    location: str = ""


class GraphSite:
    """The graph of `seed`, served. `pages` counts the URLs that can be reached, of every kind; a few more
    (islands) cannot. The start is `base_path`; a seeded delay up to `max_delay_ms` belongs to each path, and
    up to `jitter_ms` more, different every time, so that answers come in another order in every run."""

    def __init__(
        self,
        seed: int,
        pages: int = 2_000,
        *,
        base_path: str = "/",
        max_delay_ms: float = 0.0,
        jitter_ms: float = 0.0,
    ) -> None:
        if pages < 40:
            raise ValueError("a graph has at least 40 pages, or some kinds would be missing")
        if not (base_path.startswith("/") and base_path.endswith("/")):
            raise ValueError("base_path begins and ends with a slash")
        self.seed = seed
        self.base_path = base_path
        self.nodes = _Draftsman(seed, pages, base_path).draw()
        self._by_path = {node.path: node for node in self.nodes}
        self._max_delay_ms = max_delay_ms
        self._jitter_ms = jitter_ms
        self._bodies: dict[int, bytes] = {}

    def answer(self, request: Request) -> Answer:
        outcome = self.outcome(request.target)
        node = outcome.node
        if node is None:
            return self._slow(request.path, NOT_FOUND)
        if outcome.location:
            return self._slow(request.path, self._redirect(outcome, request.host))
        if request.nth <= node.failures:
            return self._slow(request.path, _error(500))
        if outcome.status >= 400:
            return self._slow(request.path, _error(outcome.status))
        headers = (("Content-Type", node.content_type),)
        return self._slow(request.path, Answer(200, headers, self.body(node, request.host)))

    def outcome(self, target: str) -> Outcome:
        """What the definition says to `target`, a failure that passes left aside."""
        node = self._by_path.get(target)
        if node is not None and node.path == node.proper:
            return Outcome(node.status, node, node.location)
        key = canonical(f"http://host{target}").removeprefix("http://host")
        node = self._by_path.get(key)
        if node is None:
            return Outcome(404)
        path, mark, query = target.partition("?")
        proper = node.proper.partition("?")[0]
        if path.endswith("/") != proper.endswith("/") or "//" in path:
            return Outcome(301, node, f"{proper}{mark}{query}")
        return Outcome(node.status, node, node.location)

    def body(self, node: Node, host: str) -> bytes:
        """The body of a 200 answer, as served under `host`."""
        if node.kind is Kind.FILE:
            return _file_body(node)
        number = node.body_of
        if number not in self._bodies:
            if len(self._bodies) >= CACHED_BODIES:
                self._bodies.clear()
            self._bodies[number] = render(self.seed, self.nodes[number])
        body = self._bodies[number].replace(HOST_MARK.encode(), host.encode())
        return _framed(body, node) if node.chrome else body

    def warm(self) -> None:
        """Render the bodies now, as many as are kept, so that no request pays for it."""
        for node in self.nodes[:CACHED_BODIES]:
            if node.is_page:
                self.body(node, "")

    def expected(self, base_url: str, *, max_depth: int | None = None) -> Expected:
        """What a correct crawl of `base_url` finds; `base_url` is where the server serves `base_path`."""
        return _ReferenceCrawl(self, base_url, max_depth).run()

    def _redirect(self, outcome: Outcome, host: str) -> Answer:
        location = outcome.location.replace(HOST_MARK, host)
        page = html('<p>Moved <a href="/decoy/moved">here</a>.</p>', outcome.status)
        return replace(page, headers=(*page.headers, ("Location", location)))

    def _slow(self, path: str, answer: Answer) -> Answer:
        if not (self._max_delay_ms or self._jitter_ms):
            return answer
        share = zlib.crc32(f"{self.seed} {path}".encode()) / 2**32
        delay_ms = share * self._max_delay_ms + random.random() * self._jitter_ms
        return replace(answer, delay_s=delay_ms / 1_000)


def _error(status: int) -> Answer:
    return html(f'<h1>Error {status}</h1><p><a href="/decoy/error">not followed</a></p>', status)


class WideSite:
    """`total` pages as a tree: `/` is page 0, and page N links to the next `fanout` pages nobody has linked
    before (N * fanout + 1 onwards). 1,000 visits discover a million URLs at the usual size."""

    def __init__(self, total: int = 1_000_000, fanout: int = 1_000) -> None:
        self.total = total
        self.fanout = fanout

    def answer(self, request: Request) -> Answer:
        number = "0" if request.path == "/" else request.path.removeprefix("/w/")
        if not number.isdecimal() or int(number) >= self.total:
            return NOT_FOUND
        return html(self._body(int(number)))

    def children(self, number: int) -> range:
        first = number * self.fanout + 1
        return range(min(first, self.total), min(first + self.fanout, self.total))

    def _body(self, number: int) -> str:
        links = "".join([f'<li><a href="/w/{child}">{child}</a></li>\n' for child in self.children(number)])
        return (
            f"<!DOCTYPE html>\n<title>Wide {number}</title>\n<main><h1>Wide {number}</h1>\n"
            f"<p>This is page {number} of a very wide site.</p>\n<ul>\n{links}</ul></main>\n"
        )


# ---------------------------------------------------------------- the known answer


@dataclass(frozen=True, slots=True)
class Visit:
    """One visited or failed URL. `status` is the last one received, `kind` is empty unless it failed,
    `requests` are the targets that the server sees for it, in order."""

    key: str
    url: str
    depth: int
    source: str
    referrer: str
    status: int
    kind: str
    role: str
    body_sha256: str
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """The result a correct crawl must have: visits in order, and the refused keys with their reason."""

    visits: tuple[Visit, ...]
    skipped: dict[str, str]

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(visit.key for visit in self.visits)

    @property
    def visited(self) -> dict[str, int]:
        return {visit.key: visit.status for visit in self.visits if not visit.kind}

    @property
    def failed(self) -> dict[str, tuple[str, int]]:
        return {visit.key: (visit.kind, visit.status) for visit in self.visits if visit.kind}

    @property
    def pages(self) -> int:
        return sum(visit.role == "primary" for visit in self.visits)

    @property
    def alternates(self) -> int:
        return sum(visit.role == "alternate" for visit in self.visits)

    @property
    def discovered(self) -> int:
        return len(self.visits) + len(self.skipped)

    def skipped_for(self, reason: str) -> frozenset[str]:
        return frozenset(key for key, why in self.skipped.items() if why == reason)

    def requests(self) -> Iterator[str]:
        """Every target a crawl without interruption asks for, robots and sitemaps aside."""
        for visit in self.visits:
            yield from visit.requests


@dataclass(frozen=True, slots=True)
class _Item:
    """A place of the reference crawl; `chain` are the keys of the redirects that led here."""

    key: str
    url: str
    depth: int
    source: str
    referrer: str
    chain: tuple[str, ...]


@dataclass(slots=True)
class _Fetch:
    """What became of one place."""

    item: _Item
    url: str
    requests: list[str]
    status: int = 0
    kind: str = ""
    node: Node | None = None
    target: str = ""


class _ReferenceCrawl:
    """Breadth-first over the definition, one URL after the other."""

    def __init__(self, site: GraphSite, base_url: str, max_depth: int | None) -> None:
        self._site = site
        self._base = canonical(base_url)
        self._base_url = base_url
        self._host = split(base_url)[0].partition("://")[2]
        self._max_depth = max_depth
        self._levels: list[list[_Item]] = [[]]
        self._known: set[str] = set()
        self._skipped: dict[str, str] = {}
        self._contents: set[int] = set()
        self._visits: list[Visit] = []

    def run(self) -> Expected:
        self._offer(self._base_url, 0, "initial", "", ())
        for level in self._levels:
            for item in level:
                self._commit(self._fetch(item))
        return Expected(tuple(self._visits), self._skipped)

    def _offer(self, url: str, depth: int, source: str, referrer: str, chain: tuple[str, ...]) -> None:
        key = canonical(url)
        if key in self._known:
            return
        reason = self._refusal(key, depth)
        if reason:
            self._skipped.setdefault(key, reason)
            return
        self._skipped.pop(key, None)
        self._known.add(key)
        if depth == len(self._levels):
            self._levels.append([])
        self._levels[depth].append(_Item(key, url, depth, source, referrer, chain))

    def _refusal(self, key: str, depth: int) -> str:
        stem, bare = self._base.rstrip("/"), key.partition("?")[0]
        if bare != stem and not bare.startswith(f"{stem}/"):
            return "out_of_scope"
        return "max_depth" if self._max_depth is not None and depth > self._max_depth else ""

    def _fetch(self, item: _Item) -> _Fetch:
        """Ask until there is an answer that is no redirect to the same key."""
        got = _Fetch(item, item.url, [])
        seen = {item.url}
        while True:
            self._ask(got)
            if not got.target or canonical(got.target) != item.key:
                break
            if got.target in seen:
                got.kind = "redirect_loop"
                break
            seen.add(got.target)
            got.url = got.target
        if got.target and canonical(got.target) in item.chain:
            got.kind = "redirect_loop"
        return got

    def _ask(self, got: _Fetch) -> None:
        _, path, query = split(got.url)
        target = _join("", path, query)
        outcome = self._site.outcome(target)
        got.status, got.node, got.target = outcome.status, outcome.node, ""
        failures = outcome.node.failures if outcome.node else 0
        got.requests += [target] * (TRIES if outcome.status >= 500 else failures + 1)
        if outcome.location:
            location = outcome.location.replace(HOST_MARK, self._host)
            got.target = resolve(got.url, location) or ""
        elif outcome.status >= 400:
            got.kind = f"http_{outcome.status // 100}xx"

    def _commit(self, got: _Fetch) -> None:
        item = got.item
        body = b""
        if got.node is not None and got.status == 200:
            body = self._site.body(got.node, self._host)
        digest = hashlib.sha256(body).hexdigest() if body else ""
        role = self._role(got)
        self._visits.append(
            Visit(
                item.key,
                item.url,
                item.depth,
                item.source,
                item.referrer,
                got.status,
                got.kind,
                role,
                digest,
                tuple(got.requests),
            )
        )
        if got.target and not got.kind:
            self._offer(got.target, item.depth, "redirect", item.key, (*item.chain, item.key))
        elif role != "-":
            self._follow(got)

    def _role(self, got: _Fetch) -> str:
        if got.node is None or got.status != 200 or not got.node.is_page:
            return "-"
        role = "alternate" if got.node.body_of in self._contents else "primary"
        self._contents.add(got.node.body_of)
        return role

    def _follow(self, got: _Fetch) -> None:
        assert got.node is not None
        base = resolve(got.url, got.node.base) if got.node.base else got.url
        for href in got.node.links:
            url = resolve(base or got.url, href.replace(HOST_MARK, self._host))
            if url is not None:
                self._offer(url, got.item.depth + 1, "spider", got.item.key, ())
