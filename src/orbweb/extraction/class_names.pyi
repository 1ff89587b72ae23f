from enum import Enum
from typing import NamedTuple

from orbweb.parsing.html.tree import Tree

class Used:
    @property
    def classes(self) -> frozenset[str]: ...
    @property
    def ids(self) -> frozenset[str]: ...

def used(tree: Tree, top: int) -> Used: ...

class NameKind(Enum):
    CHROME = "chrome"
    COMMENTS = "comments"
    REVIEWS = "reviews"
    CARDS = "cards"

class NameVerdict(NamedTuple):
    kind: NameKind
    word: str

def verdict(names: str) -> NameVerdict | None: ...
