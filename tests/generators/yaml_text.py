"""Plain values as YAML text in many spellings: block or flow, any quoting, comments, order of keys, aliases."""

import json
import re
from collections.abc import Iterator, Sequence

from noetl.playbook.source.scalars import escape_double, resolve_plain
from tests.generators.choices import Choices, happens, pick, shuffled
from tests.generators.document import Lenient

PLAIN = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*")
ONE_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*")
LINES = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]*")
FOLDABLE = re.compile(r"[^\s]+(?: [^\s]+)*")


def yaml_text(value: dict[str, object], choices: Choices, *, aliases: bool = True) -> str:
    writer = _Writer(choices, aliases=aliases)
    head = pick(choices, ("", "", "# a playbook\n", "---\n", "%YAML 1.2\n---\n", "\n\n"))
    return (
        head + "".join(f"{line}\n" for line in writer.mapping(value, 0)) + pick(choices, ("", "", "...\n", "# end\n"))
    )


class _Writer:
    def __init__(self, choices: Choices, *, aliases: bool) -> None:
        self.choices = choices
        self.aliases = aliases
        self.anchors: dict[str, str] = {}
        self.keeps_blank_lines = False

    def block(self, value: object, indent: int) -> list[str]:
        if isinstance(value, dict):
            return list(self.mapping(value, indent))
        assert isinstance(value, list)
        return list(self.sequence(value, indent))

    def mapping(self, value: dict[str, object], indent: int) -> Iterator[str]:
        for key in shuffled(self.choices, list(value)):
            yield from self._interruption(indent)
            yield from self._entry(" " * indent + self.key(key) + ":", value[key], indent)

    def sequence(self, value: list[object], indent: int) -> Iterator[str]:
        for item in value:
            yield from self._interruption(indent)
            if isinstance(item, dict) and item and not happens(self.choices, 3):
                first, *rest = self.mapping(item, indent + 2)
                yield from self._dashed(first, rest, indent)
            else:
                yield from self._entry(" " * indent + "-", item, indent)

    def _dashed(self, first: str, rest: Sequence[str], indent: int) -> Iterator[str]:
        """The mapping's first line stands beside the dash, unless that is a comment or blank."""
        if not first.strip() or first.lstrip().startswith("#"):
            yield " " * indent + "-"
            yield first
        else:
            yield " " * indent + "- " + first[indent + 2 :]
        yield from rest

    def _entry(self, head: str, value: object, indent: int) -> Iterator[str]:
        self.keeps_blank_lines = False
        if isinstance(value, dict | list) and value and not happens(self.choices, 4):
            deeper = indent + (0 if isinstance(value, list) and head.endswith(":") and happens(self.choices) else 2)
            alias = self._alias(value)
            yield head + (f" {alias}" if alias else "") + self._comment()
            if not alias.startswith("*"):
                yield from self.block(value, deeper)
        elif isinstance(value, str) and (styled := self._block_scalar(value)) is not None and happens(self.choices, 3):
            indicator, lines = styled
            self.keeps_blank_lines = indicator.endswith("+")
            yield f"{head} {indicator}"
            yield from (" " * (indent + 2) + line if line else "" for line in lines)
        else:
            yield f"{head} {self.flow(value)}{self._comment()}"

    def flow(self, value: object) -> str:
        match value:
            case dict():
                order = shuffled(self.choices, list(value))
                return "{" + ", ".join(f"{self.key(key)}: {self.flow(value[key])}" for key in order) + "}"
            case list():
                return "[" + ", ".join(self.flow(item) for item in value) + "]"
            case str():
                return self.text(value, Lenient if isinstance(value, Lenient) else str)
            case None:
                return pick(self.choices, ("null", "~", "Null"))
            case bool():
                return pick(self.choices, ("true", "True", "TRUE") if value else ("false", "False", "FALSE"))
            case int():
                return pick(self.choices, (str(value), *([hex(value), f"+{value}"] if value >= 0 else [])))
            case _:
                return pick(self.choices, (repr(value), repr(value).upper()))

    def key(self, text: str) -> str:
        return text if PLAIN.fullmatch(text) and not happens(self.choices, 6) and is_text(text) else self.quoted(text)

    def text(self, text: str, kind: type[str]) -> str:
        may_be_plain = PLAIN.fullmatch(text) is not None and (is_text(text) or (kind is Lenient and not is_null(text)))
        return str(text) if may_be_plain and not happens(self.choices, 4) else self.quoted(text)

    def quoted(self, text: str) -> str:
        if ONE_LINE.fullmatch(text) and happens(self.choices):
            return "'" + text.replace("'", "''") + "'"
        return f'"{escape_double(text)}"'

    def _block_scalar(self, text: str) -> tuple[str, list[str]] | None:
        """The indicator and the lines of a literal or folded scalar, where the text can be one."""
        if not LINES.fullmatch(text) or not text or text[0] in " \n\t":
            return None
        if FOLDABLE.fullmatch(text) and happens(self.choices):
            return ">-", text.split(" ") if happens(self.choices) else [text]
        body = text.rstrip("\n")
        ends = len(text) - len(body)
        chomp = "-" if ends == 0 else "" if ends == 1 else "+"
        return f"|{chomp}", [*body.split("\n"), *[""] * (ends - 1)]

    def _alias(self, value: object) -> str:
        """An anchor where a value stands first, an alias where it comes again."""
        if not self.aliases or not happens(self.choices, 3):
            return ""
        content = json.dumps(value)
        if content in self.anchors:
            return f"*{self.anchors[content]}"
        self.anchors[content] = f"a{len(self.anchors)}"
        return f"&{self.anchors[content]}"

    def _comment(self) -> str:
        return "  # why: {{ not read }}" if happens(self.choices, 10) else ""

    def _interruption(self, indent: int) -> list[str]:
        if self.keeps_blank_lines or not happens(self.choices, 12):
            return []
        return [pick(self.choices, ("", " " * indent + "# a comment: of its own", "# - at the margin"))]


def is_text(text: str) -> bool:
    return isinstance(resolve_plain(text), str)


def is_null(text: str) -> bool:
    return resolve_plain(text) is None
