"""Facts about the machine and the versions that belong beside every figure."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

DISTRIBUTIONS = (
    "orbweb",
    "scrapy",
    "twisted",
    "crawlee",
    "parsel",
    "uvloop",
    "lxml",
    "pycurl",
    "trafilatura",
    "turbohtml",
    "zstandard",
)


def facts(scratch: Path) -> dict[str, Any]:
    """Cores, processor, memory, load, file system of the scratch directory, versions."""
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "memory_mb": psutil.virtual_memory().total // 1_000_000,
        "load_at_start": round(os.getloadavg()[0], 2),
        "kernel": platform.release(),
        "filesystem": _filesystem(scratch),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in DISTRIBUTIONS},
        "nginx": _program_version("nginx", "-v"),
        "wget2": _program_version("wget2", "--version"),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _filesystem(path: Path) -> str:
    holding = [part for part in psutil.disk_partitions(all=True) if path.is_relative_to(part.mountpoint)]
    return max(holding, key=lambda part: len(part.mountpoint)).fstype if holding else "unknown"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _program_version(*argv: str) -> str:
    """The first number of the first line, wherever the program prints it."""
    try:
        answer = subprocess.run(argv, capture_output=True, text=True)
    except FileNotFoundError:
        return "absent"
    found = re.search(r"\d+(\.\d+)+", answer.stdout + answer.stderr)
    return found[0] if found else "unknown"
