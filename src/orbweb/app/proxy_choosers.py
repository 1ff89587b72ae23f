"""The proxy chooser of a crawl: an object given in Python, or an installed entry point that the settings name.

A chooser is code. So a workspace can only name one that is installed on this machine, and only with consent (see
`consent`); nothing is imported before that is given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from orbweb.config.fetching import ProxyList
from orbweb.errors import ConfigError
from orbweb.fetching import ProxyChooser

GROUP = "orbweb.proxy_choosers"

MakeChooser = Callable[[], ProxyChooser]
"""Returns the chooser of one crawl; the same at each call."""


def chooser_of(proxy: ProxyList, given: ProxyChooser | None) -> MakeChooser | None:
    """The chooser given in the call, else that of the settings; None if there is none."""
    if given is not None:
        checked = _checked(given, f"proxy_chooser: {type(given).__name__}")
        return lambda: checked
    if proxy.chooser is None:
        return None
    if proxy.urls:
        raise ConfigError("proxy.chooser and proxy.urls are both set; keep one of them")
    found = _installed(proxy.chooser)
    return cache(lambda: _made(found))


def _installed(name: str) -> EntryPoint:
    found = list(entry_points(group=GROUP, name=name))
    if not found:
        known = ", ".join(sorted({each.name for each in entry_points(group=GROUP)})) or "none"
        raise ConfigError(
            f"proxy.chooser: no installed package has an entry point {name!r} in the group {GROUP} (there: "
            f"{known}); install the package into the environment of orbweb"
        )
    if len({each.value for each in found}) > 1:
        raise ConfigError(
            f"proxy.chooser: several installed packages have an entry point {name!r} in the group {GROUP} "
            f"({', '.join(sorted(each.value for each in found))}); uninstall all but one"
        )
    return found[0]


def _made(found: EntryPoint) -> ProxyChooser:
    """The chooser that the class or function of an entry point returns."""
    what = f"proxy.chooser: the entry point {found.name!r} ({found.value})"
    try:
        make: Any = found.load()
    except Exception as error:
        raise ConfigError(f"{what} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(make):
        raise ConfigError(f"{what} is not a class or a function without arguments that returns a proxy chooser")
    try:
        made = make()
    except Exception as error:
        raise ConfigError(f"{what} raised {type(error).__name__}: {error}") from error
    return _checked(made, f"{what}: {type(made).__name__}")


def _checked(chooser: ProxyChooser, what: str) -> ProxyChooser:
    for method in ("pick", "report"):
        if isinstance(chooser, type) or not callable(getattr(chooser, method, None)):
            raise ConfigError(
                f"{what} is not a proxy chooser: it needs the methods pick(host) and report(proxy, ok)"
            )
    return chooser
