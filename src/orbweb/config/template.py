"""The settings file that `configure` writes, and the JSON schema by which editors check it.

The file has every setting: those of the profile as they are, the others as comments with their defaults. A line
that starts with `# ` is a setting; without these two characters it is in force, and changes nothing until it is
edited. Explanations start with `##`.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orbweb.config.schema import Config, descriptions
from orbweb.config.section import Section
from orbweb.config.sources import profile_text

SCHEMA_FILE = ".orbweb.schema.json"
"""The name of the schema in a workspace. Its path is relative, so that it is found without a network."""
WIDTH = 110
_MODES = {"file_mode": "0600", "dir_mode": "0700"}

_HEAD = """\
# yaml-language-server: $schema={schema}
## Settings of this workspace: the profile `{profile}` of orbweb {version}, to be edited.
## `orbweb crawl` without a URL reads them, and the base URLs in seeds.txt.
## Every other setting is a comment with its default: to change one, delete `# ` before it and before its section.
"""


def settings_text(profile: str, version: str) -> str:
    """The text of orbweb.yaml for a profile."""
    head, given = _parts(profile_text(profile))
    lines = [*_HEAD.format(schema=SCHEMA_FILE, profile=profile, version=version).splitlines(), "##", *head, ""]
    lines += _section(Config, {name: part for name, part in given.items() if isinstance(part, list)}, "")
    for name, field in Config.model_fields.items():
        section = field.get_default()
        if isinstance(section, Section):
            inside = given.get(name, {})
            about = " ".join((type(section).__doc__ or "").split())
            lines += ["", *_explained(about, ""), f"{name}:" if inside else f"# {name}:"]
            lines += _section(type(section), inside if isinstance(inside, dict) else {}, "  ")
    return "\n".join(lines) + "\n"


def _section(section: type[Section], given: dict[str, list[str]], indent: str) -> Iterator[str]:
    """The settings of a section, but for sections in it; those of a profile with the lines they have there."""
    about = descriptions(section)
    for name, field in section.model_fields.items():
        default = field.get_default()
        if not isinstance(default, Section):
            yield from _explained(about.get(name, ""), indent)
            yield from given.get(name) or [f"# {indent}{name}: {_yaml(name, default)}"]


def _explained(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=f"## {indent}",
        subsequent_indent=f"## {indent}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _yaml(name: str, value: Any) -> str:
    """A default as YAML; permissions in octal, as people write them."""
    if name in _MODES:
        return f"0{value:o}"
    return json.dumps(value)


def _parts(text: str) -> tuple[list[str], dict[str, list[str] | dict[str, list[str]]]]:
    """A profile in pieces: its head, and the lines of each key, or of each key of a section.

    The comments of a key stand before it.
    """
    import yaml

    lines = ["##" + line.lstrip()[1:] if line.lstrip().startswith("#") else line for line in text.splitlines()]
    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    found: dict[str, list[str] | dict[str, list[str]]] = {}
    first = root.value[0][0].start_mark.line
    starts = [key.start_mark.line for key, _ in root.value]
    for (key, value), end in zip(root.value, [*starts[1:], len(lines)], strict=True):
        inside = [line.start_mark.line for line, _ in value.value] if value.id == "mapping" else []
        if not inside:
            found[key.value] = _trimmed(lines[key.start_mark.line : end])
            continue
        begins = [_with_comments(lines, line, key.start_mark.line) for line in inside]
        parts = zip(value.value, begins, [*begins[1:], end], strict=True)
        found[key.value] = {name.value: _trimmed(lines[start:stop]) for (name, _), start, stop in parts}
    return _trimmed(lines[:first]), found


def _with_comments(lines: Sequence[str], line: int, after: int) -> int:
    """Where the comments begin that stand before a line."""
    while line - 1 > after and lines[line - 1].startswith("##"):
        line -= 1
    return line


def _trimmed(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line]


# The schema.


def json_schema() -> dict[str, Any]:
    """The JSON schema of a settings file, with the descriptions of the reference."""
    found = Config.model_json_schema()
    _describe(found, Config)
    for field in Config.model_fields.values():
        section = field.get_default()
        if isinstance(section, Section):
            _describe(found["$defs"][type(section).__name__], type(section))
    del found["properties"]["user_agent"]["default"]
    for name, default in _MODES.items():
        mode = found["$defs"]["StoreSection"]["properties"][name]
        mode.update(type=["integer", "string"], default=default)
        for bound in ("minimum", "maximum"):
            del mode[bound]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": "orbweb settings"}


def _describe(schema: dict[str, Any], section: type[Section]) -> None:
    for name, text in descriptions(section).items():
        schema["properties"][name]["description"] = " ".join(text.split())


def schema_text() -> str:
    """The schema as it is shipped: written by `make docs`."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def shipped_schema() -> str:
    return Path(__file__).with_name("orbweb.schema.json").read_text(encoding="utf-8")
