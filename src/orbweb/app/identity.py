"""In which manner servers are asked: who says what of itself, with which secrets, by which proxies.

Always holds: secrets are read from the environment and kept in memory; nothing of them is written down, not even
as a fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orbweb import __version__, extraction, urls
from orbweb.app.request import Note
from orbweb.config import credentials, notation
from orbweb.config.schema import Config
from orbweb.engine.robots_gate import origin_of
from orbweb.engine.workers import codec
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.errors import ConfigError
from orbweb.fetching.addresses import normal, not_public
from orbweb.fetching.proxies import Proxy
from orbweb.model import Resources
from orbweb.policy.robots import product_token
from orbweb.store.runs import RequestProfile

NEAR = ("loopback", "private", "link-local")
"""How `not_public` begins for an address where the owner of the site is whoever crawls it, or sits next door."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the environment holds for this crawl; in memory only."""

    headers: Mapping[str, str] = field(repr=False)
    params: Mapping[str, str] = field(repr=False)
    proxies: Sequence[Proxy]
    names: frozenset[str] = frozenset()


def secrets_of(config: Config, environ: Mapping[str, str]) -> Secrets:
    fetch = config.fetch
    return Secrets(
        credentials.sent_headers(fetch, environ),
        credentials.sent_params(fetch, environ),
        proxies_of(config, environ),
        credentials.secret_names(fetch),
    )


def proxies_of(config: Config, environ: Mapping[str, str]) -> list[Proxy]:
    """The proxies of the settings; a ConfigError if one of them may not be used."""
    found = credentials.proxies(config.proxy, environ)
    return [_proxy(config, number, url) for number, url in enumerate(found, 1)]


def _proxy(config: Config, number: int, given: notation.ProxyUrl) -> Proxy:
    """A proxy that may be used as far as its host tells; a name is judged when it is looked up."""
    host = urls.target(f"http://{given.host}:{given.port}/")
    if host is None:
        raise ConfigError(f"proxy.urls: number {number} has no host that can be asked")
    proxy = Proxy(number, given.scheme, urls.split(host.url).host, given.port, given.user, given.password)
    address = normal(proxy.host.strip("[]"))
    why = not_public(address) if address is not None and not private_proxies(config) else None
    if why is not None:
        raise ConfigError(
            f"proxy.urls: number {number} is at {address}, which is not public ({why}); "
            "proxy.allow_private: true allows it"
        )
    return proxy


def private_proxies(config: Config) -> bool:
    return config.proxy.allow_private or config.fetch.allow_private


def manner_of(
    config: Config, bases: Sequence[str], processing: ProcessorSettings, resources: Resources, *, refresh: bool
) -> RequestProfile:
    read_with = _fingerprint([__version__, extraction.VERSION, codec.encode_settings(processing), resources.value])
    return RequestProfile(asked_as(config, bases), read_with, refresh)


def asked_as(config: Config, bases: Sequence[str]) -> str | None:
    """Stands for all by which a server may answer one crawl otherwise than another. None where that is cookies or
    a secret, of which nothing is written down."""
    fetch = config.fetch
    if fetch.cookies == "keep" or credentials.has_secrets(fetch):
        return None
    headers = {name: value for name, value in fetch.headers.items() if value is not None}
    return _fingerprint(
        [
            product_token(config.user_agent),
            headers,
            sorted({origin_of(url) for url in bases}) if headers else [],
            sorted(config.resolve),
            sorted(config.proxy.urls),
            sorted(fetch.dns_servers),
        ]
    )


def _fingerprint(facts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def check_contact(config: Config) -> None:
    if config.policy.contact_required and not notation.has_contact(config.user_agent):
        raise ConfigError(
            f"user_agent: {config.user_agent!r} names no contact, and policy.contact_required asks for one. Say "
            "how you can be reached, with --user-agent or in the configuration: "
            "'mybot/1.0 (+https://example.org/bot)' or 'mybot/1.0 (+mailto:me@example.org)'."
        )


def introduce(config: Config, bases: Sequence[str], note: Note) -> None:
    """Say who asks, and by whose rules; who cannot be reached is warned, unless only neighbours are asked."""
    if not config.policy.contact_required and not config.policy.terms:
        is_among_us = not config.scope.external_hops and all(map(_is_near, bases))
        if not is_among_us and not notation.has_contact(config.user_agent):
            note(
                f"warning: user_agent {config.user_agent!r} names no contact; add +https://... or +mailto:... so "
                "that site owners can reach you"
            )
        return
    note(f"asking as {config.user_agent}")
    for origin in dict.fromkeys(origin_of(base) for base in bases):
        note(f"robots.txt: {origin}/robots.txt, {'obeyed' if config.robots.obey else 'NOT obeyed'}")
    for link in config.policy.terms:
        note(f"terms: {link}")


def _is_near(url: str) -> bool:
    """Whether a URL names this machine or its own network, by address or as localhost."""
    host = urls.split(url).host.strip("[]")
    return host == "localhost" or (not_public(host) or "").startswith(NEAR)
