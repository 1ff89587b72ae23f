"""Which URLs are visited, and that every refusal names the rule that decided."""

from __future__ import annotations

import pytest

from effort import TIMES, assert_linear, best_s
from orbweb.errors import ConfigError
from orbweb.model import SkipReason, Verdict
from orbweb.policy.page_types import GroupRule
from orbweb.policy.rules import Candidate, Policy, Rules

DOCS = "https://example.org/docs"


def policy(*scopes: str, **rules: object) -> Policy:
    return Policy(Rules(**rules), scopes or (DOCS,))  # type: ignore[arg-type]


def judge(found: Policy, key: str, *, depth: int = 1, hops: int = 0, base: int = 0) -> Verdict:
    return found.judge(Candidate(key, depth, hops, base))


@pytest.mark.parametrize(
    ("scope", "key", "strict", "loose"),
    [
        ("https://example.org/api", "https://example.org/api", True, True),
        ("https://example.org/api", "https://example.org/api/v1", True, True),
        ("https://example.org/api", "https://example.org/api?page=2", True, True),
        ("https://example.org/api", "https://example.org/api/v1?page=2", True, True),
        ("https://example.org/api", "https://example.org/api-blog", False, True),
        ("https://example.org/api", "https://example.org/api-blog/post", False, True),
        ("https://example.org/api", "https://example.org/ap", False, False),
        ("https://example.org/api", "https://example.org/", False, False),
        ("https://example.org/api", "https://example.org/v1/api", False, False),
        ("https://example.org/api", "https://example.org/API", False, False),
        ("https://example.org/", "https://example.org/", True, True),
        ("https://example.org/", "https://example.org/anything/at/all?x=1", True, True),
        ("https://example.org/doc/index.html", "https://example.org/doc", True, True),
        ("https://example.org/doc/index.html", "https://example.org/doc/other.html", True, True),
        ("https://example.org/doc/index.html", "https://example.org/docs", False, True),
        ("https://example.org/doc/index.html", "https://example.org/blog", False, False),
        ("https://example.org/index.html", "https://example.org/anything", True, True),
        ("https://example.org/v1.2", "https://example.org/v1.2/intro", True, True),
        ("https://example.org/v1.2", "https://example.org/v1.3", False, False),
        ("http://example.org/", "https://example.org/a", True, True),
        ("https://example.org/", "http://example.org/a", True, True),
        ("https://example.org/", "https://example.org:8443/a", False, False),
        ("https://example.org:8443/", "https://example.org:8443/a", True, True),
        ("https://example.org:8443/", "http://example.org:8443/a", True, True),
        ("https://example.org:8443/", "https://example.org/a", False, False),
        ("https://example.org/", "https://www.example.org/a", False, False),
        ("https://www.example.org/", "https://example.org/a", False, False),
        ("https://example.org/", "https://example.org.evil.example/a", False, False),
        ("https://example.org/", "https://evil.example/example.org/", False, False),
        ("http://[::1]:8000/a", "http://[::1]:8000/a/b", True, True),
        ("http://[::1]:8000/a", "http://[::2]:8000/a/b", False, False),
    ],
)
def test_scope(scope: str, key: str, strict: bool, loose: bool) -> None:
    assert (policy(scope).owner(key) is not None) is strict
    assert (policy(scope, strict_path=False).owner(key) is not None) is loose


def test_out_of_scope_names_the_directory_of_a_base_url_that_is_a_file() -> None:
    found = policy("https://h/docs/index.html")
    assert judge(found, "https://h/other").rule == "scope: https://h/docs"


def test_a_url_belongs_to_the_base_with_the_longest_path() -> None:
    bases = ["https://h/", "https://h/a", "https://h/a/b", "https://other/", "http://h/a"]
    owners = {
        "https://h/x": 0,
        "https://h/ab": 0,
        "https://h/a": 1,
        "https://h/a/x": 1,
        "https://h/a/b": 2,
        "https://h/a/b/c": 2,
        "http://h/a/z": 1,
        "https://other/a/b": 3,
        "https://third/": None,
    }
    found = policy(*bases)
    assert {key: found.owner(key) for key in owners} == owners
    assert judge(found, "https://h/a/b/c", base=0, hops=3) == Verdict(None, None, 2, 0)


def test_outside_without_hops_is_out_of_scope_of_the_page_that_led_there() -> None:
    found = policy("https://h/a", "https://h/b")
    assert judge(found, "https://x/", base=1) == Verdict(SkipReason.OUT_OF_SCOPE, "scope: https://h/b", 1, 1)


@pytest.mark.parametrize("allowed", range(6))
def test_external_hops_are_counted_from_the_scope(allowed: int) -> None:
    found = policy(external_hops=allowed)
    for hops in range(8):
        verdict = judge(found, "https://elsewhere/", hops=hops)
        assert verdict.hops == hops + 1
        assert (verdict.reason is None) is (hops + 1 <= allowed)
        if verdict.reason and allowed:
            assert verdict[:2] == (SkipReason.EXTERNAL_HOPS, f"scope.external_hops: {allowed}")
    assert judge(found, DOCS, hops=9).hops == 0


def test_patterns_are_searched_in_the_whole_canonical_url() -> None:
    found = policy("https://h/", include=(r"^https://h/(a|b)/", r"q=1$"), exclude=(r"\.pdf$", "secret"))
    allowed = ["https://h/a/x", "https://h/b/", "https://h/c?q=1"]
    assert [judge(found, key).reason for key in allowed] == [None, None, None]
    assert judge(found, "https://h/c").rule == "scope.include: ^https://h/(a|b)/ | q=1$"
    assert judge(found, "https://h/c").reason is SkipReason.NOT_INCLUDED
    assert judge(found, "https://h/a/x.pdf")[:2] == (SkipReason.EXCLUDED, r"scope.exclude: \.pdf$")
    assert judge(found, "https://h/a/secret")[:2] == (SkipReason.EXCLUDED, "scope.exclude: secret")
    assert judge(found, "https://h/A/x").reason is SkipReason.NOT_INCLUDED
    assert judge(policy("https://h/", exclude=("(?i)SECRET",)), "https://h/secret").reason is SkipReason.EXCLUDED


def test_a_pattern_decides_before_scope_depth_and_limits() -> None:
    found = policy(exclude=("/x",), max_depth=0, page_limit=1)
    found.fill(0)
    assert judge(found, "https://x/", depth=9).reason is SkipReason.EXCLUDED
    assert judge(found, "https://y/", depth=9).reason is SkipReason.OUT_OF_SCOPE
    assert judge(found, DOCS, depth=9).reason is SkipReason.MAX_DEPTH
    assert judge(found, DOCS, depth=0).reason is SkipReason.PAGE_LIMIT


def test_max_depth_is_inclusive() -> None:
    found = policy(max_depth=2)
    assert judge(found, DOCS, depth=2).reason is None
    assert judge(found, DOCS, depth=3)[:2] == (SkipReason.MAX_DEPTH, "limits.max_depth: 2")
    assert judge(policy(max_depth=0), DOCS, depth=1).reason is SkipReason.MAX_DEPTH
    assert judge(policy(), DOCS, depth=10_000).reason is None


def test_a_full_base_takes_no_more_and_the_others_go_on() -> None:
    found = policy("https://h/a", "https://h/b", page_limit=3, external_hops=1)
    assert not found.all_full
    found.fill(0)
    assert judge(found, "https://h/a/x")[:2] == (SkipReason.PAGE_LIMIT, "limits.page_limit: 3")
    assert judge(found, "https://h/b/x").reason is None
    assert judge(found, "https://x/", base=0).reason is SkipReason.PAGE_LIMIT
    assert judge(found, "https://x/", base=1).reason is None
    assert not found.all_full
    found.fill(1)
    assert found.all_full


def test_a_base_that_redirects_takes_its_scope_along() -> None:
    found = policy("http://x.org/", "https://other/")
    found.move_scope(0, "https://www.x.org/docs")
    assert found.owner("https://www.x.org/docs/a") == 0
    assert found.owner("http://x.org/a") is None
    assert found.owner("https://other/a") == 1
    assert judge(found, "http://x.org/a").rule == "scope: https://www.x.org/docs"


@pytest.mark.parametrize("option", ["include", "exclude"])
@pytest.mark.parametrize(
    "pattern", ["(", "a(?=b)", r"(a)\1", "*", "**/docs/*", "[z-a]", "(?<!a)b", "a{2000}", "(?P<n"]
)
def test_a_bad_pattern_is_named_and_nothing_else_is_printed(
    option: str, pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        policy(**{option: ("fine", pattern)})
    assert str(caught.value).startswith(f"scope.{option}[1]: {pattern!r} is not an RE2 pattern: ")
    assert ("A regular expression matches anywhere" if pattern.startswith("*") else "Look-around") in str(
        caught.value
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", ["((a{1,10}){1,10}){1,10}b", "(.{1,50}){1,20}z", r"\pL{100}x"])
def test_a_pattern_that_repeats_repetitions_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"^scope\.exclude\[0\]: .* is too complex: \d+ steps, at most 2000\. "):
        policy(exclude=(pattern,))


EVIL = [
    (r"(a+)+$", "a"),
    (r"([a-zA-Z]+)*$", "a"),
    (r"(a|aa)+$", "a"),
    (r"(a|a?)+$", "a"),
    (r"(.*a){20}$", "a"),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a"),
    (r"(x+x+)+y", "x"),
    (r"(x+)*y", "x"),
    (r"(.*)*=", "x"),
    (r"(.+)+@", "x"),
    (r"(\d+)*[^\d]$", "1"),
    (r"^(\w+\s?)*$", "w"),
    (r"(a*)*b", "a"),
    (r"((a{1,10}){1,10}b)+", "a"),
    (r"^(a?){50}a{50}$", "a"),
    (r"(.|[^x])*y$", "x"),
    (r"\A(\S+\.)*\S+@(\S+\.)+\S+z\z", "a."),
    (r"(/[^/]+)+/?\?(\w+=\w*&?)*#$", "/a"),
    (r"^(https?://)?([\da-z.-]+)\.([a-z.]{2,6})([/\w .-]*)*/?!$", "a.b/"),
    (r"(?i)(%[0-9a-f]{2})*(%[0-9a-f]{2}|.)*\x00", "%41"),
]


@pytest.mark.alone
@pytest.mark.parametrize(("pattern", "unit"), EVIL)
def test_no_pattern_is_slow_on_a_long_url(pattern: str, unit: str) -> None:
    found = policy("https://h/", exclude=(pattern,))
    small, large = ("https://h/" + unit * (length // len(unit)) + "!" for length in (100_000 // TIMES, 100_000))
    assert_linear(lambda key: judge(found, key), small, large)
    assert best_s(lambda: judge(found, large), enough_s=0.05) < 0.05


def test_hosts_are_the_scope_whatever_the_paths_of_base_urls() -> None:
    found = policy("https://h.org/docs", hosts=("h.org", "*.h.net", "port.org:8080"))
    inside = [
        "https://h.org/",
        "http://h.org/x",
        "https://a.h.net/",
        "https://a.b.h.net/",
        "http://port.org:8080/",
    ]
    outside = [
        "https://www.h.org/",
        "https://h.net/",
        "https://port.org/",
        "https://h.org:8080/",
        "https://h.org.evil.example/",
        "https://evilh.net/",
        "https://evil.example/h.org",
    ]
    assert [judge(found, key, hops=3) for key in inside] == [Verdict(None, None, 0, 0)] * len(inside)
    told = "policy.hosts: h.org, *.h.net, port.org:8080"
    assert [judge(found, key)[:2] for key in outside] == [(SkipReason.OUT_OF_SCOPE, told)] * len(outside)


def test_on_listed_hosts_a_url_belongs_to_the_longest_path_or_to_who_led_there() -> None:
    found = policy("https://h.org/a", "https://h.org/a/b", "https://i.org/", hosts=("h.org", "i.org"))
    owners = {"https://h.org/a/x": 0, "https://h.org/a/b/x": 1, "https://h.org/z": 2, "https://i.org/z": 2}
    assert {key: judge(found, key, base=2).base for key in owners} == owners


def test_denied_subdomains_are_refused_with_all_below_them() -> None:
    found = policy(hosts=("*.h.org",), deny_subdomains=("shop.h.org",), external_hops=5)
    told = (SkipReason.EXCLUDED, "policy.deny_subdomains[0]: shop.h.org")
    assert judge(found, "https://shop.h.org/x")[:2] == told
    assert judge(found, "https://a.shop.h.org:8080/x")[:2] == told
    assert judge(found, "https://workshop.h.org/x").reason is None


def test_deny_and_exclude_are_one_list_and_each_sieve_must_let_through() -> None:
    found = policy("https://h/", deny=("one", "two"), exclude=("three",), allow=("/a/",), include=("x",))
    assert judge(found, "https://h/a/x").reason is None
    told = {
        "https://h/a/x/two": (SkipReason.EXCLUDED, "policy.deny[1]: two"),
        "https://h/a/x/three/two": (SkipReason.EXCLUDED, "policy.deny[1]: two"),
        "https://h/a/x/three": (SkipReason.EXCLUDED, "scope.exclude: three"),
        "https://h/x": (SkipReason.NOT_INCLUDED, "policy.allow: /a/"),
        "https://h/a/": (SkipReason.NOT_INCLUDED, "scope.include: x"),
    }
    assert {key: judge(found, key)[:2] for key in told} == told


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"deny": ("fine", "(")}, r"^policy\.deny\[1\]: '\(' is not an RE2 pattern"),
        ({"allow": ("(",)}, r"^policy\.allow\[0\]: '\(' is not an RE2 pattern"),
        ({"hosts": ("h.org", "a b")}, r"^policy\.hosts\[1\]: 'a b' is not a host"),
        ({"hosts": ("h.org/x",)}, r"^policy\.hosts\[0\]: 'h.org/x' is not a host"),
        ({"deny_subdomains": ("",)}, r"^policy\.deny_subdomains\[0\]: '' is not a host"),
    ],
)
def test_what_is_wrong_in_a_policy_is_named(rules: dict[str, tuple[str, ...]], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        policy(**rules)


def test_a_very_long_list_is_searched_one_by_one_with_the_same_answers() -> None:
    texts = tuple(f"/{number:04d}[a-z]{{0,40}}/" for number in range(300))
    found = policy("https://h/", deny=texts)
    assert judge(found, "https://h/0299abc/").rule == f"policy.deny[299]: {texts[299]}"
    assert judge(found, "https://h/0300abc/").reason is None


def test_the_cap_is_the_last_rule_and_only_admission_counts() -> None:
    rule = GroupRule("all", "^https://h/", (("pages", 1),))
    found = policy("https://h/", groups=(rule,), max_depth=1)
    assert judge(found, "https://h/a").reason is None
    assert judge(found, "https://h/a").reason is None
    found.admit("https://h/a")
    assert judge(found, "https://h/b")[:2] == (SkipReason.CAP, "policy.groups[0].caps.pages: 1 of all")
    assert judge(found, "https://h/b", depth=2).reason is SkipReason.MAX_DEPTH
    found.recount([])
    assert judge(found, "https://h/b").reason is None


def test_a_base_url_leads_only_where_the_policy_lets_it() -> None:
    found = policy("https://h/", hosts=("h",), deny=("/login",))
    assert found.bars_base("https://h/x") is None
    assert found.bars_base("https://h/login") == "policy.deny[0]: /login"
    assert found.bars_base("https://i/") == "policy.hosts: h"
