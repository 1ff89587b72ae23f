"""The headers of every request: the languages that are wanted, and what caches on the way are told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.errors import ConfigError
from servers.pages import chain
from servers.site import Answer, Request, Site, StaticSite, serve

FAST: dict[str, Any] = {"rate": "max", "processes": 0, "project": "site"}


class Recording:
    """A site that keeps the heads of its requests."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.heads: list[Mapping[str, str]] = []

    def answer(self, request: Request) -> Answer:
        self.heads.append(request.headers)
        return self.site.answer(request)

    def sent(self, name: str) -> set[str | None]:
        """The values of a header, None for a request without it; and forget them."""
        found, self.heads = {head.get(name) for head in self.heads}, []
        return found


def configured(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "settings.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_request_asks_for_english_pages_and_caches_are_told_nothing(tmp_path: Path) -> None:
    site = Recording(StaticSite(chain(3)))
    with serve(site) as server:
        orbweb.crawl(server.url, workspace=tmp_path / "w", **FAST)
    assert len(site.heads) > 4, "robots.txt and sitemaps too"
    assert {head.get("accept-language") for head in site.heads} == {"en"}
    assert site.sent("cache-control") == {None}


@pytest.mark.parametrize(
    ("setting", "sent"),
    [
        ("[de-AT, de, en]", "de-AT,de;q=0.9,en;q=0.8"),
        ("de", "de"),
        ("'fr, *'", "fr,*;q=0.9"),
        ("[]", None),
        (f"[{', '.join(f'x-{number}' for number in range(12))}]", ",".join(
            ["x-0", *(f"x-{at};q=0.{10 - at}" for at in range(1, 10)), "x-10;q=0.1", "x-11;q=0.1"])),
    ],
)  # fmt: skip
def test_the_languages_are_a_setting(tmp_path: Path, setting: str, sent: str | None) -> None:
    site, file = Recording(StaticSite(chain(1))), configured(tmp_path, f"fetch: {{languages: {setting}}}")
    with serve(site) as server:
        orbweb.crawl(server.url, workspace=tmp_path / "w", config=file, **FAST)
    assert site.sent("accept-language") == {sent}


def test_a_header_of_the_user_replaces_it(cli: Cli) -> None:
    site = Recording(StaticSite(chain(1)))
    with serve(site) as server:
        given = ("--header", "Accept-Language: nl", "--header", "Cache-Control: max-age=9")
        cli.crawl(server.url, "--rate", "max", "--project", "site", *given).ok(0)
        pages = [head for head in site.heads if "cache-control" in head]
        assert {(head["accept-language"], head["cache-control"]) for head in pages} == {("nl", "max-age=9")}
        assert len(pages) >= 2


@pytest.mark.parametrize("text", ["{languages: [e n]}", "{languages: ['de;q=1']}", '{cache_control: "a\\nb"}'])
def test_nonsense_is_refused_with_its_key(tmp_path: Path, text: str) -> None:
    file = configured(tmp_path, f"fetch: {text}")
    with pytest.raises(ConfigError, match=r"settings\.yaml: fetch\.(languages|cache_control)"):
        orbweb.crawl("http://127.0.0.1:9/", workspace=tmp_path / "w", config=file, **FAST)


@pytest.mark.parametrize(
    ("setting", "sent"), [("auto", "no-cache"), ("off", None), ("no-store, max-age=0", "no-store, max-age=0")]
)
def test_a_scraper_wants_what_the_server_has_now(tmp_path: Path, setting: str, sent: str | None) -> None:
    site, space = Recording(StaticSite(chain(2))), orbweb.open(tmp_path / "w")
    file = configured(tmp_path, f"fetch: {{cache_control: '{setting}'}}")
    with serve(site) as server:
        space.discover(server.url, config=file, **FAST)
        assert site.sent("cache-control") == ({None} if setting == "auto" else {sent})
        space.scrape("site")
        assert site.sent("cache-control") == {sent}
