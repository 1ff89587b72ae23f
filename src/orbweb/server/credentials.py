"""Tokens and logins. A login is a signed cookie that names its token by fingerprint, so that it ends with the
token; the token of a form is derived from it. Nothing of it is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from orbweb.app.tokens import Permission, fingerprint, is_same

SESSION_S = 14 * 24 * 3600
_NAMED = 16

Lookup = Callable[[str], Permission | None]
"""The permission of a stored token, by its fingerprint; None if there is none."""


@dataclass(frozen=True, slots=True)
class Identified:
    """Who sends a request: what the token may do and, of a browser, the login and the token of its forms."""

    permission: Permission
    session: str | None = None
    form_token: str | None = None


class Credentials:
    """The token of this server, which may do everything, and those that are stored."""

    def __init__(self, token: str, lookup: Lookup, *, cookie: str, clock: Callable[[], float] = time.time) -> None:
        """`cookie` is the name of the cookie of a login."""
        self.cookie = cookie
        self._own, self._lookup, self._clock = fingerprint(token), lookup, clock
        self._key = hmac.digest(token.encode(), b"orbweb login", "sha256")

    def by_token(self, token: str) -> Identified | None:
        found = self._permission(fingerprint(token))
        return Identified(found) if found is not None else None

    def by_session(self, session: str) -> Identified | None:
        """Who a cookie belongs to; None if it is not ours, too old, or its token is revoked."""
        signed, _, seal = session.rpartition(".")
        mark, _, rest = signed.partition(".")
        until = rest.partition(".")[0]
        if not hmac.compare_digest(seal.encode(), self._seal("session", signed).encode()):
            return None
        if not until.isdigit() or int(until) < self._clock():
            return None
        found = self._permission(mark)
        return Identified(found, session, self.form_token(session)) if found is not None else None

    def login(self, token: str) -> str | None:
        """The cookie of a new login; None if the token is wrong."""
        mark = fingerprint(token)
        if self._permission(mark) is None:
            return None
        signed = f"{mark}.{int(self._clock()) + SESSION_S}.{secrets.token_urlsafe(_NAMED)}"
        return f"{signed}.{self._seal('session', signed)}"

    def form_token(self, session: str) -> str:
        """What a form of this login carries, so that no other site can send it."""
        return self._seal("form", session)

    def _permission(self, mark: str) -> Permission | None:
        return Permission.ADMIN if is_same(mark, self._own) else self._lookup(mark)

    def _seal(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()
