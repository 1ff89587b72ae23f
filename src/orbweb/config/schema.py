"""All settings of a project: validated, merged and listed.

Settings can be stored as JSON, and later layers override earlier ones key by key.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, cast

from pydantic import Field, ValidationError, field_validator

from orbweb import __version__
from orbweb.config.fetching import FetchSection, LimitsSection, ProxyList, RobotsSection
from orbweb.config.messages import explain
from orbweb.config.notation import read_pin
from orbweb.config.processing import (
    BookmarkSection,
    CacheSection,
    ContentSection,
    EngineSection,
    IndexSection,
    MetricsSection,
    OutputsSection,
    RecrawlSection,
    ServeSection,
    SpoolSection,
    StoreSection,
)
from orbweb.config.scope import PolicySection, ResourcesSection, ScopeSection, SitemapSection, UrlsSection
from orbweb.config.section import Section
from orbweb.errors import ConfigError

Settings = dict[str, Any]


class Config(Section):
    user_agent: str = Field(f"orbweb/{__version__}", min_length=1, max_length=500)
    """User-Agent header of every request. Include a contact, e.g. `mybot/1.0 (+https://example.org/bot)`."""
    profile: Literal["docs", "site", "github"] | None = None
    """Built-in settings profile, overridden by everything else. The project stores its name, not its settings."""
    incremental: bool = True
    """`crawl` resumes a paused run; false finishes it and starts a new one."""
    resolve: tuple[str, ...] = ()
    """HOST:PORT:ADDR[:PORT] pins, for tests and staging."""
    fetch: FetchSection = FetchSection.model_construct()
    proxy: ProxyList = ProxyList.model_construct()
    limits: LimitsSection = LimitsSection.model_construct()
    scope: ScopeSection = ScopeSection.model_construct()
    policy: PolicySection = PolicySection.model_construct()
    urls: UrlsSection = UrlsSection.model_construct()
    robots: RobotsSection = RobotsSection.model_construct()
    sitemap: SitemapSection = SitemapSection.model_construct()
    resources: ResourcesSection = ResourcesSection.model_construct()
    content: ContentSection = ContentSection.model_construct()
    cache: CacheSection = CacheSection.model_construct()
    recrawl: RecrawlSection = RecrawlSection.model_construct()
    engine: EngineSection = EngineSection.model_construct()
    store: StoreSection = StoreSection.model_construct()
    outputs: OutputsSection = OutputsSection.model_construct()
    metrics: MetricsSection = MetricsSection.model_construct()
    spool: SpoolSection = SpoolSection.model_construct()
    bookmark: BookmarkSection = BookmarkSection.model_construct()
    index: IndexSection = IndexSection.model_construct()
    serve: ServeSection = ServeSection.model_construct()

    @field_validator("user_agent")
    @classmethod
    def _one_line(cls, agent: str) -> str:
        if not (agent.isascii() and agent.isprintable()):
            raise ValueError("must be one line of printable ASCII")
        return agent

    @field_validator("resolve")
    @classmethod
    def _pins(cls, pins: tuple[str, ...]) -> tuple[str, ...]:
        for pin in pins:
            read_pin(pin)
        return pins


def given(settings: Mapping[str, Any], *, source: str) -> Settings:
    """The given settings, validated, as JSON values."""
    return build(settings, source=source).model_dump(mode="json", exclude_unset=True)


def merge(*layers: Mapping[str, Any]) -> Settings:
    """Merge layers; later ones override earlier ones, key by key."""
    merged: Settings = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            nested = isinstance(below, dict) and isinstance(value, dict)
            merged[key] = merge(below or {}, value) if nested else value
    return merged


def build(settings: Mapping[str, Any], *, source: str) -> Config:
    """Validate the settings; `source` is named in the error."""
    try:
        return Config.model_validate(dict(settings))
    except ValidationError as error:
        problems = explain(error.errors(include_url=False), (key for key, _, _ in keys()))
        raise ConfigError(f"{source}: {problems}") from None


def keys(section: type[Section] = Config, prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every setting as (dotted key, description, default), for the reference."""
    about = descriptions(section)
    for name, field in section.model_fields.items():
        default = field.get_default()
        if isinstance(default, Section):
            yield from keys(type(default), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", about.get(name, ""), default


@cache
def descriptions(section: type[Section]) -> dict[str, str]:
    """The string under each field, read from the source because only the reference needs it."""
    body = cast("ast.ClassDef", ast.parse(inspect.getsource(section)).body[0]).body
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def values(section: Section, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting as (dotted key, value)."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from values(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
