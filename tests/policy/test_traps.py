"""Families of URLs, sketches of texts, and when a family is parked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweb.policy.traps import TrapKind, Traps, alike, family, family_of, sketch

H = "http://h.example"

FAMILIES = [
    ("/a/b/a/b/a/b", TrapKind.REPEATED, "/a/b/a/b/a/b..."),
    ("/en/x/x/x/y", TrapKind.REPEATED, "/en/x/x/x..."),
    ("/1/1/1/x/x/x/y", TrapKind.REPEATED, "/1/1/1/x/x/x..."),
    ("/a/1/a/1/a/1", TrapKind.REPEATED, "/a/1/a/1/a/1..."),
    ("/calendar/2031/05", TrapKind.CALENDAR, "/calendar/<date>"),
    ("/calendar/2031-05-17", TrapKind.CALENDAR, "/calendar/<date>"),
    ("/events?month=5&year=2031", TrapKind.CALENDAR, "/events?<date>"),
    ("/agenda?date=2031-05-17", TrapKind.CALENDAR, "/agenda?<date>"),
    ("/p?sid=ab12cd34", TrapKind.VARIANT, "/...?sid=*"),
    ("/p;jsessionid=0A1B2C3D4E5F", TrapKind.VARIANT, "/...;jsessionid=*"),
    ("/(S(lit3py55t21z5v55vlm25s55))/p", TrapKind.VARIANT, "/...(S(*))"),
    ("/s/0123456789abcdef01/p", TrapKind.VARIANT, "/s/*"),
    ("/p?t=1699999999", TrapKind.VARIANT, "/...?t=*"),
    ("/list?page=3", TrapKind.QUERY, "/list?page=*"),
    ("/shop?colour=red&size=xl", TrapKind.QUERY, "/shop?colour=*&size=*"),
]
PLAIN = [
    "/",
    "/docs/library/xml.etree.elementtree.html",
    "/blog/2024/05/17/how-to-configure-2-servers",
    "/release/3.11.2",
    "/tree/1/1/1",
    "/1/2/1/2/1/2",
    "/part-2/part-2/part-2",
    "/2024",
    "/en/latest/en/guide",
    "/docs/api/docs/api",
    "/wiki/World_War_2",
    "/how-to-configure-2-servers-in-2024",
]


@pytest.mark.parametrize(("path", "kind", "pattern"), FAMILIES)
def test_a_url_that_may_be_one_of_many_has_a_family(path: str, kind: TrapKind, pattern: str) -> None:
    found = family(H + path)
    assert found is not None
    assert (found.kind, found.pattern) == (kind, H + pattern)


@pytest.mark.parametrize("path", PLAIN)
def test_an_ordinary_url_has_none(path: str) -> None:
    assert family(H + path) is None


def test_a_variant_is_known_by_what_is_left_without_its_made_up_part() -> None:
    stems = {family(H + path).stem for path in ("/p?sid=ab12cd34&x=1", "/p;jsessionid=0A1B2C3D4E5F?x=1")}  # type: ignore[union-attr]
    assert stems == {f"{H}/p?x=1"}


def test_a_link_that_adds_to_the_page_it_is_on_grows() -> None:
    deeper = family_of(f"{H}/a/b/c/d/e", f"{H}/a/b/c/d")
    wider = family_of(f"{H}/shop?colour=red&size=xl", f"{H}/shop?size=xl")
    assert deeper is not None
    assert wider is not None
    assert (deeper.kind, deeper.pattern) == (TrapKind.GROWTH, f"{H}/a/b/...")
    assert (wider.kind, wider.pattern) == (TrapKind.GROWTH, f"{H}/shop?...")
    assert family_of(f"{H}/a/b/c/d", f"{H}/a/b/c") is None
    assert family_of(f"{H}/a/b/c/d/e/f", f"{H}/a/b/c/d") is None


def test_texts_that_differ_in_numbers_are_alike() -> None:
    assert alike(sketch("Events in May 2031: 1 2 3 4"), sketch("Events in May 2032: 4 5 6"))
    assert alike(sketch("Events for the month of June"), sketch("Events for the month of July"))
    assert not alike(sketch("Kettles boil water quickly"), sketch("Pans fry eggs over heat"))
    assert not alike(sketch(""), sketch("Pans fry eggs over heat"))


def _traps(*known: str) -> Traps:
    return Traps(1, (), lambda key: key in known)


CALENDAR = sketch("Monday Tuesday Wednesday, no events this month")


def test_a_calendar_that_leads_to_itself_alone_is_parked_after_one_such_page() -> None:
    traps = _traps()
    first, second, third = (f"{H}/calendar/2031/0{month}" for month in (1, 2, 3))
    assert traps.judge(first, f"{H}/") == (None, False)
    traps.settled(first, family_member=False, repeats=False, elsewhere=False, summary=CALENDAR)
    assert traps.judge(second, first) == (None, True)
    traps.settled(second, family_member=True, repeats=False, elsewhere=False, summary=CALENDAR)
    assert traps.judge(third, second) == (f"{H}/calendar/<date>", True)
    assert traps.judge(third, f"{H}/")[0] is None


def test_a_calendar_that_leads_to_real_pages_goes_on() -> None:
    traps = _traps()
    for month in range(1, 9):
        key, parent = f"{H}/calendar/2031/0{month}", f"{H}/calendar/2031/0{month - 1}"
        assert traps.judge(key, parent)[0] is None
        traps.settled(key, family_member=True, repeats=False, elsewhere=True, summary=CALENDAR)


def test_lists_with_other_words_on_every_page_go_on() -> None:
    traps = _traps()
    for page in range(2, 9):
        key = f"{H}/list?page={page}"
        assert traps.judge(key, f"{H}/list?page={page - 1}")[0] is None
        text = sketch(" ".join(f"{chr(97 + page)}{chr(97 + at)}word" for at in range(20)))
        traps.settled(key, family_member=True, repeats=False, elsewhere=False, summary=text)


def test_one_url_for_each_stem_is_enough_once_sessions_show_the_same_pages() -> None:
    traps = _traps(f"{H}/b")
    for number in range(2):
        key = f"{H}/a?sid=ab12cd3{number}"
        assert traps.judge(key, f"{H}/")[0] is None
        traps.admitted(key, f"{H}/")
        traps.settled(key, family_member=False, repeats=True, elsewhere=False, summary=CALENDAR)
    assert traps.judge(f"{H}/a?sid=ffff1111", f"{H}/")[0] == f"{H}/...?sid=*"
    assert traps.judge(f"{H}/b?sid=ffff1111", f"{H}/")[0] == f"{H}/...?sid=*"
    assert traps.judge(f"{H}/c?sid=ffff1111", f"{H}/")[0] is None


def test_the_first_page_of_a_stem_is_no_sign_that_sessions_lead_somewhere() -> None:
    traps = _traps()
    home, parent = "/s/0123456789abcdef0{}/home", f"{H}/"
    for number in range(2):
        key = H + home.format(number)
        traps.admitted(key, parent)
        traps.settled(key, family_member=number > 0, repeats=False, elsewhere=False, summary=CALENDAR)
        parent = key
    about = f"{H}/s/0123456789abcdef02/about"
    assert traps.judge(about, parent)[0] is None
    traps.admitted(about, parent)
    traps.settled(about, family_member=False, repeats=False, elsewhere=False, summary=sketch("about these people"))
    assert traps.judge(H + home.format(3), about)[0] == f"{H}/s/*"


def test_pages_with_a_hash_in_their_url_and_content_of_their_own_go_on() -> None:
    traps = _traps()
    for number in range(10, 40):
        key = f"{H}/commit/0123456789abcdef01{number}"
        assert traps.judge(key, f"{H}/log")[0] is None
        traps.admitted(key, f"{H}/log")
        text = sketch(f"commit changes {chr(87 + number % 26 + 10)}ther file")
        traps.settled(key, family_member=False, repeats=False, elsewhere=False, summary=text)


def test_of_many_filters_two_are_followed_until_one_has_shown_something() -> None:
    page = f"{H}/shop?sort=one"
    filters = [f"{page}&{name}=1" for name in ("brand", "colour", "price", "size")]
    for shown, waits in ((CALENDAR, 2), (sketch("Something that nobody has said before"), 0)):
        traps = _traps()
        traps.settled(page, family_member=False, repeats=False, elsewhere=False, summary=CALENDAR)
        for key in filters[:2]:
            assert traps.judge(key, page) == (None, True)
            traps.admitted(key, page)
        assert {traps.judge(key, page)[0] for key in filters[2:]} == {f"{H}/shop?..."}
        traps.settled(filters[0], family_member=True, repeats=False, elsewhere=False, summary=shown)
        assert sum(traps.judge(key, page)[0] is not None for key in filters[2:]) == waits
        assert traps.take_waiting() == [f"{H}/shop?..."] * (not waits)


def test_filters_that_nothing_was_heard_of_have_their_turn_at_the_end() -> None:
    traps = _traps()
    page = f"{H}/shop?sort=one"
    for name in ("brand", "colour"):
        traps.admitted(f"{page}&{name}=1", page)
    assert traps.take_waiting() == [f"{H}/shop?..."]
    assert traps.judge(f"{page}&size=1", page)[0] is None


def test_what_was_learned_is_stored_and_read_back() -> None:
    traps = _traps()
    second = f"{H}/calendar/2031/02"
    for family_member in (False, True):
        traps.settled(second, family_member=family_member, repeats=False, elsewhere=False, summary=CALENDAR)
    rows = traps.take_changes()
    assert traps.take_changes() == []
    later = Traps(1, rows, lambda _: False)
    assert later.judge(f"{H}/calendar/2031/03", second)[0] is not None
    released = Traps(1, [row._replace(released=True) for row in rows], lambda _: False)
    assert released.judge(f"{H}/calendar/2031/03", second)[0] is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_has_a_sketch_that_is_like_itself(one: str, other: str) -> None:
    assert alike(sketch(one), sketch(one))
    assert alike(sketch(one), sketch(other)) == alike(sketch(other), sketch(one))


@given(st.text(alphabet="ab0123456789/?&=;()-._%", max_size=120))
def test_any_key_has_a_family_or_none(path: str) -> None:
    key = f"{H}/{path}"
    found = family(key)
    assert found is None or found.pattern.startswith(H)
    family_of(key, f"{H}/{path[:-2]}")
