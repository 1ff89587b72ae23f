"""A parsed page becomes a document: its main content as Markdown and as text, and its metadata.

A document is a function of the body, the URL and the version of the extractor alone; nothing learned from other
pages changes it. Extraction changes the DOM, so links are read before. The document is in proportion to the page,
or TooComplex is raised, which depends on the page alone. Bad markup never raises, and hidden text is not
extracted.
"""

from __future__ import annotations

from collections.abc import Sequence

from orbweb.extraction import main_content, markdown, metadata, plain_text, selection, simhash, titles
from orbweb.extraction.normalise import base_of
from orbweb.extraction.tokens import ESTIMATOR, Tokenizer
from orbweb.extraction.wanted import EVERYTHING, Wanted, selector_list
from orbweb.model import Document
from orbweb.parsing import page as page_parser
from orbweb.parsing.html.tree import Tree

VERSION = 5
"""Stored with each document. Incremented by every change that alters the documents of some pages."""

NOTHING = Document("", "", "", "", "", "", "", (), 0, 0, 0, 0.0, "", 0)
"""The document of a page that is parsed only for its links."""


def extract(
    html: str | bytes,
    url: str,
    *,
    links: bool = True,
    images: bool = True,
    title: bool = True,
    keep: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
) -> Document:
    """The document of the page at `url`, an absolute URL against which its links are resolved.

    Without `links`, their text is left in the Markdown; without `images`, nothing of them; without `title`, the
    heading that repeats the title of the page is left out. `keep` are CSS selectors: the content is what matches
    one of them, in document order, instead of the main content. What matches one of `drop` is removed first.

    TooComplex for a page that would fail in a crawl, because it is too large, has too many elements, or its
    document would be too large. UsageError for a selector that is not supported.
    """
    wanted = Wanted(links, images, title, selector_list("keep", keep), selector_list("drop", drop))
    page_parser.check_size(html)
    return read(page_parser.dom(html), url, wanted=wanted)


def read(tree: Tree, url: str, tokenizer: Tokenizer = ESTIMATOR, wanted: Wanted = EVERYTHING) -> Document:
    """The document of a DOM, which is changed: nothing else may use it afterwards."""
    about = metadata.read(tree, url)
    base = base_of(tree, url)
    if wanted.drop:
        selection.drop(tree, wanted.drop)
    chosen = selection.keep(tree, wanted.keep) if wanted.keep else main_content.choose(tree)
    if not wanted.title:
        titles.drop(tree, chosen.element, about.title)
    rendered = markdown.render(tree, chosen.element, base, chosen.classes, wanted.links, wanted.images)
    return Document(
        markdown=rendered.markdown,
        text=rendered.text,
        title=about.title,
        description=about.description,
        language=about.language,
        author=about.author,
        published=about.published,
        headings=rendered.headings,
        words=plain_text.words(rendered.text),
        tokens=tokenizer.count(rendered.markdown),
        hidden=chosen.hidden,
        confidence=chosen.confidence,
        generator=chosen.generator,
        simhash=simhash.of(rendered.text),
        tokenizer=tokenizer.name,
    )


def words(tree: Tree) -> str:
    """The text of the main content, at a third of the cost of the whole document. It distinguishes pages like
    `text` of the document, but may differ from it in characters that only the Markdown writer corrects."""
    return plain_text.plain(tree, main_content.choose(tree).element)
