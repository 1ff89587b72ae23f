"""What is a change of a page, and what is noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweb.store.queries import text_diff

NOISE = [
    ("Last updated 2026-11-16 04:31:07 UTC", "Last updated 2026-11-17 11:02:55 UTC", "date"),
    ("Last updated: 2026-11-16T04:31:07.123Z", "Last updated: 2027-01-02T23:59:59Z", "date"),
    ("Posted on 16 November 2026", "Posted on 3 May 2027", "date"),
    ("Posted on Mon, Nov 16, 2026 at 4:31 pm", "Posted on Tue, May 3, 2027 at 11:02 am", "date"),
    ("It is 04:31:07", "It is 05:00:12", "date"),
    ("made Sun Nov 16 17:30:00 2025", "made Mon Dec 1 08:05:59 2025", "date"),
    (r"16\.11.2026 04:31", r"3\.5.2027 11:02", "date"),
    ("dump 20261116043107", "dump 20270503110255", "date"),
    ("edited 3 hours ago", "edited an hour ago", "age"),
    ("1,204 views", "1,377 views", "counter"),
    ("Downloads: 17", "Downloads: 18", "counter"),
    ("You are visitor number 155", "You are visitor number 1,204", "counter"),
    ("Comments (12)", "Comments (13)", "counter"),
    ("counter: 45", "counter: 46", "counter"),
    ("request 0f8fad5b-d9cb-469f-a165-70867728950e", "request 7c9e6679-7425-40de-944b-e07fc1f90ae7", "token"),
    ("[in](http://h/a?nonce=8f3e2a91bc7d44e1a0b2)", "[in](http://h/a?nonce=11aa22bb33cc44dd55ee)", "token"),
    ("built at 1763267467", "built at 1763267999", "token"),
    ("built at 1763267467.123456", "built at 1763267999.5", "token"),
    ("built at 1763267467123456789", "built at 1763267999000000001", "token"),
    ("seal 4164d8399f767c45", "seal 9a64d8399f7670ff", "token"),
    (r"csrf\_token=t4TT-fWJXZXC3UOag\_Docvug", r"csrf\_token=8-4TTfWJXZXC3UOagDocvu", "token"),
    ("Request ID: bd69d76d4330", "Request ID: 00c9d76d4abc", "token"),
    ("Page generated in 0.131 seconds (12 queries)", "Page generated in 0.2 seconds (12 queries)", "timing"),
]
REAL = [
    ("Version 3.11.2", "Version 3.11.3"),
    ("It costs 10 EUR", "It costs 12 EUR"),
    ("The limit is 1024 bytes", "The limit is 2048 bytes"),
    ("It was released in 2025", "It was released in 2026"),
    ("Section 4.2", "Section 4.3"),
    ("The token: 4096 bytes", "The token: 8192 bytes"),
    ("session: persistent", "session: transient"),
    ("ISBN 9783161484100", "ISBN 9783161484117"),
    ("sleep for 5 seconds", "sleep for 6 seconds"),
    ("call f(x)", "call f(y)"),
]


def _compare(old: str, new: str, *, keep_noise: bool = False) -> text_diff.TextChange:
    return text_diff.compare(old, new, old_name="old", new_name="new", keep_noise=keep_noise)


@pytest.mark.parametrize(("old", "new", "kind"), NOISE)
def test_a_line_that_differs_in_noise_alone_is_the_same(old: str, new: str, kind: str) -> None:
    change = _compare(f"# T\n\n{old}\n", f"# T\n\n{new}\n")
    assert (change.added, change.removed, change.diff) == (0, 0, ())
    assert kind in change.noise
    assert _compare(old, new, keep_noise=True).added == 1


@pytest.mark.parametrize(("old", "new"), REAL)
def test_a_number_is_no_noise_because_it_is_a_number(old: str, new: str) -> None:
    change = _compare(old, new)
    assert (change.added, change.removed) == (1, 1)


def test_the_diff_shows_the_new_lines_and_passes_over_noise() -> None:
    old = "# T\n\nUpdated 2026-11-16\n\none\ntwo\nthree\n"
    new = "# T\n\nUpdated 2026-11-17\n\none\n2\nthree\nfour\n"
    change = _compare(old, new)
    assert change.diff == (
        "--- old",
        "+++ new",
        "@@ -3,5 +3,6 @@",
        " Updated 2026-11-17",
        " ",
        " one",
        "-two",
        "+2",
        " three",
        "+four",
    )
    assert (change.added, change.removed, change.noise) == (2, 1, {"date": 1})


def test_a_page_with_very_many_lines_is_compared_as_a_whole() -> None:
    old = "\n".join(str(number) for number in range(text_diff.MAX_LINES + 1))
    change = _compare(old, old + "\nmore")
    assert len(change.diff) == 1
    assert change.added


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_diff_is_empty_exactly_when_nothing_but_noise_differs(old: str, new: str) -> None:
    assert not _compare(old, old).diff
    same = [text_diff.quiet(line) for line in old.splitlines()] == [
        text_diff.quiet(line) for line in new.splitlines()
    ]
    assert bool(_compare(old, new).diff) is not same


@given(st.text(alphabet="0123456789abcdef:-/., TZnovmay", max_size=400))
def test_any_line_is_judged_in_no_time(line: str) -> None:
    text_diff.quiet(line * 20)


def test_a_long_page_with_many_changes_is_compared_in_time_that_grows_with_its_length() -> None:
    old = [line for number in range(9_000) for line in (f"Line {number} of the page.", "")]
    new = [line.replace("page", "text") if at % 8 == 0 else line for at, line in enumerate(old)]
    found = text_diff.compare("\n".join(old), "\n".join(new), old_name="old", new_name="new")
    assert (found.added, found.removed) == (2_250, 2_250)
