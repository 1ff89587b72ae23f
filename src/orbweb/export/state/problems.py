"""What an import could not understand, named one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_NAMED = 1_000
"""Problems that are named; further ones are counted."""


@dataclass(slots=True)
class Problems:
    """The problems of one import, each once, in the order in which they were found."""

    named: dict[str, None] = field(default_factory=dict)
    _others: set[int] = field(default_factory=set)

    def note(self, problem: str) -> None:
        if problem in self.named:
            return
        if len(self.named) < MOST_NAMED:
            self.named[problem] = None
        else:
            self._others.add(hash(problem))

    @property
    def unnamed(self) -> int:
        return len(self._others)
