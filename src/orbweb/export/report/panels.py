"""The panels of a report, each drawn from the facts of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orbweb.export.report import svg
from orbweb.export.report.components import (
    Cell,
    badge,
    bars,
    count,
    cut,
    more,
    note,
    panel,
    panel_part,
    table,
    url,
)
from orbweb.export.report.facts import (
    BASES,
    CRAWLS,
    Changed,
    ChangeKind,
    Counted,
    KindFailures,
    ReportedPage,
    ReportFacts,
    Warned,
)
from orbweb.export.report.markup import Markup, element, escaped, joined
from orbweb.export.report.pictures import Thread, bars_of, thread_of
from orbweb.export.report.sections import MapSection
from orbweb.export.report.site_map import LINKS, SPOKES, link_counts, web_of
from orbweb.export.report.texts import in_full, many, number, size, took, words

SIGNS = {"added": ("+", "accent"), "removed": ("\N{MINUS SIGN}", "red"), "changed": ("~", "")}
DEPTHS = 16
SETTINGS = 30
COMMAND = 4_000


def warned(facts: ReportFacts) -> Markup:
    return panel("look", "Wants a look", "", element("ul", *map(_warning, facts.warnings), class_="warnings"))


def _warning(warned: Warned) -> str:
    if not warned.count:
        return escaped("")
    examples = [element("li", url(each)) for each in warned.examples]
    below = [element("ul", *examples)] if examples else []
    rest = more(warned.count - len(examples), "") if examples else ""
    return element("li", element("b", many(warned.count, warned.noun)), f" {cut(warned.text)}", *below, rest)


def failed(facts: ReportFacts) -> Markup:
    left = facts.numbers["failed"] - sum(each.count for each in facts.failures)
    hint = "by kind and host, with the pages that link to each URL"
    return panel("failed", "Failed", hint, *map(_kind, facts.failures), more(left, "failures of other kinds"))


def _kind(kind: KindFailures) -> Markup:
    rows: list[list[Cell]] = []
    for host in kind.hosts:
        for each in host.failures:
            sources = [element("li", url(source, whole=False)) for source in each.sources]
            rest = each.linked_from - len(sources)
            shown = joined([element("ul", *sources), more(rest, "pages")]) if sources else escaped("\N{EN DASH}")
            rows.append([(url(each.url), ""), (cut(each.reason, 80), "ink2"), (shown, "sources")])
        unnamed = host.count - len(host.failures)
        if unnamed > 0:
            text = joined([f"{number(unnamed)} more", element("span", f" of {cut(host.host, 60)}", class_="host")])
            rows.append([(text, "faint"), ("", ""), ("", "")])
    title = joined([element("code", kind.kind), " ", element("span", number(kind.count), class_="red")])
    heads = [("URL", ""), ("Reason", "w-reason"), ("Linked from", "w-sources")]
    return panel_part(title, table(heads, rows, "failures"), more(kind.hosts_left, "hosts"))


def runs(facts: ReportFacts) -> Markup:
    rows: list[list[Cell]] = []
    for run in facts.history:
        rows.append(_run_row(run))
        crawls = list(reversed(run["crawls"]))
        rows += [_crawl_row(each) for each in crawls[:CRAWLS]]
        if len(crawls) > CRAWLS:
            rows.append([(f"{number(len(crawls) - CRAWLS)} more crawls", "crawl faint"), *[("", "")] * 8])
    heads = [
        *(("Run, crawl", ""), ("State", "w-state"), ("Started", "wide"), ("Took", "number wide")),
        *(("Visited", "number wide"), ("Pages", "number"), ("Failed", "number"), ("Queued", "number wide")),
        ("Stored", "number wide"),
    ]
    earlier = facts.runs - len(facts.history)
    hint = "a run is one pass over the site; a crawl is one sitting of it"
    shown = joined([table(heads, rows, "runs"), more(earlier, "earlier runs"), _bases(facts)])
    return panel("runs", "Runs and crawls", hint, shown)


def _run_row(run: Mapping[str, Any]) -> list[Cell]:
    return [
        (f"run {run['run']}", "run"),
        (element("span", badge(state_of(run)), svg.thread(_thread(run)), class_="state"), ""),
        (in_full(run["started_at"]), "wide time ink2"),
        (took(run["seconds"]), "number wide ink2"),
        (count(run["visited"]), "number wide"),
        (element("b", count(run["pages"])), "number"),
        (count(run["failed"], "red"), "number"),
        (count(run["queued"]), "number wide"),
        (size(run["bytes"]), "number wide ink2"),
    ]


def state_of(run: Mapping[str, Any]) -> str:
    """The state of a run; a completed one with failures says so."""
    last = run["crawls"][-1]["state"] if run["crawls"] else ""
    return last if run["state"] == "completed" and last == "completed_with_errors" else str(run["state"])


def _thread(run: Mapping[str, Any]) -> Thread:
    skipped = sum(run["skipped"].values())
    return thread_of(run["visited"], run["failed"], run["queued"], skipped, pages=run["pages"])


def _crawl_row(crawl: Mapping[str, Any]) -> list[Cell]:
    cause = f" ({words(crawl['ended_by'])})" if crawl["ended_by"] else ""
    error = element("span", f" {cut(crawl['error'], 60)}", class_="red") if crawl["error"] else ""
    return [
        (f"crawl {crawl['crawl']}", "crawl"),
        (joined([badge(crawl["state"]), element("span", cause, class_="faint"), error]), ""),
        (in_full(crawl["started_at"]), "wide time"),
        (took(crawl["seconds"]), "number wide"),
        (count(crawl["visited"]), "number wide"),
        (count(crawl["pages"]), "number"),
        (count(crawl["failed"]), "number"),
        ("", "wide"),
        (size(crawl["bytes"]), "number wide"),
    ]


def _bases(facts: ReportFacts) -> Markup:
    found = facts.numbers["bases"]
    shown = sorted(found, key=lambda each: -each["pages"])[:BASES]
    rows: list[list[Cell]] = [
        [
            (url(each["scope"]), ""),
            (count(each["pages"]), "number"),
            (count(each["alternates"]), "number"),
            (cut(each["problem"] or ""), "red wide"),
        ]
        for each in shown
    ]
    heads = [("Scope", ""), ("Pages", "number"), ("Alternates", "number"), ("", "wide")]
    left = more(len(found) - len(shown), "base URLs")
    return panel_part("Base URLs", table(heads, rows, "bases"), left)


def changes(facts: ReportFacts) -> Markup:
    found = facts.changes
    if found is None:
        return escaped("")
    counted = [f"{number(found.unchanged)} unchanged"]
    counted += [f"{many(found.noise, 'page')} in which only dates, counters or tokens differ"] * bool(found.noise)
    counted += [f"{number(found.pending)} not visited yet"] * bool(found.pending)
    counted += [f"{number(found.left_out)} left out by a rule"] * bool(found.left_out)
    books = [_change_count(each) for each in found.kinds]
    parts = [_change_kind(each) for each in found.kinds if each.count]
    return panel(
        "changes",
        f"Changes since run {found.before}",
        "",
        element("p", *books, class_="legend"),
        note(f"{', '.join(counted)}."),
        element("div", *parts, class_="parts two"),
    )


def _change_count(kind: ChangeKind) -> Markup:
    sign, tone = SIGNS.get(kind.name, ("", ""))
    return element("span", element("b", f"{sign}{number(kind.count)}", class_=tone or None), f" {kind.name}")


def _change_kind(kind: ChangeKind) -> Markup:
    rows: list[list[Cell]]
    if kind.name == "changed":
        heads = [("Page", ""), ("Lines", "number w-lines")]
        rows = [[(url(each.url), ""), (_lines(each), "number")] for each in kind.changes]
    elif kind.name == "added":
        heads, rows = [("Page", "")], [[(url(each.url), "")] for each in kind.changes]
    else:
        second = {"moved": "From", "redirected": "To", "removed": "Why"}.get(kind.name, "Failure")
        heads = [("Page", ""), (second, "w-note")]
        rows = [[(url(each.url), ""), (cut(each.note), "ink2")] for each in kind.changes]
    return panel_part(kind.name.capitalize(), table(heads, rows), more(kind.count - len(kind.changes), "pages"))


def _lines(change: Changed) -> Markup:
    added = element("span", f"+{number(change.added)}", class_="accent")
    return joined([added, " ", element("span", f"\N{MINUS SIGN}{number(change.removed)}", class_="red")])


def site(facts: ReportFacts) -> Markup:
    """The map and the same numbers as a table."""
    every = facts.sections
    first = every[0]
    picture = svg.web(web_of(every, first.key, facts.links))
    text = f"a spoke is a section, a ring is a link away from the base URLs, lines are links out of {first.name}"
    shares = bars_of([(each.key, each.pages) for each in every[:SPOKES]], ranking=True)
    rows = [_section(each, bar.share, chosen=each is first) for each, bar in zip(every, shares, strict=False)]
    heads = [("Section", ""), ("", "bar wide"), ("Pages", "number"), ("Failed", "number")]
    legend = [("pages", cut(first.name, 60)), ("other", "other sections"), ("failed", "failed, where 2 % or more")]
    swatches = [element("span", element("i", class_=f"swatch {name}"), word) for name, word in legend]
    links = [Counted(name, each) for name, each in _links(facts)]
    below = bars(f"Links out of {cut(first.name, 60)}", links, "Section", tone="", mono=True) if links else ""
    figure = element("figure", picture, element("figcaption", *swatches, class_="legend"))
    left = more(len(every) - len(rows), "sections")
    beside = element("div", table(heads, rows), left, below)
    return panel("map", "Map", cut(text, 160), element("div", figure, beside, class_="map"))


def _links(facts: ReportFacts) -> list[tuple[str, int]]:
    """The sections that get most links from the largest one."""
    names = {each.key: each.name for each in facts.sections}
    first = facts.sections[0].key
    found = link_counts(facts.links, facts.sections[:SPOKES])
    return [(names[key], each) for key, each in found if key != first][:LINKS]


def _section(section: MapSection, share: float, *, chosen: bool) -> list[Cell]:
    return [
        (cut(section.name, 60), "mono"),
        (svg.bar(share, "" if chosen else "other"), "bar wide"),
        (count(section.pages), "number"),
        (count(section.failed, "red"), "number"),
    ]


def responses(facts: ReportFacts) -> Markup:
    now = facts.numbers
    reused = now["reused"]
    hint = (
        f"{many(reused, 'capture')} of an earlier run reused, {number(now['not_modified'])} not modified"
        if reused
        else ""
    )
    parts = [bars("Status", facts.statuses, "Status"), bars("Content type", facts.types, "Type", mono=True)]
    depths = [Counted(f"{depth}", pages) for depth, pages, _ in facts.depths if pages]
    parts += [bars("Pages by depth", depths[:DEPTHS], "Depth")]
    return panel("responses", "Responses", hint, element("div", *parts, class_="parts"))


def pages(facts: ReportFacts) -> Markup:
    lengths = [Counted(_length(least), pages) for least, pages in facts.lengths]
    parts = [bars("Tokens", lengths, "Tokens of a page"), bars("Language", facts.languages, "Language")]
    if facts.page_types:
        parts.append(bars("Page type", facts.page_types, "Type"))
    lists = [
        _ranking("Largest", facts.largest, "Size", size),
        _ranking("Slowest", facts.slowest, "Took", _milliseconds),
        _ranking("Least text", facts.thinnest, "Words", number),
    ]
    return panel(
        "pages", "Pages", "", element("div", *parts, class_="parts"), element("div", *lists, class_="parts")
    )


def _length(least: int) -> str:
    ends = {
        0: "under 100",
        100: "100 to 300",
        300: "300 to 1,000",
        1000: "1,000 to 3,000",
        3000: "3,000 to 10,000",
    }
    return ends.get(least, "10,000 to 30,000" if least == 10_000 else "30,000 and more")


def _milliseconds(value: int) -> str:
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value} ms"


def _ranking(title: str, found: tuple[ReportedPage, ...], head: str, text: Callable[[int], str]) -> Markup:
    rows: list[list[Cell]] = [
        [
            (joined([element("span", cut(each.title), class_="title"), url(each.url)]), ""),
            (text(each.figure), "number"),
        ]
        for each in found
    ]
    return (
        panel_part(title, table([("Page", ""), (head, "number w-figure")], rows, "pages")) if rows else escaped("")
    )


def skipped(facts: ReportFacts) -> Markup:
    rows: list[list[Cell]] = []
    for each in facts.skipped:
        for at, rule in enumerate(each.rules or (Counted("", each.count),)):
            head = joined([element("code", each.reason)]) if not at else escaped("")
            total = count(each.count) if not at else escaped("")
            rows.append(
                [
                    (head, ""),
                    (element("code", cut(rule.name) or "\N{EN DASH}"), "ink2"),
                    (number(rule.count), "number ink2"),
                    (total, "number"),
                ]
            )
        left = each.count - sum(rule.count for rule in each.rules)
        if left > 0 and each.rules:
            rows.append([("", ""), ("other rules", "faint"), (number(left), "number ink2"), ("", "")])
    heads = [("Reason", "w-reason"), ("Rule", ""), ("URLs", "number"), ("In all", "number")]
    return panel("skipped", "Skipped", "with the rules that decided most of them", table(heads, rows))


def settings(facts: ReportFacts) -> Markup:
    rows: list[list[Cell]] = [
        [(element("code", cut(key, 60)), ""), (element("code", cut(value, 60)), ""), (cut(source, 60), "ink2")]
        for key, value, source in facts.settings[:SETTINGS]
    ]
    shown = (
        table([("Setting", "w-key"), ("Value", ""), ("From", "w-from")], rows)
        if rows
        else note("All settings are as orbweb comes.")
    )
    left = more(len(facts.settings) - len(rows), "settings")
    about = note("Headers, proxies, files and addresses belong to a machine; they are not in a report.")
    command = panel_part(
        "The same crawl",
        element(
            "pre", element("code", facts.command if len(facts.command) <= COMMAND else cut(facts.command, COMMAND))
        ),
    )
    return panel(
        "settings", "Settings", "those that differ from the defaults, as they are now", shown, left, command, about
    )
