"""The parser's events become a tree of nodes, without recursion, bounded in nesting, size and expansion."""

import re
from collections.abc import Callable
from typing import Protocol

import msgspec
import yaml

from noetl.playbook.diagnostics import Edit
from noetl.playbook.source.blanks import ODD_BLANKS, odd_indentation
from noetl.playbook.source.bounds import (
    ANCHORS_MAX,
    COLLECTION_NODES_MAX,
    DEPTH_MAX,
    PROBLEMS_MAX,
    SCALAR_CHARS_MAX,
    WINDOW_NODES,
    nodes_beyond,
    nodes_to_come_beyond,
)
from noetl.playbook.source.failures import parts_of
from noetl.playbook.source.lines import BYTE_ORDER_MARK, Lines
from noetl.playbook.source.nodes import Entry, Mapping, Node, Refused, Scalar, Sequence, SourceProblem, Style, is_merge
from noetl.playbook.source.scalars import Value, quote, resolve_plain
from noetl.playbook.source.unquoted import TEMPLATE_MESSAGE, quote_hint

_STYLES = {"": Style.PLAIN, "'": Style.SINGLE, '"': Style.DOUBLE, "|": Style.LITERAL, ">": Style.FOLDED}
_BLANK = re.compile("(?:[ \t\r\n\x85\u2028\u2029]++|#[^\r\n\x85\u2028\u2029]*+)*+")
_PROPERTY = re.compile("!<[^>]*>|[^ \t\r\n\x85\u2028\u2029,\\[\\]{}]*+")
_LATIN = "\x9f"  # no text that begins with a letter of a common key is behind it
_PLAIN = Style.PLAIN  # looking a member up in its enum costs more than the rest of the comparison
_SEPARATORS = re.compile(r"[\s:,?-]*+")
_SHOWN_CHARS_MAX = 40


class _Mark(Protocol):
    index: int


class _Event(Protocol):
    start_mark: _Mark
    end_mark: _Mark


class _StartEvent(_Event, Protocol):
    anchor: str | None
    tag: str | None
    flow_style: bool


class _ScalarEvent(_Event, Protocol):
    anchor: str | None
    tag: str | None
    value: str
    style: str


class _AliasEvent(_Event, Protocol):
    anchor: str


class _Frame:
    """A collection that is still open. A sequence, and the document itself, has no index."""

    __slots__ = (
        "anchor",
        "before",
        "flow",
        "has_key",
        "height",
        "index",
        "is_split",
        "items",
        "key",
        "start",
        "template",
    )

    def __init__(self, *, start: int, flow: bool, mapping: bool, before: int) -> None:
        self.start = start
        self.flow = flow
        self.before = before
        self.height = 1
        self.anchor: str | None = None
        self.template = False
        self.is_split = False
        self.items: list[Node] = []
        self.index: dict[str, Entry] | None = {} if mapping else None
        self.key: Scalar | None = None
        self.has_key = False


class _Anchored(msgspec.Struct, frozen=True, gc=False):
    """What an alias stands for, with its size and height once all aliases inside it are expanded."""

    node: Node | None
    size: int
    height: int


class TreeBuilder:
    """Feeds on events; `root` and `problems` are what came of them."""

    def __init__(self, lines: Lines, start: int) -> None:
        """`start` is the offset in the text where the parser begins; it does not count a byte order mark there."""
        self.text = text = lines.text
        self.lines = lines
        self.problems: list[SourceProblem] = []
        self.shift = start + 1 if text.startswith(BYTE_ORDER_MARK, start) else start
        self._frame = _Frame(start=0, flow=False, mapping=False, before=0)
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}
        self.values = 0
        self._values_max = WINDOW_NODES
        self._window = (0, 0)
        self._end = self.shift
        self._documents = 0
        self._in_template = False
        self._handlers: dict[type, Callable[..., None]] = {
            yaml.ScalarEvent: self._on_scalar,
            yaml.MappingStartEvent: self._on_mapping_start,
            yaml.SequenceStartEvent: self._on_sequence_start,
            yaml.MappingEndEvent: self._on_end,
            yaml.SequenceEndEvent: self._on_end,
            yaml.AliasEvent: self._on_alias,
            yaml.DocumentStartEvent: self._on_document,
        }

    def feed(self, next_event: Callable[[], object]) -> None:
        """Take all events. Raises `Refused` at a bound and lets the parser's own errors through."""
        handlers = self._handlers
        while (event := next_event()) is not None:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)

    def endless(self, bytes_max: int) -> Refused:
        """What to say when nothing that the parser could tell of has ended for so long."""
        start = _end_of(_SEPARATORS, self.text, self._end, len(self.text))
        message = f"{bytes_max:,} bytes follow without the end of a value"
        hint = f"a text has at most {SCALAR_CHARS_MAX:,} characters; look for a quote that is not closed"
        return self._refused("size", message, start, start + 1, hint)

    def opening(self) -> int | None:
        """The offset of the innermost bracket that is still open."""
        for frame in (self._frame, *reversed(self._stack)):
            if frame.flow and self.text[frame.start] in "[{":
                return frame.start
        return None

    def close(self) -> Node | None:
        """The root as far as it was read; what is still open is closed where the reading ended."""
        while self._stack:
            self._close(self._end)
        return self._frame.items[0] if self._frame.items else None

    def _on_document(self, event: _Event) -> None:
        self._documents += 1
        if self._documents > 1:
            start = event.start_mark.index + self.shift
            hint = "keep one playbook in a file; delete this marker or move what follows to a file of its own"
            message = "a second document starts here; expected one playbook"
            raise self._refused("documents", message, start, start + 3, hint)

    def _on_scalar(self, event: _ScalarEvent) -> None:
        text = event.value
        style = _STYLES[event.style]
        start = event.start_mark.index + self.shift
        self._end = end = event.end_mark.index + self.shift
        self.values += 1
        if self.values > self._values_max:
            self._check_nodes(start)
        if len(text) > SCALAR_CHARS_MAX:
            raise self._long_scalar(start, len(text))
        if event.anchor is not None or event.tag is not None:
            start = self._after_properties(event, start, end)
        if style is _PLAIN:
            if text > _LATIN and text[0] in ODD_BLANKS:
                self._check_indentation(start)
            value: Value = resolve_plain(text)
        else:
            value = text
        node = Scalar(start, end, self.lines, value, text, style)
        if event.anchor is not None:
            self._anchor(event.anchor, _Anchored(node, 1, 0), start)
        self._add(node, end)

    def _check_indentation(self, start: int) -> None:
        """A text may begin with an odd blank, but not a key, nor the first text on its line."""
        before = self.text[self.lines.start(self.lines.position(start)[0]) : start]
        if not before.strip() or (self._frame.index is not None and not self._frame.has_key):
            raise Refused(odd_indentation(self.lines, start))

    def _anchor(self, name: str, anchored: _Anchored, start: int) -> None:
        self._anchors[name] = anchored
        if len(self._anchors) > ANCHORS_MAX:
            message = f"more than {ANCHORS_MAX:,} anchors"
            raise self._refused("alias", message, start, start + 1, "write the values out, or move a part elsewhere")

    def _on_mapping_start(self, event: _StartEvent) -> None:
        frame = self._open(event, mapping=True)
        if frame.flow and not self._in_template and self.text.startswith("{{", frame.start):
            self._in_template = frame.template = True

    def _on_sequence_start(self, event: _StartEvent) -> None:
        self._open(event, mapping=False)

    def _open(self, event: _StartEvent, *, mapping: bool) -> _Frame:
        start = event.start_mark.index + self.shift
        if len(self._stack) >= DEPTH_MAX:
            raise self._deep(start)
        if event.anchor is not None or event.tag is not None:
            start = self._after_properties(event, start, len(self.text))
        frame = _Frame(start=start, flow=event.flow_style, mapping=mapping, before=self.values)
        if event.anchor is not None:
            frame.anchor = event.anchor
            self._anchor(event.anchor, _Anchored(None, 0, 0), start)
        self._stack.append(self._frame)
        self._frame = frame
        self.values += 1
        if self.values > self._values_max:
            self._check_nodes(start)
        return frame

    def _on_end(self, event: _Event) -> None:
        # The parser ends a block collection where the next thing begins; it ends where its last part did.
        if self._frame.flow:
            self._end = event.end_mark.index + self.shift
        self._close(self._end)

    def _close(self, end: int) -> None:
        frame = self._frame
        parent = self._frame = self._stack.pop()
        parent.height = max(parent.height, frame.height + 1)
        node = self._finished(frame, max(end, frame.start))
        if frame.anchor is not None:
            size = self.values - frame.before
            self._anchors[frame.anchor] = _Anchored(node, size, frame.height)
        self._add(node, end)

    def _finished(self, frame: _Frame, end: int) -> Node:
        if frame.template:
            self._in_template = False
            if self.text.startswith("}}", end - 2):
                return self._unquoted_template(frame.start, end)
        if frame.index is None:
            return Sequence(frame.start, end, self.lines, tuple(frame.items), frame.flow)
        return Mapping(frame.start, end, self.lines, tuple(frame.index.values()), frame.flow, frame.index)

    def _unquoted_template(self, start: int, end: int) -> Scalar:
        """The scalar that the author meant: YAML reads `{{ x }}` as a mapping whose key is a mapping."""
        text = self.text[start:end]
        one_line = "\n" not in text and "\r" not in text
        fix = (Edit(start, end, quote(text)),) if one_line else ()
        self._collect("key_type", TEMPLATE_MESSAGE, start, end, quote_hint("the template", text), fix)
        return Scalar(start, end, self.lines, text, text, Style.PLAIN)

    def _on_alias(self, event: _AliasEvent) -> None:
        start = event.start_mark.index + self.shift
        self._end = end = event.end_mark.index + self.shift
        if self._in_template:
            self._add(Scalar(start, end, self.lines, event.anchor, event.anchor, _PLAIN), end)
            return
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            self._unknown_alias(event.anchor, start, end)
            return
        if anchored.node is None:
            hint = "an alias cannot stand inside the value it repeats; write the value out"
            raise self._refused("alias", f"alias *{event.anchor} contains itself", start, end, hint)
        if len(self._stack) + anchored.height > DEPTH_MAX:
            raise self._deep(start)
        self.values += anchored.size + 1
        if self.values > self._values_max:
            self._check_nodes(start, alias=event.anchor)
        node = anchored.node
        frame = self._frame
        frame.height = max(frame.height, anchored.height + 1)
        if isinstance(node, Scalar) and frame.index is not None and not frame.has_key:
            node = Scalar(start, end, self.lines, node.value, node.text, _PLAIN)
        self._add(node, end)

    def _unknown_alias(self, name: str, start: int, end: int) -> None:
        """What is written stands for what is not known, so that the rest can be read."""
        hint = f'quote a text that begins with *: "*{name}"; or mark the value to repeat: &{name}'
        self._collect("alias", f"alias *{name} has no anchor before it", start, end, hint, self._quoting(start))
        self._add(Scalar(start, end, self.lines, f"*{name}", f"*{name}", _PLAIN), end)

    def _quoting(self, start: int) -> tuple[Edit, ...]:
        """The edit that quotes the value which begins at `start`, if it fills the rest of its line."""
        parts = parts_of(self.lines, self.lines.position(start)[0])
        return parts.quoting if parts is not None and parts.start == start else ()

    def _add(self, node: Node, end: int) -> None:
        """Put a finished node where it belongs in the innermost open collection."""
        frame = self._frame
        index = frame.index
        if index is None:
            frame.items.append(node)
        elif not frame.has_key:
            frame.has_key = True
            frame.key = key = node if type(node) is Scalar and type(node.value) is str else self._odd_key(node)
            if key is not None and is_merge(key):
                self._merge(key)
        else:
            frame.has_key = False
            key = frame.key
            if key is None:
                return
            entry = Entry(key, node, end)
            first = index.setdefault(key.text, entry)
            if first is not entry:
                self._duplicate(first.key, key)

    def _odd_key(self, node: Node) -> Scalar | None:
        """A key that is no text. A scalar is taken as the text written, anything else is left out."""
        if not isinstance(node, Scalar):
            what = "a list" if isinstance(node, Sequence) else "a mapping"
            hint = "write a plain name before the colon"
            self._collect("key_type", f"the key is {what}; expected text", node.start, node.end, hint)
            return None
        key = Scalar(node.start, node.end, self.lines, node.text, node.text, node.style)
        if node.text == "":
            message = "the key is missing; expected text before the colon"
            self._collect("key_type", message, node.start, node.end, "write the key")
            return key
        message = f"the key {node.text} is {_type_name(node)}; expected text"
        fix = (Edit(node.start, node.end, quote(node.text)),)
        self._collect("key_type", message, node.start, node.end, f"quote it: {quote(node.text)}", fix)
        return key

    def _merge(self, key: Scalar) -> None:
        hint = "write the keys out; an alias can only repeat a whole value: `headers: *headers`"
        self._collect("key_type", "the merge key << is not part of YAML 1.2", key.start, key.end, hint)

    def _duplicate(self, first: Scalar, key: Scalar) -> None:
        """Of an item that lacks its dash all keys are there twice; that is one mistake."""
        frame = self._frame
        if frame.is_split:
            return
        if self._is_new_item(first, key):
            frame.is_split = True
            message = f'the key "{shorten(key.text)}" is already on line {first.line} of the same list item'
            hint = 'if a new item begins here, put "- " before it; otherwise keep one of the two'
            self._collect("duplicate_key", message, key.start, key.end, hint)
            return
        message = f'the key "{shorten(key.text)}" is already on line {first.line} of the same mapping'
        hint = "keep one of the two; only the first was read"
        self._collect("duplicate_key", message, key.start, key.end, hint)

    def _is_new_item(self, first: Scalar, key: Scalar) -> bool:
        """Whether the first key of a list item, which a dash stands before, comes again at the start of a line."""
        frame = self._frame
        is_item = not frame.flow and bool(self._stack) and self._stack[-1].index is None and len(self._stack) > 1
        is_first = frame.index is not None and next(iter(frame.index)) == key.text
        return is_item and is_first and first.line != key.line and first.column == key.column

    def _after_properties(self, event: _ScalarEvent | _StartEvent, start: int, end: int) -> int:
        """Where the node itself begins, behind its anchor and tag; a tag is a problem of its own."""
        for _ in range((event.anchor is not None) + (event.tag is not None)):
            start = _end_of(_BLANK, self.text, start, end)
            stop = _end_of(_PROPERTY, self.text, start, end)
            if self.text.startswith("!", start):
                self._tag(start, stop)
            start = stop
        return _end_of(_BLANK, self.text, start, end)

    def _tag(self, start: int, end: int) -> None:
        found = shorten(self.text[start:end])
        message = f"found the tag {found}; a playbook has no tags"
        hint = f'delete the tag; to keep it as text, quote the whole value: "{found} …"'
        self._collect("tag", message, start, end, hint)

    def _collect(
        self,
        kind: str,
        message: str,
        start: int,
        end: int,
        hint: str | None = None,
        fix: tuple[Edit, ...] = (),
    ) -> None:
        if self._in_template:
            return
        self.problems.append(SourceProblem(kind, message, self.lines.span(start, end), hint, fix))
        if len(self.problems) >= PROBLEMS_MAX:
            rest = f"{PROBLEMS_MAX} problems of this sort are enough; the rest of the file was not read"
            raise self._refused(kind, rest, end, end, "correct those above first")

    def _check_nodes(self, offset: int, alias: str | None = None) -> None:
        if self._window == (0, 0):
            self._check_widest(offset)
        found = nodes_beyond(self.values, offset)
        if found is not None and alias is not None:
            message = f"expanded, the alias *{alias} makes {found}"
            raise self._refused("alias", message, offset, offset + 1 + len(alias), "repeat less by alias")
        if found is None and alias is None:
            found = nodes_to_come_beyond(self._window, self.values, offset, len(self.text))
        if found is not None:
            raise self._refused("size", found, offset, offset + 1, "move large data out of the playbook")
        self._window = (self.values, offset)
        self._values_max = self.values + WINDOW_NODES

    def _check_widest(self, offset: int) -> None:
        widest = max(len(frame.items) + len(frame.index or ()) for frame in (*self._stack, self._frame))
        if widest > COLLECTION_NODES_MAX:
            found = f"a collection of more than {COLLECTION_NODES_MAX:,} values"
            raise self._refused("size", found, offset, offset + 1, "move large data out of the playbook")

    def _long_scalar(self, start: int, found: int) -> Refused:
        message = f"a text of {found:,} characters; expected at most {SCALAR_CHARS_MAX:,}"
        return self._refused("size", message, start, start + 1, "move it to a file of its own")

    def _deep(self, start: int) -> Refused:
        message = f"nested deeper than {DEPTH_MAX} levels"
        hint = "flatten it, or move a part to another playbook"
        return self._refused("depth", message, start, start + 1, hint)

    def _refused(self, kind: str, message: str, start: int, end: int, hint: str, fix: tuple[Edit, ...] = ()) -> Refused:
        return Refused(SourceProblem(kind, message, self.lines.span(start, end), hint, fix))


def shorten(text: str) -> str:
    """At most a few words of the text, for a message."""
    line = text.splitlines()[0] if text else text
    return line if len(line) <= _SHOWN_CHARS_MAX else line[: _SHOWN_CHARS_MAX - 1] + "…"


def _type_name(node: Scalar) -> str:
    match node.value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case _:
            return "a number"


def _end_of(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = pattern.match(text, start, end)
    assert match is not None  # these patterns also match nothing
    return match.end()
