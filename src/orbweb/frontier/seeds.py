"""Base URLs given on the command line or in a seeds file, and project names derived from them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from orbweb import urls
from orbweb.errors import UsageError, option
from orbweb.urls import Parts, Target, UrlRules

HAS_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
COMMENT = re.compile(r"(^|\s)#.*")
BARE_HOST = re.compile(
    r"(localhost|\[[0-9a-f:.]+\]|\d+(\.\d+){3}|[^\s:]+\.([^\W\d_]{2,}|xn--[a-z0-9-]+)\.?)(:\d+)?", re.IGNORECASE
)
"""A host without a scheme: localhost, an IP address, or a name whose last label could be a top-level domain."""
SCHEMES = ("http", "https")
NO_PAGE = re.compile(r"(mailto|javascript|tel):", re.IGNORECASE)
FILE_NAME = re.compile(r".+\.(html?|txt|pdf)(:\d+)?", re.IGNORECASE)
"""A file extension that is not a top-level domain (`.md` is one)."""
INDEX_FILE = re.compile(r"/(index|default)\.[a-z0-9]+$", re.IGNORECASE)
PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _url_or_seeds() -> str:
    return f"a URL starts with http:// or https://; use {option('seeds', 'FILE')} for a file of URLs"


def base_urls(given: Sequence[str], rules: UrlRules) -> list[Target]:
    """The base URLs in the given order, without duplicate keys. A host without a scheme means https; a file is
    refused."""
    targets: dict[str, Target] = {}
    for text in given:
        if HAS_SCHEME.match(text.strip()) is None and _is_file(text):
            raise UsageError(f"{text!r} is a file, not a URL; {_url_or_seeds()}")
        target = _base_url(text, rules)
        targets.setdefault(target.key, target)
    return list(targets.values())


def read_seeds(path: Path, rules: UrlRules) -> list[str]:
    """The URLs of a file, one per line; a # at the start of a word begins a comment."""
    found = []
    for number, text in lines(path):
        try:
            _base_url(text, rules)
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error}") from None
        found.append(text if HAS_SCHEME.match(text) else f"https://{text}")
    if not found:
        raise UsageError(f"{path}: contains no URL; write one per line, such as https://example.org/docs/")
    return found


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file without comments and blank lines, with their numbers."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{path}: cannot be read: {reason}") from error
    for number, line in enumerate(text.splitlines(), 1):
        content = COMMENT.sub("", line).strip()
        if content:
            yield number, content


def _meant(scheme: str, url: str) -> str:
    """A hint for a scheme with a typing error."""
    close = difflib.get_close_matches(scheme.lower(), SCHEMES, n=1, cutoff=0.7)
    return f"; did you mean {close[0]}{url[len(scheme) :]} ?" if close and "@" not in _authority(url) else ""


def _base_url(text: str, rules: UrlRules) -> Target:
    url = text.strip()
    scheme = HAS_SCHEME.match(url)
    if NO_PAGE.match(url):
        raise UsageError(f"{text!r}: only http and https URLs can be crawled")
    if scheme is None:
        url = f"https://{url}"
    if "@" in _authority(url):
        raise UsageError("a base URL must not contain a user name or password; remove the part before the @")
    if scheme is None and FILE_NAME.fullmatch(_authority(url)):
        raise UsageError(f"{text!r} is a file name, not a URL; {_url_or_seeds()}")
    if scheme is None and not names_host(text):
        raise not_a_url(text)
    if scheme is not None and scheme[1].lower() not in SCHEMES:
        raise UsageError(f"{text!r}: only http and https URLs can be crawled{_meant(scheme[1], url)}")
    target = urls.target(url, rules=rules)
    if target is None:
        raise not_a_url(text)
    if rules.keep_params == ():
        return target._replace(url=target.url.partition("?")[0])
    return target


def _authority(url: str) -> str:
    return re.split(r"[/\\?#]", url.partition("://")[2].lstrip("/\\"), maxsplit=1)[0]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def names_host(text: str) -> bool:
    """Whether a word without a scheme begins with a host, judging by its form."""
    return BARE_HOST.fullmatch(re.split(r"[/\\?#]", text.strip(), maxsplit=1)[0]) is not None


def not_a_url(text: str) -> UsageError:
    if len(text) > urls.MAX_URL:
        return UsageError(f"{text[:60]!r}... is not a URL: it has more than {urls.MAX_URL} characters")
    if HAS_SCHEME.match(text.strip()):
        return UsageError(
            f"{text!r} is not a URL: check its host and port; a valid one is https://example.org:8443/docs/"
        )
    return UsageError(f"{text!r} is not a URL; write it with http:// or https://, like https://example.org/docs/")


def could_name_project(text: str) -> bool:
    """Whether a word has the form of a project name, which no URL with a scheme has."""
    return PROJECT_NAME.fullmatch(text) is not None


def project_name(base: str) -> str:
    """The default name of a project: host and path of its first base URL, without an index file."""
    parts = urls.split(base)
    return _name(parts._replace(path=INDEX_FILE.sub("/", parts.path)))


def former_name(base: str) -> str:
    """The default name of earlier versions, with the index file, for projects that still have it."""
    return _name(urls.split(base))


def _name(parts: Parts) -> str:
    port = "" if parts.port in (80, 443) else f"-{parts.port}"
    text = f"{parts.host.strip('[]')}{port}{parts.path}"
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:100] or "site"


def check_project_name(name: str, given: str | None = None) -> str:
    """The given name, if it is also a safe file name."""
    if not could_name_project(name):
        raise UsageError(
            f"{given or option('project')} {name!r}: use up to 100 letters, digits, dots, dashes and underscores, "
            "starting with a letter or digit"
        )
    return name
