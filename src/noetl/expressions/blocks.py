"""Reads a whole template into statements: text, `{{ }}`, `{% %}` and comments.

A mistake in one tag does not hide those of the next."""

import re

from noetl.expressions.heads import HeadParser
from noetl.expressions.lexer import Misread, Token, tokenize
from noetl.expressions.parser import Parser
from noetl.expressions.syntax import (
    Body,
    Call,
    Const,
    Expression,
    For,
    If,
    Output,
    Problem,
    Set,
    SetBlock,
    Statement,
    Target,
    Text,
)

SOURCE_LENGTH_MAX = 250_000
PROBLEMS_MAX = 100
"""Problems told of one template. Reading stops there."""
BLOCKS_MAX = 20
"""`{% if %}` and `{% for %}` inside one another."""

_TAG = re.compile(r"\{([{%#])")
_END_RAW = re.compile(r"\{%[-+]?\s*endraw\s*([-+]?)%\}")
_ENDS = {"if": "endif", "for": "endfor", "set": "endset"}
_PLAIN = "Templates in playbooks have if, for, set, raw and comments."
_FOREIGN = {
    "autoescape": "Templates make plain text, not HTML.",
    "block": "A playbook's templates do not inherit.",
    "call": "There are no macros in playbook templates.",
    "do": "Values do not change in a template.",
    "extends": "A playbook's templates do not inherit.",
    "filter": "Apply the filter to the expression: `{{ x | upper }}`.",
    "from": "A template stands alone. Share work with a workbook block.",
    "import": "A template stands alone. Share work with a workbook block.",
    "include": "A template stands alone. Share work with a workbook block.",
    "macro": "There are no macros in playbook templates. Share work with a workbook block.",
    "with": "Use `{% set %}`.",
}


class Block:
    """An open `{% if %}`, `{% for %}` or `{% set %}` and what was read inside it so far."""

    __slots__ = ("word", "start", "end", "target", "head", "test", "branches", "body")

    def __init__(self, word: str, start: int, end: int) -> None:
        self.word, self.start, self.end = word, start, end
        self.target: Target = ()
        self.head: Expression | None = None
        self.test: Expression | None = None
        self.branches: list[tuple[Expression | None, Body]] = []
        self.body: list[Statement] = []


class Reader:
    """One pass over a template's text. `body`, `problems`, `calls` and `tags` (mark, start, end) are the result."""

    __slots__ = ("text", "body", "problems", "calls", "tags", "_blocks", "_trims_next")

    def __init__(self, text: str) -> None:
        self.text = text
        self.body: list[Statement] = []
        self.problems: list[Problem] = []
        self.calls: list[Call] = []
        self.tags: list[tuple[str, int, int]] = []
        self._blocks: list[Block] = []
        self._trims_next = False

    def read(self) -> None:
        if len(self.text) > SOURCE_LENGTH_MAX:
            self._report("bound", f"the template is longer than {SOURCE_LENGTH_MAX:,} characters", 0, 1)
            return
        position = 0
        while (found := _TAG.search(self.text, position)) is not None and len(self.problems) < PROBLEMS_MAX:
            start = found.start()
            trims = self.text.startswith("-", start + 2)
            self._text(position, start, trims_end=trims)
            inside = start + 3 if trims or (self.text.startswith("+", start + 2) and found[1] == "%") else start + 2
            position = self._tag(found[1], start, inside)
            self.tags.append((found[1], start, position))
        self._text(position, len(self.text), trims_end=False)
        for block in self._blocks:
            message = f"`{{% {block.word} %}}` is never closed"
            self._report("syntax", message, block.start, block.end, f"Add `{{% {_ENDS[block.word]} %}}`.")

    def _tag(self, mark: str, start: int, inside: int) -> int:
        if mark == "#":
            return self._comment(start, inside)
        try:
            tokens = tokenize(self.text, inside, "{" + mark)
        except Misread as misread:
            self._report_misread(misread)
            return len(self.text) if misread.is_final else self._resume(misread.start, mark)
        end, self._trims_next = tokens[-1][3], tokens[-1][1][0] == "-"
        try:
            if mark == "{":
                self._append(Output(start, end, Parser(tokens, self.calls).whole()))
            else:
                return self._statement(tokens, start, end)
        except Misread as misread:
            self._report_misread(misread)
        return end

    def _resume(self, position: int, mark: str) -> int:
        """Behind the end mark that follows a mistake, where reading can go on."""
        closing = self.text.find("}}" if mark == "{" else "%}", position)
        self._trims_next = False
        return len(self.text) if closing < 0 else closing + 2

    def _comment(self, start: int, inside: int) -> int:
        closing = self.text.find("#}", inside)
        if closing < 0:
            self._report("syntax", "`{#` is never closed", start, start + 2, "Add `#}` behind the comment.")
            return len(self.text)
        self._trims_next = self.text[closing - 1] == "-" and closing > inside
        return closing + 2

    def _text(self, start: int, end: int, *, trims_end: bool) -> None:
        value = self.text[start:end]
        if self._trims_next:
            value = value.lstrip()
        if trims_end:
            value = value.rstrip()
        self._trims_next = False
        if value:
            self._append(Text(start, end, value))

    def _append(self, statement: Statement) -> None:
        (self._blocks[-1].body if self._blocks else self.body).append(statement)

    def _statement(self, tokens: list[Token], start: int, end: int) -> int:
        word = tokens[0][1]
        if word == "raw" and len(tokens) == 2:
            return self._raw(start, end)
        if word in _ENDS:
            self._open(word, tokens, start, end)
        elif word in ("elif", "else"):
            self._branch(word, tokens, start, end)
        elif word in _ENDS.values():
            self._close(word, tokens, start, end)
        else:
            self._refuse(word, tokens[0])
        return end

    def _raw(self, start: int, end: int) -> int:
        found = _END_RAW.search(self.text, end)
        if found is None:
            self._report("syntax", "`{% raw %}` is never closed", start, end, "Add `{% endraw %}`.")
            return len(self.text)
        trims_end = self.text.startswith("-", found.start() + 2)
        self._text(end, found.start(), trims_end=trims_end)
        self._trims_next = found[1] == "-"
        return found.end()

    def _open(self, word: str, tokens: list[Token], start: int, end: int) -> None:
        block = Block(word, start, end)
        # The block is opened even where its tag is wrong, so that its end is still understood.
        if word != "set":
            self._push(block)
        parser = HeadParser(tokens, self.calls, 1)
        if word == "if":
            block.head = self._attempt(parser)
        elif word == "for":
            block.target = parser.target()
            block.head, block.test = parser.loop_items()
        else:
            self._set(block, parser)

    def _set(self, block: Block, parser: HeadParser) -> None:
        block.target = parser.target()
        value = parser.assigned()
        if value is None:
            self._push(block)
        else:
            self._append(Set(block.start, block.end, block.target, value))

    def _push(self, block: Block) -> None:
        self._blocks.append(block)
        if len(self._blocks) == BLOCKS_MAX + 1:
            self._report("bound", f"tags are nested more than {BLOCKS_MAX} deep", block.start, block.end)

    def _attempt(self, parser: Parser) -> Expression:
        try:
            return parser.whole()
        except Misread as misread:
            self._report_misread(misread)
            return Const(misread.start, misread.end, None)

    def _branch(self, word: str, tokens: list[Token], start: int, end: int) -> None:
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.word == "set" or (word == "elif" and block.word == "for"):
            self._report("syntax", f"`{{% {word} %}}` stands in no `{{% if %}}`", start, end)
            return
        if block.branches and block.head is None:
            self._report("syntax", f"`{{% {word} %}}` stands behind `{{% else %}}`", start, end)
        block.branches.append((block.head, tuple(block.body)))
        block.body = []
        parser = Parser(tokens, self.calls, 1)
        block.head = None
        if word == "elif":
            block.head = self._attempt(parser)
        else:
            parser.finish()

    def _close(self, word: str, tokens: list[Token], start: int, end: int) -> None:
        if not self._blocks or _ENDS[self._blocks[-1].word] != word:
            expected = (
                f"expected `{{% {_ENDS[self._blocks[-1].word]} %}}` first"
                if self._blocks
                else "there is nothing to close"
            )
            self._report("syntax", f"`{{% {word} %}}`: {expected}", start, end)
            return
        block = self._blocks.pop()
        block.branches.append((block.head, tuple(block.body)))
        self._append(_closed(block, end))
        Parser(tokens, self.calls, 1).finish()

    def _refuse(self, word: str, token: Token) -> None:
        _, _, start, end = token
        known = word.removeprefix("end")
        self._report(
            "statement",
            f"`{{% {word} %}}` is not part of playbook templates",
            start,
            end,
            _FOREIGN.get(known, _PLAIN),
        )

    def _report_misread(self, misread: Misread) -> None:
        self._report(misread.kind, misread.message, misread.start, misread.end, misread.hint)

    def _report(self, kind: str, message: str, start: int, end: int, hint: str = "") -> None:
        self.problems.append(Problem(kind, message, start, end, hint))


def _closed(block: Block, end: int) -> Statement:
    if block.word == "if":
        return If(block.start, end, tuple(block.branches))
    body = block.branches[0][1]
    if block.word == "set":
        return SetBlock(block.start, end, block.target, body)
    otherwise = block.branches[1][1] if len(block.branches) > 1 else ()
    head = block.branches[0][0] or Const(block.start, block.start, None)
    return For(block.start, end, block.target, head, block.test, body, otherwise)
