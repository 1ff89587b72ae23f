"""Finding the browser: `ORBWEB_BROWSER`, then well-known names on the path, then what Playwright has downloaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orbweb.errors import UsageError

VARIABLE = "ORBWEB_BROWSER"
NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PLAYWRIGHT = (
    "chromium_headless_shell-*/chrome-linux*/headless_shell",
    "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell",
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
)
VERSION_S = 20.0
_REVISION = re.compile(r"-(\d+)/")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Browser:
    """An installed browser. `version` is None if it did not say."""

    path: str
    version: str | None


def find(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The browser that would be used; None if there is none. UsageError if the variable names none."""
    given = environ.get(VARIABLE)
    if given:
        found = shutil.which(given, path=environ.get("PATH"))
        if found is None:
            raise UsageError(f"{VARIABLE}: {given} is not an executable file")
        return Path(found)
    for name in NAMES:
        if found := shutil.which(name, path=environ.get("PATH")):
            return Path(found)
    return _of_playwright(environ)


def _of_playwright(environ: Mapping[str, str]) -> Path | None:
    """The newest of Playwright's downloads."""
    named = environ.get("PLAYWRIGHT_BROWSERS_PATH")
    home = Path(environ.get("HOME") or "/")
    cache = Path(named) if named else home / (
        "Library/Caches/ms-playwright" if sys.platform == "darwin" else ".cache/ms-playwright"
    )
    for pattern in PLAYWRIGHT:
        found = [each for each in cache.glob(pattern) if os.access(each, os.X_OK)]
        if found:
            return max(found, key=_revision)
    return None


def _revision(path: Path) -> int:
    found = _REVISION.search(str(path))
    return int(found[1]) if found else 0


def version(path: Path) -> str | None:
    """What the browser says of itself; None if it does not start."""
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(said)
    return found[0] if found else None


def how_to_install() -> str:
    """One sentence with the command for this platform."""
    if sys.platform == "darwin":
        return f"install Chromium (brew install --cask chromium) or name a browser in {VARIABLE}"
    for tool, package in (
        ("apt-get", "apt-get install chromium-headless-shell"),
        ("dnf", "dnf install chromium-headless"),
        ("pacman", "pacman -S chromium"),
        ("apk", "apk add chromium"),
        ("zypper", "zypper install chromium"),
    ):
        if shutil.which(tool):
            return f"install one ({package}) or name one in {VARIABLE}"
    return f"install Chromium or name a browser in {VARIABLE}"
