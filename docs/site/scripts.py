"""Fetch the two scripts that the theme would load from a CDN, by version and hash. Usage: scripts.py DIRECTORY."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Script:
    """One file of a package on the npm registry."""

    package: str
    version: str
    sha256: str
    member: str
    name: str

    @property
    def url(self) -> str:
        return f"https://registry.npmjs.org/{self.package}/-/{self.package}-{self.version}.tgz"


SCRIPTS = (
    Script(
        "mermaid",
        "11.17.2",
        "6ad2f42c3fc26bbf9e45cbb6d11898972573ea52b33a5f4ff51952899f950ffd",
        "package/dist/mermaid.min.js",
        "mermaid.min.js",
    ),
    Script(
        "iframe-worker",
        "1.0.4",
        "e8c5d12d87829c503afba01d67772ea9f4aba5b7ae57a0c98e1917711030efbb",
        "package/shim/index.js",
        "iframe-worker.js",
    ),
)


def fetch(script: Script) -> bytes:
    """The file, taken out of an archive whose hash is the known one."""
    try:
        with urllib.request.urlopen(script.url, timeout=60) as response:
            archive = response.read()
    except OSError as error:
        raise SystemExit(f"cannot fetch {script.url}: {error}; the first build needs the network") from None
    found = hashlib.sha256(archive).hexdigest()
    if found != script.sha256:
        raise SystemExit(f"{script.url} has the SHA-256 {found}, not {script.sha256}: nothing was written")
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        member = members.extractfile(script.member)
        assert member is not None
        return member.read()


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for script in SCRIPTS:
        (directory / script.name).write_bytes(fetch(script))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
