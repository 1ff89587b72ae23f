"""How a crawl print_banners itself."""

from __future__ import annotations

from typing import Any

import pytest

from orbweb import config
from orbweb.app.identity import print_banner

NEAR = ["http://127.0.0.1:8000/", "http://[::1]/", "http://localhost:8080/docs/", "http://10.0.0.7/"]
NEAR += [
    "http://192.168.1.2/",
    "http://172.16.3.4/a",
    "http://169.254.1.1/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
]
FAR = [
    "https://example.org/",
    "http://93.184.215.14/",
    "http://localhost.example.org/",
    "http://10.0.0.7.example/",
]
FAR += ["http://203.0.113.5/", "http://100.64.0.1/", "http://[2606:4700::1111]/"]


def told(bases: list[str], **settings: Any) -> list[str]:
    notes: list[str] = []
    print_banner(config.build(settings, source="test"), bases, notes.append)
    return notes


@pytest.mark.parametrize("base", NEAR)
def test_neighbours_need_no_contact(base: str) -> None:
    assert told([base]) == []


@pytest.mark.parametrize("base", FAR)
def test_others_want_one(base: str) -> None:
    (warning,) = told([base])
    assert "has no contact" in warning
    assert told([base], user_agent="mybot/1.0 (+https://example.org/bot)") == []


def test_one_stranger_is_enough_and_so_is_a_way_out() -> None:
    assert "has no contact" in told([*NEAR, FAR[0]])[0]
    assert "has no contact" in told([NEAR[0]], scope={"external_hops": 1})[0]


def test_rules_of_a_site_are_shown_wherever_it_is() -> None:
    assert (
        told([NEAR[0]], policy={"terms": ["https://example.org/terms"]})[-1] == "terms: https://example.org/terms"
    )
