"""Frameworks that are too heavy for `make dev` are in a directory of their own, if `make clients` was run."""

from __future__ import annotations

import sys
from pathlib import Path

CLIENTS = Path(__file__).parents[2] / ".venv" / "clients"

if CLIENTS.is_dir() and str(CLIENTS) not in sys.path:
    sys.path.append(str(CLIENTS))
