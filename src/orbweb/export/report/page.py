"""A run as one HTML document, drawn from its facts. It requests nothing and has no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from orbweb.export.report import panels as draw
from orbweb.export.report import svg
from orbweb.export.report.components import badge, count, cut
from orbweb.export.report.facts import ReportFacts
from orbweb.export.report.markup import Markup, element, joined
from orbweb.export.report.texts import in_full, many, number, short, size, took

STYLE = Path(__file__).with_name("style.css")
MARK = (
    "M12 .8v22.4M2.3 6.4l19.4 11.2M21.7 6.4 2.3 17.6",
    "m12 3.4 7.4 4.3v8.6L12 20.6l-7.4-4.3V7.7z",
    "m12 6.6 4.7 2.7v5.4L12 17.4l-4.7-2.7V9.3z",
)


def drawn(facts: ReportFacts, version: str) -> str:
    """The document."""
    panels = list(_panels(facts))
    nav = element(
        "nav",
        element("ul", *(element("li", element("a", title, href=f"#{name}")) for name, title, _ in panels)),
        aria_label="Contents",
    )
    main = element("main", _summary(facts), nav, *(each for _, _, each in panels))
    kind = "one-host" if len(_hosts(facts)) == 1 else None
    body = element("body", _top(facts), svg.thread(facts.thread), main, _foot(facts, version), class_=kind)
    title = f"{cut(facts.project)}, run {facts.numbers['run']}"
    return f"<!doctype html>\n{element('html', _head(title, version), body, lang='en')}\n"


def _hosts(facts: ReportFacts) -> set[str]:
    """The hosts of a run; one that all URLs share is not shown with each."""
    failed = {host.host for kind in facts.failures for host in kind.hosts}
    return failed | {each.key.partition("/")[0] for each in facts.sections}


def _head(title: str, version: str) -> Markup:
    style = STYLE.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    icon = _mark(24, stroke="#0a6670", xmlns=svg.NAMESPACE)
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"orbweb {version}"),
        element("title", f"{title} \N{MIDDLE DOT} orbweb report"),
        Markup(f'<link rel="icon" href="data:image/svg+xml,{quote(icon)}">'),
        Markup(f"<style>{style}</style>"),
    )


def _mark(pixels: int, stroke: str = "currentColor", xmlns: str | None = None) -> Markup:
    return element(
        "svg",
        *(element("path", d=path) for path in MARK),
        xmlns=xmlns,
        width=pixels,
        height=pixels,
        viewBox="0 0 24 24",
        fill="none",
        stroke=stroke,
        stroke_width="1.4",
        aria_hidden="true",
    )


def _top(facts: ReportFacts) -> Markup:
    brand = element("span", _mark(22), "orbweb", class_="brand")
    return element("header", brand, element("span", in_full(facts.active_at), class_="faint"))


def _foot(facts: ReportFacts, version: str) -> Markup:
    return element(
        "footer", f"orbweb {version}. As of {in_full(facts.active_at)}, when this run last did something."
    )


def _panels(facts: ReportFacts) -> Iterator[tuple[str, str, Markup]]:
    """Name, title and content of each part that has something to show."""
    if any(each.count for each in facts.warnings):
        yield "look", "Wants a look", draw.warned(facts)
    if facts.failures:
        yield "failed", "Failed", draw.failed(facts)
    yield "runs", "Runs and crawls", draw.runs(facts)
    if facts.changes is not None:
        yield "changes", "Changes", draw.changes(facts)
    if facts.sections:
        yield "map", "Map", draw.site(facts)
    yield "responses", "Responses", draw.responses(facts)
    if facts.largest:
        yield "pages", "Pages", draw.pages(facts)
    if facts.skipped:
        yield "skipped", "Skipped", draw.skipped(facts)
    yield "settings", "Settings", draw.settings(facts)


# The beginning: what the run is, and the books.


def _summary(facts: ReportFacts) -> Markup:
    now = facts.numbers
    skipped = sum(now["skipped"].values())
    title = element(
        "h1",
        cut(facts.project),
        " ",
        element("span", f"run {now['run']}", class_="faint"),
        " ",
        badge(draw.state_of(facts.history[0])),
    )
    sentence = element(
        "p",
        f"{many(now['visited'], 'URL')} visited in {took(now['seconds'])}, ",
        element("b", many(now["pages"], "page")),
        ", ",
        element("b", f"{number(now['failed'])} failed", class_="red" if now["failed"] else None),
        f", {number(now['queued'])} queued, {number(skipped)} skipped. {size(now['bytes'])} stored, "
        f"{size(now['transferred'])} transferred",
        f", {short(now['tokens'])} tokens of Markdown ({now['tokenizer']})" if now["tokens"] else "",
        ".",
        class_="sentence",
    )
    return joined([title, sentence, _books(facts)])


def _books(facts: ReportFacts) -> Markup:
    """What adds up: discovered and visited."""
    now = facts.numbers
    states = [
        _figure("visited", now["visited"]),
        _figure("failed", now["failed"], "failed"),
        _figure("queued", now["queued"], "queued"),
        _figure("skipped", sum(now["skipped"].values()), "skipped"),
    ]
    captured = [
        _figure("pages", now["pages"], "pages"),
        _figure("alternates", now["alternates"], "other"),
        _figure("no page", now["visited"] - now["pages"] - now["alternates"], "other"),
    ]
    first = _sum(_figure("discovered", now["discovered"]), states)
    second = _sum(_figure("visited", now["visited"]), captured)
    return element("div", first, second, class_="books")


def _sum(whole: Markup, parts: list[Markup]) -> Markup:
    made = [whole]
    for at, part in enumerate(parts):
        sign = element("span", "+" if at else "=", class_="op")
        made.append(element("span", sign, part, class_="term"))
    return element("p", *made)


def _figure(name: str, value: int, swatch: str = "") -> Markup:
    """A number with its name; `swatch` is the part of the thread that shows it."""
    mark = [element("i", class_=f"swatch {swatch}")] if swatch else []
    tone = "red" if name == "failed" else ""
    return element(
        "span", element("b", count(value, tone)), element("span", *mark, name, class_="name"), class_="figure"
    )
