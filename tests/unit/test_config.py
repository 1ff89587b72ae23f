"""Settings: every layer, and errors that name where, which key and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orbweb import config
from orbweb.config import PATTERN_BYTES, Config, build, keys, merge, read_environment, read_file, read_pin
from orbweb.errors import ConfigError


def problem(settings: dict[Any, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        build(settings, source="orbweb.yaml")
    text = str(caught.value)
    assert text.startswith("orbweb.yaml: ")
    return text.removeprefix("orbweb.yaml: ")


def test_without_settings_the_defaults_hold() -> None:
    built = build({}, source="nothing")
    assert built == Config()
    assert (built.limits.rate, built.limits.workers, built.engine.window) == (2.0, 5, None)
    assert built.incremental
    assert built.limits.budget is None


def test_every_setting_has_a_meaning_and_a_dotted_key() -> None:
    known = {key: meaning for key, meaning, _ in keys()}
    assert {"limits.rate", "fetch.max_bytes", "scope.include", "resolve", "user_agent"} <= known.keys()
    assert all(known.values())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limits": {"rates": 1}}, "unknown key limits.rates (did you mean limits.rate?)"),
        ({"rate": 1}, "unknown key rate (did you mean limits.rate?)"),
        ({"fetch": {"timeout": 1}}, "unknown key fetch.timeout (did you mean fetch.timeout_s?)"),
        ({"useragent": "x"}, "unknown key useragent (did you mean user_agent?)"),
        ({"zzzzzz": 1}, "unknown key zzzzzz"),
    ],
)
def test_an_unknown_key_is_refused_and_the_nearest_one_named(settings: dict[str, Any], message: str) -> None:
    assert problem(settings) == message


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"limits": {"workers": "many"}}, ("limits.workers: ", "a whole number", "got 'many'")),
        ({"limits": {"workers": 1.5}}, ("limits.workers: ", "a whole number", "got 1.5")),
        ({"limits": {"rate": "fast"}}, ("limits.rate: ", "'max'", "got 'fast'")),
        ({"limits": {"rate": None}}, ("limits.rate: ", "got None")),
        ({"limits": None}, ("limits: ", "got None")),
        ({"limits": [1]}, ("limits: ", "got [1]")),
        ({"scope": {"strict_path": "perhaps"}}, ("scope.strict_path: ", "got 'perhaps'")),
        ({"scope": {"include": "^https"}}, ("scope.include: ", "got '^https'")),
        ({"scope": {"include": ["a", 5]}}, ("scope.include[1]: ", "got 5")),
        ({"engine": {"order": "loose"}}, ("engine.order: ", "'strict' or 'relaxed'", "got 'loose'")),
        ({1: 2}, ("[1]: ", "keys must be text")),
        ({"limits": {2: 3}}, ("limits[2]: ", "keys must be text")),
    ],
)
def test_a_wrong_type_names_key_reason_and_value(settings: dict[Any, Any], parts: tuple[str, ...]) -> None:
    message = problem(settings)
    assert message.startswith(parts[0])
    assert all(part in message for part in parts)


@pytest.mark.parametrize(
    ("section", "key", "values"),
    [
        ("limits", "rate", [0, -1, 100_001, float("nan"), float("inf")]),
        ("limits", "workers", [0, 1025]),
        ("limits", "budget", [0, -5]),
        ("limits", "page_limit", [0]),
        ("limits", "max_depth", [-1]),
        ("scope", "external_hops", [-1, 6]),
        ("fetch", "timeout_s", [0, 3601, float("nan"), float("inf")]),
        ("fetch", "retries", [-1, 21]),
        ("fetch", "max_bytes", [0, 2_000_000_001]),
        ("engine", "window", [7, 65537]),
        ("engine", "processes", [-1, 65]),
        ("store", "file_mode", [-1, 0o1000]),
    ],
)
def test_a_value_out_of_range_is_refused(section: str, key: str, values: list[float]) -> None:
    for value in values:
        message = problem({section: {key: value}})
        assert message.startswith(f"{section}.{key}: ")
        assert message.endswith(f"got {value!r}")


def test_a_switch_is_no_number_and_a_number_no_switch() -> None:
    for section, values in build({}, source="x").model_dump().items():
        for key, default in values.items() if isinstance(values, dict) else ():
            if isinstance(default, int | float):
                wrong = 3 if isinstance(default, bool) else True
                assert problem({section: {key: wrong}}).startswith(f"{section}.{key}: "), (section, key)
    for key in ("budget", "page_limit", "max_depth", "per_host"):
        assert problem({"limits": {key: True}}) == f"limits.{key}: must be a number, got True"


def test_what_is_counted_fits_into_the_database() -> None:
    for section, key in (("limits", "budget"), ("limits", "page_limit"), ("sitemap", "max_urls")):
        assert problem({section: {key: 10**15 + 1}}).startswith(f"{section}.{key}: ")
        assert build({section: {key: 10**15}}, source="x").model_dump()[section][key] == 10**15


def test_what_must_be_a_list_or_keys_is_said_in_the_words_of_yaml() -> None:
    assert problem({"scope": {"include": "/docs/"}}) == "scope.include: must be a list, got '/docs/'"
    assert problem({"fetch": {"headers": 5}}) == "fetch.headers: must be keys with values"
    assert problem({"policy": {"scores": [5]}}) == "policy.scores[0]: must be keys with values, got 5"
    assert "such as example.org" in problem({"policy": {"hosts": ["https://example.org/"]}})


@pytest.mark.parametrize(("text", "mode"), [(0o640, 0o640), ("0640", 0o640), ("640", 0o640), ("0o400", 0o400)])
def test_permissions_are_octal_however_they_are_written(text: object, mode: int) -> None:
    assert build({"store": {"file_mode": text}}, source="x").store.file_mode == mode


@pytest.mark.parametrize("text", ["0999", "rw", "", 600, -1, "01777"])
def test_permissions_that_are_none(text: object) -> None:
    message = problem({"store": {"file_mode": text}})
    assert message == f"store.file_mode: must be octal permissions from 0 to 0777, such as 0640, got {text!r}"


@pytest.mark.parametrize("hops", range(6))
def test_external_hops_from_0_to_5_are_allowed(hops: int) -> None:
    assert build({"scope": {"external_hops": hops}}, source="x").scope.external_hops == hops


def test_rate_max_and_numbers_are_taken_as_they_are() -> None:
    assert build({"limits": {"rate": "max"}}, source="x").limits.rate == "max"
    assert build({"limits": {"rate": 0.1}}, source="x").limits.rate == 0.1
    assert build({"limits": {"rate": 100_000}}, source="x").limits.rate == 100_000


def test_all_problems_are_told_at_once() -> None:
    message = problem({"limits": {"workers": 0, "budget": 0}, "colour": "red"})
    assert message.count("; ") == 2


def test_patterns_have_a_length_and_a_long_one_is_not_echoed_whole() -> None:
    longest = "x" * PATTERN_BYTES
    assert build({"scope": {"exclude": [longest]}}, source="x").scope.exclude == (longest,)
    message = problem({"scope": {"exclude": [longest + "x"]}})
    assert message.startswith("scope.exclude[0]: ")
    assert "at most 1000" in message
    assert len(message) < 300
    assert problem({"scope": {"include": [""]}}).startswith("scope.include[0]: ")


@pytest.mark.parametrize(
    ("section", "value", "key"),
    [
        ("scope", {"exclude": ["fine", "("]}, "scope.exclude[1]"),
        ("policy", {"deny": ["("]}, "policy.deny[0]"),
        ("policy", {"page_types": [{"type": "doc", "pattern": "("}]}, "policy.page_types[0].pattern"),
        ("policy", {"scores": [{"pattern": "(", "score": 1}]}, "policy.scores[0].pattern"),
        ("policy", {"groups": [{"name": "g", "pattern": "(", "caps": {"pages": 1}}]}, "policy.groups[0].pattern"),
    ],
)
def test_a_pattern_that_is_none_is_refused_with_where_it_stands(section: str, value: object, key: str) -> None:
    message = problem({section: value})
    assert message.startswith(f"{key}: '(' is not an RE2 pattern: missing )")
    assert message.count("'('") == 1


@pytest.mark.parametrize("agent", ["", "two\nlines", "tab\there", "b\u00f6t/1.0", "x" * 501])
def test_a_user_agent_is_one_line_that_can_be_sent(agent: str) -> None:
    assert problem({"user_agent": agent}).startswith("user_agent: ")


@pytest.mark.parametrize(
    ("pin", "read"),
    [
        ("example.org:80:127.0.0.1", "example.org:80:127.0.0.1:80"),
        ("example.org:443:127.0.0.1:8443", "example.org:443:127.0.0.1:8443"),
        ("example.org:80:[::1]", "example.org:80:[::1]:80"),
        ("example.org:80:[::1]:8080", "example.org:80:[::1]:8080"),
        ("[2001:db8::1]:80:[::1]:8080", "[2001:db8::1]:80:[::1]:8080"),
        ("example.org:80:localhost:8080", "example.org:80:localhost:8080"),
    ],
)
def test_a_pin_names_an_address_and_a_port(pin: str, read: str) -> None:
    assert ":".join(read_pin(pin)) == read
    assert build({"resolve": [pin]}, source="x").resolve == (pin,)


@pytest.mark.parametrize(
    "pin",
    [
        "",
        "example.org",
        "example.org:80",
        "example.org:80:",
        ":80:127.0.0.1",
        "example.org::127.0.0.1",
        "example.org:http:127.0.0.1",
        "example.org:80:127.0.0.1:http",
        "example.org:80:127.0.0.1:90:100",
        "example.org:0:127.0.0.1",
        "example.org:65536:127.0.0.1",
        "example.org:80:127.0.0.1:65536",
        "example.org:\u0663:127.0.0.1",
        "example.org:80:::1",
        "::1:80:127.0.0.1",
        "example.org:80:[::1",
        "example.org:80:[::1]90",
        "[::1:80:127.0.0.1",
    ],
)
def test_a_bad_pin_is_named(pin: str) -> None:
    message = problem({"resolve": [pin]})
    assert message.startswith("resolve: ")
    assert "HOST:PORT:ADDR" in message
    assert repr(pin) in message


def test_a_file_is_read_and_only_what_it_says_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "orbweb.yaml"
    file.write_text("limits:\n  rate: 5\n  budget: null\nscope: {exclude: ['\\.pdf$']}\n")
    assert read_file(file) == {"limits": {"rate": 5.0, "budget": None}, "scope": {"exclude": ["\\.pdf$"]}}
    file.write_text("# nothing but a comment\n")
    assert read_file(file) == {}


def test_what_a_file_gives_can_be_stored_as_json(tmp_path: Path) -> None:
    file = tmp_path / "orbweb.yaml"
    file.write_text("user_agent: !!binary aGVsbG8=\nurls: {drop_params: !!set {one}}\nlimits: {rate: '7'}\n")
    settings = read_file(file)
    assert settings == {"user_agent": "hello", "urls": {"drop_params": ["one"]}, "limits": {"rate": 7.0}}
    assert json.loads(json.dumps(settings)) == settings


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"limits:\n  rate: [1\n", ("not valid YAML", "line ")),
        (b"limits: {rate: 1}}\n", ("not valid YAML", "line 1")),
        (b"a: \x00\n", ("not valid YAML",)),
        (b"[" * 5_000, ("nested too deeply",)),
        (b"limits: {rate: 1}\nscope: {}\nlimits: {workers: 2}\n", ("line 3: duplicate key 'limits'",)),
        (b"policy:\n  scores:\n  - {pattern: a, score: 1, score: 2}\n", ("line 3: duplicate key 'score'",)),
        (b"!!python/object/apply:os.system [id]\n", ("not valid YAML",)),
        (b"- limits\n", ("expected keys", "list")),
        (b"just words\n", ("expected keys", "str")),
        (b"\xff\xfe\xfd", ("cannot read", "UTF-8")),
        (b"limits: {rate: slow}\n", ("limits.rate", "'slow'")),
        (b"limit: {rate: 1}\n", ("unknown key limit", "limits.rate")),
    ],
)
def test_a_bad_file_is_named_with_its_reason(tmp_path: Path, content: bytes, parts: tuple[str, ...]) -> None:
    file = tmp_path / "orbweb.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_file(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert all(part in str(caught.value) for part in parts)


def test_an_unreadable_file_is_named_with_its_reason(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent.yaml", "No such file"), (tmp_path, "directory")):
        with pytest.raises(ConfigError, match=reason) as caught:
            read_file(path)
        assert str(path) in str(caught.value)


def test_the_environment_sets_keys_of_sections() -> None:
    found = read_environment(
        {
            "ORBWEB_LIMITS__RATE": "5",
            "ORBWEB_LIMITS__BUDGET": "10",
            "ORBWEB_SCOPE__INCLUDE": "['^https://a/', b]",
            "ORBWEB_ENGINE__ORDER": "relaxed",
            "ORBWEB_URLS__KEEP_PARAMS": "[]",
            "ORBWEB_USER_AGENT": "probe/1 (+https://example.org/bot)",
            "ORBWEB_INCREMENTAL": "false",
            "ORBWEB_WORKSPACE": "somewhere",
            "ORBWEB_TOKEN": "secret",
            "ORBWEB_BROWSER": "/usr/bin/chromium-headless-shell",
            "ORBWEB_FAULT": "page_settled:1",
            "PATH": "__",
        }
    )
    assert found == {
        "limits": {"rate": 5.0, "budget": 10},
        "scope": {"include": ["^https://a/", "b"]},
        "engine": {"order": "relaxed"},
        "urls": {"keep_params": []},
        "user_agent": "probe/1 (+https://example.org/bot)",
        "incremental": False,
    }


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("ORBWEB_LIMITS__RATES", "5", "unknown key limits.rates (did you mean limits.rate?)"),
        ("ORBWEB_LIMIT__RATE", "5", "unknown key limit"),
        ("ORBWEB_USERAGENT", "probe/1", "unknown key useragent (did you mean user_agent?)"),
        ("ORBWEB_LIMITS__WORKERS", "0", "limits.workers: "),
        ("ORBWEB_LIMITS__RATE", "", "limits.rate: "),
        ("ORBWEB_SCOPE__INCLUDE", "[a", "not valid YAML: line 1: "),
        ("ORBWEB_SCOPE__INCLUDE", "[a, b(]", "scope.include[1]: 'b(' is not an RE2 pattern: "),
    ],
)
def test_a_bad_variable_is_named_with_its_reason(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_environment({name: text})
    assert str(caught.value).startswith(f"environment variable {name}: {reason}")


def test_later_layers_win_key_by_key() -> None:
    defaults = {"limits": {"rate": 1, "workers": 3}, "resolve": ["a:80:127.0.0.1"], "user_agent": "one"}
    merged = merge(defaults, {"limits": {"rate": 2}}, {"resolve": []}, {"user_agent": "two", "limits": {}})
    assert merged == {"limits": {"rate": 2, "workers": 3}, "resolve": [], "user_agent": "two"}
    assert defaults["limits"] == {"rate": 1, "workers": 3}
    assert merge() == {}
    assert merge({"limits": 1}, {"limits": {"rate": 2}}) == {"limits": {"rate": 2}}


def test_options_stick_until_they_are_given_again() -> None:
    stored = json.loads(json.dumps(merge({}, {"limits": {"rate": "max", "budget": 5}})))
    again = merge(stored, {"limits": {"budget": 7}})
    built = build(again, source="settings")
    assert (built.limits.rate, built.limits.budget) == ("max", 7)
    assert build(merge(again, {"limits": {"budget": None}}), source="settings").limits.budget is None


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        config.Config().limits.workers = 7  # type: ignore[misc]


@pytest.mark.parametrize("key", ["sitemap.mode", "resources.mode", "fetch.cookies"])
def test_a_bare_off_is_off_although_yaml_reads_it_as_false(key: str, tmp_path: Path) -> None:
    section, _, name = key.partition(".")
    file = tmp_path / "orbweb.yaml"
    file.write_text(f"{section}:\n  {name}: off\n")
    assert read_file(file) == {section: {name: "off"}}
    assert read_environment({f"ORBWEB_{section.upper()}__{name.upper()}": "off"}) == {section: {name: "off"}}


WRONG: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        10**30,
        1.5,
        float("nan"),
        float("inf"),
        "",
        "nonsense ((",
        "x" * 2_000,
        "\x00",
        b"bytes",
    ),
    *([], [None], [[]], [5], ["("], [{}], {}, {"a": []}, {"a": 1}, {5: 5}, {"": ""}),
)
PYDANTIC = re.compile(
    r"Input should|Extra inputs|validation error|type=|Value error|Field required|[Uu]nable to|"
    r"pydantic|valid (integer|number|string|tuple|dictionary|boolean)|for further information"
)


def wrong_settings() -> Iterator[tuple[str, Any]]:
    """Every setting and every section with every wrong value, and unknown keys in each of them."""
    sections = {key.partition(".")[0] for key, _, _ in keys() if "." in key}
    for key in (*(key for key, _, _ in keys()), *sections, *(f"{section}.unknown" for section in sections)):
        for value in WRONG:
            section, _, name = key.partition(".")
            yield key, {section: {name: value}} if name else {key: value}
    rules = {"page_types": ({"type": "A"}, {"pattern": "x"}), "scores": ({"pattern": "(", "score": 10_000},)}
    rules["groups"] = ({"name": "1", "pattern": "x", "caps": {}}, {"name": "a", "pattern": "x", "caps": {"a": -1}})
    for name, entries in rules.items():
        yield from ((f"policy.{name}", {"policy": {name: [entry]}}) for entry in entries)


def test_a_wrong_setting_is_explained_in_our_own_words() -> None:
    refused = 0
    for key, settings in wrong_settings():
        try:
            build(settings, source="orbweb.yaml")
        except ConfigError as error:
            message = str(error)
            assert message.startswith((f"orbweb.yaml: {key}", f"orbweb.yaml: unknown key {key}")), message
            assert not PYDANTIC.search(message), message
            assert "is not allowed here" not in message, message
            refused += 1
    assert refused > 1_000


def test_where_several_types_are_allowed_the_message_names_them_all() -> None:
    assert problem({"limits": {"rate": "fast"}}) == "limits.rate: must be a number or 'max', got 'fast'"
    assert problem({"policy": {"scores": [{"score": 1}]}}) == "policy.scores[0].pattern: is missing"
