"""One page in a browser context of its own: from the response that has arrived to the document a reader sees.

The response is given to the browser, never fetched by it again; the main frame never leaves it. The page has its own
clock, which stands still while requests are open, so that a capture does not depend on how fast servers are. A page
that does not answer is left to the pool, which ends it.
"""

from __future__ import annotations

import asyncio
import base64
from importlib.resources import files
from typing import Any

from orbweb.fetching.browser.devtools import BrowserError, CallFailed, DevTools, Message
from orbweb.fetching.browser.egress import EgressProxy
from orbweb.fetching.browser.settings import BUDGETS, Budget, Rendering, RenderJob, RenderNote, RenderSettings

CALL_S = 5.0
READ_S = 2.0
"""A page whose scripts never end does not answer; there is nothing to read then."""
STEP_MS = 500
SCROLL_STEPS = 40
STARVATION = 100_000
EPOCH_S = 1_700_000_000
"""When every page is opened, by its own clock."""
WIDTH, HEIGHT = 1280, 2000
MOST_ROUTES = 1_000
ASSETS = frozenset({"Image", "Media", "Font", "TextTrack", "Ping", "CSPViolationReport", "Prefetch", "Manifest"})
NETWORK = ("http:", "https:")
LOCAL = ("data:", "blob:", "about:")

_PREPARE = (files(__package__) / "prepare.js").read_text()
_READ = (files(__package__) / "read.js").read_text()
_SCROLL = "window.scrollTo(0, %d), document.documentElement.scrollHeight"


class Stuck(BrowserError):
    """The page does not answer any more."""


class Page:
    """A page that is being rendered. `run` gives its rendering; `close` must follow, whatever happened."""

    def __init__(self, tools: DevTools, settings: RenderSettings, proxy: EgressProxy, job: RenderJob) -> None:
        self._tools, self._settings, self._proxy, self._job = tools, settings, proxy, job
        self._context = self._target = self._session = self._frame = ""
        self._is_given = self._is_loaded = False
        self._navigation: str | None = None
        self._routes: dict[str, None] = {}
        self._notes: set[RenderNote] = set()
        self._expired, self._ready = asyncio.Event(), asyncio.Event()
        self._page_ms = 0

    async def run(self) -> Rendering:
        """The rendering of the page; BrowserError if there is none."""
        self._proxy.open_for_page()
        await self._open()
        await self._prepare()
        budget = BUDGETS[self._settings.mode]
        try:
            async with asyncio.timeout(self._settings.deadline_s):
                await self._navigate()
                await self._live(budget)
        except TimeoutError:
            self._notes.add(RenderNote.DEADLINE)
            await self._release()
        return await self._read()

    async def close(self) -> None:
        """Dispose of the page and everything it stored."""
        self._proxy.shut()
        self._tools.forget(self._session)
        if self._context:
            await self._tools.call("Target.disposeBrowserContext", {"browserContextId": self._context}, timeout_s=CALL_S)

    # Before the page.

    async def _open(self) -> None:
        context = await self._tools.call(
            "Target.createBrowserContext",
            {
                "disposeOnDetach": True,
                "proxyServer": f"http://127.0.0.1:{self._proxy.port}",
                "proxyBypassList": "<-loopback>",
            },
            timeout_s=CALL_S,
        )
        self._context = context["browserContextId"]
        target = await self._tools.call(
            "Target.createTarget",
            {"url": "about:blank", "browserContextId": self._context, "width": WIDTH, "height": HEIGHT},
            timeout_s=CALL_S,
        )
        self._target = target["targetId"]
        attached = await self._tools.call(
            "Target.attachToTarget", {"targetId": self._target, "flatten": True}, timeout_s=CALL_S
        )
        self._session = attached["sessionId"]
        self._tools.listen(self._session, self._on_event)

    async def _prepare(self) -> None:
        """Everything before the first request; the calls are sent together, and each must succeed."""
        clock = {"policy": "pause", "initialVirtualTime": EPOCH_S}
        languages = ",".join(self._settings.languages) or "en"
        calls: list[tuple[str, dict[str, Any]]] = [
            ("Page.enable", {}),
            ("Network.enable", {"maxTotalBufferSize": 1, "maxResourceBufferSize": 1}),
            ("Network.setBypassServiceWorker", {"bypass": True}),
            ("Network.setCacheDisabled", {"cacheDisabled": True}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Emulation.setUserAgentOverride", {"userAgent": self._settings.user_agent, "acceptLanguage": languages}),
            ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
            ("Emulation.setLocaleOverride", {"locale": languages.partition(",")[0]}),
            ("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": _PREPARE}),
            ("Page.setInterceptFileChooserDialog", {"enabled": True}),
            *([("Emulation.setVirtualTimePolicy", clock)] if self._settings.virtual_clock else []),
        ]
        sent = [self._tools.send(method, parameters, session=self._session) for method, parameters in calls]
        sent.append(
            self._tools.send(
                "Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": self._context}
            )
        )
        try:
            async with asyncio.timeout(CALL_S):
                await asyncio.gather(*sent)
        except TimeoutError:
            raise CallFailed("the page could not be prepared in time") from None

    async def _navigate(self) -> None:
        found = await self._call("Page.navigate", {"url": self._job.url}, timeout_s=self._settings.deadline_s)
        self._frame = found.get("frameId", "")
        if found.get("errorText"):
            raise CallFailed(f"the browser cannot show it: {found['errorText']}")

    # The life of the page.

    async def _live(self, budget: Budget) -> None:
        """Let the page's time pass; scrolling makes it longer, step by step."""
        if budget.page_ms == 0:
            await self._ready.wait()
            return
        await self._pass(STEP_MS)
        if budget.scrolls:
            await self._scroll(budget.page_ms // 2)
        await self._wait_for(budget.page_ms)
        await self._pass(max(budget.page_ms - self._page_ms, STEP_MS))

    async def _pass(self, milliseconds: int) -> None:
        """Let time pass for the page; real time only while requests are open or scripts at work."""
        self._page_ms += milliseconds
        if not self._settings.virtual_clock:
            await asyncio.sleep(milliseconds / 1000)
            return
        self._expired.clear()
        await self._call(
            "Emulation.setVirtualTimePolicy",
            {
                "policy": "pauseIfNetworkFetchesPending",
                "budget": milliseconds,
                "maxVirtualTimeTaskStarvationCount": STARVATION,
            },
        )
        await self._expired.wait()

    async def _scroll(self, page_ms: int) -> None:
        """Scroll to the end in steps, as far as the end moves away."""
        at = 0
        for _ in range(SCROLL_STEPS):
            height = await self._evaluate(_SCROLL % at)
            await self._pass(STEP_MS)
            at += HEIGHT
            if at >= int(height) or self._page_ms >= page_ms:
                break
        await self._evaluate(_SCROLL % 0)

    async def _wait_for(self, page_ms: int) -> None:
        for selector in self._settings.wait_for:
            while not await self._evaluate(f"document.querySelector({_quoted(selector)}) !== null"):
                if self._page_ms >= page_ms:
                    self._notes.add(RenderNote.SELECTOR_MISSING)
                    return
                await self._pass(STEP_MS)

    async def _release(self) -> None:
        """At the deadline: the clock of the page goes on whatever is open."""
        self._proxy.shut()
        if self._settings.virtual_clock:
            self._send("Emulation.setVirtualTimePolicy", {"policy": "advance", "budget": STEP_MS})

    # What is there at the end.

    async def _read(self) -> Rendering:
        try:
            world = await self._call(
                "Page.createIsolatedWorld", {"frameId": self._frame, "worldName": "orbweb"}, timeout_s=READ_S
            )
            found = await self._call(
                "Runtime.callFunctionOn",
                {
                    "functionDeclaration": _READ,
                    "executionContextId": world["executionContextId"],
                    "arguments": [{"value": self._settings.max_bytes}],
                    "returnByValue": True,
                },
                timeout_s=READ_S + len(self._job.body) / 1e6,
            )
        except CallFailed as error:
            raise Stuck(f"the page does not answer: {error}") from error
        if "exceptionDetails" in found:
            raise CallFailed("the rendered page is larger than fetch.max_bytes")
        return Rendering(
            html=found["result"].get("value", "").encode("utf-8", "replace"),
            routes=tuple(self._routes),
            navigation=self._navigation,
            notes=tuple(sorted(self._notes)),
            requests=self._proxy.usage.requests,
            refused=tuple(sorted(self._proxy.usage.refused.items())),
            page_ms=self._page_ms,
            screenshot=await self._picture() if self._settings.screenshot else None,
            pdf=await self._print() if self._settings.pdf else None,
        )

    async def _picture(self) -> bytes:
        found = await self._call(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True}, timeout_s=CALL_S
        )
        return base64.b64decode(found["data"])

    async def _print(self) -> bytes:
        found = await self._call("Page.printToPDF", {"printBackground": True}, timeout_s=CALL_S)
        return base64.b64decode(found["data"])

    async def _evaluate(self, expression: str) -> Any:
        found = await self._call("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        return found.get("result", {}).get("value")

    # Calls and events.

    async def _call(self, method: str, parameters: Message, *, timeout_s: float = CALL_S) -> Message:
        return await self._tools.call(method, parameters, session=self._session, timeout_s=timeout_s)

    def _send(self, method: str, parameters: Message) -> None:
        self._tools.send(method, parameters, session=self._session)

    def _on_event(self, name: str, given: Message) -> None:
        match name:
            case "Fetch.requestPaused":
                self._on_request(given)
            case "Emulation.virtualTimeBudgetExpired":
                self._expired.set()
            case "Page.domContentEventFired":
                self._ready.set()
            case "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", {"accept": False})
            case "Page.navigatedWithinDocument":
                if given.get("frameId") == self._frame and len(self._routes) < MOST_ROUTES:
                    self._routes[given["url"]] = None
            case "Inspector.targetCrashed":
                self._tools.forget(self._session)
                self._expired.set()
            case _:
                pass

    def _on_request(self, given: Message) -> None:
        """The first request of the main frame gets the response that has arrived; its later ones go nowhere."""
        number, kind, url = given["requestId"], given["resourceType"], given["request"]["url"]
        is_main = kind == "Document" and (not self._is_given or given.get("frameId") == self._frame)
        if is_main and not self._is_given:
            self._is_given = True
            self._frame = given.get("frameId", "")
            self._give(number)
        elif is_main:
            self._navigation = self._navigation or url
            self._notes.add(RenderNote.NAVIGATES)
            self._send("Fetch.failRequest", {"requestId": number, "errorReason": "Aborted"})
        elif url.startswith(NETWORK) and (self._settings.assets or kind not in ASSETS):
            self._send("Fetch.continueRequest", {"requestId": number})
        else:
            self._send("Fetch.failRequest", {"requestId": number, "errorReason": "BlockedByClient"})

    def _give(self, number: str) -> None:
        headers = [{"name": "Content-Type", "value": self._job.content_type}]
        self._send(
            "Fetch.fulfillRequest",
            {
                "requestId": number,
                "responseCode": self._job.status,
                "responseHeaders": headers,
                "body": base64.b64encode(self._job.body).decode(),
            },
        )


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
