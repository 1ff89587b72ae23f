"""Typed settings, in layers: defaults, profile, project, YAML file, environment, options.

An unknown key or invalid value is refused with its file, variable or option, the key and the reason. Settings are
stored, secrets are not: a setting that needs a secret names an environment variable (`$NAME`), which is read at
the start of a crawl, and no error quotes a value that may be a secret. This package imports pydantic, so import it
late.
"""

from __future__ import annotations

from orbweb.config.credentials import proxies, sent_headers
from orbweb.config.notation import has_contact, read_pin
from orbweb.config.schema import Config, build, keys, merge
from orbweb.config.scope import PATTERN_BYTES
from orbweb.config.sources import PROFILES, read_environment, read_file, read_profile

__all__ = [
    "PATTERN_BYTES",
    "PROFILES",
    "Config",
    "build",
    "has_contact",
    "keys",
    "merge",
    "proxies",
    "read_environment",
    "read_file",
    "read_pin",
    "read_profile",
    "sent_headers",
]
