"""Where an alias stands. In the tree it is the node that it repeats, so its place has to be found in the text again."""

import re

from noetl.playbook.diagnostics import Span
from noetl.playbook.source.nodes import Mapping, Source

_ANCHOR = r"&([^\s,\[\]{}]+)\s*$"
_ANCHOR_CHARS_MAX = 200


class Aliases:
    """Finds the aliases of a node one after the other."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._after: dict[int, int] = {}

    def next_of(self, node: Mapping) -> Span | None:
        """The place of the next alias of a node; None where the text does not show it."""
        text = self._source.text
        anchor = re.search(_ANCHOR, text[max(node.start - _ANCHOR_CHARS_MAX, 0) : node.start])
        if anchor is None:
            return None
        name = re.escape(anchor[1])
        alias = re.compile(rf"(?<=[\s\[,-])\*{name}(?=[\s,\]}}]|$)")
        found = alias.search(text, self._after.get(id(node), node.end))
        self._after[id(node)] = found.end() if found is not None else len(text)
        return self._source.lines.span(*found.span()) if found is not None else None
