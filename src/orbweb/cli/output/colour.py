"""Whether to use colours, and a styled text. Pure, but for `on`, which asks the stream and the environment.

Pages never get here: only texts of orbweb are styled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36


def wanted(environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """NO_COLOR forbids colours, FORCE_COLOR demands them, also in a pipe; a dumb terminal has none."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and not is_dumb(environ)


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Whether the terminal cannot move its cursor."""
    return environ.get("TERM", "dumb") in ("", "dumb", "unknown")


def on(stream: TextIO) -> bool:
    """Whether a text for this stream may have colours."""
    return wanted(os.environ, is_terminal=stream.isatty())


def styled(text: str, *codes: int, colour: bool) -> str:
    return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m" if colour and text else text
