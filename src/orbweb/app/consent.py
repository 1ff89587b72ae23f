"""What a crawl uses of this machine, and whether its user has allowed that.

A workspace may name environment variables to send, proxies, pins, name servers and private addresses. What the
user names in the call itself is allowed: options, URLs, ORBWEB_ variables, and settings or seeds files outside of
any workspace. Everything else came with the workspace, and needs consent given on this machine for this workspace,
or `trust`. A variable is allowed only together with the origin that it is sent to. What is not allowed is refused
before any request is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orbweb import urls
from orbweb.app.callbacks import Note
from orbweb.app.consent_store import PRIVATE, ConsentStore, folder
from orbweb.app.directory import OpenWorkspace
from orbweb.app.request import Request, own_settings
from orbweb.app.settings import routes
from orbweb.config.notation import is_variable
from orbweb.config.schema import Config
from orbweb.engine.robots_gate import origin_of
from orbweb.errors import NotTrusted, UsageError, option
from orbweb.fetching.addresses import normal, not_public
from orbweb.fetching.guard import PrivateConsent

_WORD = re.compile(
    r"\$[A-Za-z_][A-Za-z0-9_]*=https?://\S+|allow_private=https?://\S+|path=/.+"
    r"|(proxy|chooser|resolve|dns|private)=\S+"
)


class Need(NamedTuple):
    """Something that needs consent: the word for it, and what it means."""

    word: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Permit:
    """What a crawl may do on this machine: send secrets to these origins, and visit these sites, or everything, at
    private addresses. `asked`: sites of base URLs that only the workspace names."""

    workspace: OpenWorkspace
    consents: ConsentStore
    origins: frozenset[str]
    sites: frozenset[str]
    asked: frozenset[str]
    everything: bool
    note: Note | None
    """Called if consent cannot be stored; None if it must not be."""
    is_spooled: bool = False
    """Whether lines of another producer name the sites."""

    def consent(self, config: Config) -> PrivateConsent:
        sites = self.sites | set(routes(config))
        return PrivateConsent(sites, everything=self.everything, requested=self.asked, is_spooled=self.is_spooled)

    def opened(self, site: str) -> None:
        """A site that the user named is at a private address: remember that it may be."""
        if self.note is not None and site in self.sites:
            _remember(self.consents, self.workspace, {f"private={site}"}, self.note)


def permit(
    workspace: OpenWorkspace,
    request: Request,
    config: Config,
    bases: Sequence[str],
    environ: Mapping[str, str],
    note: Note,
) -> Permit:
    """What the crawl of these base URLs may do; NotTrusted if it needs more than was allowed."""
    consents = ConsentStore(folder(environ))
    kept = consents.of(workspace.path)
    if request.remote is None:
        allowed = kept | _checked(request.trust) | _named_in_call(request, bases, environ)
    else:
        allowed = _allowed_over_network(request.remote, kept, bases, environ)
    wanted = list(needs(config, bases))
    missing = [need for need in wanted if not _is_allowed(need.word, allowed)]
    if missing and not request.replay:
        refusal = _refusal(workspace, missing) if request.remote is None else _remote_refusal(missing)
        raise NotTrusted(refusal, tuple(need.word for need in missing))
    if request.remembers:
        _remember(consents, workspace, {need.word for need in wanted}, note)
    typed = frozenset(map(urls.site, _typed(request, bases)))
    own = [url for url in bases if urls.site(url) in typed or _is_allowed(f"private={urls.site(url)}", allowed)]
    sites = frozenset(site for url in own for site in _sites(url)) | _trusted_sites(request)
    return Permit(
        workspace,
        consents,
        frozenset(map(origin_of, bases)),
        sites,
        frozenset(site for url in bases for site in _sites(url)) - sites,
        (own_settings(request, environ) if request.of_others else config).fetch.allow_private,
        note if request.remembers else None,
        is_spooled=request.of_others,
    )


def _trusted_sites(request: Request) -> frozenset[str]:
    """The private sites that lines of another producer may name: those that this very call allows."""
    words = _checked(request.trust) if request.of_others else ()
    return frozenset(word.removeprefix("private=") for word in words if word.startswith("private="))


def _is_allowed(word: str, allowed: frozenset[str]) -> bool:
    return word in allowed or (PRIVATE in allowed and word.startswith("private="))


def remember(
    workspace: OpenWorkspace,
    request: Request,
    config: Config,
    bases: Sequence[str],
    environ: Mapping[str, str],
    note: Note,
) -> None:
    """Remember consent for settings that are stored without a crawl, as far as the call itself names them."""
    named = _named_in_call(request, bases, environ)
    words = {need.word for need in needs(config, bases) if need.word in named}
    _remember(ConsentStore(folder(environ)), workspace, words, note)


def _remember(consents: ConsentStore, workspace: OpenWorkspace, words: set[str], note: Note) -> None:
    kept = consents.of(workspace.path)
    if all(_is_allowed(word, kept) for word in words):
        return
    problem = consents.add(workspace.path, words)
    if problem is not None:
        note(f"consent cannot be stored ({problem}); give it again next time with {option('trust')}")


def needs(config: Config, bases: Sequence[str]) -> Iterator[Need]:
    """Everything of this machine that a crawl of these base URLs names."""
    origins = list(dict.fromkeys(map(origin_of, bases)))
    for name, setting in _variables(config):
        for origin in origins:
            yield Need(
                f"{name}={origin}", f"the environment variable {name[1:]} would be sent to {origin} ({setting})"
            )
    for url in config.proxy.urls:
        yield Need(f"proxy={url}", f"every request would go through the proxy {url} (proxy.urls)")
    if config.proxy.chooser is not None:
        name = config.proxy.chooser
        yield Need(
            f"chooser={name}", f"the program {name}, if it is installed, would choose the proxies (proxy.chooser)"
        )
    for pin in config.resolve:
        yield Need(f"resolve={pin}", f"a host would be resolved to another address: {pin} (resolve)")
    for server in config.fetch.dns_servers:
        yield Need(f"dns={server}", f"host names would be resolved by {server} (fetch.dns_servers)")
    for origin in origins if config.fetch.allow_private else ():
        meaning = f"links of {origin} could lead to any address of your network (fetch.allow_private)"
        yield Need(f"allow_private={origin}", meaning)
    for url in bases:
        if _is_private(url):
            yield Need(
                f"private={urls.site(url)}", f"{urls.site(url)}, which is not public, would be crawled ({url})"
            )


def _variables(config: Config) -> Iterator[tuple[str, str]]:
    """Each environment variable whose value is sent, and the setting that names it."""
    fetch = config.fetch
    for kind, named in (("headers", fetch.headers), ("params", fetch.params)):
        for name, value in named.items():
            if value is not None and is_variable(value):
                yield value, f"fetch.{kind}: {name}"
    if fetch.auth is not None:
        yield fetch.auth, "fetch.auth"


def _is_private(url: str) -> bool:
    """Whether the URL names a private address; a host name is checked when it is resolved."""
    host = urls.split(url).host.removesuffix(".")
    address = normal(host.strip("[]"))
    return not_public(address) is not None if address else host.rpartition(".")[2] == "localhost"


def _sites(url: str) -> set[str]:
    """The site of a base URL as given, and as requested."""
    return {urls.site(url), urls.site(urls.canonicalize(url) or url)}


def _typed(request: Request, bases: Sequence[str]) -> Sequence[str]:
    """The base URLs that the user named in this call."""
    return bases if request.urls and request.typed and request.remote is None else ()


def _allowed_over_network(
    sites: frozenset[str], kept: frozenset[str], bases: Sequence[str], environ: Mapping[str, str]
) -> frozenset[str]:
    """What the operator of a server allows its clients. What a client names itself allows nothing, nor does that
    the operator once crawled a private address."""
    own = {word for word in kept if word != PRIVATE and not word.startswith("private=")}
    return frozenset({*own, *_named_in_call(Request(), bases, environ), *(f"private={site}" for site in sites)})


def _named_in_call(request: Request, bases: Sequence[str], environ: Mapping[str, str]) -> frozenset[str]:
    """What the call itself names. `allow_private` covers every base URL."""
    own = own_settings(request, environ)
    words = {need.word for need in needs(own, _typed(request, bases))}
    if own.fetch.allow_private:
        words |= {f"allow_private={origin_of(url)}" for url in bases}
    return frozenset(words)


def _checked(words: Iterable[str]) -> frozenset[str]:
    for word in words:
        if not _WORD.fullmatch(word):
            raise UsageError(
                f"{option('trust')} {word!r}: give the words of a refusal, such as "
                "'$SITE_TOKEN=https://example.org' or 'proxy=http://proxy.example:3128'"
            )
    return frozenset(words)


def _refusal(workspace: OpenWorkspace, missing: Sequence[Need]) -> str:
    lines = [f"  {_plain(need.meaning)}" for need in missing]
    words = option("trust", [_plain(need.word) for need in missing])
    return "\n".join(
        [
            f"{workspace.path} asks for what you have not allowed it on this machine; nothing was sent:",
            *lines,
            f"If you trust its author, repeat the call with: {words}",
        ]
    )


def _remote_refusal(missing: Sequence[Need]) -> str:
    """For a client of a server, which its operator may allow sites at private addresses, and nothing else."""
    private = [_plain(need.word.removeprefix("private=")) for need in missing if need.word.startswith("private=")]
    others = [_plain(need.meaning) for need in missing if not need.word.startswith("private=")]
    lines = [
        f"{site} is not a public address, and this server may not crawl it; nothing was sent" for site in private
    ]
    lines += [
        f"this server has not been allowed what the crawl needs, and nothing was sent: {line}" for line in others
    ]
    if private:
        words = " ".join(f"--private-host {site}" for site in private)
        lines.append(
            f"Who runs the server can allow it: `orbweb serve {words}`, or the setting serve.private_hosts."
        )
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Without control characters."""
    return "".join(character if character.isprintable() else "?" for character in text)
