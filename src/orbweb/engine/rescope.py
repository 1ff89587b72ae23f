"""When a running crawl judges its URLs again: the scope is fixed, sitemaps list nothing, or the queue is empty.

How they are judged is in `frontier.reevaluate`. All changes are one transaction. Leased, visited and failed URLs
are never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orbweb.engine.admission import Admission
from orbweb.engine.batch import Batch
from orbweb.engine.context import RunContext
from orbweb.failpoints import failpoint
from orbweb.frontier import reevaluate
from orbweb.frontier.reevaluate import Judge, Sweep


class Rescope:
    """Judges the URLs of one run again. `flush` makes everything committed durable."""

    def __init__(
        self,
        context: RunContext,
        batch: Batch,
        admission: Admission,
        *,
        several_bases: bool,
        flush: Callable[[], None],
    ) -> None:
        self._context = context
        self._store = context.store
        self._batch = batch
        self._admission = admission
        self._several = several_bases
        self._recrawls = context.store.run.recalls is not None
        self._flush = flush

    def fix_scope(self) -> None:
        """With several base URLs, a URL may have been judged before the scope of another one moved. In a recrawl,
        the known URLs were judged by the scope of the previous run."""
        if not self._several and not self._recrawls:
            self._batch.scope_fixed = True
            return
        self._flush()
        with self._store.transaction():
            self._batch.scope_fixed = True
            moved = self._store.scope_moved(several=self._several, recrawls=self._recrawls)
            if moved:
                self._judge_again()
            self._store.advance(self._batch.progress())
        if moved:
            self.reload()

    def follow_unlisted(self, bases: Sequence[int]) -> list[int]:
        """The sitemaps of these base URLs are read, and are preferred: queue the links that were found before,
        where they list nothing. The decision and the queue are one transaction. Returns the base URLs whose links
        are followed."""
        self._flush()
        followed = reevaluate.follow_unlisted(self._store, self._context.policy, bases)
        with self._store.transaction():
            if followed:
                self._judge_again()
            self._store.advance(self._batch.progress())
        if followed:
            self.reload()
        return followed

    def _judge_again(self) -> None:
        """Inside a transaction, with everything written. Leased and visited URLs are in the scope wherever it
        moved, and keep their base URL."""
        context, numbers = self._context, self._batch.numbers
        judge = Judge(context.policy, context.traps, self._store.key_of, obey_robots=True)
        sweep = Sweep(
            self._store,
            judge,
            context.lane_of,
            next_rank=numbers.next_rank,
            is_leased=context.frontier.is_leased,
            now=self._batch.now(),
        )
        sweep.run()
        numbers.next_rank = sweep.next_rank
        self._store.advance(self._batch.progress())

    def readmit_waiting(self) -> bool:
        """The queue is empty: queue the URLs that waited for others of their family. True if there are any.

        Inside a transaction, with everything written; the caller calls `reload` afterwards.
        """
        ranks = self._batch.numbers.next_rank
        if reevaluate.release_waiting(self._store, self._context.traps):
            self._judge_again()
            failpoint("waiting_released")
        self._store.save_families(self._context.traps.take_changes())
        return self._batch.numbers.next_rank > ranks

    def reload(self) -> None:
        """Rows were changed in the store: read them again."""
        self._batch.recount()
        self._admission.earlier.forget()
        self._context.frontier.reload()
