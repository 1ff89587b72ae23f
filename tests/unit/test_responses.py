"""What an answer means for its place."""

from __future__ import annotations

import pytest

from orbweb.engine.responses import MAX_FOLLOWED, Finish, Follow, Process, Resend, Retry, Step, Wait, next_step
from orbweb.model import Failed, FailKind, Fetched
from orbweb.urls import DEFAULT_RULES, Target, UrlRules

KEY = "https://example.org/dir"
PAGE = b"<!doctype html><title>x</title>"


def fetched(
    status: int,
    *,
    url: str = KEY,
    body: bytes | None = PAGE,
    content_type: str | None = "text/html",
    location: str | None = None,
    retry_after: str | None = None,
) -> Fetched:
    return Fetched(url, status, body, content_type, location, None, None, 0, 0, retry_after)


def step(
    answer: Fetched | Failed,
    *,
    requested: tuple[str, ...] = (KEY,),
    tries_left: int = 0,
    waits_left: int = 0,
    rules: UrlRules = DEFAULT_RULES,
) -> Step:
    return next_step(
        answer, key=KEY, requested=requested, tries_left=tries_left, waits_left=waits_left, rules=rules
    )


def redirect(location: str, *, requested: tuple[str, ...] = (KEY,), status: int = 301) -> Step:
    return step(fetched(status, url=requested[-1], location=location), requested=requested)


def kind_of(found: Step) -> FailKind:
    assert isinstance(found, Finish)
    assert isinstance(found.response, Failed)
    assert found.redirect is None
    return found.response.kind


@pytest.mark.parametrize("tries_left", [0, 1, 5])
@pytest.mark.parametrize("kind", FailKind)
def test_a_failure_is_tried_again_while_it_is_worth_it(kind: FailKind, tries_left: int) -> None:
    passing, lasting = Failed(kind, "x", retriable=True), Failed(kind, "x")
    assert step(passing, tries_left=tries_left) == (Retry() if tries_left else Finish(passing))
    assert step(lasting, tries_left=tries_left) == Finish(lasting)


@pytest.mark.parametrize("status", [408, 425, 500, 501, 502, 503, 504, 599])
def test_a_broken_server_is_asked_again(status: int) -> None:
    answer = fetched(status)
    assert step(answer, tries_left=1) == Retry()
    assert step(answer, tries_left=0) == Finish(answer)


@pytest.mark.parametrize("answer", [fetched(429), fetched(429, retry_after="soon"), fetched(503, retry_after="5")])
def test_a_busy_server_is_waited_for_without_costing_a_try(answer: Fetched) -> None:
    assert step(answer, waits_left=1) == Wait()
    assert step(answer, tries_left=5) == Finish(answer)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451])
def test_a_clear_refusal_is_final_and_its_body_no_page(status: int) -> None:
    assert step(fetched(status), tries_left=5) == Finish(fetched(status))


@pytest.mark.parametrize("status", [200, 201, 203, 206])
def test_html_is_read(status: int) -> None:
    assert step(fetched(status)) == Process(PAGE)


@pytest.mark.parametrize(
    "answer",
    [
        fetched(204, body=b""),
        fetched(200, body=b""),
        fetched(200, body=None),
        fetched(200, content_type="application/pdf"),
        fetched(200, body=b"plain", content_type="text/plain"),
        fetched(200, body=b"%PDF-1.7", content_type=None),
        fetched(304, body=b"", content_type=None),
        fetched(300),
        fetched(305, location="/other"),
    ],
)
def test_an_answer_without_a_page_settles(answer: Fetched) -> None:
    assert step(answer, tries_left=3) == Finish(answer)


@pytest.mark.parametrize("content_type", [None, "", "application/octet-stream", "*/*"])
def test_undeclared_html_is_recognised_by_its_first_bytes(content_type: str | None) -> None:
    assert step(fetched(200, content_type=content_type)) == Process(PAGE)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_key_settles_with_its_target(status: int) -> None:
    answer = fetched(status, location="../other/?b=2&a=1#part")
    found = Target("https://example.org/other?a=1&b=2", "https://example.org/other/?b=2&a=1")
    assert step(answer, tries_left=2) == Finish(answer, found)


@pytest.mark.parametrize(
    ("location", "key"),
    [
        ("http://example.org/dir", "http://example.org/dir"),
        ("//www.example.org/dir", "https://www.example.org/dir"),
        ("https://user:secret@other.org/", "https://other.org/"),
        ("/DIR", "https://example.org/DIR"),
        ("?page=2", "https://example.org/dir?page=2"),
    ],
)
def test_scheme_host_case_and_query_make_another_key(location: str, key: str) -> None:
    found = redirect(location)
    assert isinstance(found, Finish)
    assert found.redirect is not None
    assert found.redirect.key == key
    assert "secret" not in found.redirect.url


@pytest.mark.parametrize("location", ["/dir/", "dir/", "//EXAMPLE.org/dir/#top", "/x/../dir/", "?utm_source=x"])
def test_another_spelling_of_the_same_key_is_followed_in_its_place(location: str) -> None:
    found = redirect(location)
    assert isinstance(found, Follow)
    assert found.url.startswith("https://example.org/dir")
    assert "#" not in found.url


def test_the_target_is_resolved_against_the_url_that_was_asked() -> None:
    found = redirect("page", requested=(KEY, KEY + "/"))
    assert isinstance(found, Finish)
    assert found.redirect == Target(KEY + "/page", KEY + "/page")


@pytest.mark.parametrize(
    ("location", "requested"),
    [
        (KEY, (KEY,)),
        ("", (KEY,)),
        ("#part", (KEY,)),
        ("/dir", (KEY, KEY + "/")),
        ("/dir/", (KEY, KEY + "/")),
    ],
)
def test_a_redirect_to_what_was_asked_is_a_loop(location: str, requested: tuple[str, ...]) -> None:
    assert kind_of(redirect(location, requested=requested)) is FailKind.REDIRECT_LOOP


def test_spellings_are_followed_only_so_often() -> None:
    requested = tuple(f"{KEY}?utm_{number}=x" for number in range(MAX_FOLLOWED))
    assert redirect("?utm_new=x", requested=requested) == Follow(f"{KEY}?utm_new=x")
    assert kind_of(redirect("?utm_new=x", requested=(*requested, KEY))) is FailKind.TOO_MANY_REDIRECTS


@pytest.mark.parametrize(
    "location",
    ["mailto:a@b.org", "javascript:alert(1)", "data:text/html,x", "ftp://x/", "https://", "http://[::1"],
)
def test_a_redirect_to_what_is_no_http_url_fails(location: str) -> None:
    found = redirect(location)
    assert kind_of(found) is FailKind.BAD_REDIRECT
    assert isinstance(found, Finish)
    assert repr(location) in found.response.error  # type: ignore[union-attr]


def test_a_very_long_bad_location_is_cut_in_the_message() -> None:
    found = redirect("data:" + "x" * 100_000)
    assert isinstance(found, Finish)
    assert len(found.response.error) < 300  # type: ignore[union-attr]


def test_a_redirect_without_a_location_settles_as_it_is() -> None:
    assert step(fetched(302), tries_left=2) == Finish(fetched(302))


def test_the_rules_of_the_project_decide_what_is_the_same_key() -> None:
    answer = fetched(302, location="?page=2")
    assert isinstance(step(answer), Finish)
    assert step(answer, rules=UrlRules(keep_params=())) == Follow(KEY + "?page=2")


@pytest.mark.parametrize(
    ("counts", "tries_left", "resends_left", "expected"),
    [
        (False, 0, 1, Resend()),
        (False, 2, 1, Resend()),
        (False, 2, 0, Retry()),
        (False, 0, 0, None),
        (True, 2, 1, Retry()),
        (True, 0, 1, None),
    ],
)
def test_a_failure_that_is_not_the_sites_costs_no_try(
    counts: bool, tries_left: int, resends_left: int, expected: Step | None
) -> None:
    failed = Failed(FailKind.INTERRUPTED, "broken", retriable=True, counts=counts)
    found = next_step(
        failed,
        key=KEY,
        requested=(KEY,),
        tries_left=tries_left,
        waits_left=0,
        resends_left=resends_left,
        rules=DEFAULT_RULES,
    )
    assert found == (expected or Finish(failed))
