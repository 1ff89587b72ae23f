"""What a crawl needs of this machine, and whether its user has allowed it.

A workspace may name environment variables to be sent, proxies, pins, name servers and private addresses. What the
user says in the command itself is allowed by that: options, a `--config` file or a file of seeds outside of any
workspace, ORBWEB_ variables, URLs. All else, which came with the workspace, must have been allowed on this machine
for this workspace, or with `--trust`. Always holds: a variable and the origin it is sent to are allowed together,
so both are the user's words or neither counts; what was not allowed is refused before any request leaves.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orbweb import urls
from orbweb.app.consent_store import PRIVATE, ConsentStore, folder
from orbweb.app.control import Workspace
from orbweb.app.request import Note, Request, own_words
from orbweb.app.settings import routes
from orbweb.config.notation import is_variable
from orbweb.config.schema import Config
from orbweb.engine.robots_gate import origin_of
from orbweb.errors import NotTrusted, UsageError
from orbweb.fetching.addresses import normal, not_public
from orbweb.fetching.guard import PrivateConsent

_WORD = re.compile(
    r"\$[A-Za-z_][A-Za-z0-9_]*=https?://\S+|allow_private=https?://\S+|(proxy|resolve|dns|private)=\S+"
)


class Need(NamedTuple):
    """What a crawl needs to be allowed: the word for it, and what it means."""

    word: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Permit:
    """What a crawl may do on this machine: send secrets to these origins, and find these sites, or everything, at
    private addresses. `asked`: base URLs that the workspace alone names."""

    workspace: Workspace
    consents: ConsentStore
    origins: frozenset[str]
    sites: frozenset[str]
    asked: frozenset[str]
    everything: bool
    note: Note | None
    """Told what could not be remembered; None: nothing is to be."""

    def consent(self, config: Config) -> PrivateConsent:
        return PrivateConsent(self.sites | set(routes(config)), everything=self.everything, requested=self.asked)

    def opened(self, site: str) -> None:
        """A site that the user named is at a private address: so it may be from now on."""
        if self.note is not None and site in self.sites:
            _remember(self.consents, self.workspace, {f"private={site}"}, self.note)


def permit(
    workspace: Workspace,
    request: Request,
    config: Config,
    bases: Sequence[str],
    environ: Mapping[str, str],
    note: Note,
) -> Permit:
    """What the crawl of these base URLs may do; NotTrusted if something of it was not allowed."""
    consents = ConsentStore(folder(environ))
    kept = consents.of(workspace.path)
    allowed = kept | _checked(request.trust) | _said(request, bases, environ)
    wanted = list(needs(config, bases))
    missing = [need for need in wanted if not _is_allowed(need.word, allowed)]
    if missing and not request.replay:
        raise NotTrusted(_refusal(workspace, missing), tuple(need.word for need in missing))
    if request.remembers:
        _remember(consents, workspace, {need.word for need in wanted}, note)
    typed = frozenset(map(urls.site, _typed(request, bases)))
    own = [url for url in bases if urls.site(url) in typed or _is_allowed(f"private={urls.site(url)}", allowed)]
    sites = frozenset(site for url in own for site in _sites(url))
    return Permit(
        workspace,
        consents,
        frozenset(map(origin_of, bases)),
        sites,
        frozenset(site for url in bases for site in _sites(url)) - sites,
        config.fetch.allow_private,
        note if request.remembers else None,
    )


def _is_allowed(word: str, allowed: frozenset[str]) -> bool:
    return word in allowed or (PRIVATE in allowed and word.startswith("private="))


def remember(
    workspace: Workspace,
    request: Request,
    config: Config,
    bases: Sequence[str],
    environ: Mapping[str, str],
    note: Note,
) -> None:
    """Settings are stored without a crawl: keep what of them the command itself names."""
    said = _said(request, bases, environ)
    words = {need.word for need in needs(config, bases) if need.word in said}
    _remember(ConsentStore(folder(environ)), workspace, words, note)


def _remember(consents: ConsentStore, workspace: Workspace, words: set[str], note: Note) -> None:
    kept = consents.of(workspace.path)
    if all(_is_allowed(word, kept) for word in words):
        return
    problem = consents.add(workspace.path, words)
    if problem is not None:
        note(f"consent is not remembered ({problem}): give it with the next command too, by --trust")


def needs(config: Config, bases: Sequence[str]) -> Iterator[Need]:
    """Everything that a crawl of these base URLs names of the machine it runs on."""
    origins = list(dict.fromkeys(map(origin_of, bases)))
    for name, setting in _variables(config):
        for origin in origins:
            yield Need(
                f"{name}={origin}", f"the environment variable {name[1:]} would be sent to {origin} ({setting})"
            )
    for url in config.proxy.urls:
        yield Need(f"proxy={url}", f"every request would go by the proxy {url} (proxy.urls)")
    for pin in config.resolve:
        yield Need(f"resolve={pin}", f"a host would be looked for at another address: {pin} (resolve)")
    for server in config.fetch.dns_servers:
        yield Need(f"dns={server}", f"names would be looked up at {server} (fetch.dns_servers)")
    for origin in origins if config.fetch.allow_private else ():
        meaning = f"links of {origin} could lead to every address of your network (fetch.allow_private)"
        yield Need(f"allow_private={origin}", meaning)
    for url in bases:
        if _is_private(url):
            yield Need(
                f"private={urls.site(url)}", f"{urls.site(url)}, which is not public, would be crawled ({url})"
            )


def _variables(config: Config) -> Iterator[tuple[str, str]]:
    """Each variable whose value is sent, and the setting that names it."""
    fetch = config.fetch
    for kind, named in (("headers", fetch.headers), ("params", fetch.params)):
        for name, value in named.items():
            if value is not None and is_variable(value):
                yield value, f"fetch.{kind}: {name}"
    if fetch.auth is not None:
        yield fetch.auth, "fetch.auth"


def _is_private(url: str) -> bool:
    """Whether the URL itself says so; a name is judged when it is looked up."""
    host = urls.split(url).host.removesuffix(".")
    address = normal(host.strip("[]"))
    return not_public(address) is not None if address else host.rpartition(".")[2] == "localhost"


def _sites(url: str) -> set[str]:
    """The site of a base URL as it was given, and as it is asked for."""
    return {urls.site(url), urls.site(urls.canonicalize(url) or url)}


def _typed(request: Request, bases: Sequence[str]) -> Sequence[str]:
    """The base URLs that the user named in this command."""
    return bases if request.urls and request.typed else ()


def _said(request: Request, bases: Sequence[str], environ: Mapping[str, str]) -> frozenset[str]:
    """What the command itself names. With `allow_private` it means whatever it crawls."""
    own = own_words(request, environ)
    words = {need.word for need in needs(own, _typed(request, bases))}
    if own.fetch.allow_private:
        words |= {f"allow_private={origin_of(url)}" for url in bases}
    return frozenset(words)


def _checked(words: Iterable[str]) -> frozenset[str]:
    for word in words:
        if not _WORD.fullmatch(word):
            raise UsageError(
                f"--trust {word!r}: give what a refusal names, such as '$SITE_TOKEN=https://example.org' or "
                "'proxy=http://proxy.example:3128'"
            )
    return frozenset(words)


def _refusal(workspace: Workspace, missing: Sequence[Need]) -> str:
    lines = [f"  {_plain(need.meaning)}" for need in missing]
    words = " ".join(f"--trust {shlex.quote(_plain(need.word))}" for need in missing)
    return "\n".join(
        [
            f"{workspace.path} names what you have not allowed for it on this machine; nothing was sent:",
            *lines,
            f"If you trust whoever made it, repeat the command with: {words}",
        ]
    )


def _plain(text: str) -> str:
    """Without what a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in text)
