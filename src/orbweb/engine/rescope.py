"""Judging again what a crawl at work has found: when the scope is fixed, and when nothing is queued any more.

Owns when that is done and what memory has to learn of it; how is in `rejudge`. Always holds: all that changes
is one transaction, with what says why. Never touches what is leased, visited or failed.
"""

from __future__ import annotations

from collections.abc import Callable

from orbweb.engine.admission import Admission
from orbweb.engine.batch import Batch
from orbweb.failpoints import failpoint
from orbweb.frontier import reevaluate
from orbweb.frontier.reevaluate import Judge, Sweep
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.policy.rules import Policy
from orbweb.policy.traps import Traps
from orbweb.store import advance
from orbweb.store.runs import Run


class Rescope:
    """Of one run with so many base URLs."""

    def __init__(
        self,
        run: Run,
        bases: int,
        *,
        books: Batch,
        admission: Admission,
        policy: Policy,
        frontier: SqliteFrontier,
        traps: Traps,
        lane_of: Callable[[str], str],
    ) -> None:
        self._run = run
        self._run_id = run.id
        self._several = bases > 1
        self._books = books
        self._db = books.db
        self._admission = admission
        self._policy = policy
        self._frontier = frontier
        self._traps = traps
        self._lane_of = lane_of

    def fix_scope(self) -> None:
        """With several base URLs, a page may have been judged before another one's scope moved. In a recrawl, what
        was known has been judged by the scope of the run before."""
        if not self._several and self._run.recalls is None:
            self._books.scope_fixed = True
            return
        self._books.flush()
        with self._db.transaction():
            self._books.scope_fixed = True
            moved = self._has_moved()
            if moved:
                self._judge_again()
            advance(self._db, self._run_id, self._books.progress())
        if moved:
            self.reread()

    def _has_moved(self) -> bool:
        """Whether something was judged by another scope than there is now."""
        queries = ["moved_base"] if self._several else []
        if self._run.recalls is not None:
            queries.append("moved_since")
        return any(self._db.value(query, run_id=self._run_id) is not None for query in queries)

    def _judge_again(self) -> None:
        """Judge what was found and not asked for once more. Runs inside a transaction, with everything written.

        What is leased or visited by now is in the scope whoever moved, and keeps its owner.
        """
        judge = Judge(
            self._policy,
            self._traps,
            lambda number: self._db.value("key_of", run_id=self._run_id, id=number),
            obey_robots=True,
        )
        sweep = Sweep(
            self._db,
            self._run_id,
            judge,
            self._lane_of,
            next_rank=self._books.next_rank,
            is_leased=self._frontier.is_leased,
        )
        sweep.run()
        self._books.next_rank = sweep.next_rank
        advance(self._db, self._run_id, self._books.progress())

    def readmit_waiting(self) -> bool:
        """Nothing is queued: what waited for others of its family has its turn. Whether there is anything.

        Runs inside a transaction, with everything written; after it the caller reads anew.
        """
        ranks = self._books.next_rank
        if reevaluate.release_waiting(self._db, self._run_id, self._traps):
            self._judge_again()
            failpoint("waiting_released")
        self._db.many("save_family", self._traps.take_changes())
        return self._books.next_rank > ranks

    def reread(self) -> None:
        """Rows were changed in the database: know them as they are there."""
        self._books.recount()
        self._admission.forget()
        self._frontier.reload()
