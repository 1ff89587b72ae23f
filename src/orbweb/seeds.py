"""Where a run starts: the base URLs a user gives."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orbweb import urls
from orbweb.errors import UsageError
from orbweb.urls import Target, UrlRules

HAS_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
NOT_A_HOST = re.compile(r"[/\\.?#]|https?:(?!\d)", re.IGNORECASE)


def base_urls(given: Sequence[str], rules: UrlRules) -> list[Target]:
    """The base URLs in the order given, each key once. A missing scheme means https."""
    targets: dict[str, Target] = {}
    for text in given:
        target = _base_url(text, rules)
        targets.setdefault(target.key, target)
    return list(targets.values())


def _base_url(text: str, rules: UrlRules) -> Target:
    url = text.strip()
    scheme = HAS_SCHEME.match(url)
    if scheme is None and NOT_A_HOST.match(url):
        raise _not_a_url(text)
    if scheme is None:
        url = f"https://{url}"
    if "@" in _authority(url):
        raise UsageError("a base URL must not carry a user name or password; remove the part before the @")
    if scheme is not None and scheme[1].lower() not in ("http", "https"):
        raise UsageError(f"{text!r}: only http and https URLs can be crawled")
    target = urls.target(url, rules=rules)
    if target is None:
        raise _not_a_url(text)
    return target


def _authority(url: str) -> str:
    return re.split(r"[/\\?#]", url.partition("://")[2].lstrip("/\\"), maxsplit=1)[0]


def _not_a_url(text: str) -> UsageError:
    return UsageError(f"{text!r} is not a URL; write it like https://example.org/docs/")


def project_name(base: str) -> str:
    """The name of a project that was given none: host and path of its first base URL."""
    parts = urls.split(base)
    port = "" if parts.port in (80, 443) else f"-{parts.port}"
    text = f"{parts.host.strip('[]')}{port}{parts.path}"
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:100] or "site"


def check_project_name(name: str) -> str:
    """The name as given, if it can also be a file name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(
            f"--project {name!r}: use up to 100 letters, digits, dots, dashes and underscores, starting with a "
            "letter or digit"
        )
    return name
