"""Random expressions, templates and values for the comparison with Jinja2, from a seed.

The grammar leaves out what docs/expressions.md lists as different on purpose, and nothing else."""

from collections.abc import Callable
from random import Random

SCOPE_TYPES = {
    "int": ("i", "j", "o.n", "rows[0].id", "d.a"),
    "float": ("f", "o.f"),
    "str": ("s", "t", "o.s", "rows[1].name", "u"),
    "bool": ("b", "o.b"),
    "list": ("li", "o.li", "empty"),
    "texts": ("ls",),
    "rows": ("rows",),
    "dict": ("d", "o", "d2"),
    "none": ("n",),
}
WORDS = (
    "alpha",
    "Beta beta",
    "  gamma ",
    "",
    "a-b_c",
    "ÄÖ ß",
    "x" * 30,
    "one two  three\nfour",
    "10",
    "3.5",
    "-7",
    "Zed",
    "<a&b>'\"",
)

CENTERS = ("", "10", "3", "31")
TRUNCATES = ("8", "8, true", "8, true, '~'", "9, false, '..', 0", "5, leeway=0")
INDENTS = ("", "2", "2, true", "2, true, true", "width=1, blank=true", "'> '")
TRIMS = ("chars=' a'", "'ab'")
JOINS = ("", "', '", "d='-'")
PADDINGS = ("zfill(6)", "ljust(9)", "rjust(9, '.')", "center(9)", "removeprefix('a')", "casefold()")
SELECTIONS = ("'odd'", "'even'", "'gt', 1", "'==', 2", "'in', [1, 7]", "")
SPLITS = (
    "split()",
    "split(' ')",
    "split(' ', 1)",
    "split('b')",
    "splitlines()",
    "rsplit(' ', 1)",
    "partition('b') | list",
)

TEXT_FILTERS = ("upper", "lower", "capitalize", "title", "trim", "string", "reverse", "urlencode", "e", "escape")
TEXT_METHODS = ("upper()", "lower()", "strip()", "lstrip()", "rstrip()", "title()", "capitalize()", "swapcase()")
TEXT_PREDICATES = ("isdigit", "isalpha", "isupper", "islower", "isspace", "isalnum", "istitle")
KINDS = ("none", "number", "string", "mapping", "boolean", "true", "false", "integer", "float")
NUMBER_TESTS = ("odd", "even", "divisibleby 3", "divisibleby(2)", "gt 3", "eq(1)", "ne 2", "le 5", "in [1, 2]")
PATHS = ("missing", "o.missing", "o.n", "d.a.b.c", "s", "li[0]", "li[77]")
ORDERS = ("id", "name", "name,id", "on,id")
BY_ATTRIBUTE = ("selectattr", "rejectattr")
COMPARED = ("gt", "eq", "lessthan", "!=")
LOOP_STATE = "{{ loop.index }}/{{ loop.length }}"
PAIR = "{{ k }}={{ v }}{{ loop.first }}{{ loop.last }}"


def scope_of(random: Random) -> dict[str, object]:
    def number() -> int:
        return random.choice((0, 1, 2, 3, -1, -5, 7, 10, 42, 1000, 2**40))

    def real() -> float:
        return random.choice((0.0, 0.5, -1.5, 2.25, 3.14159, 1e10, -0.125))

    def word() -> str:
        return random.choice(WORDS)

    rows = [{"id": number(), "name": word(), "on": random.random() < 0.5} for _ in range(random.randint(2, 5))]
    return {
        "i": number(),
        "j": number(),
        "f": real(),
        "s": word(),
        "t": word(),
        "u": word(),
        "b": random.random() < 0.5,
        "n": None,
        "li": [number() for _ in range(random.randint(0, 6))],
        "ls": [word() for _ in range(random.randint(0, 5))],
        "empty": [],
        "rows": rows,
        "d": {"a": number(), "b": number(), "Key": number()},
        "d2": {"x": word(), "y": [number()], "z": {"w": None}},
        "o": {"n": number(), "f": real(), "s": word(), "b": random.random() < 0.5, "li": [number(), number()]},
    }


class Corpus:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._makers: dict[str, Callable[[int], str]] = {
            "int": self._int,
            "float": self._float,
            "str": self._str,
            "bool": self._bool,
            "list": self._list,
            "texts": self._texts,
            "rows": self._rows,
            "dict": self._dict,
        }

    def choice(self, *options: str) -> str:
        return self.random.choice(options)

    def expression(self, depth: int = 3) -> str:
        return self.of(
            self.choice("int", "float", "str", "bool", "list", "texts", "rows", "dict", "none", "any"), depth
        )

    def of(self, kind: str, depth: int) -> str:
        if self.random.random() < 0.04:
            kind = self.random.choice((*SCOPE_TYPES, "any"))
        if kind in ("any", "none"):
            return self._any(depth)
        if depth <= 0 or self.random.random() < 0.2:
            return self._leaf(kind)
        text = self._makers[kind](depth - 1)
        return f"({text})" if self.random.random() < 0.3 else text

    def _leaf(self, kind: str) -> str:
        if self.random.random() < 0.06:
            return self.choice("missing", "o.missing", "o.missing.deep", "d['zz']", "li[99]", "s.nothing", "i.x")
        if self.random.random() < 0.6:
            return self.random.choice(SCOPE_TYPES[kind])
        match kind:
            case "int":
                return self.choice("0", "1", "2", "3", "10", "255", "0x1F", "0b11", "1_000")
            case "float":
                return self.choice("0.5", "1.0", "2.25", "1e3", "1.5e-2")
            case "str":
                return self.choice("'abc'", '"x y"', "'a' 'b'", r"'it\'s'", r"'a\nb'", "''", r"'\u00e9'", "'%'", "'{}'")
            case "bool":
                return self.choice("true", "false", "True", "False")
            case "list":
                return self.choice("[]", "[1, 2, 3]", "[3, 1, 2,]", "range(4)", "range(1, 6, 2)")
            case "texts":
                return self.choice("['a', 'B', 'c']", "['x']", "[s, t]")
            case "rows":
                return self.choice("rows", "[{'id': 1, 'name': 'q', 'on': true}]", "rows[:2]")
            case "dict":
                return self.choice("{}", "{'a': 1, 'k': s}", "{'a': [1, {'b': none}]}")
            case _:
                return "none"

    def _any(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf(self.random.choice(tuple(SCOPE_TYPES)))
        kinds = ("int", "float", "str", "bool", "list", "texts", "rows", "dict")
        a, b = (self.of(self.random.choice(kinds), depth - 1) for _ in range(2))
        path = self.choice(
            "o.missing", "missing", "d.zz.y", "s", "n", "o.s", "li[0]", "li[50]", "d['a']", "rows[-1]['name']"
        )
        return self.choice(
            f"({a}) if {self.of('bool', depth - 1)} else {b}",
            f"{path} | default({a})",
            f"{path} | d({a}, true)",
            f"{path} | default({a}, boolean=true)",
            f"(({a}) if false) | default({b})",
            f"{self.of('list', depth - 1)} | first",
            f"{self.of('texts', depth - 1)} | last",
            f"{self.of('list', depth - 1)} | max",
            f"{self.of('texts', depth - 1)} | min",
            f"{self.of('rows', depth - 1)} | max(attribute='id')",
            f"{self.of('rows', depth - 1)} | sum(attribute='id')",
            f"{self.of('dict', depth - 1)}.get('a', {a})",
            f"{self.of('dict', depth - 1)}['a']",
            f"{self.of('list', depth - 1)}[{self.of('int', 0)}]",
            f"{a} or {b}",
            f"{a} and {b}",
            f"({a})",
        )

    def _int(self, depth: int) -> str:
        a, b = self.of("int", depth), self.of("int", depth)
        seq = self.of(self.random.choice(("list", "texts", "str", "rows", "dict")), depth)
        text = self.of("str", depth)
        return self.choice(
            f"{a} + {b}",
            f"{a} - {b}",
            f"{a} * {b}",
            f"{a} // {b}",
            f"{a} % {b}",
            f"{self.choice('2', '3', '-2', 'i')} ** {self.choice('2', '3', '0')}",
            f"-{self._leaf('int')}",
            f"+{self._leaf('int')} | abs",
            f"{seq} | length",
            f"{seq} | count",
            f"{text} | int",
            f"{text} | int({self._leaf('int')})",
            f"{text} | int(7, 16)",
            f"{self.of('float', depth)} | int",
            f"{self.of('list', depth)} | sum",
            f"{self.of('list', depth)} | sum(start=10)",
            f"{text} | wordcount",
            f"({a}) | abs",
            f"{self._leaf('str')}.find({self._leaf('str')})",
            f"{self._leaf('str')}.count('a')",
            f"{self._leaf('list')}.count(1)",
            f"{self._leaf('list')}.index(1)",
        )

    def _float(self, depth: int) -> str:
        a, b = self.of("float", depth), self.of("int", depth)
        return self.choice(
            f"{a} + {b}",
            f"{b} / {a}",
            f"{a} * {b}",
            f"{b} - {a}",
            f"{a} // {b}",
            f"{a} % {b}",
            f"{a} | round({self.choice('', '1', '2', '-1', '0')})",
            f"{a} | round(1, '{self.choice('ceil', 'floor', 'common')}')",
            f"{self.of('str', depth)} | float",
            f"{self.of('str', depth)} | float(1.5)",
            f"{b} | float",
            f"-{self._leaf('float')} | abs",
        )

    def _str(self, depth: int) -> str:
        a, b = self.of("str", depth), self.of("str", depth)
        leaf = self._leaf("str")
        scalar = self.of(self.random.choice(("int", "float", "str", "bool")), depth)
        seq = self.of(self.random.choice(("list", "texts")), depth)
        return self.choice(
            f"{a} + {b}",
            f"{a} ~ {self.of('any', depth)}",
            f"{a} ~ {b} ~ {scalar}",
            f"{a} * {self.choice('0', '2', '3', '-1')}",
            f"{a} | {self.choice(*TEXT_FILTERS)}",
            f"{scalar} | {self.choice('upper', 'string', 'trim', 'title')}",
            f"{a} | center({self.choice(*CENTERS)})",
            f"{a} | replace({leaf}, {self._leaf('str')})",
            f"{a} | replace('a', 'bb', {self.choice('0', '1', '2')})",
            f"{a} | string | truncate({self.choice(*TRUNCATES)})",
            f"{a} | indent({self.choice(*INDENTS)})",
            f"{a} | trim({self.choice(*TRIMS)})",
            f"{seq} | join({self.choice(*JOINS, leaf)})",
            f"{self.of('rows', depth)} | join(', ', attribute='name')",
            f"{leaf}[{self.choice('0', '-1', '1:3', ':2', '::-1', '1:', '5', '::2')}]",
            f"{leaf}.{self.choice(*TEXT_METHODS)}",
            f"{leaf}.{self.choice(*PADDINGS)}",
            f"{leaf}.replace('a', 'b')",
            f"', '.join({self._leaf('texts')})",
            f"'%s and %s' | format({scalar}, {b})",
            f"'%05d|%x|%5.2f' | format({self._leaf('int')}, 255, {self._leaf('float')})",
            f"'%(a)s-%(b)s' | format(a={scalar}, b=1)",
            f"('%s:%s' % ({leaf}, {self._leaf('int')}))",
            f"('%s' % {self._leaf('int')})",
            f"('%-6s|%+d|%g%%' % ({leaf}, {self._leaf('int')}, {self._leaf('float')}))",
            f"{self.of('dict', depth)} | urlencode",
        )

    def _bool(self, depth: int) -> str:
        number = self.random.choice(("int", "float"))
        a, b = self.of(number, depth), self.of("int", depth)
        s, t = self.of("str", depth), self.of("str", depth)
        x, y = self.of("bool", depth), self.of("bool", depth)
        thing = self.of("any", depth)
        operator = self.choice("==", "!=", "<", "<=", ">", ">=")
        return self.choice(
            f"{a} {operator} {b}",
            f"{s} {operator} {t}",
            f"{thing} {self.choice('==', '!=')} {self.of('any', depth)}",
            f"{a} < {b} {self.choice('<', '<=', '!=')} {self.of('int', depth)}",
            f"{x} and {y}",
            f"{x} or {y}",
            f"not {x}",
            f"{x} and {y} or not {self.of('bool', depth)}",
            f"{s} in {self.of('texts', depth)}",
            f"{s} in {t}",
            f"{b} {self.choice('in', 'not in')} {self.of('list', depth)}",
            f"{b} {self.choice('in', 'not in')} ({b}, 1, 2)",
            f"{s} in ['a', 'alpha', {t}]",
            f"'a' in {self.of('dict', depth)}",
            f"({thing}) is {self.choice('', 'not ')}{self.choice(*KINDS)}",
            f"({thing}) is {self.choice('iterable', 'sequence')}",
            f"{b} is {self.choice(*NUMBER_TESTS)}",
            f"{s} is {self.choice('lower', 'upper')}",
            f"{self.choice(*PATHS)} is {self.choice('', 'not ')}{self.choice('defined', 'undefined')}",
            f"{self._leaf('str')}.{self.choice('startswith', 'endswith')}({self._leaf('str')})",
            f"{self._leaf('str')}.{self.choice(*TEXT_PREDICATES)}()",
        )

    def _list(self, depth: int) -> str:
        a, b = self.of("list", depth), self.of("list", depth)
        return self.choice(
            f"{a} + {b}",
            f"[{self.of('int', depth)}, {self.of('int', depth)}]",
            f"{a} * {self.choice('0', '2')}",
            f"{a} | {self.choice('sort', 'sort(true)', 'sort(reverse=true)', 'reverse', 'unique', 'list')}",
            f"{a} | map('{self.choice('abs', 'float', 'int', 'string')}') | list",
            f"{a} | {self.choice('select', 'reject')}({self.choice(*SELECTIONS)}) | list",
            f"{self.of('rows', depth)} | map(attribute='id') | list",
            f"{self.of('rows', depth)} | map(attribute='zz', default=5) | list",
            f"{self._leaf('list')}[{self.choice('1:', ':2', '::2', '::-1', '-2:', '1:99')}]",
            f"{a} | batch({self.choice('2', '3', '2, 0')}) | list",
            f"{a} | slice({self.choice('2', '3', '2, 0')}) | list",
            f"range({self.choice('3', '0', '2, 5', '5, 0, -2')})",
            f"{self.of('dict', depth)} | dictsort(by='{self.choice('key', 'value')}')",
            f"{self.of('dict', depth)} | items | list",
            f"{self.of('dict', depth)}.items() | list",
            f"{self.of('rows', depth)} | groupby('{self.choice('id', 'name', 'on')}')",
            f"{self.of('dict', depth)}.values() | list",
        )

    def _texts(self, depth: int) -> str:
        a = self.of("texts", depth)
        return self.choice(
            f"{self._leaf('str')}.{self.choice(*SPLITS)}",
            f"{a} | map('{self.choice('upper', 'trim', 'capitalize')}') | list",
            f"{a} | map('replace', 'a', 'z') | list",
            f"{a} | {self.choice('sort', 'unique', 'reverse', 'sort(case_sensitive=true)', 'unique(true)')} | list",
            f"{self.of('rows', depth)} | map(attribute='name') | list",
            f"{self.of('dict', depth)} | list",
            f"{self.of('dict', depth)}.keys() | list",
            f"[{self.of('str', depth)}, {self.of('str', depth)}]",
            f"{self.of('str', depth)} | list",
        )

    def _rows(self, depth: int) -> str:
        a = self.of("rows", depth)
        return self.choice(
            f"{a} | sort(attribute='{self.choice(*ORDERS)}'{self.choice('', ', reverse=true')})",
            f"{a} | {self.choice(*BY_ATTRIBUTE)}('{self.choice('on', 'id', 'name')}') | list",
            f"{a} | {self.choice(*BY_ATTRIBUTE)}('id', '{self.choice(*COMPARED)}', {self.of('int', depth)}) | list",
            f"{a} | selectattr('zz', '{self.choice('defined', 'undefined')}') | list",
            f"{a} | unique(attribute='{self.choice('id', 'name', 'on')}') | list",
            f"{a}[{self.choice('1:', ':1', '::-1')}]",
            f"[{self.of('dict', depth)}]",
        )

    def _dict(self, depth: int) -> str:
        return self.choice(
            f"{{'a': {self.of('any', depth)}, 'b': {self.of('int', depth)}}}",
            f"{{{self._leaf('str')}: {self.of('any', depth)}}}",
            f"dict({self._leaf('dict')}, k={self.of('int', depth)})",
            f"dict(a={self.of('str', depth)})",
            f"({self.of('rows', depth)})[0]",
        )

    def template(self, depth: int = 3) -> str:
        """A text with statements."""
        return "".join(self._piece(depth) for _ in range(self.random.randint(1, 4)))

    def _piece(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.35:
            return self.choice(
                "text ", " \n ", "{# note #}", "{#- note -#}", "}} %} ", "{% raw %}{{ x }}{% endraw %}", "a\tb"
            )
        left, right = self.choice("{{", "{{-", "{{ "), self.choice("}}", "-}}", " }}")
        begin, end = self.choice("{%", "{%-", "{%+"), self.choice("%}", "-%}", "+%}")
        inner, condition, items = self.template(depth - 1), self.of("bool", 1), self.of("list", 1)
        return self.choice(
            f"{left} {self.expression(2)} {right}",
            f"{left} {self.expression(1)} {right}",
            f"{left} {self.of('bool', 1)}, i {right}",
            f"{begin} if ({condition}) {end}{inner}{begin} else {end}no{begin} endif {end}",
            f"{begin} if ({condition}) {end}1{begin} elif ({self.of('bool', 1)}) {end}{inner}{begin} endif {end}",
            f"{begin} for q in {items} {end}{{{{ q }}}},{inner}{begin} endfor {end}",
            f"{begin} for q in {items} if q > 1 {end}{LOOP_STATE}{begin} else {end}none{begin} endfor {end}",
            f"{begin} for k, v in {self.of('dict', 0)}.items() {end}{PAIR}{begin} endfor {end}",
            f"{begin} for i in {items} {end}{begin} set s = i {end}{{{{ s }}}}{begin} endfor {end}{{{{ s }}}}",
            f"{begin} set v = {self.expression(1)} {end}{inner}{{{{ v }}}}",
            f"{begin} set a, w = {self._leaf('int')}, 2 {end}{{{{ a + w }}}}",
            f"{begin} set v {end}{inner}{begin} endset {end}[{{{{ v | trim }}}}]",
            f"{begin} if b {end}{begin} set i = 5 {end}{begin} endif {end}{{{{ i }}}}",
        )
