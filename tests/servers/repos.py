"""A seeded site of repositories, and the answer of a crawl that knows caps and scores.

Paths are /OWNER/REPO/KIND/NUMBER. Some pages redirect. The reference below shares no code with orbweb: it visits
one URL after the other, level by level.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field

from servers.site import NOT_FOUND, Answer, Request, html, redirect

OWNERS = ("ann", "Ann", "bob", "cid")
KINDS = ("issues", "pull", "blob", "wiki")
FAVOURITE = 7
"""Numbers that end in it have a score of their own."""
PAGES_CAP = 6
CAPS = {"issues": 2, "pull": 3}
GROUPS = f"""
  groups:
    - name: repository
      pattern: '^http://[^/]+/(?P<owner>[^/]+)/(?P<repo>[^/]+)/'
      fold_case: true
      caps: {{pages: {PAGES_CAP}, issues: {CAPS["issues"]}, pull: {CAPS["pull"]}}}
"""


@dataclass(frozen=True)
class Scores:
    """How soon a URL has its turn: by its kind, unless it is a favourite."""

    kinds: tuple[int, int, int]
    favourite: int = 0

    def of(self, path: str) -> int:
        _, _, kind, number = _parts(path)
        if self.favourite and number.endswith(str(FAVOURITE)):
            return self.favourite
        return dict(zip(KINDS, (*self.kinds, 0), strict=True))[kind]

    def settings(self) -> str:
        typed = zip(KINDS[:3], self.kinds, strict=True)
        types = (f"{{type: {kind}, pattern: '/{kind}/', score: {score}}}" for kind, score in typed)
        favourites = f"{{pattern: '{FAVOURITE}$', score: {self.favourite}}}" if self.favourite else ""
        return f"policy:\n  page_types: [{', '.join(types)}]\n  scores: [{favourites}]\n"


FIRST = Scores((3, 0, -2), 50)
OTHERS = Scores((-4, 9, 1), -30)
NONE = Scores((0, 0, 0))
_PATH = re.compile(r"/(\w+)/(\w+)/(\w+)/(\d+)")


@dataclass(frozen=True)
class RepoSite:
    """`delay_s` is the longest time an answer takes."""

    seed: int
    pages: int = 160
    delay_s: float = 0.004
    links: dict[str, list[str]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        paths = [
            f"/{chance.choice(OWNERS)}/{chance.choice('xyz')}/{chance.choice(KINDS)}/{number}"
            for number in range(self.pages)
        ]
        every = ["/", *paths]
        for number, path in enumerate(every):
            near = every[number + 1 : number + 9] or paths
            self.links[path] = [*chance.sample(near, min(4, len(near))), *chance.sample(paths, 4)]
            if path != "/" and chance.random() < 0.12:
                self.moved[path] = chance.choice(paths[number:] or paths)

    def answer(self, request: Request) -> Answer:
        path = request.path
        if path not in self.links:
            return NOT_FOUND
        if path in self.moved and self.moved[path] != path:
            return redirect(self.moved[path])
        body = "".join(f'<p><a href="{link}">{link}</a></p>' for link in self.links[path])
        return html(f"<title>{path}</title><p>Page {path} of the site.</p>{body}", delay_s=self._delay(request))

    def _delay(self, request: Request) -> float:
        return random.Random(f"{request.target} {request.nth} {request.at}").random() * self.delay_s


@dataclass
class Answered:
    """Paths in the order of their visits, and those that no cap lets in."""

    visits: list[str] = field(default_factory=list)
    capped: set[str] = field(default_factory=set)


def reference(site: RepoSite, scores: Scores = FIRST, *, after: int = 0, then: Scores = FIRST) -> Answered:
    """What a crawl must visit, in this order; other failures than redirect loops do not occur.

    When so many are visited, `after`, the scores are others, and the rest has its turn by those.
    """
    found, counts, admitted = Answered(), Counter[tuple[str, ...]](), {"/": 0}
    level, came_from = ["/"], {}
    while level:
        later: list[str] = []
        last: list[str] = []
        while level or last:
            if after and len(found.visits) == after:
                scores = then
                level = _in_order(level, scores, admitted)
            path = (level or last).pop(0)
            found.visits.append(path)
            target = site.moved.get(path, path)
            if target != path:
                if _leads_back(came_from, path, target):
                    continue
                came_from[path] = target
            for link in [target] if target != path else site.links[path]:
                if link in admitted:
                    continue
                admitted[link] = len(admitted)
                if not _has_room(counts, link):
                    found.capped.add(link)
                else:  # what a redirect leads to has its turn last
                    (last if target != path else later).append(link)
        level = _in_order(later, scores, admitted)
    return found


def _in_order(paths: list[str], scores: Scores, admitted: dict[str, int]) -> list[str]:
    return sorted(paths, key=lambda path: (-scores.of(path), admitted[path]))


def _leads_back(came_from: dict[str, str], path: str, target: str | None) -> bool:
    for _ in range(20):
        if target is None or target == path:
            break
        target = came_from.get(target)
    return target == path


def _parts(path: str) -> tuple[str, str, str, str]:
    found = _PATH.fullmatch(path)
    assert found is not None
    return found[1].lower(), found[2].lower(), found[3], found[4]


def _has_room(counts: Counter[tuple[str, ...]], path: str) -> bool:
    """Count the path if its group has room for it."""
    owner, repo, kind, _ = _parts(path)
    cells = [((owner, repo), PAGES_CAP)]
    if kind in CAPS:
        cells.append(((owner, repo, kind), CAPS[kind]))
    if any(counts[cell] >= most for cell, most in cells):
        return False
    counts.update(cell for cell, _ in cells)
    return True
