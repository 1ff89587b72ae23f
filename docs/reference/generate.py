"""Writes the pages of this folder from the code: `make docs`.

The same code gives the same text, byte for byte. A name of the code without a meaning in meanings.toml is an
error, and so is a meaning without a name.
"""

from __future__ import annotations

import inspect
import re
import sqlite3
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fastapi import FastAPI
from typer.models import ArgumentInfo, OptionInfo

import orbweb
from orbweb import errors, failpoints, lifecycle
from orbweb.app import options_of
from orbweb.cli import commands, output, overview
from orbweb.config import Config, template
from orbweb.config import keys as settings_keys
from orbweb.config.section import LARGEST
from orbweb.export import bodies, jsonl
from orbweb.export.live import line_format, metrics
from orbweb.export.live import rows as records_of_visits
from orbweb.export.state.dump import FIELDS as STATE_FIELDS
from orbweb.model import FailKind, Reuse, Role, SkipReason, Source
from orbweb.server import api, problems
from orbweb.store.queries import page_index
from orbweb.store.sqlite.schema import current_schema, named_schema

HERE = Path(__file__).parent
MEANINGS: dict[str, Any] = tomllib.loads((HERE / "meanings.toml").read_text(encoding="utf-8"))
PROSE: dict[str, str] = MEANINGS["prose"]
NOTE = "<!-- Written by `make docs` from the code; edit generate.py or meanings.toml instead. -->\n"
FILE_MODE = "store.file_mode"
SCHEMA = Path(template.__file__).with_name("orbweb.schema.json")


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or an option of a command."""

    name: str
    flags: tuple[str, ...]
    value: str
    default: str
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as a user sees it."""

    name: str
    help: str
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def code(text: object) -> str:
    return f"`{text}`"


def meant(kind: str, names: Iterable[str], meanings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each name with its meaning, in the order of the code; KeyError where the two differ."""
    found = list(names)
    if set(found) != set(meanings):
        raise KeyError(f"{kind}: meanings.toml and the code differ in {sorted(set(found) ^ set(meanings))}")
    return [(name, meanings[name]) for name in found]


def meaning_table(head: str, kind: str, names: Iterable[str], meanings: Mapping[str, str]) -> str:
    return table((head, "meaning"), ((code(name), text) for name, text in meant(kind, names, meanings)))


# The command line.


@cache
def command_list() -> list[Command]:
    """Every command, in the order of `orbweb --help`."""
    found = [(info.callback, info.name) for info in commands.app.registered_commands]
    return [_command(callback, name or callback.__name__) for callback, name in found if callback is not None]


def _command(callback: Callable[..., Any], name: str) -> Command:
    hints = get_type_hints(callback, include_extras=True)
    arguments, options = [], []
    for each, signed in inspect.signature(callback).parameters.items():
        kind, info = _annotated(hints[each])
        if isinstance(info, ArgumentInfo):
            arguments.append(_argument(each, info, signed.default))
        else:
            options.append(_option(each, kind, info, signed.default))
    text = inspect.getdoc(callback) or ""
    return Command(name, text, tuple(arguments), tuple(options))


def _annotated(hint: Any) -> tuple[type, Any]:
    """The plain type behind `Annotated[X | None, info]`, and the info."""
    kind, info = get_args(hint)
    if get_origin(kind) in (Union, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return kind, info


def _argument(name: str, info: ArgumentInfo, default: object) -> Parameter:
    metavar = info.metavar or name.upper()
    shown = metavar if " " in metavar else metavar.strip("[]")
    required = "yes" if default is inspect.Parameter.empty else "no"
    return Parameter(name, (), shown, required, info.help or "")


def _option(name: str, kind: type, info: OptionInfo, default: object) -> Parameter:
    flags = tuple(flag for text in _spelled(name, info) for flag in text.split("/"))
    variable = f" Environment: `{info.envvar}`." if info.envvar else ""
    return Parameter(name, flags, _value(kind, info), _shown_default(default), (info.help or "") + variable)


def _spelled(name: str, info: OptionInfo) -> Sequence[str]:
    """The flags as declared; typer keeps the first one where a default would be."""
    declared = [*([info.default] if isinstance(info.default, str) else []), *(info.param_decls or ())]
    return declared or [f"--{name.replace('_', '-')}"]


def _value(kind: type, info: OptionInfo) -> str:
    if kind is int:
        return (info.metavar or "N") + _range(info.min, info.max)
    if info.metavar:
        return info.metavar
    if kind is bool:
        return ""
    if issubclass(kind, StrEnum):
        return "|".join(kind)
    return "DIR" if kind is Path else "TEXT"


def _range(least: float | None, most: float | None) -> str:
    if least is None and most is None:
        return ""
    return f" ({least} or more)" if most is None else f" ({least} to {most})"


def _shown_default(default: object) -> str:
    if default is inspect.Parameter.empty:
        return "needed"
    return "" if default in (None, False) else code(default)


def cli_page() -> str:
    listed = command_list()
    links = ", ".join(f"[{command.name}](#{command.name})" for command in listed)
    parts = ["# Commands\n", NOTE, PROSE["cli"], links + "\n"]
    for command in listed:
        parts += [f"## {command.name}\n", command.help + "\n", f"```\n{_usage(command)}\n```\n"]
        if command.arguments:
            rows = ((code(each.value), each.default, each.help) for each in command.arguments)
            parts.append(table(("argument", "needed", "meaning"), rows))
        parts.append(table(("option", "value", "default", "meaning"), map(_option_row, command.options)))
    return "\n".join(parts)


def _usage(command: Command) -> str:
    arguments = [each.value if each.default == "yes" else f"[{each.value}]" for each in command.arguments]
    return " ".join(["orbweb", command.name, *arguments, "[OPTIONS]"])


def _option_row(option: Parameter) -> tuple[str, str, str, str]:
    flags = " / ".join(map(code, option.flags))
    return flags, code(option.value) if option.value else "", option.default or _setting_of(option), option.help


def _setting_of(option: Parameter) -> str:
    """The setting that an option sets, shown in place of a default."""
    return next((f"setting `{key}`" for key, name in flag_names().items() if name == option.name), "")


# The man page.

WAYS = (
    ("ORBWEB_WORKSPACE", "The workspace, unless --workspace names one."),
    ("NO_COLOR", "If set, no colours are used."),
    ("FORCE_COLOR", "If set, colours are used also when the output is not a terminal."),
)


def man_page() -> str:
    """orbweb(1), from the same commands as cli.md."""
    parts = [
        r".\" Written by `make docs` from the code.",
        f'.TH ORBWEB 1 "" "orbweb {orbweb.__version__}" "User Commands"',
        *(
            ".SH NAME",
            rf"orbweb \- {roff(overview.INTRODUCTION[0].lower() + overview.INTRODUCTION[1:].rstrip('.'))}",
        ),
        *(".SH SYNOPSIS", ".B orbweb", r"\fICOMMAND\fR [\fIARGUMENTS\fR] [\fIOPTIONS\fR]"),
        *(".SH DESCRIPTION", *roff_text(PROSE["man"])),
        ".SH COMMANDS",
    ]
    by_name = {command.name: command for command in command_list()}
    for title, names in overview.GROUPS.items():
        parts.append(f".SS {title}")
        for name in names:
            if name in by_name:
                parts += [".TP", f".B {roff(name)}", roff(overview.summary(by_name[name].help))]
    parts.append(".SH OPTIONS OF COMMANDS")
    for command in command_list():
        parts += _man_command(command)
    parts.append(".SH EXIT STATUS")
    for number, meaning in MEANINGS["exit_codes"].items():
        parts += [".TP", f".B {number}", *roff_text(meaning)]
    parts.append(".SH ENVIRONMENT")
    for name, meaning in WAYS:
        parts += [".TP", f".B {roff(name)}", roff(meaning)]
    parts += [".SH FILES", ".TP", roff(".B orbweb-data", keep=3), "The workspace, unless another one is named."]
    return "\n".join(parts) + "\n"


def _man_command(command: Command) -> list[str]:
    lines = [f".SS {roff(_usage(command))}", *roff_text(command.help)]
    for argument in command.arguments:
        lines += [".TP", rf"\fI{roff(argument.value)}\fR", roff(_without_markup(argument.help))]
    for option in command.options:
        flags = ", ".join(rf"\fB{roff(flag)}\fR" for flag in option.flags)
        value = rf" \fI{roff(option.value)}\fR" if option.value else ""
        lines += [".TP", flags + value, roff(_without_markup(option.help))]
    return lines


def roff(text: str, *, keep: int = 0) -> str:
    """A text without what roff would take for a request, but for the first `keep` characters."""
    escaped = text[keep:].replace("\\", "\\e").replace("-", "\\-")
    return text[:keep] + (f"\\&{escaped}" if not keep and escaped[:1] in (".", "'") else escaped)


def roff_text(text: str) -> list[str]:
    """Paragraphs; blank lines separate them."""
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", text.strip())]
    lines = [roff(_without_markup(block)) for block in blocks]
    return [line for at, block in enumerate(lines) for line in ([".PP", block] if at else [block])]


def _without_markup(text: str) -> str:
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("`", "")


# The settings.


@cache
def crawl_flags() -> dict[str, str]:
    """The flag of each option of `crawl` by its name."""
    crawl = next(command for command in command_list() if command.name == "crawl")
    return {option.name: option.flags[0] for option in crawl.options}


@cache
def flag_names() -> dict[str, str]:
    """Which option of `crawl` sets which setting: the name of the option by the key of the setting."""
    return {option.setting: option.name for option in options_of("crawl") if option.setting is not None}


def config_page() -> str:
    parts = ["# Settings\n", NOTE, PROSE["config"]]
    sections: dict[str, list[tuple[str, str, Any]]] = {}
    for key, meaning, default in settings_keys():
        sections.setdefault(key.rpartition(".")[0], []).append((key, meaning, default))
    for section, settings in sections.items():
        parts.append(f"## {section}\n" if section else "## At the top\n")
        about = type(getattr(Config(), section)).__doc__ if section else None
        if about:
            parts.append(about + "\n")
        rows = (_setting_row(*setting) for setting in settings)
        parts.append(table(("key", "allowed", "default", "option", "environment", "meaning"), rows))
    return "\n".join(parts)


def _setting_row(key: str, meaning: str, default: object) -> tuple[str, ...]:
    flag = flag_names().get(key)
    option = code(crawl_flags()[flag]) if flag else ""
    return (
        code(key),
        _allowed(key),
        _shown_setting(key, default),
        option,
        variable(key),
        meaning.replace("\n", " "),
    )


def variable(key: str) -> str:
    """The environment variable of a setting."""
    return code(f"ORBWEB_{key.replace('.', '__')}".upper())


def _shown_setting(key: str, default: object) -> str:
    if default is None:
        return "unset"
    if default in ((), {}):
        return "none"
    if isinstance(default, bool):
        return code(str(default).lower())
    return code(f"0{default:o}" if key == FILE_MODE else default)


@cache
def _schema() -> dict[str, Any]:
    return Config.model_json_schema()


def _allowed(key: str) -> str:
    schema = _schema()
    properties, name = schema["properties"], key
    if "." in key:
        section, _, name = key.partition(".")
        definition = properties[section]["$ref"].rpartition("/")[2]
        properties = schema["$defs"][definition]["properties"]
    return "octal, `0` to `0777`" if key == FILE_MODE else _allowed_values(properties[name])


def _allowed_values(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_allowed_values(part) for part in schema["anyOf"] if part.get("type") != "null")
    if "enum" in schema or "const" in schema:
        return ", ".join(map(code, schema.get("enum") or [schema["const"]]))
    if "$ref" in schema.get("items", {}):
        fields = _schema()["$defs"][schema["items"]["$ref"].rpartition("/")[2]]["properties"]
        return "list of " + ", ".join(map(code, fields))
    kinds = {
        "integer": "integer",
        "number": "number",
        "boolean": "`true`, `false`",
        "array": "list of texts",
        "object": "texts by name",
    }
    return kinds.get(schema["type"], "text") + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    least, above, most = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    words = [f"from {least}" if least is not None else f"above {above}" if above is not None else ""]
    words.append(f"to {most}" if most not in (None, LARGEST) else "")
    return "".join(f" {word}" for word in words if word)


# States, reasons, exit codes, failpoints.


def states_page() -> str:
    parts = ["# States\n", NOTE, PROSE["states"]]
    machines: Sequence[tuple[str, type[StrEnum], Mapping[tuple[Any, Any], str]]] = (
        ("run", lifecycle.RunState, lifecycle.RUN_MOVES),
        ("crawl", lifecycle.CrawlState, lifecycle.CRAWL_MOVES),
        ("url", lifecycle.ItemState, lifecycle.ITEM_MOVES),
    )
    for name, states, moves in machines:
        about = " ".join((states.__doc__ or "").split())
        starts = MEANINGS["starts"][name]
        parts += [f"## {name.upper() if name == 'url' else name.capitalize()}\n", about + "\n"]
        parts += [_diagram(states, moves, starts), _moves(moves, starts)]
    parts += ["## How a crawl ends\n", _endings()]
    return "\n".join(parts)


def _diagram(
    states: type[StrEnum], moves: Mapping[tuple[StrEnum, StrEnum], str], starts: Mapping[str, str]
) -> str:
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f"    [*] --> {state}" for state in states if state in starts]
    lines += [f"    {old} --> {new}" for old, new in moves]
    return "\n".join([*lines, "```"]) + "\n"


def _moves(moves: Mapping[tuple[StrEnum, StrEnum], str], starts: Mapping[str, str]) -> str:
    rows = [("", code(state), why) for state, why in starts.items()]
    rows += [(code(old), code(new), why) for (old, new), why in moves.items()]
    return table(("from", "to", "when"), rows)


def _endings() -> str:
    rows = []
    for ending, state in lifecycle.ENDING_STATE.items():
        words = dict.fromkeys(lifecycle.shown(state, ending, failed=failed) for failed in (False, True))
        rows.append(
            (code(ending), code(state), code(lifecycle.run_after(ending)), " or ".join(map(code, words))),
        )
    return table(("`ended_by`", "state of the crawl", "state of the run", "`state` in reports"), rows)


def reasons_page() -> str:
    return "\n".join(
        [
            "# Reasons\n",
            NOTE,
            "## Why a URL is skipped\n",
            PROSE["skip_reasons"],
            meaning_table("reason", "skip_reasons", SkipReason, MEANINGS["skip_reasons"]),
            "## Why a visit failed\n",
            PROSE["fail_kinds"],
            meaning_table("kind", "fail_kinds", FailKind, MEANINGS["fail_kinds"]),
            "## How a URL became known\n",
            meaning_table("source", "sources", Source, MEANINGS["sources"]),
            "## What a visit gave\n",
            meaning_table("role", "roles", Role, MEANINGS["roles"]),
            "## How a capture was reused\n",
            meaning_table("reuse", "reuses", Reuse, MEANINGS["reuses"]),
        ]
    )


def exit_codes_page() -> str:
    codes: dict[str, str] = MEANINGS["exit_codes"]
    unnamed = {str(error.exit_code) for error in _errors(errors.OrbwebError)} - set(codes)
    if unnamed:
        raise KeyError(f"exit_codes: meanings.toml does not name {sorted(unnamed)}")
    rows = [
        (code(kind.__name__), code(kind.exit_code), kind.__doc__ or "") for kind in _errors(errors.OrbwebError)
    ]
    return "\n".join(
        [
            "# Exit codes\n",
            NOTE,
            meaning_table("code", "exit_codes", codes, codes),
            PROSE["exit_codes"],
            "## Errors\n",
            PROSE["errors"],
            table(("error", "code", "meaning"), rows),
        ]
    )


def _errors(kind: type[errors.OrbwebError]) -> Iterator[type[errors.OrbwebError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _errors(child)


def failpoints_page() -> str:
    return "\n".join(
        [
            "# Failpoints\n",
            NOTE,
            PROSE["failpoints"],
            meaning_table("point", "failpoints", failpoints.POINTS, MEANINGS["failpoints"]),
        ]
    )


# The database and what programs read.


def columns_of(*schemas: str) -> dict[str, list[tuple[str, str]]]:
    """Names and types of the columns of each table, from a database made with the schema."""
    connection = sqlite3.connect(":memory:")
    for statement in schemas:
        connection.execute(statement)
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [row[0] for row in connection.execute(tables)]
    found = {
        name: list(connection.execute("SELECT name, type FROM pragma_table_info(?)", (name,))) for name in names
    }
    connection.close()
    return found


def all_columns() -> dict[str, list[tuple[str, str]]]:
    return columns_of(*current_schema().statements, *named_schema("limiter.sql"), *named_schema("server.sql"))


def _table_comments() -> dict[str, str]:
    """The comment that stands above a table in the schema."""
    text = (files("orbweb.store.sqlite") / "sql" / "schema.sql").read_text(encoding="utf-8")
    found = re.findall(r"\n\n((?:-- .*\n)+)CREATE TABLE (\w+)", text)
    return {name: " ".join(line.removeprefix("-- ") for line in comment.splitlines()) for comment, name in found}


def columns_page() -> str:
    parts = ["# Columns and fields\n", NOTE, "## Database\n", PROSE["database"]]
    columns, about = all_columns(), _table_comments() | MEANINGS["tables"]
    if set(columns) != set(MEANINGS["columns"]):
        raise KeyError(f"columns: tables differ in {sorted(set(columns) ^ set(MEANINGS['columns']))}")
    for name, fields in columns.items():
        kinds = dict(fields)
        known = meant(f"columns.{name}", kinds, MEANINGS["columns"][name])
        rows = ((code(column), kinds[column].lower(), text) for column, text in known)
        parts += [f"### {name}\n", about[name] + "\n", table(("column", "type", "meaning"), rows)]
    parts += ["## Manifest\n", PROSE["manifest"]]
    parts.append(meaning_table("column", "manifest", output.MANIFEST_FIELDS, MEANINGS["manifest"]))
    parts += ["## Exports\n", PROSE["exports"]]
    parts.append(meaning_table("field", "exports", jsonl.FIELDS, MEANINGS["exports"]))
    parts += ["### Bodies\n", PROSE["exported_bodies"]]
    parts.append(meaning_table("field", "exported_bodies", bodies.FIELDS, MEANINGS["exported_bodies"]))
    parts += ["## Files that follow a crawl\n", PROSE["outputs"], "### Pages table\n", PROSE["pages_table"]]
    parts.append(meaning_table("column", "pages_table", records_of_visits.COLUMNS, MEANINGS["pages_table"]))
    parts.append(PROSE["visit_metadata"])
    parts.append(meaning_table("field", "visit_metadata", _visit_fields(), MEANINGS["visit_metadata"]))
    parts += ["### Link table\n", meaning_table("column", "edges", line_format.EDGES, MEANINGS["edges"])]
    parts += ["### Metrics\n", PROSE["metrics"]]
    parts.append(meaning_table("column", "metrics_table", line_format.METRICS, MEANINGS["metrics_table"]))
    parts.append(table(("counter", "meaning"), ((code(name), text) for name, text in metrics.COUNTERS.items())))
    parts.append(table(("gauge", "meaning"), ((code(name), text) for name, text in metrics.GAUGES.items())))
    parts += ["## State\n", PROSE["state"]]
    parts.append(meaning_table("field", "state_url", STATE_FIELDS, MEANINGS["state_url"]))
    parts += ["### Page index\n", PROSE["page_index"]]
    parts.append(meaning_table("field", "page_index", page_index.FIELDS, MEANINGS["page_index"]))
    parts += ["## JSON\n", PROSE["json"]]
    for name, report in MEANINGS["json"].items():
        fields_of = ((code(field), text) for field, text in report["fields"].items())
        record = f" In Python: `orbweb.{report['record']}`." if "record" in report else ""
        parts += [f"### {name} as JSON\n", f"{report['about']}{record}\n", table(("field", "meaning"), fields_of)]
    return "\n".join(parts)


def _visit_fields() -> tuple[str, ...]:
    return (*line_format.SPOOLED, *records_of_visits.METADATA)


def api_page() -> str:
    """The routes of the server by subject, the fields of their bodies, and the codes of problems."""
    document = api_document()
    subjects: dict[str, list[tuple[str, str, str]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            row = (code(method.upper()), code(path.removeprefix("/api/v1")), operation["summary"])
            subjects.setdefault(operation["tags"][0], []).append(row)
    parts = ["# API\n", NOTE, PROSE["api"]]
    for subject, rows in subjects.items():
        shown = [row for row in rows if not row[1].endswith((".json`", ".csv`"))]
        parts += [f"## {subject.capitalize()}\n", table(("method", "path", "answer"), shown)]
    parts += ["## Bodies\n", PROSE["api_bodies"]]
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Body"):
            fields = ((code(field), _json_type(kind)) for field, kind in schema["properties"].items())
            parts += [f"### {name.removesuffix('Body')}\n", table(("field", "type"), fields)]
    parts += ["## Problems\n", PROSE["api_problems"]]
    known = sorted(problems.CODES.items())
    parts.append(table(("code", "status"), ((code(name), str(status)) for name, status in known)))
    return "\n".join(parts)


def api_document() -> dict[str, Any]:
    """The OpenAPI document of the server."""
    app = FastAPI(title="orbweb", version=orbweb.__version__)
    app.include_router(api.router)
    return app.openapi()


def _json_type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_json_type(each) for each in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(code(each) for each in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"array of {_json_type(schema['items'])}"
    return str(schema.get("type", "any"))


def pages() -> dict[str, str]:
    """The text of every generated page by its file name."""
    return {
        "api.md": api_page(),
        "cli.md": cli_page(),
        "config.md": config_page(),
        "states.md": states_page(),
        "reasons.md": reasons_page(),
        "columns.md": columns_page(),
        "exit-codes.md": exit_codes_page(),
        "failpoints.md": failpoints_page(),
        "orbweb.1": man_page(),
    }


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
    SCHEMA.write_text(template.schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
