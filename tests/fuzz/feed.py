"""The child: reads inputs one after the other in a build with sanitizers. Each is in a file while it is read."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from fuzz.inputs import Inputs
from orbweb import extraction
from orbweb.parsing import page as page_parser
from orbweb.parsing.html.token_stream import tokens
from orbweb.urls import Resolver, UrlRules

URL = "https://docs.example/guide/page.html"
LIMIT_S = 100
"""Of one input, which takes milliseconds."""
STATES = ("Data", "RCDATA", "RAWTEXT", "Script data", "PLAINTEXT", "CDATA section")


def feed(body: bytes) -> None:
    """All that reads hostile bytes in compiled code. An exception is a failure, unless the page is too large."""
    resolver = Resolver(UrlRules())
    try:
        tree = page_parser.dom(body)
        tree.markup()
        page_parser.read(tree, URL, resolver=resolver, resources=True)
        extraction.words(page_parser.dom(body))
        extraction.extract(body, URL)
        extraction.extract(body, URL, links=False, images=False, title=False, drop="table td, .a:has(p), i ~ b")
        extraction.extract(body, URL, images=False, title=False, keep="li, tr, h1, td p, a:not([href])")
    except MemoryError:
        pass
    page_parser.parse_css(body, URL, resolver=resolver)
    text = body[:5_000].decode("utf-8", "replace").encode()
    for state in STATES:
        tokens(text, state, "script" if state == "Script data" else "title")


def main(seed: int, seconds: float, current: Path) -> None:
    inputs, end, count = Inputs(seed), time.monotonic() + seconds, 0
    print(f"{len(inputs.pages)} pages and {len(inputs.cases)} cases to mutate", flush=True)
    while time.monotonic() < end:
        body = inputs.next()
        current.write_bytes(body)
        signal.alarm(LIMIT_S)
        feed(body)
        count += 1
    print(f"{count} inputs, nothing found", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        feed(Path(sys.argv[1]).read_bytes())
    else:
        main(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
