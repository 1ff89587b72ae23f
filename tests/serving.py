"""`orbweb serve` as a user starts it: a process of its own, called over a real socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from harness import ORBWEB, wait_until

TOKEN = "a-token-for-the-tests"
ENDED = ("completed", "failed", "paused", "cancelled")


class RunningServer:
    """A server at work; `call` sends JSON with the token of the server, unless another is given."""

    def __init__(self, process: subprocess.Popen[str], url: str, token: str, workspace: Path) -> None:
        self.process, self.url, self.token, self.workspace = process, url, token, workspace
        self.http = httpx.Client(base_url=url, timeout=60, trust_env=False)

    def send(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **more: Any
    ) -> httpx.Response:
        headers = {"authorization": f"Bearer {token or self.token}", **more.pop("headers", {})}
        if body is not None:
            headers["content-type"] = "application/json"
            more["content"] = json.dumps(body)
        return self.http.request(method, path, headers=headers, **more)

    def call(self, method: str, path: str, body: Any = None, *, status: int = 200, **more: Any) -> Any:
        """The JSON of `/api/v1` + path."""
        found = self.send(method, f"/api/v1{path}", body, **more)
        assert found.status_code == status, f"{method} {path}: {found.status_code} {found.text}"
        return found.json() if found.content else None

    def get(self, path: str, **more: Any) -> Any:
        return self.call("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return self.call("POST", path, body, **more)

    def job(self, number: int) -> Any:
        return self.get(f"/jobs/{number}")

    def ended(self, number: int) -> Any:
        """A job when it has ended."""
        wait_until(lambda: self.job(number)["state"] in ENDED)
        return self.job(number)

    def crawl(self, url: str, **options: Any) -> Any:
        """A crawl that has ended, as it was started."""
        started = self.post("/crawl", {"url": url, "rate": "max", **options})
        assert self.ended(started["jobID"])["state"] == "completed", self.job(started["jobID"])
        return started

    def events(self, after: int | None = None, **params: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        """Events as they come: number and state. The number of the states that a stream begins with is 0."""
        headers = {"authorization": f"Bearer {self.token}"}
        if after is not None:
            headers["last-event-id"] = str(after)
        with self.http.stream("GET", "/api/v1/events", headers=headers, params=params) as stream:
            assert stream.status_code == 200
            number = 0
            for line in stream.iter_lines():
                if line.startswith("id: "):
                    number = int(line.removeprefix("id: "))
                if line.startswith("data: "):
                    yield number, json.loads(line.removeprefix("data: "))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.close()

    def close(self) -> int:
        self.http.close()
        code = self.process.wait(60)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code


def start(workspace: Path, *options: str, env: dict[str, str] | None = None) -> RunningServer:
    """A server that answers."""
    words = [*ORBWEB, "serve", "--port", "0", "--workspace", str(workspace), *options]
    environ = {**os.environ, "ORBWEB_TOKEN": TOKEN, **(env or {})}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=workspace.parent
    )
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line.startswith("serving "), line + process.stderr.read()
    url = line.rpartition(" at ")[2].strip().rstrip("/")
    token = environ["ORBWEB_TOKEN"] or process.stdout.readline().removeprefix("token: ").strip()
    return RunningServer(process, url, token, workspace)


@contextmanager
def served(workspace: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[RunningServer]:
    server = start(workspace, *options, env=env)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.terminate()


def site_of(url: str) -> str:
    return url.removeprefix("http://").partition("/")[0]
