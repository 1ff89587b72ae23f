"""What to do if a crawl found nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from orbweb.errors import option
from orbweb.model import FailKind, SkipReason
from orbweb.store.queries.base_outcomes import BaseOutcome

_REFUSED = {
    SkipReason.ROBOTS: "robots.txt forbids it: start at a part of the site that it allows, or ask its owner. On "
    "a server of your own, set robots.obey: false.",
    SkipReason.ROBOTS_UNAVAILABLE: "Without an answer to /robots.txt nothing is requested: try again later.",
    SkipReason.NOINDEX: "The page asks not to be stored. On your own site, set robots.obey_directives: false.",
}
_NAME = "Check the spelling of the host name, and the network of this machine."
_SERVERS = "Check the network of this machine, and its name servers (fetch.dns_servers)."
_SERVER = "Check that the server is running, and its port."
_CERTIFICATE = "Check the certificate of the server, and that https:// is meant."
_FAILED = {
    FailKind.DNS_NXDOMAIN: _NAME,
    FailKind.DNS_NO_ADDRESS: _NAME,
    FailKind.DNS_TIMEOUT: _SERVERS,
    FailKind.DNS_SERVFAIL: _SERVERS,
    FailKind.PROXY: "Check the proxy (proxy.urls).",
    FailKind.HTTP_4XX: "Open the URL in a browser to check it.",
    FailKind.HTTP_5XX: "The server has a problem: try again later.",
}
_NO_ANSWER = (FailKind.CONNECT, FailKind.TIMEOUT, FailKind.INTERRUPTED)


def nothing_crawled(outcomes: Iterable[BaseOutcome]) -> str:
    """The message if no base URL gave a page: why is said before, this says what to do."""
    steps = dict.fromkeys(step for outcome in outcomes if (step := _step(outcome)))
    return "\n  ".join(["nothing was crawled: no base URL gave a page", *steps])


def _step(outcome: BaseOutcome) -> str | None:
    if outcome.is_no_page:
        return f"Start at an HTML page, or store other files with {option('resources', 'store')}."
    if outcome.reason:
        return _REFUSED.get(SkipReason(outcome.reason))
    if outcome.status in (401, 403):
        return f"The server wants a login, or refuses this user agent: see {option('headers')} and user_agent."
    if outcome.failed is FailKind.TLS:
        return _plain(outcome) if outcome.error and "did you mean" in outcome.error else _CERTIFICATE
    if outcome.failed in _NO_ANSWER:
        return f"{_SERVER} {_plain(outcome)}" if outcome.url.startswith("https:") else _SERVER
    return _FAILED.get(outcome.failed) if outcome.failed else None


def _plain(outcome: BaseOutcome) -> str:
    url = f"http{outcome.url.removeprefix('https')}"
    return f"If it speaks plain HTTP: did you mean {url} ? A URL without http:// or https:// means https."
