"""Page types, scores, and groups that let in no more than their caps."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweb.errors import ConfigError
from orbweb.policy.page_types import Caps, GroupRule, Room, ScoreRule, TypeRule, Types, scored

TYPES = (TypeRule("issue", "/issues/"), TypeRule("file", r"\.(py|md)$", 5), TypeRule("late", "^https://h/", -3))
REPOSITORY = r"^https://h/(?P<owner>[^/]+)/(?P<repo>[^/]+)"


def caps(*rules: GroupRule) -> Caps:
    return Caps(rules, Types(TYPES, ()), [rule.type for rule in TYPES])


def group(caps: dict[str, int], **more: object) -> GroupRule:
    return GroupRule("repository", REPOSITORY, tuple(caps.items()), **more)  # type: ignore[arg-type]


def test_the_first_pattern_that_is_found_gives_the_type() -> None:
    types = Types(TYPES, ())
    keys = ["https://h/a/issues/1", "https://h/a/issues/x.py", "https://h/x.py", "https://h/x", "https://other/x"]
    assert [types.page_type(key) for key in keys] == ["issue", "issue", "file", "late", "page"]


def test_a_pattern_goes_before_the_type() -> None:
    types = Types(TYPES, (ScoreRule("best", 9), ScoreRule("be", 1)))
    keys = ["https://h/x.py", "https://h/best.py", "https://h/be.py", "https://h/x", "https://other/x"]
    assert [types.score(key) for key in keys] == [5, 9, 1, -3, 0]
    assert types.has_scores
    assert not Types(TYPES[:1], ()).has_scores


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 2**32)), unique=True))
def test_ranks_order_by_score_then_by_finding_and_before_plain_ones(found: list[tuple[int, int]]) -> None:
    by_rank = sorted(found, key=lambda pair: scored(pair[1], pair[0]))
    assert by_rank == sorted(found, key=lambda pair: (-pair[0], pair[1]))
    assert all(-(2**52) < scored(sequence, score) < 0 for score, sequence in found)


def test_a_refusal_names_the_cap_the_group_and_the_number() -> None:
    found = caps(group({"pages": 3, "issue": 1}))
    found.admit("https://h/a/b/issues/1")
    assert found.refusal("https://h/a/b/issues/2") == "policy.groups[0].caps.issue: 1 of repository a/b"
    found.admit("https://h/a/b/x")
    found.admit("https://h/a/b/y")
    assert found.refusal("https://h/a/b/z") == "policy.groups[0].caps.pages: 3 of repository a/b"
    assert found.refusal("https://h/a/c/z") is None
    assert found.refusal("https://h/a") is None


def test_case_means_something_unless_it_is_folded() -> None:
    for fold, refused in ((True, True), (False, False)):
        found = caps(group({"pages": 1}, fold_case=fold))
        found.admit("https://h/A/b")
        assert (found.refusal("https://h/a/B") is not None) is refused


def test_a_group_may_be_of_some_types_only() -> None:
    found = caps(group({"pages": 1}, types=("issue",)))
    found.admit("https://h/a/b/x")
    assert found.rooms("https://h/a/b/x") == []
    assert found.rooms("https://h/a/b/issues/1") == [Room("repository", "a/b", {"pages": 1})]


def test_a_pattern_without_names_is_one_group() -> None:
    found = caps(GroupRule("years", r"/20[0-9]{2}/", (("pages", 2),)))
    found.recount(["https://h/2001/a", "https://other/2002/a", "https://h/1999/a"])
    assert found.refusal("https://h/2003/") == "policy.groups[0].caps.pages: 2 of years"


def test_every_group_of_a_url_must_have_room() -> None:
    found = caps(group({"pages": 5}), GroupRule("owner", r"^https://h/(?P<owner>[^/]+)", (("pages", 1),)))
    found.admit("https://h/a/b")
    assert found.refusal("https://h/a/c") == "policy.groups[1].caps.pages: 1 of owner a"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            group({"issues": 1}),
            r"^policy\.groups\[0\]\.caps\.issues: no rule .* choose from file, issue, late, page, p",
        ),
        (group({"pages": 1}, types=("x",)), r"^policy\.groups\[0\]\.types\[0\]: x: no rule"),
        (GroupRule("g", "(", (("pages", 1),)), r"^policy\.groups\[0\]\.pattern: '\(' is not an RE2 pattern"),
    ],
)
def test_what_is_wrong_is_named(rule: GroupRule, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        caps(rule)


def test_bad_patterns_of_types_and_scores_are_named() -> None:
    with pytest.raises(ConfigError, match=r"^policy\.page_types\[1\]\.pattern: "):
        Types((TYPES[0], TypeRule("x", "(")), ())
    with pytest.raises(ConfigError, match=r"^policy\.scores\[0\]\.pattern: "):
        Types((), (ScoreRule("[", 1),))


KEYS = st.sampled_from([
    f"https://h/{owner}/{repo}/{path}"
    for owner in ("a", "A", "b") for repo in ("x", "y") for path in ("", "issues/1", "issues/2", "m.py", "z")
])  # fmt: skip


@given(st.lists(KEYS), st.integers(0, 4), st.integers(0, 3), st.booleans())
def test_caps_are_never_exceeded_and_a_recount_is_the_same(
    offered: list[str], pages: int, issues: int, fold: bool
) -> None:
    rule = group({"pages": pages, "issue": issues}, fold_case=fold)
    found, admitted = caps(rule), []
    for key in dict.fromkeys(offered):
        if found.refusal(key) is None:
            found.admit(key)
            admitted.append(key)
    names = [tuple((key.lower() if fold else key).split("/")[3:5]) for key in admitted]
    assert all(number <= pages for number in Counter(names).values())
    by_issue = Counter(name for name, key in zip(names, admitted, strict=True) if "/issues/" in key)
    assert all(number <= issues for number in by_issue.values())
    again = caps(rule)
    again.recount(reversed(admitted))
    assert all(again.rooms(key) == found.rooms(key) for key in offered)
    refused = [key for key in offered if key not in admitted]
    assert all(again.refusal(key) is not None for key in refused)
