"""The packed record of links: what goes in comes out, and damage is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbweb.errors import StoreError
from orbweb.store.links import FLAGS, KINDS, Outlink, pack, renumbered, unpack

examples = settings(max_examples=200, deadline=None, derandomize=True, database=None)
EDGES = st.lists(st.builds(Outlink, st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans()), max_size=40)


def packed(edges: list[Outlink]) -> bytes:
    flags = bytes([FLAGS[edge.kind, edge.nofollow] for edge in edges])
    return pack([edge.target for edge in edges], flags)


@given(EDGES)
@examples
def test_what_goes_in_comes_out_in_order(edges: list[Outlink]) -> None:
    assert list(unpack(packed(edges))) == edges
    assert len(packed(edges)) == 5 + 5 * len(edges)


def test_the_format_is_fixed() -> None:
    edges = [Outlink(1, "a", False), Outlink(258, "redirect", True)]
    assert packed(edges).hex() == "010200000001000000020100000087"
    assert [FLAGS[kind, False] for kind in ("a", "redirect", "script", "other")] == [0, 7, 8, 13]
    assert len(set(FLAGS.values())) == len(FLAGS) == 2 * len(KINDS)


@given(EDGES, st.data())
@examples
def test_a_cut_or_longer_record_is_refused(edges: list[Outlink], data: st.DataObject) -> None:
    whole = packed(edges)
    length = data.draw(st.integers(0, len(whole) - 1))
    for damaged in (whole[:length], whole + b"\x00", whole + b"\x00" * 5):
        with pytest.raises(StoreError, match="damaged outlink record"):
            list(unpack(damaged))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x01",
        b"\x02\x00\x00\x00\x00",
        b"\x00\x00\x00\x00\x00",
        b"\x01\x01\x00\x00\x00\x05\x00\x00\x00\x0e",
        b"\x01\x01\x00\x00\x00\x05\x00\x00\x00\x7f",
        b"\x01\xff\xff\xff\xff\x05\x00\x00\x00\x00",
    ],
)
def test_what_pack_never_writes_is_refused(damaged: bytes) -> None:
    with pytest.raises(StoreError, match="damaged outlink record"):
        list(unpack(damaged))


def test_an_id_that_does_not_fit_is_an_error_not_another_id() -> None:
    with pytest.raises(OverflowError):
        pack([2**32], bytes(1))


@given(EDGES, st.integers(1, 9))
@examples
def test_a_renumbered_record_has_the_same_edges_to_other_ids(edges: list[Outlink], by: int) -> None:
    edges = [edge._replace(target=edge.target % 50) for edge in edges]
    moved = [edge._replace(target=edge.target + by) for edge in edges]
    assert renumbered(packed(edges), range(by, 50 + by)) == packed(moved)
    assert (renumbered(packed(edges), range(50)) is None) is any(edge.target == 0 for edge in edges)
    assert (renumbered(packed(edges), range(1, 30)) is None) is any(edge.target > 28 for edge in edges)
