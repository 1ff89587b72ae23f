"""Certificates are verified, and a server that speaks HTTP/2 is spoken to in it."""

from __future__ import annotations

from pathlib import Path

from harness import Cli
from servers.secure import secure_site

FAST = ("--rate", "max", "--project", "site", "--workers", 8)


def test_tls_and_http2(cli: Cli, tmp_path: Path) -> None:
    with secure_site(tmp_path / "tls") as (url, authority):
        done = cli.crawl(url, *FAST, env={"SSL_CERT_FILE": str(authority)}).ok(0)
        assert done.json["visited"] == 21
        assert {page["title"] for page in cli.ask("pages", "site", "--json").ok().json} == {"HTTP/2"}


def test_unknown_authority_is_a_named_failure(cli: Cli, tmp_path: Path) -> None:
    with secure_site(tmp_path / "tls") as (url, _):
        done = cli.crawl(url, *FAST).ok(6)
    assert done.json["failed"] == 1
    failure = cli.ask("failed", "site", "--json").ok().json[0]
    assert (failure["kind"], failure["tries"]) == ("tls", 1)
