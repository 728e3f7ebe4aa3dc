"""Answers that come compressed, inflated piece by piece and counted meanwhile, so that no bomb goes off."""

import zlib
from collections.abc import Iterator

PIECE_BYTES = 64 * 1024
RATIO_MAX = 250
"""What is honest hardly ever gets this much larger; the formats allow a thousand times."""

RATIO_FREE_BYTES = 16 * 1024 * 1024
"""So much may come out before anyone looks at the ratio."""

ENCODINGS = ("gzip", "deflate")
"""What we ask for, in the words of `Accept-Encoding`."""


class TooLarge(Exception):
    """The answer is larger than it may be, as it came or inflated."""


class Unreadable(Exception):
    """The answer is not compressed as it says, or is encoded in a way that was not asked for."""


class BrokenOff(Unreadable):
    """The answer ends in the middle."""


class Plain:
    """An answer that is not compressed. What an answer comes to is counted here for the others too."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._in = 0
        self._out = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._in += len(data)
        yield self._counted(data)

    def end(self) -> None:
        """Raises where something is missing."""

    def _counted(self, piece: bytes) -> bytes:
        self._out += len(piece)
        if self._out > self._bytes_max:
            raise TooLarge(
                f"the answer is larger than {self._bytes_max} bytes; `spec.response_bytes_max` sets the limit"
            )
        if self._out > RATIO_FREE_BYTES and self._out > RATIO_MAX * self._in:
            raise TooLarge(
                f"the answer inflates to more than {RATIO_MAX} times what came, as a decompression bomb does"
            )
        return piece


class Inflating(Plain):
    """`deflate` means zlib's format, though some send it without its head."""

    def __init__(self, bytes_max: int, encoding: str) -> None:
        super().__init__(bytes_max)
        self._encoding = encoding
        self._inflater: zlib._Decompress | None = None
        self._is_done = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._in += len(data)
        try:
            yield from self._inflated(data)
        except zlib.error as error:
            raise Unreadable(f"the answer is not {self._encoding}, as it says: {error}") from error

    def end(self) -> None:
        if self._in and not self._is_done:
            raise BrokenOff(f"the answer breaks off in the middle of its {self._encoding}")

    def _inflated(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflater is None:
                self._inflater, self._is_done = _inflater(self._encoding, data), False
            inflater = self._inflater
            piece = inflater.decompress(data, PIECE_BYTES)
            while piece:
                yield self._counted(piece)
                piece = inflater.decompress(inflater.unconsumed_tail, PIECE_BYTES)
            data = inflater.unused_data
            if inflater.eof:
                self._inflater, self._is_done = None, True
                data = data if self._encoding == "gzip" and data[:1] == b"\x1f" else b""


def inflating(encoding: str, bytes_max: int) -> Plain:
    name = encoding.strip().lower().removeprefix("x-")
    if name in ("", "identity"):
        return Plain(bytes_max)
    if name not in ENCODINGS:
        asked = " or ".join(ENCODINGS)
        raise Unreadable(f"the answer is encoded as {encoding!r}, where {asked} was asked for")
    return Inflating(bytes_max, name)


def _inflater(encoding: str, data: bytes) -> "zlib._Decompress":
    if encoding == "gzip":
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    has_head = data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] << 8 | data[1]) % 31 == 0)
    return zlib.decompressobj(zlib.MAX_WBITS if has_head else -zlib.MAX_WBITS)
