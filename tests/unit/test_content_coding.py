"""Bodies are decoded while they arrive, within what is allowed, and one that ends too early is known as such."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest

from orbweb.fetching.content_coding import CUT, MORE, BadCoding, decoder

BODY = b"<p>" + b"".join(b"line %d of a page, " % number for number in range(2_000))
MOST = 10_000_000


def raw_deflate(body: bytes) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packing.compress(body) + packing.flush()


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("gzip", zlib.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli.compress),
]
IDS = ["gzip", "x-gzip", "zlib as gzip", "zlib", "raw deflate", "br"]


def decoded(coding: str, packed: bytes, step: int, most: int = MOST) -> tuple[bytes, bool]:
    decoding, found = decoder(coding), b""
    for start in range(0, len(packed), step):
        found += decoding.decode(packed[start : start + step], most - len(found) + 1)
        if len(found) > most:
            return found, False
    return found, decoding.ended


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=IDS)
def test_a_whole_body_is_decoded_and_has_ended(coding: str, pack: Callable[[bytes], bytes], step: int) -> None:
    assert decoded(coding, pack(BODY), step) == (BODY, True)


@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=IDS)
def test_every_beginning_of_a_body_is_a_beginning_and_has_not_ended(
    coding: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(BODY[:3_000])
    for length in range(1, len(packed)):
        found, ended = decoded(coding, packed[:length], 1_000_000)
        assert not ended, length
        assert BODY.startswith(found)


@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=IDS)
@pytest.mark.parametrize("step", [1, 1_000_000])
def test_more_after_the_end_is_refused(coding: str, pack: Callable[[bytes], bytes], step: int) -> None:
    with pytest.raises(BadCoding, match=MORE):
        decoded(coding, pack(BODY) + b"12345", step)


def test_a_checksum_after_raw_deflate_is_let_through() -> None:
    assert decoded("deflate", raw_deflate(BODY) + b"1234", 1) == (BODY, True)


@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=IDS)
def test_no_more_is_decoded_than_is_allowed(coding: str, pack: Callable[[bytes], bytes]) -> None:
    """A chunk of a bomb holds a thousand times its size and more."""
    found, ended = decoded(coding, pack(bytes(50_000_000)), 1_000_000, most=100_000)
    assert (100_000 < len(found) < 1_000_000, ended) == (True, False)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress"])
def test_what_is_not_as_its_coding_says_is_refused(coding: str) -> None:
    with pytest.raises(BadCoding) as refused:
        decoded(coding, b"\xff<p>not compressed at all", 1_000)
    assert CUT not in str(refused.value)


def test_a_wrong_checksum_is_damage_and_no_early_end() -> None:
    packed = bytearray(gzip.compress(BODY))
    packed[-6] ^= 1
    with pytest.raises(BadCoding, match="data check"):
        decoded("gzip", bytes(packed), 1_000)
