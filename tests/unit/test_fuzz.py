"""What `make fuzz` feeds is read in the ordinary build too, and a seed gives the same inputs."""

from __future__ import annotations

from fuzz.feed import feed
from fuzz.inputs import Inputs

COUNT = 40


def test_inputs_are_read() -> None:
    inputs = Inputs(1)
    for _ in range(COUNT):
        feed(inputs.next())


def test_a_seed_gives_the_same_inputs() -> None:
    one, same, other = Inputs(7), Inputs(7), Inputs(8)
    first = [one.next() for _ in range(COUNT)]
    assert first == [same.next() for _ in range(COUNT)]
    assert first != [other.next() for _ in range(COUNT)]
