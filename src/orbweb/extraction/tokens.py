"""The number of tokens of a text: an estimate, or the count of a tiktoken encoding.

The count is a function of the text and the tokenizer's name alone. Nothing is downloaded: an encoding that is not
on this machine is an error.

The estimate is two sums over the UTF-8 bytes: the weight of each byte, and the weight of each change from the byte
before (the start of a word, a capital, a number, a script). The weights were fitted to o200k_base;
docs/explanation/extraction.md says how well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from orbweb.errors import ConfigError
from orbweb.extraction.fingerprint import KINDS, Scale

ESTIMATE = "estimate"
"""The name of the estimator among the tokenizers."""
PIECE = 1 << 14
"""Characters that are passed to tiktoken at once, because it is slow for long texts without spaces."""

_PER_WEIGHT = 0.06625891
_PER_START = 0.30149162

# First and last byte, weight (0 to 8), and its properties, one bit each.
_BYTES = (
    (0x20, 0x20, 2, 0b10),
    (0x09, 0x09, 2, 0b10),
    (0x0A, 0x0A, 1, 0b10110),
    (0x0D, 0x0D, 1, 0b10110),
    (0x21, 0x7E, 5, 0b0),
    (0x30, 0x39, 7, 0b10111000),
    (0x41, 0x5A, 1, 0b111),
    (0x61, 0x7A, 1, 0b1000011),
    (0x80, 0xBF, 0, 0b11),  # inside a character
    (0xC0, 0xC2, 4, 0b10000000),  # Latin-1 signs
    (0xC3, 0xC3, 6, 0b11100101),  # Latin-1 letters
    (0xC4, 0xCD, 0, 0b10),  # other Latin
    (0xCE, 0xCF, 5, 0b11),  # Greek
    (0xD0, 0xD4, 3, 0b11),  # Cyrillic
    (0xD5, 0xD7, 6, 0b11),  # Armenian, Hebrew
    (0xD8, 0xDF, 4, 0b11),  # Arabic
    (0xE0, 0xE0, 2, 0b1),  # scripts of India, Thai
    (0xE1, 0xE1, 1, 0b1000011),  # Georgian, Khmer, Vietnamese
    (0xE2, 0xE2, 0, 0b1000011),  # typographic signs
    (0xE3, 0xE3, 6, 0b1),  # Kana
    (0xE4, 0xE9, 8, 0b1),  # Han
    (0xEA, 0xED, 6, 0b10),  # Hangul
    (0xEE, 0xEF, 0, 0b1000011),
    (0xF0, 0xF4, 8, 0b11111111),  # emoji
)


_STARTS = 32
"""The bits of a sum for weights; the higher ones are for starts."""


def _scale() -> Scale:
    """Both sums in one number. A byte has the kind of the last row that contains it; others add nothing."""
    kinds = [0] * 256
    for number, (first, last, _, _) in enumerate(_BYTES, 1):
        kinds[first : last + 1] = [number] * (last + 1 - first)
    spare = [(0, 0)] * (KINDS - len(_BYTES) - 1)
    rows = [(0, 0), *((weight, what) for _, _, weight, what in _BYTES), *spare]
    return Scale(
        kinds, [[weight + ((what & ~had).bit_count() << _STARTS) for weight, what in rows] for _, had in rows]
    )


_SCALE = _scale()


def estimate(text: str) -> int:
    """Approximately the number of tokens of o200k_base; at least one for any non-empty text."""
    both = _SCALE.sum(text.encode("utf-8", "replace"))
    tokens = _PER_WEIGHT * (both & (1 << _STARTS) - 1) + _PER_START * (both >> _STARTS)
    return max(round(tokens), 1 if text else 0)


class Tokenizer(NamedTuple):
    """A token counter, and its name, which is stored with each count."""

    name: str
    count: Callable[[str], int]


ESTIMATOR = Tokenizer(ESTIMATE, estimate)


def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of this name: `estimate`, or an encoding of tiktoken whose data is on this machine."""
    if name == ESTIMATE:
        return ESTIMATOR
    encode = _encoding(name).encode_ordinary
    return Tokenizer(name, lambda text: sum(len(encode(piece)) for piece in _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of about `PIECE` characters, cut before a line, else before a word, else anywhere."""
    start = 0
    while len(text) - start > PIECE:
        half, end = start + PIECE // 2, start + PIECE
        cut = next((at for sign in "\n " if (at := text.rfind(sign, half, end)) > 0), end)
        yield text[start:cut]
        start = cut
    yield text[start:]


class _NoDownload(Exception):
    """tiktoken does not have its data and tried to download it."""


def _refuse(blobpath: str) -> bytes:
    raise _NoDownload(blobpath)


def _encoding(name: str) -> Any:
    """An encoding from the local data of tiktoken; ConfigError if there is none, or tiktoken is not installed."""
    try:
        from tiktoken import load, registry
    except ImportError:
        raise ConfigError(
            f"content.tokens: {name} needs tiktoken, which is not installed: pip install 'orbweb[tokens]', "
            f"or use {ESTIMATE}"
        ) from None
    names = registry.list_encoding_names()
    if name not in names:
        raise ConfigError(f"content.tokens: {name!r} is not a tokenizer; use {ESTIMATE}, {', '.join(names)}")
    download, load.read_file = load.read_file, _refuse
    try:
        return registry.get_encoding(name)
    except _NoDownload as error:
        raise ConfigError(
            f"content.tokens: tiktoken has no data for {name} on this machine, and orbweb downloads none. Put "
            f"{error} into its cache (TIKTOKEN_CACHE_DIR), for example by python -c "
            f"'import tiktoken; tiktoken.get_encoding(\"{name}\")', or use {ESTIMATE}"
        ) from None
    finally:
        load.read_file = download
