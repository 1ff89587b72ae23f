"""Settings of which URLs are visited: scope, policy, URL identity, sitemaps, resources.

The string under each field is its description in the reference. An invalid pattern is refused here, where the file
that contains it is known.
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
        raise ValueError("must be a host name such as example.org, or *.example.org for its subdomains")
    return text


def _searchable(pattern: str) -> str:
    """Imports RE2 only if there is a pattern, because most projects have none."""
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
    """How many links outside the base URLs are followed in a row."""
    include: tuple[Pattern, ...] = ()
    """RE2 patterns searched in the whole canonical URL; if given, a URL must match one."""
    exclude: tuple[Pattern, ...] = ()
    """RE2 patterns; a URL that matches one is skipped."""
    park_traps: bool = True
    """Skip URLs of crawler traps (calendars, session ids, repeated paths) until they are released."""


class PageType(Section):
    """A page type and its pattern."""

    type: str = Field(pattern=_NAME)
    pattern: Pattern
    score: int = Field(0, ge=-1000, le=1000)

    @field_validator("type")
    @classmethod
    def _not_all(cls, name: str) -> str:
        if name == "pages":
            raise ValueError("pages is the name of the cap on all types, so it cannot be a type")
        return name


class Score(Section):
    """The score of matching URLs: their order within a depth."""

    pattern: Pattern
    score: int = Field(ge=-1000, le=1000)


class GroupSection(Section):
    """A group of URLs and its caps."""

    name: str = Field(pattern=_NAME)
    pattern: Pattern
    caps: dict[str, Annotated[int, Field(ge=0)]] = Field(min_length=1)
    types: tuple[str, ...] = ()
    fold_case: bool = False


class PolicySection(Section):
    """The rules of a host: which URLs may be requested, how many of a kind, and in which order."""

    hosts: tuple[HostName, ...] = ()
    """The hosts in scope. If given, every URL on one of them is internal, whatever the paths of the base URLs.
    `example.org` is that host alone, `*.example.org` all of its subdomains."""
    deny_subdomains: tuple[HostName, ...] = ()
    """Hosts that are refused with all their subdomains, even if `hosts` or external hops would allow them."""
    allow: tuple[Pattern, ...] = ()
    """RE2 patterns searched in the whole canonical URL; if given, a URL must match one, and one of `scope.include`
    if that is given too."""
    deny: tuple[Pattern, ...] = ()
    """RE2 patterns; a URL that matches one of them, or one of `scope.exclude`, is skipped."""
    page_types: tuple[PageType, ...] = ()
    """Each with `type`, `pattern` and optionally `score`: the first pattern that matches decides the type of a
    URL. Other URLs have type `page`."""
    scores: tuple[Score, ...] = ()
    """Each with `pattern` and `score`, -1000 to 1000: the first that matches overrides the score of the page type.
    Within a depth, URLs with a higher score are visited first; without a rule the score is 0."""
    groups: tuple[GroupSection, ...] = ()
    """Each with `name`, `pattern` and `caps`, optionally `types` and `fold_case: true`. URLs (of these page types)
    with the same text in the named parts of the pattern, such as `(?P<owner>[^/]+)`, are one group. The caps limit
    how many of a group are visited: `pages` in total, other caps per page type."""
    contact_required: bool = False
    """Refuse to start a crawl without a contact in `user_agent`: `+https://...` or `+mailto:...`. If false, a
    missing contact is only a warning, unless all base URLs are on this machine or at private addresses."""
    terms: tuple[str, ...] = ()
    """Links to the terms of service of the hosts, shown at the start of a crawl."""


class UrlsSection(Section):
    """What makes two URLs the same."""

    drop_params: tuple[str, ...] = ()
    """Query parameters dropped besides the built-in tracking parameters."""
    keep_params: tuple[str, ...] | None = None
    """If given, only these query parameters are kept; an empty list drops the query, also from requests."""


class SitemapSection(Section):
    """Which sitemaps are read."""

    mode: Annotated[Literal["auto", "only", "prefer", "off"], YamlOff] = "auto"
    """`auto`: the sitemaps that robots.txt lists, and /sitemap.xml. `only`: the same, but links are not followed.
    `prefer`: the same, and links are followed only to pages of base URLs in whose scope sitemaps list nothing but
    the base URL. `off`: no sitemaps."""
    max_files: int = Field(1000, ge=1, le=100_000)
    """Most files that a run reads, including those of an index."""
    max_urls: int = Field(500_000, ge=1, le=LARGEST)
    """Most URLs that a run takes from sitemaps."""


class ResourcesSection(Section):
    """Resources of pages: scripts, styles, images, fonts."""

    mode: Annotated[Literal["off", "check", "store"], YamlOff] = "off"
    """`check`: visit them too, in the same queue and budget. `store`: also store their bodies, and those of all
    other responses that are not pages."""
