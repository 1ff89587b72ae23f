"""Parses a body into a DOM, and the DOM into links, resources, title and robots directives.

Links are in document order, each key once, within `MAX_LINKS` and `MAX_LINK_CHARACTERS`. The result depends only
on the body, the URL, the content type and the rules. Any bytes are a page, unless they have too many elements
(TooComplex). Scripts are not run. The caller limits the memory and time of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbweb._hrefs import links
from orbweb.errors import TooComplex
from orbweb.model import Link, Parsed
from orbweb.parsing import robots_meta
from orbweb.parsing.encodings import UTF_8, decoded, encoding_of
from orbweb.parsing.html import page_facts, tokenizer
from orbweb.parsing.html.page_facts import References
from orbweb.parsing.html.tree import Tree
from orbweb.urls import PageUrls, Resolver

Dom = Tree

MAX_BYTES = 20_000_000
"""The most bytes of a page given by a program; the default of `fetch.max_bytes` is the same."""
MAX_NODES = 2_000_000
"""The most elements, texts and comments of a page, estimated from its bytes."""
MAX_LINKS = page_facts.MAX_LINKS
MAX_LINK_CHARACTERS = 8_000_000
"""The most characters of all URLs of a page: a long `<base href>` would turn a small page into gigabytes."""


def parse(
    body: bytes,
    url: str,
    *,
    resolver: Resolver,
    content_type: str | None = None,
    robots_tags: Sequence[str] = (),
    agent: str = robots_meta.EVERYONE,
    resources: bool = False,
) -> Parsed:
    """Parse the page at `url`, an absolute http(s) URL, with these headers, for this agent."""
    tree = dom(body, content_type)
    return read(tree, url, resolver=resolver, robots_tags=robots_tags, agent=agent, resources=resources)


def dom(body: bytes | str, content_type: str | None = None) -> Dom:
    """The DOM as in a browser without scripts. UTF-8 is parsed directly, other encodings are decoded first."""
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
        check_nodes(body)
        return tokenizer.parsed(body, UTF_8)
    check_nodes(body)
    encoding = encoding_of(body, content_type)
    if encoding != UTF_8 or not tokenizer.is_utf8(body):
        body = decoded(body, encoding).encode("utf-8", "surrogatepass")
    return tokenizer.parsed(body, encoding)


def check_size(html: str | bytes) -> None:
    """TooComplex for a page that is too large."""
    if len(html) > MAX_BYTES:
        raise TooComplex(f"more than {MAX_BYTES / 1e6:g} MB")


def check_nodes(body: bytes) -> None:
    """TooComplex for a page with too many nodes.

    Each `<` may begin a node and end a text; an end tag begins none, and adjacent tags have no text between.
    """
    if len(body) < 2 * MAX_NODES:
        return
    if 2 * body.count(b"<") - body.count(b"</") - body.count(b"><") > MAX_NODES:
        raise TooComplex(f"more than {MAX_NODES:,} elements and texts")


def read(
    tree: Dom,
    url: str,
    *,
    resolver: Resolver,
    robots_tags: Sequence[str] = (),
    agent: str = robots_meta.EVERYONE,
    resources: bool = False,
) -> Parsed:
    """Extract the links and metadata of a DOM, which is not changed."""
    page = _page(url, resolver)
    found = page_facts.read(tree, robots_meta.addressees(agent))
    loads = _loads(tree) if resources else References()
    base = _base(found.base, page, resolver)
    return Parsed(
        links=_links(found.references, base, page.own.key),
        resources=_links(loads, base, page.own.key),
        title=found.title or "",
        canonical=_canonical(found.canonical, base),
        directives=robots_meta.read(found.robots, robots_tags, agent),
        encoding=tree.encoding,
        links_cut=found.references.truncated or loads.truncated,
    )


def parse_css(body: bytes, url: str, *, resolver: Resolver, content_type: str | None = None) -> Parsed:
    """The resources of the style sheet at `url`; it has no links and no title."""
    from orbweb.parsing import css

    encoding = css.encoding_of(body, content_type)
    loads = References()
    loads.add_all(css.references(decoded(body, encoding)))
    page = _page(url, resolver)
    resources = _links(loads, page, page.own.key)
    return Parsed(resources=resources, encoding=encoding, links_cut=loads.truncated)


def _loads(tree: Dom) -> References:
    from orbweb.parsing import css

    return page_facts.loads(tree, css.references)


def _page(url: str, resolver: Resolver) -> PageUrls:
    page = resolver.page(url)
    if page is None:
        raise ValueError(f"not an http(s) URL: {url}")
    return page


def base_of(href: str | None, url: str, resolver: Resolver) -> PageUrls:
    """The base of the hrefs of the page at `url`, which has this `<base href>`."""
    return _base(href, _page(url, resolver), resolver)


def _base(href: str | None, page: PageUrls, resolver: Resolver) -> PageUrls:
    """The base of hrefs: the `<base href>` if it is http(s), else the page."""
    target = None if href is None else page.target(href)
    return (target and resolver.page(target.url)) or page


def _links(references: References, base: PageUrls, own: str) -> tuple[Link, ...]:
    """The targets of the references, each key once, without the page itself."""
    kinds = references.kinds
    if not kinds:
        return ()
    found, is_all = links(kinds, references.nofollow, base.directory, base.resolve, own, MAX_LINK_CHARACTERS)
    if not is_all:
        references.truncated = True
    return found


def _canonical(hrefs: Iterable[str], base: PageUrls) -> str | None:
    return next((target.url for href in hrefs if (target := base.target(href))), None)
