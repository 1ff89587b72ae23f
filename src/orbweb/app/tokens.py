"""Tokens of the server: what each may do, and how one is recognised without being stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from enum import IntEnum

from orbweb.errors import UsageError

_SENDABLE = re.compile(r"[!-~]{1,512}").fullmatch


class Permission(IntEnum):
    """What a token may do; each includes those before it."""

    READ = 1
    """See everything."""
    CRAWL = 2
    """Start and steer crawls, change rules and settings, export."""
    ADMIN = 3
    """Delete data, and manage tokens."""

    @property
    def word(self) -> str:
        return self.name.lower()


def permission_of(word: str) -> Permission:
    """The permission with this name."""
    names = {each.word: each for each in Permission}
    if word not in names:
        raise UsageError(f"unknown scope {word!r}; choose {', '.join(names)}")
    return names[word]


def new_token() -> str:
    """A token of 32 random bytes."""
    return secrets.token_urlsafe(32)


def fingerprint(token: str) -> str:
    """What is stored of a token: enough to recognise it, too little to use it."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_same(found: str, wanted: str) -> bool:
    """Whether two fingerprints are equal, in a time that does not depend on them."""
    return hmac.compare_digest(found, wanted)


def check_token(token: str, source: str) -> str:
    """A token that the user chose; UsageError if a header cannot carry it."""
    if _SENDABLE(token) is None:
        raise UsageError(f"{source}: use 1 to 512 visible ASCII characters without blanks")
    return token
