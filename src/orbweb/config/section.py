"""A part of the configuration: what every one of them has in common.

Always holds: a part cannot be changed, and a key it does not know is an error. Has no setting of its own.
"""

from __future__ import annotations

from pydantic import BaseModel, BeforeValidator, ConfigDict

YamlOff = BeforeValidator(lambda value: "off" if value is False else value)
"""YAML reads a bare `off` as false."""


class Section(BaseModel):
    """A part of the configuration. Unknown keys are errors.

    The checks of all parts are built once, with those of the whole, when settings are first checked: built part by
    part, they would take a good share of the time a command needs to start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
