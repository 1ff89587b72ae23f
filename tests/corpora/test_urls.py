"""URLs against the corpora: the WHATWG tests to the last case, the canonical forms of others as decided."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbweb import urls

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpora" / "urls"
DECISION = ROOT / "docs" / "explanation" / "urls.md"
FORMS = {"w3lib": "w3lib-canonicalize.json", "crawler-commons": "crawler-commons-normalize.json"}

if not CORPUS.is_dir():
    pytest.skip(f"the URL corpora are not at {CORPUS}: conformance is NOT checked", allow_module_level=True)


Differences = set[tuple[str, str, str | None, str | None, str]]


def cases(file: str) -> list[dict[str, Any]]:
    return [case for case in json.loads((CORPUS / file).read_text()) if isinstance(case, dict)]


def test_resolving_is_that_of_a_browser() -> None:
    wrong = [
        (case["input"], case.get("base"))
        for case in cases("wpt-urltestdata.json")
        if urls.resolve(case["input"], case.get("base")) != (None if case.get("failure") else case["href"])
    ]
    assert wrong == []


def test_international_host_names_are_those_of_a_browser() -> None:
    wrong = [
        case["input"]
        for case in cases("wpt-toascii.json")
        if urls.resolve(f"https://{case['input']}/x") != (case["output"] and f"https://{case['output']}/x")
    ]
    assert wrong == []


def canonical_cases() -> Iterator[tuple[str, str, str | None]]:
    """Corpus, input and expected form; cases with options ask for another function."""
    for corpus, file in FORMS.items():
        for case in cases(file):
            if not case.get("options"):
                yield corpus, case["input"], case["expected"]


def differences() -> Differences:
    """Corpus, input, their form, our key, and whether both forms have that key."""
    found: Differences = set()
    for corpus, url, expected in canonical_cases():
        key = urls.canonicalize(url)
        if key != expected:
            together = key is not None and expected is not None and urls.canonicalize(expected) == key
            found.add((corpus, url, expected, key, "yes" if together else "no"))
    return found


def decided() -> Differences:
    row = rf"^\| ({'|'.join(FORMS)}) \| `(.*?)` \| `(.*?)` \| `(.*?)` \| (yes|no) \| \S"
    return {
        (corpus, json.loads(url), json.loads(expected), json.loads(key), together)
        for corpus, url, expected, key, together in re.findall(row, DECISION.read_text(), re.MULTILINE)
    }


def test_every_canonical_form_is_met_or_its_difference_is_decided() -> None:
    assert differences() == decided()


def test_every_key_stays_as_it_is() -> None:
    keys = [urls.canonicalize(url) for _, url, _ in canonical_cases()]
    assert [key for key in keys if key is not None and urls.canonicalize(key) != key] == []
