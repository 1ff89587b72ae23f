"""What a page did that it must not do: scripts that fail, violations of the policy, requests to another origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Request, Response

VIOLATIONS = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  const place = `${event.sourceFile}:${event.lineNumber}`;
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${place}`);
});
"""
OWN_SCHEMES = ("data", "blob")
HEAD = 160
"""Bytes of headers of a response that is counted; those of a small response are more than its body."""


@dataclass
class Watch:
    """Everything that the pages of a profile did."""

    origin: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def clear(self) -> None:
        self.errors.clear()
        self.foreign.clear()
        self.responses.clear()

    def wrongs(self, page: Page) -> list[str]:
        """What the pages did wrong, and what the policy refused to this one."""
        return [*self.errors, *self.foreign, *page.evaluate("window.__violations")]

    def note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if f"{parts.scheme}://{parts.netloc}" != self.origin and parts.scheme not in OWN_SCHEMES:
            self.foreign.append(request.url)


def watched(context: BrowserContext, origin: str) -> Watch:
    found = Watch(origin.rstrip("/"))
    context.add_init_script(VIOLATIONS)
    context.on("request", found.note)
    context.on("response", lambda response: found.responses.append(response))
    context.on("weberror", lambda error: found.errors.append(str(error.error)))
    context.on("console", lambda line: found.errors.append(line.text) if line.type == "error" else None)
    return found
