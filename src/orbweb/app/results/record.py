"""Frozen records, made from the plain rows of a report, and back into the object that `--json` prints.

The shape of a record is read from its annotations once. A row with a missing or an unknown key is refused, so that
no field of a report can be left out of its record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

Report = dict[str, Any]
Made = TypeVar("Made")
Convert = Callable[[Any], Any]


class Record:
    """A report of a verb. Its fields are those of the object that `--json` prints."""

    __slots__ = ()

    def report(self) -> Report:
        """The object that `--json` prints."""
        return plain(self)


class _Shape(NamedTuple):
    """The fields of a class as (key, name), which of the keys a row must have, and the values to convert.

    A name that ends with an underscore, because it is a keyword of Python without, has a key without it.
    """

    names: dict[str, str]
    required: frozenset[str]
    renamed: bool
    made: tuple[tuple[str, Convert], ...]
    printed: tuple[tuple[str, Convert], ...]


def record(kind: type[Made], row: Mapping[str, Any]) -> Made:
    """The record of a row and of the rows in it."""
    shape = _shape(kind)
    if row.keys() != shape.names.keys():
        _check(kind, shape, row)
    values = {shape.names[key]: value for key, value in row.items()} if shape.renamed else dict(row)
    for name, convert in shape.made:
        if name in values:
            values[name] = convert(values[name])
    return kind(**values)


def records(kind: type[Made], rows: Iterable[Mapping[str, Any]]) -> list[Made]:
    return [record(kind, row) for row in rows]


def plain(found: Any) -> Report:
    """The fields of a record as a row: lists for tuples, and rows for the records in it."""
    shape = _shape(type(found))
    row = {key: getattr(found, name) for key, name in shape.names.items()}
    for key, convert in shape.printed:
        row[key] = convert(row[key])
    return row


def _check(kind: type, shape: _Shape, row: Mapping[str, Any]) -> None:
    missing, unknown = shape.required - row.keys(), row.keys() - shape.names.keys()
    if missing or unknown:
        raise TypeError(f"{kind.__name__}: missing {sorted(missing)}, unknown {sorted(unknown)}")


_SHAPES: dict[type, _Shape] = {}


def _shape(kind: type) -> _Shape:
    found = _SHAPES.get(kind)
    if found is None:
        found = _SHAPES[kind] = _read_shape(kind)
    return found


def _read_shape(kind: type) -> _Shape:
    hints, optional = get_type_hints(kind), _with_default(kind)
    names = {name.rstrip("_"): name for name in _names(kind)}
    made = ((name, _converter(hints[name], record, tuple)) for name in names.values())
    printed = ((key, _converter(hints[name], _plain, list)) for key, name in names.items())
    return _Shape(
        names,
        frozenset(key for key, name in names.items() if name not in optional),
        any(key != name for key, name in names.items()),
        tuple((name, convert) for name, convert in made if convert is not None),
        tuple((key, convert) for key, convert in printed if convert is not None),
    )


def _names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass or of a named tuple."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    found: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return found


def _with_default(kind: type) -> frozenset[str]:
    if not is_dataclass(kind):
        return frozenset()
    return frozenset(
        field.name
        for field in fields(kind)
        if field.default is not MISSING or field.default_factory is not MISSING
    )


def _plain(_: type, found: Any) -> Report:
    return plain(found)


def _converter(hint: Any, of_record: Callable[[Any, Any], Any], of_many: Callable[[Any], Any]) -> Convert | None:
    """What converts a value of a field; None if the value is the same in a record and in a row."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        found = [_converter(each, of_record, of_many) for each in arguments if each is not NoneType]
        return None if found == [None] * len(found) else _optional(found)
    if origin is tuple:
        return _many(_converter(arguments[0], of_record, of_many), of_many)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_converter(arguments[1], of_record, of_many))
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        return partial(of_record, hint)
    return None


def _many(each: Convert | None, of_many: Convert) -> Convert:
    return of_many if each is None else lambda values: of_many(map(each, values))


def _mapping(each: Convert | None) -> Convert:
    return dict if each is None else lambda values: {key: each(value) for key, value in values.items()}


def _optional(found: list[Convert | None]) -> Convert:
    """Of a value that may be None; the other types of a union must be one."""
    (convert,) = found
    if convert is None:
        raise TypeError("a union of several records has no shape")
    return lambda value: None if value is None else convert(value)
