"""Fingerprints of texts, and groups of near ones."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import zlib
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import best_s
from orbweb.extraction import simhash
from orbweb.extraction.simhash import WITHIN, distance, groups

VOCABULARY = [
    first + second for first in ("ba", "ce", "di", "fo", "gu", "ha") for second in ("rk", "lm", "nt", "st")
]


def text(seed: int, words: int) -> list[str]:
    draw = random.Random(seed)
    return draw.choices(VOCABULARY, weights=range(1, len(VOCABULARY) + 1), k=words)


def changed(words: list[str], count: int, seed: int) -> list[str]:
    draw, copy = random.Random(seed), list(words)
    for place in draw.sample(range(len(words)), count):
        copy[place] = f"new{place}"
    return copy


def fingerprint(words: list[str]) -> int:
    return simhash.of(" ".join(words))


def test_the_fingerprint_is_that_of_every_machine() -> None:
    assert simhash.of("A crawler never loses its place.") == 0x0A1E1DDF0F6DFADA
    code = "from orbweb.extraction import simhash; print(simhash.of('One two three, one two.'))"
    seeds = ({"PYTHONHASHSEED": seed} for seed in ("1", "2"))
    found = {subprocess.check_output([sys.executable, "-c", code], env={**os.environ, **seed}) for seed in seeds}
    assert found == {f"{simhash.of('One two three, one two.')}\n".encode()}


def by_hand(words: list[bytes]) -> int:
    """The definition, bit by bit."""
    spread = [zlib.crc32(word) * simhash.SPREAD for word in words]
    hashes = [value ^ value >> 32 for value in spread]
    runs = [_turned(one) ^ other for one, other in pairwise(hashes)] or hashes
    return sum(1 << bit for bit in range(64) if 2 * sum(run >> bit & 1 for run in runs) > len(runs))


def _turned(value: int) -> int:
    return (value << simhash.TURN | value >> 64 - simhash.TURN) & (1 << 64) - 1


WORDS = st.text(st.sampled_from("abz09\xe9\u4e2d-"), min_size=1, max_size=3)


@given(st.lists(WORDS, min_size=1, max_size=70) | st.lists(WORDS, min_size=600, max_size=1_000))
def test_bits_are_those_of_most_runs_of_words(words: list[str]) -> None:
    assert fingerprint(words) == by_hand([word.encode() for word in words])


def test_characters_are_words_where_there_are_no_spaces() -> None:
    text = "\u4e2d\u6587\u6587\u672c" * 40
    assert simhash.of(text) == by_hand([sign.encode() for sign in text])


def test_case_and_spaces_do_not_count_but_order_does() -> None:
    assert simhash.of("One  two\nthree four") == simhash.of("one two three FOUR")
    assert simhash.of("one two three four") != simhash.of("four three two one")
    assert simhash.of("") == simhash.of(" \n ") == 0
    assert simhash.of("\ud800 word") != 0


@pytest.mark.parametrize(("words", "count"), [(200, 1), (400, 2), (1000, 4), (3000, 12)])
def test_near_copies_are_near(words: int, count: int) -> None:
    found = []
    for seed in range(20):
        original = text(seed, words)
        found.append(distance(fingerprint(original), fingerprint(changed(original, count, seed))))
    assert sum(bits <= WITHIN for bits in found) >= 18, found


def test_other_texts_are_far() -> None:
    found = [fingerprint(text(seed, 300)) for seed in range(30)]
    assert min(distance(one, other) for one, other in combinations(found, 2)) > WITHIN


def test_a_text_without_spaces_has_characters_for_words() -> None:
    draw = random.Random(3)
    signs = [chr(0x4E00 + draw.randrange(800)) for _ in range(600)]
    copy = [*signs[:300], "新", *signs[301:]]
    assert distance(simhash.of("".join(signs)), simhash.of("".join(copy))) <= WITHIN
    assert distance(simhash.of("".join(signs)), simhash.of("".join(reversed(signs)))) > WITHIN


def grouped_by_hand(hashes: list[int], within: int) -> list[list[int]]:
    """Every pair compared, whatever hangs together joined."""
    left = {index for index, value in enumerate(hashes) if value}
    found = []
    while left:
        group, edge = set(), {min(left)}
        while edge:
            group |= edge
            left -= edge
            edge = {other for other in left if any(distance(hashes[one], hashes[other]) <= within for one in edge)}
        if len(group) > 1:
            found.append(sorted(group))
    return sorted(found)


@st.composite
def clustered(draw: st.DrawFn) -> list[int]:
    """Fingerprints around a few centres, as near-duplicates are."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
    flips = st.lists(st.integers(0, 63), max_size=9).map(lambda bits: sum(1 << bit for bit in set(bits)))
    return draw(
        st.lists(st.builds(lambda centre, bits: centre ^ bits, st.sampled_from(centres), flips), max_size=25)
    )


@given(clustered(), st.integers(0, 10))
def test_groups_are_those_of_comparing_every_pair(hashes: list[int], within: int) -> None:
    assert groups(hashes, within) == grouped_by_hand(hashes, within)


@given(clustered())
def test_groups_do_not_depend_on_the_order(hashes: list[int]) -> None:
    as_values = sorted(sorted(hashes[index] for index in group) for group in groups(hashes))
    backwards = hashes[::-1]
    assert as_values == sorted(sorted(backwards[index] for index in group) for group in groups(backwards))


def test_texts_without_words_are_near_to_none() -> None:
    assert groups([0, 0, 1, 1]) == [[2, 3]]
    assert groups([]) == []


@pytest.mark.alone
def test_many_fingerprints_are_grouped_in_seconds() -> None:
    draw = random.Random(1)
    hashes = [draw.getrandbits(64) | 1 for _ in range(5_000)]
    hashes += [hashes[index] ^ 0b10110 << 7 for index in range(0, 5_000, 10)]
    hashes += [
        hashes[0] ^ draw.getrandbits(64) & draw.getrandbits(64) & draw.getrandbits(64) & 0xFF for _ in range(2_000)
    ]
    found = groups(hashes)
    assert best_s(lambda: groups(hashes), enough_s=15) < 15
    assert len(found) == 500
    assert all(distance(hashes[group[0]], hashes[group[1]]) <= 2 * WITHIN for group in found)
