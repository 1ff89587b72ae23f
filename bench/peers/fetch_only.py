"""Peer: the limit. Fetches a list of URLs with pycurl and throws the bodies away.

Usage: fetch_only.py FILE WORKERS, one URL a line. No parsing, no storing, nothing but the transfer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pycurl


def fetch_all(urls: Iterator[str], workers: int) -> int:
    """Fetch every URL with that many connections; returns the number of failed transfers."""
    multi = pycurl.CurlMulti()
    active = sum(_start(multi, _handle(), urls) for _ in range(workers))
    failed = 0
    while active:
        multi.perform()
        _, done, broken = multi.info_read()
        failed += len(broken)
        for handle in (*done, *(entry[0] for entry in broken)):
            multi.remove_handle(handle)
            active -= not _start(multi, handle, urls)
        if not done and not broken:
            multi.select(1.0)
    multi.close()
    return failed


def _handle() -> pycurl.Curl:
    handle = pycurl.Curl()
    handle.setopt(pycurl.PROXY, "")
    handle.setopt(pycurl.NOSIGNAL, 1)
    handle.setopt(pycurl.WRITEFUNCTION, len)
    return handle


def _start(multi: pycurl.CurlMulti, handle: pycurl.Curl, urls: Iterator[str]) -> bool:
    url = next(urls, None)
    if url is None:
        return False
    handle.setopt(pycurl.URL, url)
    multi.add_handle(handle)
    return True


if __name__ == "__main__":
    failures = fetch_all(iter(Path(sys.argv[1]).read_text().split()), int(sys.argv[2]))
    sys.exit(1 if failures else 0)
