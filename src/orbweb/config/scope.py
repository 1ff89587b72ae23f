"""Settings of which URLs are visited: scope, policy, what makes two URLs one, sitemaps, resources.

Owns their limits and their meaning: the text under each is what the reference says of it. A pattern that cannot be
searched for is refused here, where it is known in which file it stands.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from orbweb.config.section import LARGEST, Section, YamlOff

PATTERN_BYTES = 1000

_HOST = re.compile(r"(\*\.)?[^*/?#@\s]+")


def _host_name(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("a host is its name alone, such as example.org, or *.example.org for all below it")
    return text


def _searchable(pattern: str) -> str:
    """RE2 is imported when there is a pattern: most projects have none."""
    from orbweb.policy import patterns

    return patterns.checked(pattern)


Pattern = Annotated[str, Field(min_length=1, max_length=PATTERN_BYTES), AfterValidator(_searchable)]
HostName = Annotated[str, Field(max_length=260), AfterValidator(_host_name)]
_NAME = r"^[a-z][a-z0-9_]{0,49}$"


class ScopeSection(Section):
    """Which URLs belong to the project."""

    strict_path: bool = True
    """`/api` covers `/api` and `/api/...` but not `/api-blog`. False: any path that starts with it."""
    external_hops: int = Field(0, ge=0, le=5)
    """Steps outside the base URLs that are followed."""
    include: tuple[Pattern, ...] = ()
    """RE2 patterns searched in the whole canonical URL; when given, a URL must match one."""
    exclude: tuple[Pattern, ...] = ()
    """RE2 patterns; a URL that matches one is skipped."""
    park_traps: bool = True
    """URLs that a site makes up for ever (calendars, session ids, repeated paths) are skipped until released."""


class PageType(Section):
    """URLs of one type."""

    type: str = Field(pattern=_NAME)
    pattern: Pattern
    score: int = Field(0, ge=-1000, le=1000)

    @field_validator("type")
    @classmethod
    def _not_all(cls, name: str) -> str:
        if name == "pages":
            raise ValueError("pages is the cap on all types, so no type can have this name")
        return name


class Score(Section):
    """URLs that have their turn sooner or later than others of their depth."""

    pattern: Pattern
    score: int = Field(ge=-1000, le=1000)


class GroupSection(Section):
    """URLs of which only so many are visited."""

    name: str = Field(pattern=_NAME)
    pattern: Pattern
    caps: dict[str, Annotated[int, Field(ge=0)]] = Field(min_length=1)
    types: tuple[str, ...] = ()
    fold_case: bool = False


class PolicySection(Section):
    """The rules of a host: which URLs may be asked for, how many of a kind, and in which order."""

    hosts: tuple[HostName, ...] = ()
    """Hosts that are the scope: with them a URL is internal if it is on one of them, whatever the paths of the
    base URLs. `example.org` is that host alone, `*.example.org` each host below it."""
    deny_subdomains: tuple[HostName, ...] = ()
    """Hosts that are refused with all hosts below them, even if `hosts` or external hops would let them in."""
    allow: tuple[Pattern, ...] = ()
    """RE2 patterns searched in the whole canonical URL; when given, a URL must match one, and one of
    `scope.include` if that is given too."""
    deny: tuple[Pattern, ...] = ()
    """RE2 patterns; a URL that matches one of them, or one of `scope.exclude`, is skipped."""
    page_types: tuple[PageType, ...] = ()
    """Each with `type`, `pattern` and perhaps `score`: the first pattern that matches gives a URL its type. Others
    are of type `page`."""
    scores: tuple[Score, ...] = ()
    """Each with `pattern` and `score`, -1000 to 1000: the first that matches goes before the score of the page
    type. Of URLs of one depth those with a higher score have their turn first; without a rule it is 0."""
    groups: tuple[GroupSection, ...] = ()
    """Each with `name`, `pattern` and `caps`, perhaps `types` and `fold_case: true`. URLs (of these page types) in
    which the named parts of the pattern, such as `(?P<owner>[^/]+)`, are the same are one group, of which at most
    so many are admitted: `pages` in all, other caps by page type."""
    contact_required: bool = False
    """A crawl does not begin without a contact in `user_agent`: `+https://...` or `+mailto:...`. Otherwise it
    warns, unless all base URLs are on this machine or at private addresses."""
    terms: tuple[str, ...] = ()
    """Links to the terms under which the hosts let themselves be crawled, shown when a crawl begins."""


class UrlsSection(Section):
    """What makes two URLs the same."""

    drop_params: tuple[str, ...] = ()
    """Query parameters dropped besides the built-in tracking parameters."""
    keep_params: tuple[str, ...] | None = None
    """When given, only these query parameters are kept; an empty list drops the query, from requests too."""


class SitemapSection(Section):
    """Which sitemaps are read."""

    mode: Annotated[Literal["auto", "only", "off"], YamlOff] = "auto"
    """`auto`: those that robots.txt lists and /sitemap.xml. `only`: no links are followed besides. `off`: none."""
    max_files: int = Field(1000, ge=1, le=100_000)
    """Files that are read in a run, those of an index included."""
    max_urls: int = Field(500_000, ge=1, le=LARGEST)
    """URLs that are taken from sitemaps in a run."""


class ResourcesSection(Section):
    """What pages load: scripts, styles, images, fonts."""

    mode: Annotated[Literal["off", "check", "store"], YamlOff] = "off"
    """`check`: visit them too, in the same queue and budget. `store`: keep their bodies, and those of every other
    answer that is no page."""
