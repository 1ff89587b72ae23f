"""Named points at which a test can kill the process, to prove that nothing is lost there.

`ORBWEB_FAULT=name:3` kills this process with SIGKILL the third time it passes the point. Without the variable a
point costs one comparison. Points are only where durability changes, never per link.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "run_created",
    "page_settled",
    "blob_written",
    "blob_synced",
    "blob_renamed",
    "portion_written",
    "rows_written",
    "waiting_released",
    "group_committed",
    "crawl_ended",
    "rules_written",
    "rules_committed",
    "output_appended",
    "output_synced",
    "export_written",
    "export_renamed",
    "documents_written",
    "documents_committed",
    "upgrade_copied",
    "upgrade_written",
    "spool_written",
    "spool_synced",
    "bookmark_written",
    "delete_prepared",
    "delete_moved",
    "delete_committed",
    "delete_swept",
    "rename_moved",
    "rename_committed",
)


def _armed(setting: str | None) -> tuple[str, int] | None:
    if not setting:
        return None
    name, _, hit = setting.partition(":")
    if name not in POINTS or not (hit or "1").isdigit():
        raise ValueError(f"ORBWEB_FAULT={setting!r}: use NAME:HIT with a name of {', '.join(POINTS)}")
    return name, int(hit or "1")


_fault = _armed(os.environ.get("ORBWEB_FAULT"))
_passed = 0


def failpoint(name: str) -> None:
    """Kill this process if this is the armed point and its hit number is reached."""
    if _fault is None or _fault[0] != name:
        return
    global _passed
    _passed += 1
    if _passed == _fault[1]:
        os.kill(os.getpid(), signal.SIGKILL)
