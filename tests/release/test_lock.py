"""The lock has what pyproject.toml wants, all of it by hash and nothing of the machine that wrote it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ("clients", "dev", "run", "site", "tools")
STALE = "locks/ does not satisfy pyproject.toml: run `make lock`"

Pins = dict[str, list[Requirement]]


def entries(lock: str) -> Iterator[tuple[Requirement, int]]:
    """Each pinned requirement of a lock, and how many hashes it has."""
    text = (ROOT / "locks" / f"{lock}.txt").read_text().replace("\\\n", " ")
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        requirement, *hashes = line.split("--hash=")
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", each) for each in hashes)
        yield Requirement(requirement.strip()), len(hashes)


def pins(lock: str) -> Pins:
    found: Pins = {}
    for requirement, _ in entries(lock):
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def version(pin: Requirement) -> str:
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    return specifier.version


def missing(wanted: list[str], locked: Pins) -> list[str]:
    """Requirements that no pin satisfies, or one pin does not."""
    return [
        text
        for text, requirement in zip(wanted, map(Requirement, wanted), strict=True)
        if not (found := locked.get(canonicalize_name(requirement.name)))
        or not all(requirement.specifier.contains(version(pin), prereleases=True) for pin in found)
    ]


def project() -> dict[str, list[str]]:
    """What has to be locked, by lock."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run, extras = told["project"]["dependencies"], told["project"]["optional-dependencies"]
    return {
        "run": run,
        "dev": [
            *(*run, *outside(extras["dev"]), *extras["serve"], *extras["tokens"], *extras["langchain"]),
            *told["build-system"]["requires"],
        ],
        "clients": extras["llamaindex"],
        **{lock: listed(lock) for lock in ("tools", "site")},
    }


def outside(extra: list[str]) -> list[str]:
    """What an extra wants of others; it may take in another extra of ours."""
    return [text for text in extra if Requirement(text).name != "orbweb"]


def listed(lock: str) -> list[str]:
    lines = (ROOT / "locks" / f"{lock}.in").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_satisfies_what_is_wanted(lock: str) -> None:
    assert missing(project()[lock], pins(lock)) == [], STALE


def test_a_stale_lock_is_noticed() -> None:
    locked = {
        "typer": [Requirement("typer==0.15.1")],
        "numpy": list(map(Requirement, ("numpy==1.9", "numpy==2.5"))),
    }
    wanted = ["typer>=0.15,<0.29", "Typer>=0.16", "new-one", "numpy>=2"]
    assert missing(wanted, locked) == ["Typer>=0.16", "new-one", "numpy>=2"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_version_is_exact_and_has_hashes(lock: str) -> None:
    found = list(entries(lock))
    assert found
    assert all(version(requirement) and hashes and requirement.url is None for requirement, hashes in found)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_index_and_no_address_is_in_a_lock(lock: str) -> None:
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    assert not re.search(r"https?:|file:|--(?:extra-)?index|--find-links|--trusted-host", text)


def test_releases_run_what_was_tested() -> None:
    tested = {(name, str(pin)) for name, found in pins("dev").items() for pin in found}
    assert {(name, str(pin)) for name, found in pins("run").items() for pin in found} <= tested


def is_for_here(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def test_what_locked_packages_need_is_locked() -> None:
    """Of those that are installed here: the lock is complete, without a look at the network."""
    locked = pins("dev")
    for name in locked:
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        assert missing([need for need in needs if is_for_here(Requirement(need))], locked) == [], name
