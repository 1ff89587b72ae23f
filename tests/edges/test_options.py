"""One table of options: the keywords of Python and the options of the command line are made from it."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

import orbweb
from harness import Cli
from orbweb import config
from orbweb.app import (
    OPTIONS,
    CrawlOptions,
    Kind,
    Option,
    PolicyOptions,
    RecrawlOptions,
    ResumeOptions,
    RuleOptions,
    SettingsOptions,
    options_of,
)
from orbweb.app.options import OBJECTS, settings_of, words_of
from orbweb.cli import commands
from orbweb.cli.options import takes

TYPED = {
    "crawl": CrawlOptions,
    "discover": CrawlOptions,
    "run": CrawlOptions,
    "resume": ResumeOptions,
    "scrape": ResumeOptions,
    "recrawl": RecrawlOptions,
    "rules": RuleOptions,
    "settings": SettingsOptions,
    "validate_policy": PolicyOptions,
}
COMMANDS = {info.callback.__name__: info.callback for info in commands.app.registered_commands if info.callback}
BY_NAME = {option.name: option for option in OPTIONS}
VALUES: dict[str, Any] = {
    "workers": 3,
    "processes": 0,
    "budget": 7,
    "page_limit": None,
    "max_depth": 2,
    "rate": "max",
    "external_hops": 1,
    "strict_path": False,
    "include": ["/a", "--b"],
    "exclude": ["/c=d"],
    "resources": "check",
    "sitemap": "off",
    "profile": None,
    "config": Path("site.yaml"),
    "seeds": Path("seeds.txt"),
    "user_agent": "probe/1 (+https://example.org/)",
    "headers": {"x-a": "$TOKEN", "x-b": None},
    "resolve": ["a.test:80:127.0.0.1"],
    "allow_private": True,
    "order": "relaxed",
    "store": "files",
    "refresh": True,
    "new_run": True,
    "trust": ["private=a.test"],
    "metrics_port": 0,
}


@pytest.mark.parametrize("verb", TYPED)
def test_the_keywords_of_a_verb_are_those_of_the_table(verb: str) -> None:
    objects = {name for name, verbs in OBJECTS.items() if verb in verbs}
    assert set(TYPED[verb].__annotations__) == {option.name for option in options_of(verb)} | objects


@pytest.mark.parametrize("verb", sorted({verb for option in OPTIONS for verb in option.verbs}))
def test_a_command_has_the_options_of_its_verb(verb: str) -> None:
    hints = get_type_hints(COMMANDS[verb], include_extras=True)
    for option in options_of(verb):
        info = hints[option.name].__metadata__[0]
        assert (info.default.split("/")[0], info.help) == (option.flag, option.help)
        assert (info.min, info.max) == (option.between or (None, None))
    assert set(VALUES) | {"due", "save"} == set(BY_NAME)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_keyword_has_the_type_of_its_kind(option: Option) -> None:
    types = {
        Kind.INTEGER: {int},
        Kind.LIMIT: {int, None},
        Kind.RATE: {float, "max"},
        Kind.FLAG: {bool},
        Kind.SWITCH: {bool},
        Kind.TEXT: {str},
        Kind.CHOICE: {*option.choices, *([None] if option.removable else [])},
    }
    for verb in option.verbs & set(TYPED):
        found = _parts(get_type_hints(TYPED[verb], localns={"ProxyChooser": orbweb.ProxyChooser})[option.name])
        if option.kind in types:
            assert found - ({None} if option.kind is Kind.INTEGER else set()) == types[option.kind]


def _parts(hint: Any) -> set[Any]:
    """The members of a union, and the values of a Literal."""
    if get_origin(hint) in (Union, UnionType):
        return {part for member in get_args(hint) for part in _parts(member)}
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {None if hint is type(None) else hint}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_setting_exists_and_takes_the_value(option: Option) -> None:
    if option.setting is None:
        return
    assert option.setting in {key for key, _, _ in config.keys()}  # noqa: SIM118
    for value in [*option.choices, VALUES[option.name]]:
        config.build(settings_of({option.name: value}), source="test")


def test_options_become_the_words_of_a_command_and_back() -> None:
    """Discovery is started as a command with the options that its caller gave."""
    got: list[dict[str, Any]] = []
    app = typer.Typer()

    @app.command()
    @takes("discover")
    def command(**options: Any) -> None:
        got.append(options)

    done = CliRunner().invoke(app, words_of(VALUES), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert got == [VALUES]


def test_every_parameter_of_a_crawl_is_an_option_or_has_a_place() -> None:
    own = set(inspect.signature(COMMANDS["crawl"]).parameters) - {option.name for option in options_of("crawl")}
    assert own == {"urls", "project", "quiet", "no_progress", "verbose", "as_json", "workspace"}


def test_messages_name_options_as_their_caller_writes_them(tmp_path: Path, cli: Cli) -> None:
    space = orbweb.open(tmp_path / "w")
    with pytest.raises(orbweb.UsageError, match=r"^give either URLs or seeds, not both$"):
        space.crawl("http://127.0.0.1:9/", seeds="seeds.txt")
    refused = cli("crawl", "http://127.0.0.1:9/", "--seeds", "seeds.txt").ok(2)
    assert refused.err == "orbweb: give either URLs or --seeds, not both\n"
    with pytest.raises(orbweb.UsageError, match=r"seeds=FILE, or project=NAME .* `configure\(\)`"):
        space.crawl()
    assert (
        "--seeds FILE, or --project NAME of an existing project; `orbweb configure --workspace"
        in cli("crawl").ok(2).err
    )
    with pytest.raises(orbweb.ConfigError, match=r"^options: limits\.workers"):
        space.crawl("http://127.0.0.1:9/", workers=5000)
    assert (
        cli("crawl", "http://127.0.0.1:9/", "--budget", "0").ok(2).err.startswith("orbweb: command line: limits")
    )
