"""What a page becomes while it is parsed, and the time that takes, are in proportion to its bytes."""

from __future__ import annotations

import time
from random import Random

import pytest

from orbweb.parsing.html.tokenizer import MAX_DEPTH, parsed
from parsing.structures import STRUCTURES, Structure, drawn

DRAWN = 120
SIZE = 30_000
NODES_A_BYTE = 1.5
"""With attributes. A copy is allowed for two bytes, and an empty element has at least three."""
FREE = 45_000
"""What any page may have copied, with its overshoot: one round of all formatting in force."""
TIMED = 150_000
GROWTH = 3.0


def check(structure: Structure, size: int) -> None:
    nodes, attributes, heap = parsed(page := structure(size).encode(), "UTF-8").sizes()
    assert nodes + attributes <= NODES_A_BYTE * len(page) + FREE
    assert heap <= 5 * len(page) + 1_000


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_what_is_held_is_in_proportion_to_the_page(structure: Structure) -> None:
    check(structure, 10 * SIZE)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_held_of_any_structure_is_in_proportion_to_it(seed: int) -> None:
    random = Random(seed)
    for _ in range(DRAWN // 4):
        check(drawn(random), SIZE)
        check(drawn(random), 4 * SIZE)


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_no_element_is_deeper_than_open_elements_and_forms_between_them(structure: Structure) -> None:
    outline = parsed(structure(SIZE).encode(), "UTF-8").outline()
    assert max(depth for depth, *_ in outline) <= 2 * MAX_DEPTH + 2


@pytest.mark.alone
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_time_is_in_proportion_to_the_page(structure: Structure) -> None:
    small, large = (best(structure(size).encode()) for size in (TIMED, 2 * TIMED))
    assert large <= GROWTH * small + 0.1


def best(page: bytes) -> float:
    found = []
    for _ in range(3):
        start = time.process_time()
        parsed(page, "UTF-8")
        found.append(time.process_time() - start)
    return min(found)


def test_formatting_ends_where_its_copies_are_out_of_proportion() -> None:
    """Each of the first paragraphs has all formatting, the last has none; nothing else is different."""
    page = "".join(f"<font size={number}>" for number in range(190)) + "<p>x</p>" * 1_000
    outline = parsed(f"<div>{page}</div>".replace("<p>", "</div><div>").encode(), "UTF-8").outline()
    fonts = sum(name == "font" for _, space, name, _ in outline if space is not None)
    assert sum(name == "x" for _, space, name, _ in outline if space is None) == 1_000
    assert 10_000 < fonts < len(page) / 2 + 20_000
