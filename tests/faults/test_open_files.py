"""R21: a process that may open few files waits for its own connections; that is never a failure of a site."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import Cli, Result
from servers.churn import spawn

HOSTS, PAGES, WORKERS = 60, 20, 400
OPTIONS = ("--order", "relaxed", "--workers", WORKERS, "--rate", "max", "--sitemap", "off", "--project", "site")


def crawl_with_files(cli: Cli, limit: int, *args: object) -> Result:
    """Crawl with this hard limit of open files."""
    command = cli.command("crawl", *args, "--json", "--no-progress")
    done = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(cli.workspace).parent,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("limit", "processes"),
    [(128, 2), (1024, 0), *(pytest.param(limit, 2, marks=pytest.mark.long) for limit in (96, 192, 256, 512))],
)
def test_no_url_fails_for_want_of_files(cli: Cli, limit: int, processes: int) -> None:
    with spawn(
        "--hosts", str(HOSTS), "--pages", str(PAGES), "--breaks", "0", "--ends", "0", "--delay-ms", "100"
    ) as calm:
        done = crawl_with_files(cli, limit, *calm.urls, *OPTIONS, "--processes", processes).ok(0)
    assert (done.json["visited"], done.json["failed"]) == (HOSTS * (PAGES + 1), 0)
    assert done.err.count("connections are open at once") == (1 if limit < WORKERS else 0)
    cli.check("site")
