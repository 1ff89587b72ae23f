"""What robots.txt allows, one origin at a time.

No place of an origin is let through before its rules are known; a refusal names the very line. This module decides
and never sends: `auxiliary` carries out its requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from orbweb import urls
from orbweb.engine.responses import REDIRECTS
from orbweb.frontier import politeness
from orbweb.model import Failed, FailKind, Fetched, Refused, SkipReason
from orbweb.policy.robots import Robots, without_userinfo
from orbweb.store import RobotsCache
from orbweb.store.robots_cache import RobotsFile
from orbweb.urls import UrlRules

MAX_REDIRECTS = 5
RETRY_CAP_S = 30.0
KEPT_AT_LEAST = 60_000_000
UNREACHABLE = (
    FailKind.BLOCKED_ADDRESS,
    FailKind.DNS_NXDOMAIN,
    FailKind.DNS_NO_ADDRESS,
    FailKind.DNS_TIMEOUT,
    FailKind.DNS_SERVFAIL,
    FailKind.PROXY,
    FailKind.CONNECT,
    FailKind.TLS,
    FailKind.PROTOCOL,
)


@dataclass(frozen=True, slots=True)
class RobotsGateSettings:
    """How robots.txt is cached and fetched."""

    obey: bool
    agent: str
    retry_for_s: float
    cache_s: float
    tries: int
    backoff_s: float


@dataclass(frozen=True, slots=True)
class FetchRobots:
    """Fetch this URL now; hand the response to `answered`."""

    origin: str
    url: str
    redirects: int = 0


@dataclass(frozen=True, slots=True)
class FetchRobotsLater:
    """Fetch again after `delay_s` seconds."""

    ask: FetchRobots
    delay_s: float


@dataclass(frozen=True, slots=True)
class OriginKnown:
    """The rules are known: judge the places that waited again. With `failed` the server cannot be reached."""

    waiting: tuple[int, ...]
    failed: Failed | None = None
    tries: int = 0


@dataclass(slots=True)
class _Origin:
    robots: Robots | None = None
    unavailable: Refused | None = None
    expires_at: int = 0
    asking: bool = False
    tries: int = 0
    failing_since: float | None = None
    waiting: list[int] = field(default_factory=list)


def origin_of(url: str) -> str:
    """Scheme, host and port: what one robots.txt applies to."""
    return url[: url.index("/", url.index("//") + 2)]


class RobotsGate:
    """The rules of every origin a crawl meets."""

    def __init__(
        self,
        cache: RobotsCache,
        settings: RobotsGateSettings,
        *,
        clock: Callable[[], int],
        monotonic: Callable[[], float],
        on_delay: Callable[[str, float], None],
    ) -> None:
        self._cache = cache
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._on_delay = on_delay
        self._origins: dict[str, _Origin] = {}

    def judge(self, ticket: int, url: str) -> Refused | FetchRobots | bool:
        """True: let it through. False, or a request to be sent: the place waits. Else the refusal."""
        if not self._settings.obey:
            return True
        name = origin_of(url)
        origin = self._origins.get(name) or self._recall(name)
        if origin.unavailable is not None:
            return origin.unavailable
        if origin.robots is not None and origin.expires_at > self._clock():
            line = origin.robots.refusal(url)
            return True if line is None else Refused(SkipReason.ROBOTS, line)
        origin.waiting.append(ticket)
        if origin.asking:
            return False
        origin.asking = True
        return FetchRobots(name, f"{name}/robots.txt")

    def sitemaps(self, name: str) -> tuple[str, ...] | None:
        """The sitemaps that the robots.txt of an origin lists; None if its rules count and are not known."""
        if not self._settings.obey:
            return ()
        origin = self._origins.get(name) or self._recall(name)
        return None if origin.robots is None else tuple(origin.robots.sitemaps)

    def answered(self, ask: FetchRobots, answer: Fetched | Failed) -> FetchRobots | FetchRobotsLater | OriginKnown:
        """What a response to robots.txt means: 4xx allows; 5xx and no response refuse for a while."""
        if isinstance(answer, Failed):
            return self._failed(ask, answer)
        if answer.status in REDIRECTS and answer.location:
            return self._redirected(ask, answer, answer.location)
        if answer.status == 429 or answer.status >= 500:
            return self._failed(ask, Failed(FailKind.HTTP_5XX, f"HTTP {answer.status}", retriable=True))
        body = answer.body or b"" if 200 <= answer.status < 300 else b""
        file = RobotsFile(ask.origin, self._clock(), answer.status, without_userinfo(body))
        self._cache.save(file)
        return self._settle(ask.origin, file)

    def _recall(self, name: str) -> _Origin:
        """From the cache, if it is fresh enough."""
        origin = self._origins[name] = _Origin()
        file = self._cache.load(name, self._clock() - self._cache_us())
        if file is not None:
            self._learn(name, origin, file)
        return origin

    def _cache_us(self) -> int:
        return round(self._settings.cache_s * 1_000_000)

    def _learn(self, name: str, origin: _Origin, file: RobotsFile) -> None:
        origin.robots = Robots.parse(file.body, self._settings.agent)
        origin.expires_at = file.fetched_at + max(self._cache_us(), KEPT_AT_LEAST)
        if origin.robots.crawl_delay:
            self._on_delay(name, origin.robots.crawl_delay)

    def _settle(self, name: str, file: RobotsFile) -> OriginKnown:
        origin = self._origins[name]
        self._learn(name, origin, file)
        return self._release(origin)

    def _release(self, origin: _Origin, failed: Failed | None = None) -> OriginKnown:
        waiting, tries = tuple(origin.waiting), origin.tries
        origin.waiting.clear()
        origin.asking = False
        origin.tries = 0
        origin.failing_since = None
        return OriginKnown(waiting, failed, tries)

    def _redirected(self, ask: FetchRobots, answer: Fetched, location: str) -> FetchRobots | OriginKnown:
        """Followed wherever it leads; too many redirects mean that there is no robots.txt."""
        target = urls.target(location, answer.url, rules=UrlRules())
        if target is not None and ask.redirects < MAX_REDIRECTS:
            return FetchRobots(ask.origin, target.url, ask.redirects + 1)
        file = RobotsFile(ask.origin, self._clock(), answer.status, b"")
        self._cache.save(file)
        return self._settle(ask.origin, file)

    def _failed(self, ask: FetchRobots, failed: Failed) -> FetchRobotsLater | OriginKnown:
        """No server: its pages fail the same way. A server that does not respond: none of its pages is fetched."""
        origin, now = self._origins[ask.origin], self._monotonic()
        origin.tries += 1
        if failed.kind in UNREACHABLE and (origin.tries >= self._settings.tries or not failed.retriable):
            return self._release(origin, failed)
        if origin.failing_since is None:
            origin.failing_since = now
        if now - origin.failing_since >= self._settings.retry_for_s:
            rule = f"robots.txt: {failed.error}, for {self._settings.retry_for_s:g} s (robots.retry_for_s)"
            origin.unavailable = Refused(SkipReason.ROBOTS_UNAVAILABLE, rule)
            return self._release(origin)
        wait = politeness.backoff(origin.tries, base_s=self._settings.backoff_s, cap_s=RETRY_CAP_S, jitter=1.0)
        left = origin.failing_since + self._settings.retry_for_s - now
        return FetchRobotsLater(FetchRobots(ask.origin, f"{ask.origin}/robots.txt"), min(wait, max(left, 0.0)))
