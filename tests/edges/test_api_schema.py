"""The API against its own document: no answer is a 5xx, none has a status or a form that the document lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from servers.pages import chain
from servers.site import StaticSite, serve
from serving import served, site_of

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# What would look up invented names, and what never ends.
EXCLUDED = r"/api/v1/(crawl|plan|events)$"


def test_generated_requests_get_documented_answers(tmp_path: Path) -> None:
    with (
        serve(StaticSite(chain(5))) as site,
        served(tmp_path / "workspace", "--private-host", site_of(site.url)) as server,
    ):
        server.crawl(site.url, project="site")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/api/v1/openapi.json"),
                *("--header", f"Authorization: Bearer {server.token}", "--checks", CHECKS),
                *(
                    "--exclude-path-regex",
                    EXCLUDED,
                    "--phases",
                    "examples,coverage,fuzzing",
                    "--max-examples",
                    "4",
                ),
                *("--generation-deterministic", "--no-color", "--workers", "1"),
                *("--no-shrink", "--warnings", "off", "--request-timeout", "60"),
            ],
            capture_output=True,
            text=True,
            timeout=280,
            cwd=tmp_path,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        assert server.get("/health") == {"status": "ok"}
