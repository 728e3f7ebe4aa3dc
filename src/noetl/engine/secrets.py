"""Which secrets a task reads, and how they are kept out of everything that is recorded.

A secret is hidden as it is, line by line, in the parts that stand by themselves where it is an address, and in the
forms that travel: base64, percent-encoded, in small or large letters, and as text inside JSON, HTML or Python.
"""

from binascii import b2a_base64
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import AnyStr, Generic

import msgspec

from noetl.engine.addresses import address_of, login_of, parts_of
from noetl.engine.parts import templates_in
from noetl.engine.reference import each_value
from noetl.expressions.template import parse
from noetl.playbook.model import Task

MASK = "***"
SECRET_CHARS_MIN = 4
"""A shorter secret cannot be told from ordinary text, so that masking it would only garble what is recorded."""

ENCODED_CHARS_MIN = 8
"""So long must the part of a secret's base64 be that is the same wherever the secret stands."""

LINE_CHARS_MIN = 8
"""So long must a line of a secret be that is hidden by itself, such as one of a private key."""

LETTERS_MIN = 8
"""So long must a secret be that is hidden in small and in large letters too, as names of hosts and headers are sent."""

NUMBER_CHARS_MIN = 6
"""A shorter number, such as a port, is among ordinary data too often."""

DEPTH_MAX = 100
"""What is nested more deeply is hidden whole where a secret is in it."""

WRAPPED_CHARS = 76
"""Where programs that encode base64 break its lines."""

HEAD_CHARS = 8
"""So much of a secret is looked for in what was printed, before the rest of it is compared."""

HEADS_TRIED_MAX = 100
"""Places at which one secret may seem to begin, in a text that is held back rather than tried any further."""

_UNRESERVED = "-._~"
_LEFT_AS_IT_IS = ("", "/", "/:@!$&'()*+,;=", "/:@!$'()*,;?")
"""Beside letters, digits and a few signs: what common encoders of addresses leave as it is."""


def entries_read(task: Task) -> frozenset[str]:
    """The keychain entries that the templates of a task's fields and input name."""
    names = {name for part in (task.fields, task.input) for text in templates_in(part) for name in _names(text)}
    return frozenset(names)


def texts_of(value: object) -> Iterator[str]:
    """Every text and every long number in what a keychain entry holds, in all forms in which it travels."""
    if isinstance(value, str):
        yield from _forms(value)
        yield from _inside_address(value)
    elif isinstance(value, int | float) and len(str(value)) >= NUMBER_CHARS_MIN:
        yield from _forms(str(value))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if not _is_public(str(name), value):
                yield from texts_of(item)
        if "username" in value and "password" in value:
            yield _base64(f"{value['username']}:{value['password']}".encode())


def _is_public(name: str, entry: Mapping[object, object]) -> bool:
    """What only says whose secret it is, or where it goes: `orders` or `Host` would be garbled in all data."""
    return (name == "username" and "password" in entry) or (name == "header" and "value" in entry)


def masked(value: object, secrets: frozenset[str]) -> object:
    """A value or a record in which no secret is left. The longest go first, since one may be part of another."""
    hidden = _held(value, hideable(secrets)) if secrets else ()
    return _masked(value, hidden, 0) if hidden else value


def hideable(secrets: frozenset[str]) -> tuple[str, ...]:
    """Those long enough to be hidden, in the order in which they are."""
    return tuple(
        sorted((text for text in secrets if len(text) >= SECRET_CHARS_MIN), key=lambda text: (-len(text), text))
    )


class Redactor(Generic[AnyStr]):
    """Masks what comes piece by piece. The end of a piece that may be the beginning of a secret waits for the next."""

    def __init__(self, hidden: tuple[AnyStr, ...], mask: AnyStr) -> None:
        self._hidden: tuple[AnyStr, ...] = hidden
        self._mask: AnyStr = mask
        self._held: AnyStr = mask[:0]
        self._long: list[tuple[AnyStr, AnyStr]] = [
            (secret[:HEAD_CHARS], secret) for secret in hidden if len(secret) > HEAD_CHARS
        ]
        self._short: frozenset[AnyStr] = frozenset(
            secret[:size] for secret in hidden for size in range(1, min(len(secret), HEAD_CHARS))
        )

    def feed(self, piece: AnyStr) -> AnyStr:
        """What may be shown: from left to right, up to what may become a secret, perhaps a longer one."""
        text = self._held + piece
        shown: list[AnyStr] = []
        at, suspect = 0, self._first_suspect(text)
        for place, end in _matches(text, self._hidden):
            if place >= suspect:
                break
            shown += [text[at:place], self._mask]
            at = end
            suspect = suspect if suspect >= at else at + self._first_suspect(text[at:])
        self._held = text[suspect:]
        shown.append(text[at:suspect])
        return self._mask[:0].join(shown)

    def end(self) -> AnyStr:
        """What was still held back."""
        held, self._held = self._held, self._mask[:0]
        shown: list[AnyStr] = []
        at = 0
        for place, end in _matches(held, self._hidden):
            shown += [held[at:place], self._mask]
            at = end
        shown.append(held[at:])
        return self._mask[:0].join(shown)

    def _first_suspect(self, text: AnyStr) -> int:
        """Where the longest end begins that a secret begins with."""
        longest = 0
        for head, secret in self._long:
            if len(secret) > longest:
                longest = max(longest, _suspect_size(text, head, secret))
        ends = (size for size in range(HEAD_CHARS - 1, longest, -1) if text[-size:] in self._short)
        return len(text) - min(len(text), next(ends, longest))


def _suspect_size(text: AnyStr, head: AnyStr, secret: AnyStr) -> int:
    """How long the end of a text is that a secret begins with, if it has a head at least.

    A text that repeats the head without end is held back untried after a while: later it is shown all the same.
    """
    at = max(0, len(text) - len(secret) + 1)
    for _ in range(HEADS_TRIED_MAX):
        at = text.find(head, at)
        if at < 0 or secret.startswith(text[at:]):
            break
        at += 1
    return len(text) - at if at >= 0 else 0


def _matches(text: AnyStr, secrets: Sequence[AnyStr]) -> Iterator[tuple[int, int]]:
    """Where secrets begin and end, from left to right; of those that begin at one place the longest."""
    found = [(place, -len(secret), secret) for secret in secrets if (place := text.find(secret)) >= 0]
    heapify(found)
    at = 0
    while found:
        place, size, secret = found[0]
        if place >= at:
            at = place - size
            yield place, at
        place = text.find(secret, at)
        if place < 0:
            heappop(found)
        else:
            heapreplace(found, (place, size, secret))


def _held(value: object, hidden: tuple[str, ...]) -> tuple[str, ...]:
    """Those that a value may hold: a look at the whole as JSON is much faster than one at each text for each."""
    try:
        data = msgspec.json.encode(value)
        return tuple(
            secret for secret in hidden if len(secret) <= len(data) and msgspec.json.encode(secret)[1:-1] in data
        )
    except (TypeError, ValueError, RecursionError):
        return hidden


def _masked(value: object, hidden: tuple[str, ...], depth: int) -> object:
    if depth > DEPTH_MAX:
        return MASK if _holds(value, hidden) else value
    if type(value) is str:  # a word of an enumeration is text too, and none of ours is a secret
        return _hidden(value, hidden)
    if type(value) in (int, float):
        return MASK if str(value) in hidden else value
    if isinstance(value, dict):
        items = [(_masked(key, hidden, depth), _masked(item, hidden, depth + 1)) for key, item in value.items()]
        is_same = all(key is old and value[old] is item for (key, item), old in zip(items, value, strict=True))
        return value if is_same else dict(items)
    return each_value(value, lambda item: _masked(item, hidden, depth + 1))


def _holds(value: object, hidden: tuple[str, ...]) -> bool:
    """Whether a secret is anywhere in a value, however deeply nested that is."""
    rest = [value]
    while rest:
        found = rest.pop()
        if isinstance(found, dict):
            rest += [*found, *found.values()]
        elif isinstance(found, list | tuple):
            rest += found
        elif any(secret in str(found) for secret in hidden):
            return True
    return False


def _hidden(text: str, hidden: tuple[str, ...]) -> str:
    for secret in hidden:
        text = text.replace(secret, MASK)
    return text


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield from _lines(secret)
    if len(secret) < SECRET_CHARS_MIN:
        return
    yield from _base64_parts(secret.encode("utf-8", "surrogatepass"))
    if len(secret) >= LETTERS_MIN:
        yield from (secret.lower(), secret.upper())
    if not secret.isascii() or not secret.replace("_", "").isalnum():
        yield from _quoted(secret)
        yield from _inside_json(secret)
        yield from _inside_html(secret)
        yield from _inside_python(secret)


def _inside_address(secret: str) -> Iterator[str]:
    address = address_of(secret)
    if address is None:
        return
    for part in parts_of(address):
        if len(part) >= SECRET_CHARS_MIN:
            yield from _forms(part)
    yield from _base64_alphabets(_base64(login_of(address).encode("utf-8", "surrogatepass")))


def _lines(secret: str) -> Iterator[str]:
    """Its lines, and all of it without the spaces and line ends around it, which others may strip."""
    stripped = secret.strip()
    if stripped != secret:
        yield stripped
    lines = stripped.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= LINE_CHARS_MIN)


def _base64_parts(secret: bytes) -> Iterator[str]:
    """What of its base64 is the same whatever stands before and after it, for each place it can have in a group."""
    for before in range(3):
        encoded = _base64(bytes(before) + secret)
        first = (before * 8 + 5) // 6
        part = encoded[first : (before + len(secret)) * 8 // 6]
        yield from _base64_alphabets(part)
        if before == 0 and len(part) > WRAPPED_CHARS:
            for start in range(0, len(part), WRAPPED_CHARS):
                yield from _base64_alphabets(part[start : start + WRAPPED_CHARS])


def _base64_alphabets(part: str) -> Iterator[str]:
    if len(part) >= ENCODED_CHARS_MIN:
        yield part
        yield part.replace("+", "-").replace("/", "_")


def _inside_json(secret: str) -> Iterator[str]:
    """As text inside JSON, also of programs that write ASCII only, and inside JSON that is text inside JSON."""
    for once in _as_json(secret):
        yield once
        yield from _as_json(once)


def _as_json(text: str) -> tuple[str, str]:
    encoded = msgspec.json.encode(text)[1:-1].decode()
    return encoded, encoded if encoded.isascii() else "".join(map(_ascii, encoded))


def _ascii(char: str) -> str:
    if char.isascii():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _inside_html(secret: str) -> Iterator[str]:
    text = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if text == secret and not {"'", '"'}.intersection(secret):
        return
    yield text
    quoted = text.replace('"', "&quot;")
    yield from (quoted.replace("'", mark) for mark in ("'", "&#x27;", "&#39;"))


def _inside_python(secret: str) -> Iterator[str]:
    """As `repr` writes it, in which the quotes around it are those that are not inside, or else are escaped."""
    escaped = repr(f"'\"{secret}")[4:-1]
    yield escaped
    yield escaped.replace("\\'", "'")


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _quoted(secret: str) -> Iterator[str]:
    """Percent-encoded, as the parts of an address are."""
    for quoting in _QUOTINGS:
        quoted = secret.translate(quoting)
        yield from {quoted, quoted.replace("%20", "+"), _lower_hex(quoted), _lower_hex(quoted).replace("%20", "+")}


class _Quoting(dict[int, str]):
    """What each character becomes, found out once: a key may have thousands, and is looked at in every run."""

    def __init__(self, left: str) -> None:
        self._left = _UNRESERVED + left

    def __missing__(self, code: int) -> str:
        char = chr(code)
        is_left = char.isascii() and (char.isalnum() or char in self._left)
        found = char if is_left else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        self[code] = found
        return found


_QUOTINGS = tuple(map(_Quoting, _LEFT_AS_IT_IS))


def _lower_hex(quoted: str) -> str:
    head, *parts = quoted.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in parts)])


def _names(text: str) -> Iterator[str]:
    for use in parse(text).names:
        if use.root == "keychain" and use.segments:
            yield use.segments[0].name
