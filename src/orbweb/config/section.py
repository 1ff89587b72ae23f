"""A part of the configuration: what every one of them has in common.

Always holds: a part cannot be changed, and a key it does not know is an error. Has no setting of its own.
"""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator

LARGEST = 10**15
"""More than anything that is counted, and still a number to the database and to readers of JSON."""

YamlOff = BeforeValidator(lambda value: "off" if value is False else value)
"""YAML reads a bare `off` as false."""


class Section(BaseModel):
    """A part of the configuration. Unknown keys are errors.

    The checks of all parts are built once, with those of the whole, when settings are first checked: built part by
    part, they would take a good share of the time a command needs to start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch(cls, value: Any, info: ValidationInfo) -> Any:
        """A switch is no number, though Python counts with it."""
        if isinstance(value, bool) and info.field_name is not None:
            kind = cls.model_fields[info.field_name].annotation
            if {int, float} & {kind, *get_args(kind)}:
                raise ValueError("Input should be a number")
        return value
