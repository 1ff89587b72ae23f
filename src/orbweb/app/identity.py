"""How requests identify themselves: user agent, secrets, proxies.

Secrets are read from the environment and stay in memory; nothing of them is stored, not even a fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from orbweb import __version__, extraction, urls
from orbweb.app.callbacks import Note
from orbweb.app.proxy_choosers import MakeChooser, chooser_of
from orbweb.config import credentials, notation
from orbweb.config.schema import Config
from orbweb.engine.robots_gate import origin_of
from orbweb.engine.workers import codec
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.errors import ConfigError, option
from orbweb.fetching import ProxyChooser
from orbweb.fetching.addresses import normal, not_public
from orbweb.fetching.proxies import Proxy
from orbweb.model import Resources
from orbweb.policy.robots import product_token
from orbweb.store.runs import RequestProfile

NEAR = ("loopback", "private", "link-local")
"""Prefixes of `not_public` for this machine and its own network, where no contact is needed."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secrets from the environment; in memory only."""

    headers: Mapping[str, str] = field(repr=False)
    params: Mapping[str, str] = field(repr=False)
    proxies: Sequence[Proxy]
    names: frozenset[str] = frozenset()
    chooser: MakeChooser | None = None


def secrets_of(config: Config, environ: Mapping[str, str], chooser: ProxyChooser | None = None) -> Secrets:
    """What requests need of this machine. A `chooser` given by the caller replaces the proxies of the settings."""
    fetch = config.fetch
    return Secrets(
        credentials.sent_headers(fetch, environ),
        credentials.sent_params(fetch, environ),
        proxies_of(config, environ),
        credentials.secret_names(fetch),
        chooser_of(config.proxy, chooser),
    )


def proxies_of(config: Config, environ: Mapping[str, str]) -> list[Proxy]:
    """The proxies of the settings; ConfigError if one of them is not allowed."""
    found = credentials.proxies(config.proxy, environ)
    return [_proxy(config, number, url) for number, url in enumerate(found, 1)]


def _proxy(config: Config, number: int, given: notation.ProxyUrl) -> Proxy:
    """A proxy, allowed by its address; a host name is checked when it is resolved."""
    try:
        proxy = _named(given, number)
    except ValueError as error:
        raise ConfigError(f"proxy.urls: number {number} {error}") from None
    address = normal(proxy.host.strip("[]"))
    why = not_public(address) if address is not None and not private_proxies(config) else None
    if why is not None:
        raise ConfigError(
            f"proxy.urls: number {number} is at {address}, which is not public ({why}); "
            "proxy.allow_private: true allows it"
        )
    return proxy


def _named(given: notation.ProxyUrl, number: int) -> Proxy:
    host = urls.target(f"http://{given.host}:{given.port}/")
    if host is None:
        raise ValueError("has no valid host")
    return Proxy(number, given.scheme, urls.split(host.url).host, given.port, given.user, given.password)


def chosen_proxy(text: str, number: int) -> Proxy:
    """A proxy that a chooser returned; ValueError if it is none. Its address is checked when it is used."""
    return replace(_named(notation.read_proxy(text, "is no proxy: it"), number), given=text)


def private_proxies(config: Config) -> bool:
    return config.proxy.allow_private or config.fetch.allow_private


def request_profile(
    config: Config,
    bases: Sequence[str],
    processing: ProcessorSettings,
    resources: Resources,
    *,
    refresh: bool,
    chooser: ProxyChooser | None = None,
) -> RequestProfile:
    read_with = _fingerprint([__version__, extraction.VERSION, codec.encode_settings(processing), resources.value])
    return RequestProfile(asked_as(config, bases, chooser), read_with, refresh)


def asked_as(config: Config, bases: Sequence[str], chooser: ProxyChooser | None = None) -> str | None:
    """A fingerprint of everything in requests that may change a response. None with cookies or secrets, of which
    nothing is stored."""
    fetch = config.fetch
    if fetch.cookies == "keep" or credentials.has_secrets(fetch):
        return None
    headers = {name: value for name, value in fetch.headers.items() if value is not None}
    return _fingerprint(
        [
            product_token(config.user_agent),
            list(fetch.languages),
            headers,
            sorted({origin_of(url) for url in bases}) if headers else [],
            sorted(config.resolve),
            sorted(config.proxy.urls),
            config.proxy.chooser
            if chooser is None
            else f"{type(chooser).__module__}.{type(chooser).__qualname__}",
            sorted(fetch.dns_servers),
        ]
    )


def _fingerprint(facts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def check_contact(config: Config) -> None:
    if config.policy.contact_required and not notation.has_contact(config.user_agent):
        raise ConfigError(
            f"user_agent: {config.user_agent!r} has no contact, and policy.contact_required is set. Add one with "
            f"{option('user_agent')} or in the settings: 'mybot/1.0 (+https://example.org/bot)' or "
            "'mybot/1.0 (+mailto:me@example.org)'."
        )


def print_banner(config: Config, bases: Sequence[str], note: Note) -> None:
    """Note the user agent and the rules of the sites; warn if it has no contact, except on the own network."""
    if not config.policy.contact_required and not config.policy.terms:
        is_near = not config.scope.external_hops and all(map(_is_near, bases))
        if not is_near and not notation.has_contact(config.user_agent):
            note(
                f"warning: user_agent {config.user_agent!r} has no contact; add +https://... or +mailto:... so "
                "that site owners can reach you"
            )
        return
    note(f"user agent: {config.user_agent}")
    for origin in dict.fromkeys(origin_of(base) for base in bases):
        note(f"robots.txt: {origin}/robots.txt, {'obeyed' if config.robots.obey else 'NOT obeyed'}")
    for link in config.policy.terms:
        note(f"terms: {link}")


def _is_near(url: str) -> bool:
    """Whether a URL names this machine or its network, by address or as localhost."""
    host = urls.split(url).host.strip("[]")
    return host == "localhost" or (not_public(host) or "").startswith(NEAR)
