"""Content codings: which ones requests accept, and incremental decoding of a body.

Decoding is done here because libcurl does not report a compressed body that ends before its end mark. A decoder
returns at most slightly more than it is allowed to, whatever the body claims; `ended` is true only after the end
mark was read, with its checksum if the coding has one. Pure.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

import brotli

OFFERED = "deflate, gzip, br"
NO_CODING = ("", "identity", "none")

_AUTOMATIC = 32 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_TRAILER = 4
"""Bytes of the checksum that some servers send after a deflate stream without a zlib header."""

MORE = "data after the end of the compressed body"
CUT = "the compressed body ends too early"


class BadCoding(ValueError):
    """The bytes are not valid in their content coding."""


class Decoder(Protocol):
    """The decoding of one body."""

    @property
    def ended(self) -> bool:
        """Whether the end mark was read."""

    def decode(self, chunk: bytes, most: int) -> bytes:
        """The next decoded bytes. A result of `most` bytes or more may be incomplete, and ends the decoding."""


class _Gzip:
    """gzip, or zlib from a server that confuses them."""

    __slots__ = ("_inflating",)

    def __init__(self) -> None:
        self._inflating = zlib.decompressobj(_AUTOMATIC)

    @property
    def ended(self) -> bool:
        return self._inflating.eof

    def decode(self, chunk: bytes, most: int) -> bytes:
        inflating = self._inflating
        if inflating.eof:
            raise BadCoding(MORE)
        try:
            found = inflating.decompress(chunk, most)
        except zlib.error as error:
            raise BadCoding(_reason(error)) from error
        if inflating.unused_data:
            raise BadCoding(MORE)
        return found


class _Deflate:
    """zlib, or deflate without its header, which many servers send under the same name."""

    __slots__ = ("_has_begun", "_inflating", "_is_raw", "_trailing", "_unread")

    def __init__(self) -> None:
        self._inflating = zlib.decompressobj()
        self._unread = b""
        self._has_begun = self._is_raw = False
        self._trailing = 0

    @property
    def ended(self) -> bool:
        return self._inflating.eof

    def decode(self, chunk: bytes, most: int) -> bytes:
        if self._inflating.eof:
            self._trail(len(chunk))
            return b""
        try:
            found = self._inflate(chunk, most)
        except zlib.error as error:
            raise BadCoding(_reason(error)) from error
        self._trail(len(self._inflating.unused_data))
        return found

    def _inflate(self, chunk: bytes, most: int) -> bytes:
        """Before the first decoded byte, an error may mean that the zlib header is missing."""
        if self._has_begun:
            return self._inflating.decompress(chunk, most)
        self._unread += chunk
        try:
            found = self._inflating.decompress(chunk, most)
        except zlib.error:
            self._is_raw, self._inflating = True, zlib.decompressobj(_RAW)
            found = self._inflating.decompress(self._unread, most)
        if found or self._is_raw:
            self._has_begun, self._unread = True, b""
        return found

    def _trail(self, size: int) -> None:
        self._trailing += size
        if self._trailing > (_TRAILER if self._is_raw else 0):
            raise BadCoding(MORE)


class _Brotli:
    __slots__ = ("_decompressing",)

    def __init__(self) -> None:
        self._decompressing = brotli.Decompressor()

    @property
    def ended(self) -> bool:
        return bool(self._decompressing.is_finished())

    def decode(self, chunk: bytes, most: int) -> bytes:
        if self.ended:
            raise BadCoding(MORE)
        try:
            return bytes(self._decompressing.process(chunk, output_buffer_limit=most))
        except brotli.error as error:
            raise BadCoding(f"damaged brotli data, or {MORE}") from error


class _Unknown:
    """A coding that was not offered."""

    ended = True

    def __init__(self, coding: str) -> None:
        self._coding = coding

    def decode(self, chunk: bytes, most: int) -> bytes:  # noqa: ARG002
        raise BadCoding(f"content coding {self._coding!r} was not offered")


_DECODERS: Mapping[str, Callable[[], Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
}


def decoder(coding: str) -> Decoder:
    """A decoder for a body in this coding, in lower case."""
    make = _DECODERS.get(coding)
    return _Unknown(coding) if make is None else make()


def _reason(error: zlib.error) -> str:
    """zlib's message without its prefix."""
    return f"damaged compressed data: {str(error).rpartition(': ')[2]}"
