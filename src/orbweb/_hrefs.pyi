from collections.abc import Callable

from orbweb.model import Link
from orbweb.urls import Target

MAX_LENGTH: int

class Memo:
    def __init__(self, made: type[Target], judged: Callable[[str], Target], entries: int) -> None: ...
    @property
    def directories(self) -> dict[str, HrefDirectory]: ...
    def enter(self, own: Target, prefix: str) -> HrefDirectory: ...

class HrefDirectory:
    @property
    def own(self) -> Target: ...
    @property
    def prefix(self) -> str: ...
    @property
    def known(self) -> dict[str, Target | None]: ...
    def is_plain(self, href: str) -> bool: ...
    def learn(self, href: str, found: Target | None) -> Target | None: ...

def links(
    kinds: dict[str, str],
    refused: set[str],
    here: HrefDirectory,
    resolve: Callable[[str], Target | None],
    own: str,
    room: int,
) -> tuple[tuple[Link, ...], bool]: ...
