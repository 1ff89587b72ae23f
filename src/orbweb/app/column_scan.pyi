from array import array
from collections.abc import Sequence

ANY: int

def scan(
    facets: list[array[int]],
    wanted: list[int],
    counts: list[array[int]],
    key: array[int] | None,
    descending: bool,
    among: bytes | None,
    first: int,
    after: int | None,
    most: int,
    before: int,
) -> tuple[int, int, list[int], list[int]]: ...
def having(texts: bytes, starts: Sequence[int], words: bytes) -> bytes: ...
