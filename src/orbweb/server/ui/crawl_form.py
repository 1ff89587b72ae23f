"""The form of a new crawl, made from the one table of options: its fields, and what was typed in them. Pure.

A field that is left empty is not given. What cannot be read is an error at its field; what the settings refuse is
put at the field that their message names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orbweb.app import EffectiveSetting, Kind, Option, setting_text
from orbweb.app.jobs.remote import camel
from orbweb.app.options import words_of

SECTIONS = (
    ("scope", "Scope", ("exclude", "include", "external_hops", "max_depth", "strict_path")),
    ("limits", "Limits", ("rate", "workers", "budget", "page_limit")),
    ("sitemaps", "Robots and sitemaps", ("sitemap",)),
    ("identity", "Who we say we are", ("user_agent", "headers")),
    ("rest", "Everything else", ("resources", "order", "processes", "store", "refresh", "new_run")),
)
LABELS = {
    "url": "Where to start",
    "project": "Project",
    "profile": "Profile",
    "exclude": "Exclude",
    "include": "Include",
    "external_hops": "External hops",
    "max_depth": "Maximum depth",
    "strict_path": "Strict path",
    "rate": "Rate",
    "workers": "Workers",
    "budget": "Budget",
    "page_limit": "Page limit",
    "sitemap": "Sitemaps",
    "user_agent": "User agent",
    "headers": "Headers",
    "resources": "Resources",
    "order": "Order",
    "processes": "Processes",
    "store": "Layout of bodies",
    "refresh": "Fetch every page again",
    "new_run": "Start a new run",
}
MANY = (Kind.TEXTS, Kind.HEADERS)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DEFAULT = re.compile(r"\s*\[[^\]]*\]")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form. `control` is the kind of control, `flag` the option of the command line."""

    name: str
    label: str
    key: str
    control: str
    flag: str
    hint: str
    placeholder: str
    choices: tuple[tuple[str, str], ...]
    value: str
    error: str


@dataclass(frozen=True, slots=True)
class FormSection:
    """Fields that are folded together; the head says their values. `tone` is amber if it wants a look."""

    name: str
    title: str
    summary: str
    tone: str
    is_open: bool
    fields: tuple[FormField, ...]


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed: texts by field, and what they mean."""

    texts: Mapping[str, str]
    urls: tuple[str, ...] = ()
    project: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The same as a command."""
        name = [f"--project={self.project}"] if self.project else []
        return shlex.join(["orbweb", "crawl", *(self.urls or ("URL",)), *name, *words_of(dict(self.options))])


def read(texts: Mapping[str, str], options: Sequence[Option]) -> Typed:
    """What a form means. An error names what cannot be read."""
    given, errors = {}, {}
    for option in options:
        text = texts.get(option.name, "").strip()
        if not text:
            continue
        try:
            given[option.name] = _READERS[option.kind](text)
        except ValueError as error:
            errors[option.name] = str(error)
    urls = tuple(_with_scheme(line) for line in _lines(texts.get("url", "")))
    if not urls:
        errors["url"] = "give a URL to start with"
    return Typed(texts, urls, texts.get("project", "").strip() or None, given, errors)


def _with_scheme(word: str) -> str:
    """A host alone means https."""
    return word if _SCHEME.match(word) else f"https://{word}"


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _integer(text: str) -> int:
    digits = text.replace(",", "")
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", digits):
        raise ValueError(f"{text!r} is not a whole number")
    return int(digits)


def _limit(text: str) -> int | None:
    return None if text == "none" else _integer(text)


def _rate(text: str) -> float | str:
    if text == "max":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number, nor max") from None


def _headers(text: str) -> dict[str, str]:
    found = {}
    for line in _lines(text):
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"{line!r} has no colon; write NAME: VALUE")
        found[name.strip()] = value.strip()
    return found


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError(f"{text!r} is neither on nor off")
    return text == "on"


_READERS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.INTEGER: _integer,
    Kind.LIMIT: _limit,
    Kind.RATE: _rate,
    Kind.FLAG: _switch,
    Kind.SWITCH: _switch,
    Kind.TEXT: str,
    Kind.TEXTS: _lines,
    Kind.HEADERS: _headers,
    Kind.CHOICE: lambda text: None if text == "none" else text,
}


def placed(message: str, options: Sequence[Option]) -> tuple[str, str]:
    """The field that a refusal is about, and its words without the key; `url` if it names none."""
    for option in options:
        names = (f"`{camel(option.name)}`", *([re.escape(option.setting)] if option.setting else []))
        for name in names:
            found = re.match(rf"(?:request: |[^:\n]*?: )??{name}(\[\d+\])?[:,]?\s*", message)
            if found:
                rest = message[found.end() :]
                line = f"line {int(found[1][1:-1]) + 1}: " if found[1] else ""
                return option.name, _labelled(f"{line}{rest}", options)
    if message.startswith(("`project`", "project '")):
        return "project", _labelled(message.removeprefix("`project` "), options)
    return "url", _labelled(message, options)


def _labelled(message: str, options: Sequence[Option]) -> str:
    """A message with the labels of the form in place of the names of fields, and with commands that can be
    typed."""
    for name in ("project", *(option.name for option in options)):
        message = message.replace(f"`{camel(name)}`", f"“{LABELS[name]}”")
    return re.sub(r"`(?!orbweb )([a-z][^`]*)`", r"`orbweb \1`", message)


def sections(
    options: Sequence[Option], typed: Typed, settings: Sequence[EffectiveSetting], *, has_contact: bool
) -> tuple[FormSection, ...]:
    """The folded parts of the form; one with something typed or wrong in it is open."""
    known = {option.name: option for option in options}
    values = {each.key: each for each in settings}
    found = []
    for name, title, names in SECTIONS:
        fields = tuple(_field(known[each], typed, values) for each in names if each in known)
        is_open = any(each.value or each.error for each in fields) or name == "scope"
        tone = "amber" if name == "identity" and not has_contact else ""
        summary = _summary(name, fields, has_contact=has_contact)
        found.append(FormSection(name, title, summary, tone, is_open, fields))
    return tuple(found)


def _field(option: Option, typed: Typed, settings: Mapping[str, EffectiveSetting]) -> FormField:
    setting = settings.get(option.setting or "")
    default = setting_text(setting.key, setting.value) if setting is not None else "off"
    return FormField(
        name=option.name,
        label=LABELS[option.name],
        key=option.setting or "",
        control=_control(option),
        flag=option.flag,
        hint=_hint(option),
        placeholder="all" if option.name == "include" and default == "none" else default,
        choices=_choices(option, default),
        value=typed.texts.get(option.name, ""),
        error=typed.errors.get(option.name, ""),
    )


def _control(option: Option) -> str:
    if option.kind in MANY:
        return "lines"
    return "choice" if option.kind in (Kind.CHOICE, Kind.FLAG, Kind.SWITCH) else "line"


def _choices(option: Option, default: str) -> tuple[tuple[str, str], ...]:
    if option.kind in (Kind.FLAG, Kind.SWITCH):
        words: tuple[str, ...] = ("on", "off") if option.kind is Kind.SWITCH else ("on",)
    else:
        words = option.choices
    return (("", f"{default} (as it is)"), *((word, word) for word in words)) if words else ()


def _hint(option: Option) -> str:
    """The help of the option, without its default, which the field shows, and for a form."""
    text = _DEFAULT.sub("", option.help)
    text = text.replace("; may be repeated.", ", one per line.").replace(" May be repeated.", " One per line.")
    return text.replace("'NAME:' removes a stored header. ", "")


def _summary(name: str, fields: Sequence[FormField], *, has_contact: bool) -> str:
    """The values of a section in its head."""
    shown = {each.name: each.value.strip() or each.placeholder for each in fields}
    if name == "scope":
        parts = [f"{len(_lines(each.value))} {each.name}" for each in fields[:2] if each.value.strip()]
        return ", ".join(parts) or "everything below the base URLs"
    if name == "limits":
        rate = "no limit of rate" if shown["rate"] == "max" else f"{shown['rate']}/s per host"
        rest = [_limit_text(shown["budget"], "budget"), _limit_text(shown["page_limit"], "page limit")]
        return ", ".join([rate, f"{shown['workers']} workers", *rest])
    if name == "sitemaps":
        return f"robots.txt obeyed, sitemaps {shown['sitemap']}"
    if name == "identity":
        return shown["user_agent"] + ("" if has_contact else ", no contact named")
    changed = sum(bool(each.value) for each in fields)
    return f"{changed} changed" if changed else f"{len(fields)} settings, all as they come"


def _limit_text(value: str, word: str) -> str:
    return f"no {word}" if value == "none" else f"{word} {value}"
