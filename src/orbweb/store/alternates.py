"""The other URLs of a page: those with the same content, and those that redirect to it.

A redirect counts for the page at the end of its chain, if there is one: what failed, was skipped or is still
queued has no alternates. A redirect has no role of its own, so counts and the manifest leave it out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orbweb.store import Queries


class OtherUrl(NamedTuple):
    """A URL of a page besides its primary."""

    key: str
    url: str


class Redirect(NamedTuple):
    """A URL that redirects, and the id of the last URL of its chain."""

    id: int
    key: str
    url: str
    end: int


class Alternates(NamedTuple):
    """The other URLs of one page, each in the order of commits."""

    same: tuple[OtherUrl, ...] = ()
    redirects: tuple[OtherUrl, ...] = ()

    def report(self, url: str) -> dict[str, list[str]]:
        """The alternates of the page at this URL, as in reports: the redirects are among them, and named once
        more."""
        same, redirects = ([other.url for other in others if other.url != url] for others in self)
        return {"alternates": [*same, *redirects], "redirects": redirects}


NONE = Alternates()


def redirects(db: Queries, run_id: int) -> Iterator[Redirect]:
    """The redirects of a run in the order of commits."""
    rows = db.all("redirects_of", run_id=run_id)
    ends = _ends({number: target for number, _, _, target in rows})
    return (Redirect(number, key, url, ends[number]) for number, key, url, _ in rows)


def of_run(db: Queries, run_id: int) -> dict[bytes, Alternates]:
    """The other URLs of the pages of a run that have any, by content hash."""
    same: defaultdict[bytes, list[OtherUrl]] = defaultdict(list)
    for content, key, url in db.each("alternates_of", run_id=run_id):
        same[content].append(OtherUrl(key, url))
    leading: defaultdict[bytes, list[OtherUrl]] = defaultdict(list)
    contents: dict[int, bytes | None] = {}
    for found in redirects(db, run_id):
        if found.end not in contents:
            contents[found.end] = content_of(db, run_id, found.end)
        content = contents[found.end]
        if content is not None:
            leading[content].append(OtherUrl(found.key, found.url))
    return {
        content: Alternates(tuple(same.get(content, ())), tuple(leading.get(content, ())))
        for content in same.keys() | leading.keys()
    }


def of_page(db: Queries, run_id: int, content: bytes) -> Alternates:
    """The other URLs of one page."""
    same = [OtherUrl(key, url) for key, url in db.all("alternates_of_page", run_id=run_id, content_sha256=content)]
    ids = {number for (number,) in db.all("urls_of_page", run_id=run_id, content_sha256=content)}
    leading = [OtherUrl(found.key, found.url) for found in redirects(db, run_id) if found.end in ids]
    return Alternates(tuple(same), tuple(leading))


def content_of(db: Queries, run_id: int, url_id: int) -> bytes | None:
    """The content hash of the page that a URL is, or is an alternate of; None if there is no page."""
    found: bytes | None = db.value("page_content_of", run_id=run_id, url_id=url_id)
    return found


def end_of(db: Queries, run_id: int, url_id: int) -> int:
    """The last URL of the chain of redirects that begins at a URL; that URL itself if it does not redirect."""
    passed = {url_id}
    while (target := db.value("redirect_of", run_id=run_id, url_id=url_id)) is not None and target not in passed:
        passed.add(target)
        url_id = target
    return url_id


def _ends(targets: Mapping[int, int]) -> dict[int, int]:
    """The last id of each chain, in a time that grows with the number of redirects, not with their square."""
    ends: dict[int, int] = {}
    for start in targets:
        path, at = dict.fromkeys((start,)), targets[start]
        while at in targets and at not in ends and at not in path:
            path[at] = None
            at = targets[at]
        ends.update(dict.fromkeys(path, ends.get(at, at)))
    return ends
