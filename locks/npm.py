"""Fetches files of packages on the npm registry, by version and hash. Usage: npm.py site|browser DIRECTORY.

`site`: the scripts that the theme of the documentation would load from a CDN. `browser`: what the tests of the
interface need.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
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

    def __str__(self) -> str:
        return f"{self.package}@{self.version}"


SCRIPTS = {
    "site": (
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
    ),
    "browser": (
        Script(
            "axe-core",
            "4.14.0",
            "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af",
            "package/axe.min.js",
            "axe.min.js",
        ),
    ),
}


def fetch(script: Script) -> bytes:
    """The file, taken out of an archive whose hash is the known one."""
    archive = packed(script)
    found = hashlib.sha256(archive).hexdigest()
    if found != script.sha256:
        raise SystemExit(f"{script} has the SHA-256 {found}, not {script.sha256}: nothing was written")
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        member = members.extractfile(script.member)
        assert member is not None
        return member.read()


def packed(script: Script) -> bytes:
    """The archive of the package, by npm from the registry it is set up for."""
    with tempfile.TemporaryDirectory(prefix="orbweb-npm-") as directory:
        command = ["npm", "pack", "--silent", str(script), "--pack-destination", directory]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
        except FileNotFoundError:
            raise SystemExit(
                f"cannot fetch {script}: npm is not installed (Debian: apt-get install npm)"
            ) from None
        except subprocess.CalledProcessError as error:
            raise SystemExit(
                f"cannot fetch {script}: {error.stderr.strip() or 'npm failed'}; this needs the network once"
            ) from None
        (archive,) = Path(directory).glob("*.tgz")
        return archive.read_bytes()


def main(name: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for script in SCRIPTS[name]:
        (directory / script.name).write_bytes(fetch(script))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
