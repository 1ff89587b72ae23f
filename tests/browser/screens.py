"""Pictures of every page of the interface, light and dark, at 1440 and 390 px, to look at.

    python -m browser.screens --out DIRECTORY [NAME...]

NAME is the beginning of the name of a page, such as `live` or `changes`; without one, all. `--serve` serves the
workspace instead, until Enter is pressed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from browser.chromium import NoBrowser, browser, visitor
from browser.gallery import Gallery, gallery, run_live, wait_for_lists, wait_for_visits
from browser.views import VIEWS, View

SHAPES = {"": (1440, 900), "-390": (390, 844)}
THEMES = ("light", "dark")
TALLEST = 2600
"""Pixels of a picture; of a longer page, the beginning."""
WARM = 500
"""Visits of the crawl at work before its pictures are taken, so that its chart has a shape."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/screens"))
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--picture", type=Path, help="only the picture of the README, to this file")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(arguments)
    out = given.out.resolve()
    with tempfile.TemporaryDirectory(prefix="orbweb-screens-") as directory:
        os.environ["XDG_CONFIG_HOME"] = f"{directory}/config"
        with gallery(Path(directory), size=150, live_delay_s=1.0) as made:
            chosen = [
                (number, view)
                for number, view in enumerate(VIEWS, 1)
                if not given.names or view.name.startswith(tuple(given.names))
            ]
            if given.picture:
                with browser() as started:
                    picture_of_readme(started, made, given.picture)
                return
            wait_for_lists(made.server, [view.url for _, view in chosen if not view.alive])
            if given.serve or any(view.alive for _, view in chosen):
                run_live(made)
            if given.serve:
                input(f"{made.server.url}/ with the token {made.server.token}; Enter ends it. ")
            else:
                with browser() as started:
                    shoot(started, made, chosen, out)


def shoot(started: Browser, made: Gallery, chosen: list[tuple[int, View]], out: Path) -> None:
    """What does not move first, so that the crawl at work has something to show."""
    out.mkdir(parents=True, exist_ok=True)
    for alive in (False, True):
        found = [(number, view) for number, view in chosen if view.alive is alive]
        if alive and found:
            wait_for_visits(made, made.running, WARM)
        for theme in THEMES if found else ():
            for suffix, (width, height) in SHAPES.items():
                with visitor(
                    started,
                    made.server,
                    viewport={"width": width, "height": height},
                    color_scheme=theme,
                    reduced_motion="reduce",
                ) as context:
                    page = context.new_page()
                    for number, view in found:
                        picture(page, view, out / f"{number:02d}-{view.name}-{theme}{suffix}.png")


def picture_of_readme(started: Browser, made: Gallery, file: Path) -> None:
    """The live page, as it is after a minute."""
    run_live(made, rate=30)
    wait_for_visits(made, made.running, WARM)
    size = {"width": 1280, "height": 760}
    with visitor(started, made.server, viewport=size, color_scheme="light", reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"/p/{made.running}/live")
        page.wait_for_selector("canvas")
        page.screenshot(path=file, animations="disabled")


def picture(page: Page, view: View, file: Path) -> None:
    page.goto(view.url)
    if view.alive:
        page.wait_for_selector("canvas" if "/live" in view.url and "waiting" not in view.name else "main")
    shown = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": shown[0], "height": min(shown[1], TALLEST)}
    page.screenshot(path=file, full_page=True, clip=clip, animations="disabled")
    print(file, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except NoBrowser as error:
        sys.exit(str(error))
