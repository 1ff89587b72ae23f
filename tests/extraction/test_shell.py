"""JavaScript shells are told from pages that only have little to say."""

from __future__ import annotations

import time

import pytest

from orbweb import extract
from orbweb.extraction import shell

SCRIPT = "<script src=/static/js/main.0a1b2c.js></script>"
SHELLS = {
    "#root": f"<title>App</title><body><div id='root'></div>{SCRIPT}",
    "#app": "<body><div id=app></div><script type=module src=/src/main.ts></script>",
    "#__next": '<div id="__next"> <!-- here --> </div><script src="/_next/static/x.js"></script>',
    "app-root": "<app-root><div class=spinner></div></app-root><script src=main.js></script>",
    "<noscript> asks": "<noscript>You need to enable JavaScript to run this app.</noscript>"
    "<div class=x><p>Loading the application</p></div><script>boot()</script>",
    "<noscript>": "<noscript><strong>We're sorry but shop doesn't work properly without JavaScript enabled."
    "</strong></noscript><div id=shop></div><script src=a.js></script>",
    "Nuxt": "<div id=page></div><script>window.__NUXT__={}</script>",
    "Angular": "<body><x-main ng-version='17'></x-main><script src=runtime.js></script>",
    "Vite": '<script type="module" crossorigin src="/assets/index-4f3a.js"></script><div id=site></div>',
}
PAGES = {
    "enough text": f"<div id=root></div>{SCRIPT}<p>" + "word " * 60,
    "rendered on the server": "<div id=__next><h1>Not found</h1><p>This page could not be found, so go back to "
    "the start and look again.</p></div><script src=/_next/static/x.js></script>",
    "no script": "<div id=root></div><p>short",
    "a counter": "<noscript><img src=//count.example/pixel></noscript><p>Hello.<script src=count.js></script>",
    "about JavaScript": f"<p>Enable JavaScript in the settings of your browser.</p>{SCRIPT.replace('main', 'x')}",
    "empty": "",
    "a picture": "<img src=a.png><script>track()</script>",
}


@pytest.mark.parametrize("name", SHELLS)
def test_shells(name: str) -> None:
    body = SHELLS[name]
    words = extract(body, "http://127.0.0.1/").words
    assert name.removesuffix(" asks") in (shell.evidence(body.encode(), words) or "")


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str) -> None:
    body = PAGES[name]
    assert shell.evidence(body.encode(), extract(body, "http://127.0.0.1/").words) is None


@pytest.mark.parametrize(
    "hostile",
    [
        b"<div id=root>" + b"<!--" * 200_000,
        b"<div " * 200_000,
        b"<noscript>" * 100_000,
        b"<app-root>" + b"<div>" * 200_000,
        b"<noscript>" + b"javascript " * 90_000,
        b"<script type=" * 80_000,
        b"<div id=root>" * 80_000,
    ],
)
def test_no_body_takes_long(hostile: bytes) -> None:
    started = time.process_time()
    shell.evidence(b"<script>" + hostile, 0)
    assert time.process_time() - started < 5
