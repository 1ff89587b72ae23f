"""Settings and where they come from, as text. Pure."""

from __future__ import annotations

from orbweb.app import setting_text
from orbweb.cli.output.format import Report, hint, many

COLUMNS = ("setting", "value", "default", "from")


def settings_text(report: Report, *, everything: bool) -> str:
    """A table of the settings that differ from their default, or of all."""
    found = [each for each in report["settings"] if everything or each["differs"]]
    left = len(report["settings"]) - len(found)
    lines = (
        _table([COLUMNS, *map(_cells, found)]) if found else [f"{report['project']}: every setting is the default"]
    )
    if left:
        rest = many(left, "other setting" if found else "setting")
        lines.append(
            f"{rest} with the default value; to list all: {hint('settings', report['project'], all=True)}"
        )
    return "\n".join(lines)


def _cells(setting: Report) -> tuple[str, ...]:
    values = (setting_text(setting["key"], setting[name]) for name in ("value", "default"))
    return (setting["key"], *values, setting["source"])


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
