"""robots.txt against the corpora: Google's matcher to the last undisputed verdict."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from orbweb.policy.robots import Robots

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "robots"
UNDISPUTED = {"google.json": 145, "protego.json": 148, "cc.json": 172, "real-sites.json.gz": 11_060}
DISPUTED_AS_AUTHOR = {"google.json": (0, 0), "protego.json": (12, 25), "cc.json": (42, 51)}

if not CORPUS.is_dir():
    pytest.skip(f"the robots corpora are not at {CORPUS}: conformance is NOT checked", allow_module_level=True)


@cache
def items(file: str) -> list[dict[str, Any]]:
    data = (CORPUS / file).read_bytes()
    found: list[dict[str, Any]] = json.loads(gzip.decompress(data) if file.endswith(".gz") else data)
    return found


def body(item: dict[str, Any]) -> bytes:
    return base64.b64decode(item["robots_b64"]) if "robots_b64" in item else item["robots"].encode()


def verdicts(file: str) -> Iterator[tuple[str, bool, bool, bool]]:
    """What was asked, our verdict, the author's and Google's."""
    for item in items(file):
        rules: dict[str, Robots] = {}
        for check in item.get("checks", [item]):
            agent, url = check["agent"], check["url"]
            if agent not in rules:
                rules[agent] = Robots.parse(body(item), agent)
            ours = rules[agent].refusal(url) is None
            yield f"{agent} {url}", ours, check["allowed"], check.get("google_cpp", check["allowed"])


@pytest.mark.parametrize("file", UNDISPUTED)
def test_every_verdict_on_which_the_references_agree_is_ours(file: str) -> None:
    undisputed = [(asked, ours, author) for asked, ours, author, google in verdicts(file) if author == google]
    assert len(undisputed) == UNDISPUTED[file]
    assert [asked for asked, ours, author in undisputed if ours != author] == []


@pytest.mark.parametrize("file", DISPUTED_AS_AUTHOR)
def test_disputed_verdicts_are_as_decided(file: str) -> None:
    disputed = [ours == author for _, ours, author, google in verdicts(file) if author != google]
    assert (sum(disputed), len(disputed)) == DISPUTED_AS_AUTHOR[file]


def test_every_refusal_names_a_line_of_the_file() -> None:
    for item in items("real-sites.json.gz"):
        lines = body(item).removeprefix(b"\xef\xbb\xbf").splitlines()
        for check in item["checks"][:3]:
            refusal = Robots.parse(body(item), check["agent"]).refusal(check["url"])
            if refusal is not None:
                number, _, text = refusal.removeprefix("robots.txt line ").partition(": ")
                assert lines[int(number) - 1].decode(errors="replace").strip().startswith(text.removesuffix("..."))


def test_crawl_delays_are_those_of_others_but_for_a_name_that_is_no_token() -> None:
    wrong = [
        item["agent"]
        for item in items("crawl-delay.json")
        if Robots.parse(body(item), item["agent"]).crawl_delay != item["crawl_delay"]
    ]
    assert (wrong, len(items("crawl-delay.json"))) == (["Mozilla delaybot 99.9"], 14)
