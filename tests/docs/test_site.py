"""The documentation as a site, its check, and the picture in the README."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MKDOCS = ROOT / ".venv/site/bin/mkdocs"
PICTURE = DOCS / "pictures/crawl.svg"
INTERFACE = DOCS / "pictures/interface.png"
SVG = "{http://www.w3.org/2000/svg}"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


navigation = load(DOCS / "site/navigation.py")
check = load(DOCS / "site/check.py")
record = load(DOCS / "pictures/record.py")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = [page for tab in navigation.nav() for pages in tab.values() for page in pages]
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert {page for page in listed if not page.startswith("source/")} == pages
    assert len(listed) == len(set(listed))


@pytest.mark.skipif(not MKDOCS.exists(), reason="`make site-docs` was never run here")
def test_the_site_is_built_without_a_warning_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    command = [str(MKDOCS), "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert built.returncode == 0, built.stderr
    assert list(check.problems(tmp_path / "site")) == []


GOOD = '<html><head><script src="a.js"></script></head><h1 id="top">A</h1><a href="b.html#there">b</a></html>'


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (GOOD, None),
        ('<a href="https://example.org/">a reader may leave</a>', None),
        ('<a href="gone.html">x</a>', "index.html: gone.html: no such file"),
        ('<a href="../outside.html">x</a>', "index.html: ../outside.html: no such file"),
        ('<a href="b.html#nowhere">x</a>', "index.html: b.html#nowhere: no such anchor"),
        ('<a href="#nowhere">x</a>', "index.html: #nowhere: no such anchor"),
        ('<img src="gone.png">', "index.html: gone.png: no such file"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "index.html: loads https://cdn.example/x.js",
        ),
        ('<link href="//fonts.example/x.css">', "index.html: loads //fonts.example/x.css"),
    ],
)
def test_what_is_broken_is_found(page: str, problem: str | None, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.html").write_text("x")
    (site / "a.js").write_text("")
    (site / "b.html").write_text('<h2 id="there">B</h2>')
    (site / "index.html").write_text(page)
    assert list(check.problems(site)) == ([problem] if problem else [])


# The picture.


def shown(printed: str) -> list[str]:
    screen = record.Screen()
    screen.feed(printed)
    lines = ["".join(letter for letter, _ in line).rstrip() for line in screen.picture()]
    return lines[: max((number + 1 for number, line in enumerate(lines) if line), default=0)]


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("50 %\r100 %", ["100 %"]),
        ("long line\r\x1b[Kshort", ["short"]),
        ("a\r\nb\r\n\x1b[2A\x1b[2Kc", ["c", "b"]),
        ("a\r\nb\r\nc\x1b[2F\x1b[Jd", ["d"]),
        ("\x1b[1;32mgreen\x1b[0m \x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", ["green link"]),
        ("\x1b[?25lhidden cursor\x1b[?25h", ["hidden cursor"]),
        ("x" * (record.COLUMNS + 1), ["x" * record.COLUMNS, "x"]),
        (
            "\r\n".join(str(number) for number in range(record.ROWS + 2)),
            [str(n) for n in range(2, record.ROWS + 2)],
        ),
    ],
)
def test_the_screen_shows_what_a_terminal_would(printed: str, lines: list[str]) -> None:
    assert shown(printed) == lines


def last_frame(svg: str) -> list[str]:
    """The lines that a viewer without animations shows."""
    root = ET.fromstring(svg)  # our own file
    offset = int(re.findall(r"\.strip \{ transform: translateY\(-(\d+)px\)", svg)[0])
    texts = {each.get("id"): " ".join(each.itertext()) for each in root.iter(f"{SVG}text")}
    uses = [(int(each.get("y", "0")), str(each.get("href"))[1:]) for each in root.iter(f"{SVG}use")]
    return [texts[name] for y, name in sorted(uses) if y >= offset]


def without_chance(lines: list[str]) -> list[str]:
    """Ports, durations and sizes differ from one recording to the next, and so does what is drawn to fit them."""
    return [re.sub(r"[\s─━]+", " ", re.sub(r"\d+(\.\d+)?( [kM]?B)?", "N", line)).strip() for line in lines]


def test_the_picture_is_safe_to_embed() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    assert len(svg) < 400_000
    assert not re.search(r"<script|<image|\bon\w+=|url\(|@import", svg)
    assert set(re.findall(r'href="([^"]{0,2})', svg)) == {"#l"}


def test_the_picture_shows_what_the_program_prints() -> None:
    """Run `make picture` when this fails: the output of the program has changed."""
    assert without_chance(last_frame(PICTURE.read_text(encoding="utf-8"))) == without_chance(
        last_frame(record.record())
    )


def test_the_picture_of_the_interface_is_small_and_shown() -> None:
    """`make picture` takes it; what it shows is what the tests of the interface open."""
    data = INTERFACE.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (1280, 760)
    assert len(data) < 150_000
    for page, path in ((ROOT / "README.md", "docs/pictures"), (DOCS / "how-to/serve.md", "../pictures")):
        shown = re.search(rf"!\[([^]]+)\]\({re.escape(path)}/interface\.png\)", page.read_text(encoding="utf-8"))
        assert shown is not None, page
        assert "live" in shown[1]
