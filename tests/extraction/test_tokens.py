"""How tokens are counted: the estimate, and an encoding that must be on the machine."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweb.errors import ConfigError
from orbweb.extraction import tokens

PROSE = (
    "A crawler that stops half way should go on where it was, and a page that it has kept should be the same page "
    "tomorrow. Both are promises about what is written down before anything else is done."
)
CODE = "def take(site: str, now: int) -> int:\n    return self._hosts.get(site, 0) + 2 * now if site else -1\n"
RUSSIAN = "Поисковый робот обходит сайты и сохраняет страницы, чтобы их можно было прочитать без сети."
JAPANESE = "クローラーはウェブサイトを巡回し、あとで読めるようにページを保存します。"


# The second figure is what o200k_base makes of the text.
@pytest.mark.parametrize(
    ("text", "real"), [(PROSE, 41), (CODE, 35), (RUSSIAN, 22), (JAPANESE, 24)], ids=["prose", "code", "ru", "ja"]
)
def test_the_estimate_is_near_a_real_tokenizer(text: str, real: int) -> None:
    assert tokens.estimate(text * 10) == pytest.approx(real * 10, rel=0.1)


def test_nothing_has_no_tokens_and_anything_has_one() -> None:
    assert tokens.estimate("") == 0
    assert tokens.estimate("\x00") == 1
    assert tokens.estimate("\ud800") >= 1


@given(st.text(), st.text())
def test_the_estimate_grows_with_the_text(text: str, more: str) -> None:
    assert tokens.estimate(text + more) >= tokens.estimate(text) >= (1 if text else 0)


def test_a_long_text_is_summed_in_blocks() -> None:
    assert tokens.estimate(PROSE * 5_000) == pytest.approx(5_000 * tokens.estimate(PROSE), rel=0.02)


class Encoding:
    """Stands in for an encoding of tiktoken: a word is a token."""

    def encode_ordinary(self, text: str) -> list[str]:
        assert len(text) <= tokens.PIECE
        return text.split()


def install(
    monkeypatch: pytest.MonkeyPatch, get_encoding: Callable[[str, types.ModuleType], Encoding]
) -> list[str]:
    """A tiktoken that is installed; the addresses that it has asked for."""
    asked: list[str] = []
    package, load, registry = (types.ModuleType(f"tiktoken{name}") for name in ("", ".load", ".registry"))
    load.read_file = asked.append
    registry.list_encoding_names = lambda: ["o200k_base"]
    registry.get_encoding = lambda name: get_encoding(name, load)
    package.load, package.registry = load, registry
    for module in (package, load, registry):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return asked


def test_an_encoding_counts_a_long_text_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda name, load: Encoding())
    found = tokens.tokenizer("o200k_base")
    assert found.name == "o200k_base"
    assert found.count("") == 0
    assert found.count("a word\n" * 20_000) == 40_000
    assert found.count("word " * 20_000) == 20_000
    assert found.count("w" * (10 * tokens.PIECE)) == 10


def test_an_encoding_without_its_data_is_an_error_and_nothing_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def get_encoding(name: str, load: types.ModuleType) -> Encoding:
        load.read_file("https://data.example/o200k")
        return Encoding()

    asked = install(monkeypatch, get_encoding)
    with pytest.raises(ConfigError, match=r"content.tokens: .*no data for o200k_base.*https://data.example/o200k"):
        tokens.tokenizer("o200k_base")
    assert asked == []
    sys.modules["tiktoken.load"].read_file("whoever else asks")
    assert asked == ["whoever else asks"]


def test_an_unknown_tokenizer_is_an_error_that_names_the_known(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda name, load: Encoding())
    with pytest.raises(ConfigError, match=r"'o300k' is not a tokenizer; use estimate, o200k_base"):
        tokens.tokenizer("o300k")


def test_without_tiktoken_only_the_estimate_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert tokens.tokenizer("estimate") is tokens.ESTIMATOR
    with pytest.raises(ConfigError, match=r"o200k_base needs tiktoken.*orbweb\[tokens\]"):
        tokens.tokenizer("o200k_base")
