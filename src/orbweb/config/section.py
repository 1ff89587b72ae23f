"""The base class of configuration sections: frozen, and strict about unknown keys."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

LARGEST = 10**15
"""More than any count, and still exact in SQLite and JSON."""

YamlOff = BeforeValidator(lambda value: "off" if value is False else value)
"""YAML reads a bare `off` as false."""


class Section(BaseModel):
    """A section of the configuration.

    The validators of all sections are built together at the first validation: built separately, they would take a
    considerable part of the start-up time of a command.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch(cls, value: Any, info: ValidationInfo) -> Any:
        """A boolean is not a number, although Python treats it as one."""
        if isinstance(value, bool) and info.field_name is not None:
            kind = cls.model_fields[info.field_name].annotation
            if {int, float} & {kind, *get_args(kind)}:
                raise ValueError("must be a number")
        return value
