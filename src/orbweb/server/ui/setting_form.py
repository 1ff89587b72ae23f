"""The form of a project's settings: its fields, what was typed, and where an error belongs. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orbweb.app import EffectiveSetting, Option

NEXT = "takes effect with the next crawl"
GROUPS = (
    ("scope", "Scope", "takes effect at once, also on the running crawl", ("scope.",)),
    ("limits", "Limits", "takes effect with the next crawl; page limit and depth at once", ("limits.",)),
    ("robots", "Robots and sitemaps", "takes effect with the next crawl; rules at once", ("robots.", "sitemap.")),
    ("policy", "Policy", NEXT, ("policy.", "urls.", "resources.")),
    ("fetch", "Fetch", NEXT, ("user_agent", "fetch.")),
    ("recrawl", "Recrawl and cache", NEXT, ("incremental", "recrawl.", "cache.")),
    ("engine", "Engine", NEXT, ("engine.",)),
)  # fmt: skip
LISTS = frozenset({"urls.keep_params"})
"""Settings that are a list or none."""
NONE = "none"
PROJECT, DEFAULT = "project", "default"


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting: its control and text, a hint or an error, and where its value comes from."""

    key: str
    label: str
    control: str
    text: str
    hint: str
    error: str
    source: str
    choices: tuple[str, ...]

    @property
    def rows(self) -> int:
        return min(12, max(1, len(self.text.splitlines())))

    @property
    def is_set(self) -> bool:
        return self.source == PROJECT


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """Settings of one kind, and when they take effect."""

    name: str
    title: str
    effect: str
    fields: tuple[SettingField, ...]

    @property
    def wrong(self) -> int:
        return sum(bool(each.error) for each in self.fields)


def text_of(value: Any) -> str:
    """A value as it is typed: one entry per line, objects as JSON."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "\n".join(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in value)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


def value_of(setting: EffectiveSetting, text: str) -> Any:
    """What was typed, as the settings take it; what cannot be read stays a text, which they refuse."""
    kind, text = setting.default, text.replace("\r\n", "\n").strip()
    if isinstance(kind, list | tuple) or (setting.key in LISTS and text != NONE):
        return [_entry(line.strip()) for line in text.splitlines() if line.strip()]
    if isinstance(kind, bool):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(kind, str):
        return text
    if kind is None and text in ("", NONE):
        return None
    return _number(text)


def _entry(line: str) -> Any:
    if line.startswith("{"):
        try:
            return json.loads(line)
        except ValueError:
            return line
    return line


def _number(text: str) -> Any:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text.replace(",", "")):
        return int(text.replace(",", ""))
    try:
        return float(text)
    except ValueError:
        return text


def changed(
    settings: Sequence[EffectiveSetting], allowed: Mapping[str, str], typed: Mapping[str, str]
) -> dict[str, Any]:
    """The settings whose text is another one than the page showed."""
    found = {}
    for each in settings:
        text = typed.get(each.key)
        if each.key in allowed and text is not None and _plain(text) != _plain(text_of(each.value)):
            found[each.key] = value_of(each, text)
    return found


def _plain(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def errors_of(message: str, keys: Sequence[str]) -> dict[str, str]:
    """The errors by the key that they are about, without it; by "" if they name none."""
    names = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
    starts = list(re.finditer(rf"(?:^|; |: )({names})(?:\[(\d+)\])?[\w.\[\]]*: ", message)) if names else []
    found: dict[str, str] = {}
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(message)
        line = f"line {int(start[2]) + 1}: " if start[2] else ""
        found.setdefault(start[1], line + message[start.end() : end])
    return found or {"": message}


def groups_of(
    settings: Sequence[EffectiveSetting],
    about: Mapping[str, str],
    options: Sequence[Option],
    typed: Mapping[str, str],
    errors: Mapping[str, str],
) -> tuple[SettingGroup, ...]:
    """The form: `about` are the settings that may be changed, with what they are for."""
    choices = {each.setting: each.choices for each in options if each.setting and each.choices}
    made = []
    for name, title, effect, prefixes in GROUPS:
        fields = tuple(
            _field(each, about[each.key], choices.get(each.key, ()), typed, errors)
            for each in settings
            if each.key in about and each.key.startswith(prefixes)
        )
        made.append(SettingGroup(name, title, effect, fields))
    return tuple(made)


def _field(
    setting: EffectiveSetting,
    hint: str,
    choices: tuple[str, ...],
    typed: Mapping[str, str],
    errors: Mapping[str, str],
) -> SettingField:
    words = setting.key.rpartition(".")[2].replace("_", " ")
    label = re.sub(r" s$", ", seconds", words)
    is_list = isinstance(setting.default, list | tuple) or setting.key in LISTS
    is_choice = isinstance(setting.default, bool) or bool(choices)
    return SettingField(
        key=setting.key,
        label=label[:1].upper() + label[1:],
        control="lines" if is_list else "choice" if is_choice else "line",
        text=typed.get(setting.key, text_of(setting.value)),
        hint=" ".join(hint.replace("`", "").split()),
        error=errors.get(setting.key, ""),
        source=source_text(setting.source),
        choices=("true", "false") if isinstance(setting.default, bool) else choices,
    )


def source_text(source: str) -> str:
    """Where a value comes from, without a path of the machine."""
    if source in (DEFAULT, PROJECT) or source.startswith(("profile ", "environment variable ")):
        return source.replace("environment variable ", "$")
    return source.replace("\\", "/").rpartition("/")[2]


def stored_lines(settings: Sequence[EffectiveSetting], allowed: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is stored with the project, as lines of YAML: the key with its indent, and the value."""
    return [
        line
        for section, group in _sections(
            [each for each in settings if each.source == PROJECT and each.key in allowed]
        )
        for line in _yaml(section, group)
    ]


def _sections(settings: Sequence[EffectiveSetting]) -> Iterator[tuple[str, list[EffectiveSetting]]]:
    sections: dict[str, list[EffectiveSetting]] = {}
    for each in settings:
        sections.setdefault(each.key.rpartition(".")[0], []).append(each)
    yield from sections.items()


def _yaml(section: str, group: Sequence[EffectiveSetting]) -> Iterator[tuple[str, str]]:
    indent = "  " if section else ""
    if section:
        yield f"{section}:", ""
    for each in group:
        name = each.key.rpartition(".")[2]
        if isinstance(each.value, list | tuple) and each.value:
            yield f"{indent}{name}:", ""
            for entry in each.value:
                yield f"{indent}  -", json.dumps(entry, ensure_ascii=False)
        else:
            yield f"{indent}{name}:", json.dumps(each.value, ensure_ascii=False)
