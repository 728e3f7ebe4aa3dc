"""Ways to spoil a playbook's text, and texts that never were one. All choices come from a seeded source."""

import re
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[Random, str, str], str]
"""Takes the text to spoil and another text to borrow from."""

SNIPPETS = (
    "&a [*a]", "&a x", "*a", "*missing", "!!python/object:os.system x", "!t x", "!!str 5", "<<: *a", "? complex",
    "? [a, b]: c", "{{ output.data }}", "{{ x", "x }}", "{% if x %}", "{# note", "key: {{ ctx.x }}", "- {{ item }}",
    "---", "...", "%YAML 1.1", "%TAG ! tag:x,2000:", "\t", "\t- x", "|", ">-", "|9", "'", '"', "[", "{", "]", "}",
    ",", ":", "- ", "-\n", "#", "~", "null", "true", ".nan", ".inf", "0o17", "010", "1e999", "2024-01-01", "12:30:45",
    "set: {ctx.x: 1}", "when: '{{ true }}'", "kind: nothing", "next: [{step: a}]",
    "eval: [{expr: x, do: jump, to: y}]", "args: {a: 1}", "outcome", "retry: {max: 3}", "case: []", "vars: {a: 1}",
    "tool: []", "tool: {kind: http}", "loop: {in: [1], iterator: item}", "workflow: []", "x-any: [1]",
    "- label: {kind: noop}", "sink: {tool: {kind: noop}}", "\\", "\"\\x", "\"\\ud800\"", "a" * 300, "[" * 60,
    "- " * 60, "{a: " * 40, "'{{ " + "(" * 200 + " }}'", "'{{ " + "not " * 200 + "x }}'", "'{{ 9 ** 9 ** 9 }}'",
    "'{{ range(10**9) | list }}'",
)  # fmt: skip
SCALARS = (
    "9" * 400,
    "-1",
    "0",
    "1e308",
    "99999999999999999999",
    "''",
    "[]",
    "{}",
    "null",
    "true",
    "[1, {a: b}]",
    "'{{ x }}'",
    "a: b",
)
CHARACTERS = "\0\x07\x1b\x7f\x85\u00a0\u200b\u2028\u202e\ufeff\ufffd\uffff😀中é\r\n\t"
TOKENS = (
    "a",
    "b:",
    "- ",
    "\n",
    "  ",
    "[",
    "]",
    "{",
    "}",
    ",",
    ": ",
    "'",
    '"',
    "{{",
    "}}",
    "|",
    ">",
    "&x",
    "*x",
    "!",
    "#",
    "%",
    "?",
    "0",
)
TOKEN = re.compile(r"\{\{|\}\}|[A-Za-z0-9_.]+|\s+|.", re.DOTALL)
KEY = re.compile(r"[A-Za-z_]+(?=:)")
VALUE = re.compile(r"(?<=: )[^\n]+")
QUOTED_TEMPLATE = re.compile(r"""(["'])(\{\{.*?\}\})\1""")


def spoiled(random: Random, texts: Sequence[str]) -> bytes:
    """One input of a campaign."""
    if random.random() < 0.05:
        return random.randbytes(random.randint(0, 200))
    if random.random() < 0.05:
        return "".join(random.choices(TOKENS, k=random.randint(0, 60))).encode()
    text = random.choice(texts)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
        text = random.choice(MUTATIONS)(random, text, random.choice(texts))
    data = text.encode("utf-8", "surrogatepass")
    return flip_bytes(random, data) if random.random() < 0.1 else data


def flip_bytes(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 4) if data else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def swap_lines(random: Random, text: str, _: str) -> str:
    lines = text.splitlines(keepends=True)
    a, b = _index(random, lines), _index(random, lines)
    if lines:
        lines[a], lines[b] = lines[b], lines[a]
    return "".join(lines)


def delete_lines(random: Random, text: str, _: str) -> str:
    lines = text.splitlines(keepends=True)
    start = _index(random, lines)
    return "".join(lines[:start] + lines[start + random.randint(1, 4) :])


def duplicate_lines(random: Random, text: str, _: str) -> str:
    lines = text.splitlines(keepends=True)
    start = _index(random, lines)
    end = start + random.randint(1, 6)
    return "".join(lines[:end] + lines[start:end] + lines[end:])


def change_indentation(random: Random, text: str, _: str) -> str:
    lines = text.splitlines(keepends=True)
    start = _index(random, lines)
    for index in range(start, min(start + random.randint(1, 5), len(lines))):
        shift = random.choice((-4, -2, -1, 1, 2, 4))
        lines[index] = " " * shift + lines[index] if shift > 0 else lines[index][min(-shift, _indent(lines[index])) :]
    return "".join(lines)


def delete_token(random: Random, text: str, _: str) -> str:
    tokens = TOKEN.findall(text)
    start = _index(random, tokens)
    return "".join(tokens[:start] + tokens[start + random.randint(1, 3) :])


def duplicate_token(random: Random, text: str, _: str) -> str:
    tokens = TOKEN.findall(text)
    start = _index(random, tokens)
    return "".join(tokens[:start] + tokens[start : start + 1] * random.choice((2, 2, 3, 50)) + tokens[start + 1 :])


def rename_key(random: Random, text: str, other: str) -> str:
    found = KEY.findall(other) or ["key"]
    return _replaced(random, KEY, text, random.choice([*found, random.choice(found)[:-1], "unknown"]))


def change_value(random: Random, text: str, other: str) -> str:
    found = VALUE.findall(other) or ["x"]
    return _replaced(random, VALUE, text, random.choice((random.choice(SCALARS), random.choice(found))))


def unquote_template(random: Random, text: str, _: str) -> str:
    matches = list(QUOTED_TEMPLATE.finditer(text))
    if not matches:
        return text
    match = random.choice(matches)
    return text[: match.start()] + match[2] + text[match.end() :]


def insert_character(random: Random, text: str, _: str) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(CHARACTERS) * random.choice((1, 1, 3)) + text[at:]


def insert_snippet(random: Random, text: str, _: str) -> str:
    snippet = random.choice(SNIPPETS)
    if random.random() < 0.5:
        lines = text.splitlines(keepends=True)
        at = _index(random, lines)
        indent = _indent(lines[at]) if lines else 0
        return "".join([*lines[:at], " " * indent + snippet + "\n", *lines[at:]])
    place = random.randint(0, len(text))
    return text[:place] + snippet + text[place:]


def splice(random: Random, text: str, other: str) -> str:
    mine, theirs = text.splitlines(keepends=True), other.splitlines(keepends=True)
    start = _index(random, theirs)
    at = _index(random, mine)
    return "".join(mine[:at] + theirs[start : start + random.randint(1, 20)] + mine[at:])


def truncate(random: Random, text: str, _: str) -> str:
    return text[: random.randint(0, len(text))]


MUTATIONS: tuple[Mutation, ...] = (
    swap_lines,
    delete_lines,
    duplicate_lines,
    change_indentation,
    delete_token,
    duplicate_token,
    rename_key,
    change_value,
    unquote_template,
    insert_character,
    insert_snippet,
    insert_snippet,
    splice,
    truncate,
)


def _index(random: Random, items: Sequence[str]) -> int:
    return random.randrange(len(items)) if items else 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _replaced(random: Random, pattern: re.Pattern[str], text: str, replacement: str) -> str:
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = random.choice(matches)
    return text[: match.start()] + replacement + text[match.end() :]
