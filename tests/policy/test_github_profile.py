"""What the github profile says about the URLs that pages of github.com link to."""

from __future__ import annotations

import pytest

from orbweb import config, urls
from orbweb.app.settings import policy_rules, url_rules
from orbweb.policy.rules import Candidate, Policy

CONFIG = config.build(config.read_profile("github"), source="github")
DENIED, NOT_ALLOWED, OUTSIDE = "excluded", "not_included", "out_of_scope"

ALLOWED = [
    ("https://github.com/topics", "topic"),
    ("https://github.com/topics/", "topic"),
    ("https://github.com/topics/machine-learning", "topic"),
    ("https://github.com/topics/python?o=desc&s=stars", "topic"),
    ("https://github.com/topics/c%2B%2B", "topic"),
    ("https://github.com/trending", "trending"),
    ("https://github.com/trending?since=weekly", "trending"),
    ("https://github.com/trending/rust", "trending"),
    ("https://github.com/trending/c++?since=daily", "trending"),
    ("https://github.com/explore", "collection"),
    ("https://github.com/collections", "collection"),
    ("https://github.com/collections/programming-languages", "collection"),
    ("https://github.com/torvalds/linux", "repo_root"),
    ("https://github.com/torvalds/linux/", "repo_root"),
    ("https://GitHub.com/Torvalds/Linux", "repo_root"),
    ("https://github.com:443/torvalds/linux", "repo_root"),
    ("https://github.com/torvalds/linux#readme", "repo_root"),
    ("https://github.com/torvalds/linux?tab=readme-ov-file", "repo_root"),
    ("https://github.com/a/b.js", "repo_root"),
    ("https://github.com/a-b/c_d.e", "repo_root"),
    ("https://github.com/aboutme/x", "repo_root"),
    ("https://github.com/settings-lib/x", "repo_root"),
    ("https://github.com/torvalds/linux/blob/master/README", "blob"),
    ("https://github.com/torvalds/linux/blob/master/kernel/sched/core.c#L10-L20", "blob"),
    ("https://github.com/torvalds/linux/blob/v6.1/Makefile?raw=true", "blob"),
    ("https://github.com/torvalds/linux/blob/master/docs/issues/1.md", "blob"),
    ("https://github.com/torvalds/linux/blob/0a1b2c3/a%20b.md", "blob"),
    ("https://github.com/pallets/flask/issues", "issues"),
    ("https://github.com/pallets/flask/issues?q=is%3Aopen+label%3Abug", "issues"),
    ("https://github.com/pallets/flask/issues/1", "issues"),
    ("https://github.com/pallets/flask/issues/123456#issuecomment-1", "issues"),
    ("https://github.com/pallets/flask/pulls", "pull"),
    ("https://github.com/pallets/flask/pulls?q=is%3Apr", "pull"),
    ("https://github.com/pallets/flask/pull/42", "pull"),
    ("https://github.com/pallets/flask/pull/42/", "pull"),
    ("https://github.com/pallets/flask/releases", "releases"),
    ("https://github.com/pallets/flask/releases?page=2", "releases"),
    ("https://github.com/pallets/flask/releases/tag/3.0.0", "releases"),
    ("https://github.com/pallets/flask/wiki", "wiki"),
    ("https://github.com/pallets/flask/wiki/Home", "wiki"),
]

REFUSED = [
    # Pages of people, the start page, and what is no repository.
    ("https://github.com/", NOT_ALLOWED),
    ("https://github.com/torvalds", NOT_ALLOWED),
    ("https://github.com/torvalds?tab=repositories", NOT_ALLOWED),
    ("https://github.com/orgs/pallets/repositories", DENIED),
    ("https://github.com/sponsors/torvalds", DENIED),
    ("https://github.com/users/torvalds/projects", DENIED),
    ("https://github.com/stars/torvalds", DENIED),
    ("https://github.com/trending/developers", DENIED),
    ("https://github.com/trending/developers?since=weekly", DENIED),
    ("https://github.com/topics/python/more/of/it", DENIED),
    ("https://github.com/explore/email", DENIED),
    # Ways to sign in, and what is for who has.
    ("https://github.com/login", DENIED),
    ("https://github.com/login?return_to=%2Ftorvalds%2Flinux", DENIED),
    ("https://github.com/LOGIN/oauth/authorize", DENIED),
    ("https://github.com/join", DENIED),
    ("https://github.com/signup?ref=x", DENIED),
    ("https://github.com/logout", DENIED),
    ("https://github.com/session", DENIED),
    ("https://github.com/password_reset", DENIED),
    ("https://github.com/settings/profile", DENIED),
    ("https://github.com/settings/tokens/new", DENIED),
    ("https://github.com/notifications", DENIED),
    ("https://github.com/new", DENIED),
    ("https://github.com/new/import", DENIED),
    ("https://github.com/issues", DENIED),
    ("https://github.com/pulls", DENIED),
    ("https://github.com/dashboard", DENIED),
    # Searches and shop windows.
    ("https://github.com/search", DENIED),
    ("https://github.com/search?q=orbweb&type=repositories", DENIED),
    ("https://github.com/search/advanced", DENIED),
    ("https://github.com/features/actions", DENIED),
    ("https://github.com/marketplace/actions", DENIED),
    ("https://github.com/pricing", DENIED),
    ("https://github.com/enterprise/trial", DENIED),
    ("https://github.com/apps/dependabot", DENIED),
    ("https://github.com/about/press", DENIED),
    ("https://github.com/customer-stories/all", DENIED),
    # Parts of a repository.
    ("https://github.com/torvalds/linux/tree/master/kernel", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/tree/master", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/commits/master", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/commit/0a1b2c3", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/raw/master/README", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/blame/master/README", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/edit/master/README", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/archive/refs/heads/master.zip", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/actions", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/actions/runs/1", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/settings", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/stargazers", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/network/members", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/graphs/contributors", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/compare/a...b", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/branches", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/tags", NOT_ALLOWED),
    ("https://github.com/torvalds/linux/security/advisories", NOT_ALLOWED),
    ("https://github.com/pallets/flask/issues/new", NOT_ALLOWED),
    ("https://github.com/pallets/flask/issues/new/choose", NOT_ALLOWED),
    ("https://github.com/pallets/flask/labels/bug", NOT_ALLOWED),
    ("https://github.com/pallets/flask/milestones", NOT_ALLOWED),
    ("https://github.com/pallets/flask/pull/42/files", NOT_ALLOWED),
    ("https://github.com/pallets/flask/pull/42/commits/0a1b2c3", NOT_ALLOWED),
    ("https://github.com/pallets/flask/pull/42.diff", DENIED),
    ("https://github.com/pallets/flask/releases/download/3.0.0/flask.tar.gz", NOT_ALLOWED),
    ("https://github.com/pallets/flask/wiki/_history", DENIED),
    ("https://github.com/pallets/flask/wiki/Home/_edit", DENIED),
    ("https://github.com/pallets/flask.git", DENIED),
    ("https://github.com/pallets/flask/releases.atom", DENIED),
    ("https://github.com/torvalds.keys", DENIED),
    ("https://github.com/a/b/blob/main/logo.PNG", DENIED),
    ("https://github.com/a/b/blob/main/dist/app.zip", DENIED),
    # Other hosts, and what only looks like this one.
    ("http://github.com/torvalds/linux", NOT_ALLOWED),
    ("https://gist.github.com/torvalds/1", DENIED),
    ("https://api.github.com/repos/torvalds/linux", DENIED),
    ("https://raw.githubusercontent.com/torvalds/linux/master/README", NOT_ALLOWED),
    ("https://www.github.com/torvalds/linux", NOT_ALLOWED),
    ("https://docs.github.com/en/rest", NOT_ALLOWED),
    ("https://github.io/torvalds/linux", NOT_ALLOWED),
    ("https://github.com.evil.example/torvalds/linux", NOT_ALLOWED),
    ("https://evil.example/github.com/torvalds/linux", NOT_ALLOWED),
    ("https://evil.example/?https://github.com/torvalds/linux", NOT_ALLOWED),
    ("https://githubXcom/torvalds/linux", NOT_ALLOWED),
    ("https://notgithub.com/torvalds/linux", NOT_ALLOWED),
    ("https://github.com:8443/torvalds/linux", NOT_ALLOWED),
]


def judged(url: str) -> tuple[str | None, str]:
    policy = Policy(policy_rules(CONFIG), ["https://github.com/topics"])
    key = urls.canonicalize(url, url_rules(CONFIG))
    assert key is not None
    verdict = policy.judge(Candidate(key, depth=1, hops=0, base=0))
    assert (verdict.reason is None) is (verdict.rule is None)
    return verdict.reason and verdict.reason.value, policy.page_type(key)


def test_the_table_is_long_enough() -> None:
    assert len({url for url, _ in [*ALLOWED, *REFUSED]}) >= 120


@pytest.mark.parametrize(("url", "page_type"), ALLOWED)
def test_allowed(url: str, page_type: str) -> None:
    assert judged(url) == (None, page_type)


@pytest.mark.parametrize(("url", "reason"), REFUSED)
def test_refused(url: str, reason: str) -> None:
    assert judged(url)[0] == reason


def test_even_without_patterns_other_hosts_are_outside() -> None:
    rules = policy_rules(config.build({"policy": {"hosts": ["github.com"]}}, source="x"))
    policy = Policy(rules, ["https://github.com/topics"])
    for host in ("github.com.evil.example", "www.github.com", "raw.githubusercontent.com", "github.com:8443"):
        verdict = policy.judge(Candidate(f"https://{host}/a/b", 1, 0, 0))
        assert (verdict.reason, verdict.rule) == (OUTSIDE, "policy.hosts: github.com")


def test_rate_connections_and_contact_are_part_of_it() -> None:
    assert (CONFIG.limits.rate, CONFIG.limits.per_host, CONFIG.urls.keep_params) == (1, 2, ())
    assert CONFIG.policy.contact_required
    assert CONFIG.policy.terms


@pytest.mark.parametrize(
    ("agent", "is_one"),
    [
        ("bot/1.0 (+https://example.org/bot)", True),
        ("bot/1.0 (+mailto:me@example.org)", True),
        ("bot/1.0 +https://example.org", True),
        ("bot/1.0 (+http://example.org/bot)", False),
        ("bot/1.0 (https://example.org/bot)", False),
        ("bot/1.0 (+mailto:)", False),
        ("bot/1.0 (+https://)", False),
        ("bot/1.0", False),
        ("me@example.org", False),
    ],
)
def test_what_is_a_contact(agent: str, is_one: bool) -> None:
    assert config.has_contact(agent) is is_one


@pytest.mark.parametrize("name", config.PROFILES)
def test_every_profile_is_sound(name: str) -> None:
    settings = config.read_profile(name)
    Policy(policy_rules(config.build(settings, source=name)), ["https://example.org/"])
    assert "profile" not in settings
