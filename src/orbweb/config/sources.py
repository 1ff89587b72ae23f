"""Sources of settings: a YAML file, a profile, the environment.

Each source is validated by itself, so that an error names the file, profile or variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orbweb.config.messages import reason, yaml_reason
from orbweb.config.schema import Settings, given, merge
from orbweb.errors import ConfigError

PROFILES = ("docs", "site", "github")
PREFIX = "ORBWEB_"
"""Of environment variables that are settings."""
_NOT_SETTINGS = ("ORBWEB_WORKSPACE", "ORBWEB_TOKEN", "ORBWEB_BROWSER", "ORBWEB_FAULT", "ORBWEB_LIFELINE")


def read_file(path: Path) -> Settings:
    """The settings of a YAML file, validated."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {reason(error)}") from error
    loaded = _read_yaml(text, source=str(path))
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: expected keys such as `limits:`, found {type(loaded).__name__}")
    return given(loaded, source=str(path))


def profile_text(name: str) -> str:
    """The YAML text of a built-in profile, with comments."""
    if name not in PROFILES:
        raise ConfigError(f"unknown profile {name!r}; choose {', '.join(PROFILES[:-1])} or {PROFILES[-1]}")
    return (Path(__file__).with_name("profiles") / f"{name}.yaml").read_text(encoding="utf-8")


def read_profile(name: str | None) -> Settings:
    """The settings of a profile."""
    if name is None:
        return {}
    source = f"profile {name}"
    return given(_read_yaml(profile_text(name), source=source), source=source)


def read_environment(environ: Mapping[str, str]) -> Settings:
    """Settings from variables such as ORBWEB_LIMITS__RATE=5 or ORBWEB_USER_AGENT=probe/1."""
    settings: Settings = {}
    for name, text in sorted(environ.items()):
        if not name.startswith(PREFIX) or name in _NOT_SETTINGS:
            continue
        section, nested, key = name.removeprefix(PREFIX).lower().partition("__")
        source = f"environment variable {name}"
        value = _read_yaml(text, source=source)
        settings = merge(settings, given({section: {key: value} if nested else value}, source=source))
    return settings


def _read_yaml(text: str, *, source: str) -> Any:
    """Imports YAML only if there is something to read: most crawls have neither file nor variables."""
    import yaml

    try:
        _refuse_repeated(yaml.compose(text, Loader=yaml.SafeLoader), source)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {yaml_reason(error)}") from None
    except RecursionError:
        raise ConfigError(f"{source}: nested too deeply") from None


def _refuse_repeated(root: Any, source: str) -> None:
    """Refuse duplicate keys, because the YAML parser silently takes the last one."""
    left: list[Any] = [root]
    seen: set[int] = set()
    while left:
        node = left.pop()
        if node is None or node.id == "scalar" or id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "sequence":
            left += node.value
            continue
        keys = [key for key, _ in node.value if key.id == "scalar"]
        for number, key in enumerate(keys):
            if key.value in [other.value for other in keys[:number]]:
                raise ConfigError(f"{source}: line {key.start_mark.line + 1}: duplicate key {key.value!r}")
        left += [value for _, value in node.value]
