"""Lists of pages and failures as text. Pure."""

from __future__ import annotations

from orbweb.cli.output.format import Report, many, size

NAMES_SHOWN = 10
SOURCES_SHOWN = 3
UNLINKED = {"initial": "a base URL", "sitemap": "listed in a sitemap"}
"""How a URL was found that no page links to."""


def pages_text(found: list[Report]) -> str:
    lines = []
    for page in found:
        lines.append(_page_line(page))
        lines.extend(f"    also {other}" for other in other_urls(page))
    return "\n".join(lines) or "no pages"


def other_urls(page: Report) -> list[str]:
    """The alternates of a page; those that redirect to it are marked."""
    redirects = set(page["redirects"])
    return [f"{url} (redirect)" if url in redirects else url for url in page["alternates"]]


def _page_line(page: Report) -> str:
    read = "" if page["tokens"] is None else f"  {many(page['words'], 'word')}, {many(page['tokens'], 'token')}"
    cut = ", truncated" if page["truncated"] else ""
    cut += ", needs JavaScript" if page.get("needs_javascript") else ""
    return f"{page['url']}  {size(page['bytes'])}{cut}{read}  {page['title'] or ''}".rstrip()


def gone_text(found: list[Report]) -> str:
    """Pages that have vanished."""
    return "\n".join(f"{page['url']}  {vanished(page)}" for page in found) or "no pages have vanished"


def vanished(gone: Report) -> str:
    """When a page vanished, and why."""
    return f"gone since run {gone['since']} ({gone['why']}), last captured by run {gone['last']}"


def near_text(found: list[list[Report]]) -> str:
    """Groups of pages with nearly the same text."""
    groups = [
        "\n".join([many(len(group), "page"), *(f"  {_page_line(page)}" for page in group)]) for group in found
    ]
    return "\n".join(groups) or "no near-duplicates"


def search_text(found: list[Report]) -> str:
    return "\n".join(f"{row['title'] or row['url']}\n  {row['url']}\n  {_marked(row)}" for row in found) or (
        "nothing found"
    )


def _marked(row: Report) -> str:
    """The snippet with its matches between asterisks."""
    text, shown, end = row["snippet"], [], 0
    for first, last in row["marks"]:
        shown += [text[end:first], "**", text[first:last], "**"]
        end = last
    return "".join([*shown, text[end:]])


def failed_text(found: list[Report], counts: Report) -> str:
    """Failures after their counts, each with the pages that link to it."""
    if not found:
        return "no failures"
    lines = [f"{counts['failed']} failed: {_counted(counts['by_kind'])}", f"hosts: {_counted(counts['by_host'])}"]
    lines += [line for row in found for line in _failure_lines(row)]
    left = counts["failed"] - len(found)
    return "\n".join(lines if left <= 0 else [*lines, f"and {left} more (without --limit: all)"])


def _counted(numbers: dict[str, int]) -> str:
    """Numbers by name, the largest first; many are cut."""
    shown = [f"{number} {name}" for name, number in list(numbers.items())[:NAMES_SHOWN]]
    left = len(numbers) - NAMES_SHOWN
    return ", ".join(shown) + (f" and {left} more" if left > 0 else "")


def _failure_lines(row: Report) -> list[str]:
    lines = [f"{row['kind']}  {row['url']}  {row['reason']} (tries: {row['tries']})"]
    lines += [f"    on {source['url']}  {_link_text(source)}" for source in row["sources"][:SOURCES_SHOWN]]
    if not row["sources"]:
        lines.append(f"    {UNLINKED.get(row['source'], 'no page of this run links to it')}")
    left = len(row["sources"]) - SOURCES_SHOWN + row["more_sources"]
    return lines if left <= 0 else [*lines, f"    and on {many(left, 'more page')}"]


def _link_text(source: Report) -> str:
    return "-" if source["text"] is None else f'"{source["text"]}"'
