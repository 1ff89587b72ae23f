"""Typed settings: defaults, then a profile, the project's own, a YAML file, the environment, the flags.

Owns every setting and its limits. Always holds: an unknown or wrong key is refused with the file,
variable or option, the key and the reason; nothing is guessed. Settings are stored, secrets are not: a setting
that needs one names an environment variable (`$NAME`), which is read at the start of a crawl, and no error
quotes what stands where a secret may stand. Imports pydantic, so it is imported late.
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
