"""Gives the parser its bytes in portions, so that no more of one value is ever held than a value may have.

The parser copies a value as a whole, twice, before anybody can look at its length.
"""

from noetl.playbook.source.bounds import SCALAR_CHARS_MAX
from noetl.playbook.source.tree import TreeBuilder

VALUE_BYTES_MAX = 4 * SCALAR_CHARS_MAX
"""Between two values of a file: the longest text as it may be written, or comments and blank lines."""

_PORTION_BYTES = 64 * 1024


class Feed:
    """A stream for the parser; it asks for more while it has nothing to tell."""

    def __init__(self, encoded: bytes, builder: TreeBuilder) -> None:
        self._encoded = encoded
        self._builder = builder
        self._given = 0
        self._values = 0
        self._given_before = 0

    def read(self, _size: int = 0) -> bytes:
        """The next portion, whatever the parser asked for: it keeps what it has no room for."""
        if self._builder.values != self._values:
            self._values, self._given_before = self._builder.values, self._given
        if self._given - self._given_before > VALUE_BYTES_MAX:
            raise self._builder.endless(VALUE_BYTES_MAX)
        start, self._given = self._given, self._given + _PORTION_BYTES
        return self._encoded[start : self._given]
