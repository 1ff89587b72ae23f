"""What an import could not understand, named one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_NAMED = 1_000
"""Problems that are named; further ones are counted."""
MOST_LENGTH = 1_000


@dataclass(slots=True)
class Problems:
    """The problems of one import, each once, in the order in which they were found."""

    named: dict[str, None] = field(default_factory=dict)
    _others: set[int] = field(default_factory=set)

    def note(self, problem: str) -> None:
        """The text may be of strangers: what a terminal would obey is escaped."""
        problem = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in problem[:MOST_LENGTH])
        if problem in self.named:
            return
        if len(self.named) < MOST_NAMED:
            self.named[problem] = None
        else:
            self._others.add(hash(problem))

    @property
    def unnamed(self) -> int:
        return len(self._others)
