"""The rate limiter: a small database of its own, shared by all processes of a workspace.

A slot is taken at the moment of sending, in one statement, so two processes never break the spacing. Due times are
of the machine's monotonic clock, so a jump of the wall clock changes nothing; after a reboot they are deleted. So
nothing here has to survive a power cut, and nothing is synced. A file that is damaged when it is opened is
replaced by an empty one; the cost is one interval per host.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from orbweb.errors import StoreError
from orbweb.store import LONGEST_WAIT
from orbweb.store.sqlite.db import BUSY_TIMEOUT_S, load_queries, use_wal
from orbweb.store.sqlite.errors import UNREADABLE, damaged, explained, is_damage
from orbweb.store.sqlite.schema import foreign_objects, named_schema, own_objects

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_log = logging.getLogger("orbweb")


class SqliteLimiter:
    """Hands out slots, one host at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queries = load_queries("limiter.sql")
        try:
            self._open()
        except UNREADABLE as error:
            if not is_damage(error):
                raise explained(path, error) from error
            _log.warning("%s: damaged (%s); replaced by an empty one, no pages are lost", path, error)
            self._replace()

    def _open(self) -> None:
        self._connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _replace(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._path.touch(mode=0o600)
        try:
            self._open()
        except UNREADABLE as error:
            raise explained(self._path, error) from error

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        use_wal(self._connection, self._path, BUSY_TIMEOUT_S)
        for statement in named_schema("limiter.sql"):
            self._connection.execute(statement)
        found = [line for (line,) in self._connection.execute("PRAGMA quick_check(1)") if line != "ok"]
        if found:
            raise damaged(found[0])
        if foreign := foreign_objects(self._connection, named_schema("limiter.sql")):
            if own_objects(named_schema("limiter.sql")).issuperset(foreign):
                raise damaged(f"{', '.join(foreign)}: not as it was created")
            raise StoreError(
                f"{self._path}: holds {', '.join(foreign)}, which orbweb did not create. Delete this file; it "
                "holds no pages."
            )
        self._forget_other_boots()

    def _forget_other_boots(self) -> None:
        boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
        self._execute("forget_hosts_of_other_boots", boot=boot)
        self._execute("forget_other_boots", boot=boot)
        self._execute("remember_boot", boot=boot)

    def _run(self, name: str, **values: object) -> list[tuple[int]]:
        try:
            return self._execute(name, **values)
        except UNREADABLE as error:
            raise explained(self._path, error) from error

    def _execute(self, name: str, **values: object) -> list[tuple[int]]:
        query = self._queries[name]
        return self._connection.execute(query.sql, query.values(values)).fetchall()

    def take(self, site: str, now: int, interval: int) -> int:
        if self._run(
            "reserve_host", site=site, now=now, next_at=now + interval, longest=now + LONGEST_WAIT + interval
        ):
            return 0
        return self.due(site) or now + interval

    def sent(self, site: str, now: int, interval: int) -> None:
        self._run("push_host", site=site, next_at=now + interval)

    def pace(self, site: str) -> int:
        found = self._run("host_pace", site=site)
        return found[0][0] if found else 0

    def hold(self, site: str, until: int, pace: int) -> None:
        self._run("hold_host", site=site, due_at=until, pace=pace)

    def set_pace(self, site: str, pace: int) -> None:
        self._run("set_pace", site=site, pace=pace)

    def due(self, site: str) -> int:
        found = self._run("host_due", site=site)
        return found[0][0] if found else 0

    def close(self) -> None:
        self._connection.close()
