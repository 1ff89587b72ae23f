"""robots.txt: groups, patterns, the deciding line, delays, sitemaps, and hostile files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import TIMES, assert_linear
from orbweb.policy.robots import PARSE_CAP, TOO_MUCH, Robots, product_token, without_userinfo

examples = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def robots(text: str, agent: str = "mybot") -> Robots:
    return Robots.parse(text.encode(), agent)


def allowed(rules: str, path: str) -> bool:
    return robots(f"User-agent: *\n{rules}\n").refusal(f"https://x.org{path}") is None


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("mybot/1.0 (+https://x.org/bot)", "mybot"),
        ("My-Bot_2", "My-Bot_2"),
        ("  mybot (contact)", "mybot"),
        ("Mozilla/5.0 (compatible; mybot/2.1; +https://x.org)", "mybot"),
        ("Mozilla/5.0 (X11; Linux)", "Mozilla"),
        ("*", "orbweb"),
        ("", "orbweb"),
        ("\u0431\u043e\u0442/1.0", "orbweb"),
    ],
)
def test_a_user_agent_has_one_product_token(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("User-agent: *\nDisallow: /private/*.html", "/private/a.html", "2: Disallow: /private/*.html"),
        ("\ufeffUser-agent: *\r\n\r\ndisallow : /a # why\r\n", "/a/b", "3: disallow : /a"),
        ("User-agent: *\rDisallow: /a\rDisallow: /a/b", "/a/b/c", "3: Disallow: /a/b"),
        ("User-agent: *\nDisallow: /*b\nDisallow: /a", "/ab", "2: Disallow: /*b"),
        ("User-agent: *\nDisallow: /a\nDisallow: /a", "/a", "2: Disallow: /a"),
        ("User-agent: *\nDisallow: /k\u00e4se", "/k%c3%a4se", "2: Disallow: /k\u00e4se"),
        ("User-agent: *\nDisallow: /a\x1b[2J*", "/a%1B", None),
        ("User-agent: *\nDisallow: *a\x1b*a", "/a\x1b[a", "2: Disallow: *a\ufffd*a"),
        ("User-agent: *\nDisallow: /" + "a" * 300, "/" + "a" * 300, "2: Disallow: /" + "a" * 189 + "..."),
    ],
)
def test_the_very_line_that_decided_is_told(text: str, path: str, line: str | None) -> None:
    assert robots(text).refusal("https://x.org" + path) == (line and f"robots.txt line {line}")


GROUPS = """
Disallow: /nobody
User-agent: MyBot/2.0
User-agent: other
Disallow: /both
Sitemap: https://x.org/s.xml
User-agent: *
Disallow: /everyone
User-agent: mybot-news
Disallow: /news
User-agent: MYBOT is welcome
Disallow: /again
User-agent: empty
"""


@pytest.mark.parametrize(
    ("agent", "refused"),
    [
        ("mybot", {"/both", "/again"}),
        ("mybot/1.0", {"/both", "/again"}),
        ("Other", {"/both"}),
        ("mybot-news", {"/news"}),
        ("my", {"/everyone"}),
        ("mybot is welcome", {"/everyone"}),
        ("empty", set()),
        ("*", {"/everyone"}),
        ("", {"/everyone"}),
    ],
)
def test_groups_of_the_same_name_are_one_and_the_star_is_for_the_rest(agent: str, refused: set[str]) -> None:
    rules = robots(GROUPS, agent)
    paths = ("/nobody", "/both", "/everyone", "/news", "/again")
    assert {path for path in paths if rules.refusal(f"https://x.org{path}/x")} == refused


def test_other_records_do_not_end_a_list_of_names() -> None:
    text = "User-agent: mybot\nCrawl-delay: 2\nSitemap: s\nUnknown: x\nUser-agent: other\nDisallow: /\n"
    assert robots(text).refusal("https://x.org/") == "robots.txt line 6: Disallow: /"
    assert (robots(text).crawl_delay, robots(text, "other").crawl_delay) == (2, None)


@pytest.mark.parametrize(
    ("rules", "path", "verdict"),
    [
        ("Disallow:", "/a", True),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /", "", False),
        ("Disallow: /?", "?q=1", False),
        ("Disallow: /a", "/b#/a", True),
        ("Disallow: /fish", "/fishheads", False),
        ("Disallow: /fish", "/Fish", True),
        ("Disallow: fish", "/fish", True),
        ("Disallow: *fish", "/a/fish", False),
        ("Disallow: /*.php$", "/a.php", False),
        ("Disallow: /*.php$", "/a.php?x", True),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/a$", True),
        ("Disallow: /a$b", "/a$bc", False),
        ("Disallow: /a*$", "/abc", False),
        ("Disallow: /ab*ba$", "/aba", True),
        ("Disallow: /a**b***c", "/a-b-c-d", False),
        ("Disallow: /a*b*c", "/acb", True),
        ("Disallow: /folder\nAllow: /folder", "/folder/a", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /*.htm\nDisallow: /page", "/page.htm", True),
        ("Allow: /fish*\nDisallow: /fishe", "/fishes", True),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /a/index.html\nDisallow: /", "/a/", True),
        ("Allow: /a/index.html\nDisallow: /", "/a/b", False),
        ("Disallow /a", "/a", False),
        ("Disallow /a b", "/a", True),
        ("dissalow: /a", "/a", False),
    ],
)
def test_a_pattern_means_what_the_standard_says(rules: str, path: str, verdict: bool) -> None:
    assert allowed(rules, path) is verdict


@pytest.mark.parametrize(
    ("rules", "path", "verdict"),
    [
        ("Disallow: /a%3cb", "/a%3Cb", False),
        ("Disallow: /a%3Cb", "/a%3cb", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /~joe", "/%7ejoe", False),
        ("Disallow: /\nAllow: /%7Ejoe", "/~joe", True),
        ("Disallow: /secret", "/%73ecret", False),
        ("Disallow: /%73ecret", "/secret", False),
        ("Disallow: /secret\nAllow: /secret/open", "/%73ecret/open", True),
        ("Disallow: /\nAllow: /%6Fpen", "/open", False),
        ("Disallow: /file-%2A.html", "/file-*.html", False),
        ("Disallow: /file-%2A.html", "/file-1.html", True),
        ("Disallow: /cost-%24", "/cost-$", False),
        ("Disallow: /%zz", "/%zz", False),
        ("Disallow: /\u30c4", "/\u30c4", False),
    ],
)
def test_an_escape_opens_nothing_that_is_closed(rules: str, path: str, verdict: bool) -> None:
    assert allowed(rules, path) is verdict


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("3 # slow", 3.0),
        ("10<BR>", 10.0),
        ("0", 0.0),
        ("", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("9" * 400, None),
        ("soon", None),
        ("2\nCrawl-delay: 5\nCrawl-delay: 1", 5.0),
    ],
)
def test_a_crawl_delay_is_seconds_or_nothing(value: str, seconds: float | None) -> None:
    assert robots(f"User-agent: mybot\nCrawl-delay: {value}\n").crawl_delay == seconds


def test_a_crawl_delay_is_that_of_the_own_group() -> None:
    text = "Crawl-delay: 9\nUser-agent: *\nCrawl-delay: 3\nDisallow:\nUser-agent: mybot\nDisallow: /a\n"
    assert (robots(text).crawl_delay, robots(text, "other").crawl_delay) == (None, 3.0)


def test_sitemaps_are_for_everyone_each_once_and_in_order() -> None:
    text = "Sitemap: https://x.org/b.xml\nUser-agent: other\nsite-map: /a\u00e4.xml\nSitemap:\nSITEMAP: https://x.org/b.xml"
    assert robots(text).sitemaps == ("https://x.org/b.xml", "/a\u00e4.xml")


def test_without_a_file_all_is_allowed() -> None:
    nothing = Robots.allow_all()
    assert (nothing.refusal("https://x.org/a"), nothing.crawl_delay, nothing.sitemaps) == (None, None, ())


@pytest.mark.parametrize(("beyond", "counts"), [(0, True), (1, False)])
@pytest.mark.parametrize("ending", [b"\n", b"\r"])
def test_only_whole_lines_within_the_cap_count(beyond: int, counts: bool, ending: bytes) -> None:
    rule = ending + b"Disallow: /last"
    start = b"User-agent: *" + ending + b"Disallow: /first" + ending
    body = start + b"#" * (PARSE_CAP + beyond - len(start + rule)) + rule + ending + b"Disallow: /beyond"
    rules = Robots.parse(b"\xef\xbb\xbf" + body, "mybot")
    refused = [path for path in ("/first", "/last", "/beyond") if rules.refusal("https://x.org" + path)]
    assert refused == (["/first", "/last"] if counts else ["/first"])


def test_a_file_that_is_one_endless_line_says_nothing() -> None:
    assert Robots.parse(b"Disallow: /" * PARSE_CAP, "mybot") == Robots.allow_all()


@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=50))
@examples
def test_any_bytes_any_agent_any_url_have_an_answer(noise: bytes, agent: str, url: str) -> None:
    rules = Robots.parse(b"User-agent: *\nDisallow: /a" + noise, agent)
    assert rules.refusal(url) is None or "\n" not in str(rules.refusal(url))


@given(st.text("ab*$", max_size=8), st.text("ab$", max_size=10))
@examples
def test_a_pattern_matches_as_if_every_way_were_tried(pattern: str, path: str) -> None:
    assert allowed(f"Disallow: /{pattern}", f"/{path}") is not tried(f"/{pattern}", f"/{path}")


def tried(pattern: str, path: str) -> bool:
    if pattern in ("", "$"):
        return not pattern or not path
    if pattern[0] == "*":
        return any(tried(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return path[:1] == pattern[0] and tried(pattern[1:], path[1:])


@pytest.mark.alone
@pytest.mark.parametrize(
    ("unit", "count", "end"), [("*", 10_000, "b"), ("*a", 8_000, "b"), ("*a", 8_000, "b$"), ("a", 5_000, "b")]
)
def test_hostile_patterns_cost_linear_time(unit: str, count: int, end: str) -> None:
    def judged(parts: int) -> str | None:
        rules = robots(f"User-agent: *\nDisallow: /*{unit * (count * parts // TIMES)}{end}\n")
        return rules.refusal("https://x.org/" + "a" * (100_000 * parts // TIMES))

    assert judged(TIMES) is None
    assert_linear(judged, 1, TIMES)


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ([f"/*{number:x}" for number in range(100_000, 126_000)], "a" * 8_000),
        (["/*" + "a" * 40 + f"b{number}" for number in range(8_000)], "a" * 8_000),
        (["/" + "*a" * 7_000 + f"{number}$" for number in range(30)], "a" * 8_000),
    ],
    ids=["many", "much alike", "many stars"],
)
def test_more_rules_with_stars_than_a_url_can_be_compared_with_refuse_it(rules: list[str], path: str) -> None:
    """Each character of the URL is compared no more than so often, by count."""
    found = robots("User-agent: *\n" + "".join(f"Disallow: {rule}\n" for rule in rules))
    assert found.refusal(f"https://x.org/{path}") == TOO_MUCH
    assert found.refusal("https://x.org/" + path[:20]) is None


def test_as_many_rules_with_stars_as_no_real_site_has_are_all_compared() -> None:
    rules = "".join(f"Disallow: /*/part-{number}/*.html\n" for number in range(1_000))
    found = robots(f"User-agent: *\n{rules}")
    assert found.refusal("https://x.org/a/b/c/part-999/page.html?q=" + "x" * 200) is not None
    assert found.refusal("https://x.org/a/b/c/part-1000/page.html?q=" + "x" * 200) is None


@pytest.mark.alone
def test_hostile_groups_cost_linear_time() -> None:
    def judged(count: int) -> str | None:
        names = "".join(f"user-agent: b{number}\n" for number in range(count))
        paths = "".join(f"disallow: /{number}\n" for number in range(count))
        return robots(names + paths, f"b{count - 1}").refusal(f"https://x.org/{count - 1}")

    assert judged(5_000) == "robots.txt line 10000: disallow: /4999"
    assert_linear(judged, 5_000 // TIMES, 5_000)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"Sitemap: https://ann:secret@example.org/s.xml", b"Sitemap: https://example.org/s.xml"),
        (b"  sitemap:https:\\\\ann@example.org", b"  sitemap:https:\\\\example.org"),
        (b"Site-map https:ann:a@b@example.org/", b"Site-map https:example.org/"),
        (b"Allow: /a\r\nSITEMAP: //ann:secret@example.org/s", b"Allow: /a\r\nSITEMAP: //example.org/s"),
        (b"Sitemap: https://example.org/@ann/s.xml", b"Sitemap: https://example.org/@ann/s.xml"),
        (b"Sitemap: https://example.org/s?a=b@c", b"Sitemap: https://example.org/s?a=b@c"),
        (b"Sitemap: /@ann/s.xml", b"Sitemap: /@ann/s.xml"),
        (b"Disallow: //ann:x@example.org/", b"Disallow: //ann:x@example.org/"),
    ],
)
def test_what_is_kept_has_no_userinfo(line: bytes, kept: bytes) -> None:
    assert without_userinfo(line) == kept
