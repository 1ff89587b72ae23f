"""Who waits for whom until the base URLs are settled and their sitemaps read."""

from __future__ import annotations

from collections.abc import Mapping

from orbweb.engine.startup import BaseScope, Startup

A, B, SECURE = BaseScope(0, "http://a.org/docs"), BaseScope(1, "http://b.org/"), BaseScope(2, "https://a.org/api")


def outset(*scopes: BaseScope, by_site: bool, open_places: Mapping[int, int] | None = None) -> Startup:
    given = {scope.base: 1 for scope in scopes} if open_places is None else open_places
    return Startup(scopes, given, by_site=by_site)


def test_by_default_all_wait_for_all() -> None:
    run = outset(A, B, by_site=False)
    run.committed(0)
    assert (run.due(), run.is_free(A.key), run.all_committed) == ([], False, False)
    run.committed(1)
    assert (run.due(), run.is_free(A.key), run.all_committed) == ([(A, B)], False, True)
    assert run.due() == []
    assert not run.is_over
    run.read([A, B])
    assert run.is_over
    assert run.is_free(A.key)


def test_by_site_a_settled_base_waits_for_its_own_sitemaps_only() -> None:
    run = outset(A, B, by_site=True)
    run.committed(0)
    assert run.due() == [(A,)]
    assert not run.is_free(A.key)
    run.read([A])
    assert run.is_free("http://a.org/elsewhere")
    assert not run.is_free(B.key)
    assert not run.is_free("http://c.org/"), "a site without a base URL"
    assert not run.is_over
    run.committed(1)
    assert run.due() == [(B,)]
    run.read([B])
    assert run.is_over


def test_http_and_https_of_a_host_wait_for_each_other() -> None:
    run = outset(A, SECURE, by_site=True)
    run.committed(0)
    assert run.due() == []
    run.committed(2)
    assert run.due() == [(A, SECURE)]


def test_a_chain_is_open_until_its_last_place_is_committed() -> None:
    run = outset(A, by_site=True)
    run.move(0, "http://www.a.org/")
    run.admit(0)
    run.committed(0)
    assert run.due() == []
    run.committed(0)
    assert run.due() == [(BaseScope(0, "http://www.a.org/"),)]
    assert not run.is_free("http://www.a.org/x")


def test_a_base_that_moves_onto_a_free_site_makes_it_wait_again() -> None:
    run = outset(A, B, by_site=True)
    run.committed(0)
    run.read(*run.due())
    run.move(1, "http://a.org/late")
    run.admit(1)
    run.committed(1)
    assert not run.is_free(A.key)
    assert run.due() == []
    run.committed(1)
    assert run.due() == [(BaseScope(1, "http://a.org/late"),)]
    run.read([BaseScope(1, "http://a.org/late")])
    assert run.is_free(A.key)
    assert run.is_over


def test_what_it_left_is_not_read() -> None:
    run = outset(B, by_site=True)
    run.move(1, "http://a.org/late")
    run.committed(1)
    assert run.due() == [(BaseScope(1, "http://a.org/late"),)]


def test_a_base_whose_limit_is_reached_is_not_waited_for() -> None:
    run = outset(A, B, by_site=False, open_places={0: 1})
    run.drop(0)
    assert run.all_committed
    run.committed(0)
    assert run.all_committed


def test_a_run_whose_scope_is_fixed_has_only_its_sitemaps_to_read() -> None:
    run = outset(A, B, by_site=True, open_places={})
    assert run.all_committed
    assert run.due() == [(A,), (B,)]


def test_a_base_url_whose_own_page_fills_the_limit_is_committed_once() -> None:
    run = outset(A, by_site=False)
    run.drop(0)
    run.committed(0)
    assert run.all_committed
    run.read(run.due()[0])
    assert run.is_over
