"""What robots.txt allows, one origin at a time.

No place of an origin passes before its rules are known; a refusal names the exact line. This module only decides:
`auxiliary` sends the requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from orbweb import urls
from orbweb.engine.responses import REDIRECTS
from orbweb.events import HostQueue
from orbweb.frontier import politeness
from orbweb.model import Failed, FailKind, Fetched, Refused, SkipReason
from orbweb.policy.robots import Robots, without_userinfo
from orbweb.store import RobotsCache
from orbweb.store.robots_cache import RobotsFile
from orbweb.urls import UrlRules

MAX_REDIRECTS = 5
RETRY_CAP_S = 30.0
FAILING = 64
"""Origins without a robots.txt that are reported."""
MIN_CACHE = 60_000_000
"""Microseconds that rules stay valid, whatever `cache_s` is."""
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
    """How robots.txt is cached and fetched. A copy that was stored before this crawl may be `stored_s` old."""

    obey: bool
    agent: str
    retry_for_s: float
    cache_s: float
    stored_s: float
    tries: int
    backoff_s: float


@dataclass(frozen=True, slots=True)
class FetchRobots:
    """Fetch this URL now; pass the response to `on_response`."""

    origin: str
    url: str
    redirects: int = 0


@dataclass(frozen=True, slots=True)
class FetchRobotsLater:
    """Fetch again after `delay_s` seconds."""

    request: FetchRobots
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
    requesting: bool = False
    tries: int = 0
    failing_since: float | None = None
    retry_at: float = 0.0
    error: str = ""
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
        on_stored: Callable[[str, float], None],
    ) -> None:
        self._cache = cache
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._on_delay = on_delay
        self._on_stored = on_stored
        self._origins: dict[str, _Origin] = {}
        self._failing: dict[str, _Origin] = {}

    def judge(self, ticket: int, url: str) -> Refused | FetchRobots | bool:
        """True: the place may be fetched. False, or a request to be sent: it waits. Else the refusal."""
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
        if origin.requesting:
            return False
        origin.requesting = True
        return FetchRobots(name, f"{name}/robots.txt")

    def failing(self, most: int) -> list[HostQueue]:
        """Origins whose robots.txt is requested again, or was for too long: the latest ones."""
        now = self._monotonic()
        return [
            HostQueue(
                urls.site(f"{name}/"),
                len(origin.waiting),
                max(0.0, origin.retry_at - now) if origin.unavailable is None else 0.0,
                0.0,
                "robots" if origin.unavailable is None else "robots_unavailable",
                error=origin.error,
            )
            for name, origin in list(self._failing.items())[-most:]
        ]

    def sitemaps(self, name: str) -> tuple[str, ...] | None:
        """The sitemaps that the robots.txt of an origin lists; None if its rules apply and are not known."""
        if not self._settings.obey:
            return ()
        origin = self._origins.get(name) or self._recall(name)
        return None if origin.robots is None else tuple(origin.robots.sitemaps)

    def on_response(
        self, request: FetchRobots, response: Fetched | Failed
    ) -> FetchRobots | FetchRobotsLater | OriginKnown:
        """What a response to robots.txt means: 4xx allows all; 5xx and failures are retried, then refuse."""
        if isinstance(response, Failed):
            return self._failed(request, response)
        if response.status in REDIRECTS and response.location:
            return self._redirected(request, response, response.location)
        if response.status == 429 or response.status >= 500:
            return self._failed(request, Failed(FailKind.HTTP_5XX, f"HTTP {response.status}", retriable=True))
        body = response.body or b"" if 200 <= response.status < 300 else b""
        file = RobotsFile(request.origin, self._clock(), response.status, without_userinfo(body))
        self._cache.save(file)
        return self._set_rules(request.origin, file)

    def _recall(self, name: str) -> _Origin:
        """Load the rules from the cache, if they are fresh enough."""
        origin = self._origins[name] = _Origin()
        now = self._clock()
        file = self._cache.load(name, now - round(self._settings.stored_s * 1_000_000))
        if file is not None:
            self._on_stored(name, (now - file.fetched_at) / 1_000_000)
            self._learn(name, origin, file)
        return origin

    def _cache_us(self) -> int:
        return round(self._settings.cache_s * 1_000_000)

    def _learn(self, name: str, origin: _Origin, file: RobotsFile) -> None:
        origin.robots = Robots.parse(file.body, self._settings.agent)
        origin.expires_at = file.fetched_at + max(self._cache_us(), MIN_CACHE)
        if origin.robots.crawl_delay:
            self._on_delay(name, origin.robots.crawl_delay)

    def _set_rules(self, name: str, file: RobotsFile) -> OriginKnown:
        origin = self._origins[name]
        self._learn(name, origin, file)
        return self._release(origin)

    def _release(self, origin: _Origin, failed: Failed | None = None) -> OriginKnown:
        if origin.unavailable is None:
            self._failing = {name: each for name, each in self._failing.items() if each is not origin}
        waiting, tries = tuple(origin.waiting), origin.tries
        origin.waiting.clear()
        origin.requesting = False
        origin.tries = 0
        origin.failing_since = None
        return OriginKnown(waiting, failed, tries)

    def _redirected(self, request: FetchRobots, response: Fetched, location: str) -> FetchRobots | OriginKnown:
        """Redirects are followed to any host; too many mean that there is no robots.txt."""
        target = urls.target(location, response.url, rules=UrlRules())
        if target is not None and request.redirects < MAX_REDIRECTS:
            return FetchRobots(request.origin, target.url, request.redirects + 1)
        file = RobotsFile(request.origin, self._clock(), response.status, b"")
        self._cache.save(file)
        return self._set_rules(request.origin, file)

    def _failed(self, request: FetchRobots, failed: Failed) -> FetchRobotsLater | OriginKnown:
        """If the server is unreachable, its pages fail too. If it fails for too long, they are refused."""
        origin, now = self._origins[request.origin], self._monotonic()
        origin.tries += 1
        origin.error = failed.error
        self._failing[request.origin] = origin
        if len(self._failing) > FAILING:
            del self._failing[next(iter(self._failing))]
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
        delay_s = min(wait, max(left, 0.0))
        origin.retry_at = now + delay_s
        return FetchRobotsLater(FetchRobots(request.origin, f"{request.origin}/robots.txt"), delay_s)
