"""Expressions that ask for too much memory, time or depth. Each must end in an error, soon and cheaply."""

LONG, WIDE, MANY = 400_000, 50_000, 20_000


def scope() -> dict[str, object]:
    nested: object = []
    nested_map: object = {}
    shared: object = [1]
    for _ in range(5000):
        nested, nested_map = [nested], {"a": nested_map}
    for _ in range(40):
        shared = [shared, shared]
    return {
        "s": "x" * LONG,
        "wide": "\U0001f600" * LONG,
        "l": list(range(WIDE)),
        "d": {str(number): number for number in range(MANY)},
        "rows": [{"id": number, "name": f"n{number}"} for number in range(MANY)],
        "texts": ["y" * 1000 + str(number) for number in range(MANY)],
        "big": 2**4000,
        "nested": nested,
        "nested_map": nested_map,
        "shared": shared,
    }


BOUNDED = (
    "'x' * 10 ** 9",
    "10 ** 9 * 'x'",
    "[0] * 10 ** 9",
    "2 ** 100000",
    "big * big",
    "big ** 2",
    "10.0 ** 400",
    "1e308 + 1e308",
    "'x' | center(10 ** 9)",
    "'x'.center(10 ** 9)",
    "'x'.ljust(10 ** 9)",
    "'x'.rjust(10 ** 9, 'y')",
    "'x'.zfill(10 ** 9)",
    "'%1000000000d' | format(1)",
    "'%.1000000000f' % 1.5",
    "'%*d' % (1000000000, 1)",
    "('%s' * 100) | format(s) | length",
    "s | indent(10 ** 9)",
    "('a\\n' * 100000) | indent(1000)",
    "s | replace('x', s)",
    "s | replace('', s)",
    "s.replace('x', s)",
    "l | join(s)",
    "s.join(texts)",
    "range(10 ** 9)",
    "range(10 ** 30)",
    "[1] | batch(10 ** 9, 0)",
    "[1] | slice(10 ** 9, 0)",
    "range(900000) | map('string') | map('upper') | map('lower') | list",
    "texts | map('center', 100000) | list",
    "texts | map('replace', 'y', 'yyyyyyyyyyyyyyyyyy') | list",
    "s ~ s" + " ~ s" * 30,
    "s" + " + s" * 30,
    "l" + " + l" * 60,
    "wide" + " ~ wide" * 30,
    "nested ~ ''",
    "nested == nested",
    "nested | tojson",
    "nested_map | tojson",
    "nested_map ~ ''",
    "nested_map == nested_map",
    "[nested]",
    "{'a': nested_map}",
    "shared ~ ''",
    "shared == shared",
    "shared | tojson",
    "[shared]",
    "dict(a=shared)",
    "[rows] * 1000",
    "('[' * 100000) | fromjson",
    "('[],' * 400000) | fromjson",
    "rows | tojson(indent=16) | tojson | tojson | tojson | tojson | tojson",
    "rows" + " | groupby('id') | map('last') | map('first') | list" * 8,
    "rows" + " | sort(attribute='name')" * 30,
    "texts" + " | unique | list" * 3,
    "wide" + " | title" * 30,
    "s | list | list | list",
    "s | urlencode | urlencode | urlencode",
    "s | escape | escape | escape",
)
LOOPED = (
    "{{ s }}",
    "{{ wide }}",
    "{% if s == s ~ '' %}{% endif %}",
    "{% if 'xyz' in s %}{% endif %}",
    "{% if a in l %}{% endif %}",
    "{% if s in texts %}{% endif %}",
    "{% if rows == rows %}{% endif %}",
    "{% set q = s.upper() %}",
    "{% set q = l[1:] %}",
    "{% set q = d.keys() %}",
    "{% set q = d.values() %}",
    "{% set q = d | items %}",
    "{% set q = d | last %}",
    "{% set q = s.count('y') %}",
    "{% set q = s.find('y') %}",
    "{% set q = s.startswith(s) %}",
    "{% set q = s | wordcount %}",
    "{% set q = s | truncate(5000) %}",
    "{% set q = l.count(1) %}",
    "{% set q = texts.index('q') %}",
    "{% set q = big ~ '' %}",
    "{% set q = l | sum %}",
    "{% set q = texts | max %}",
    "{% set q = dict(d, a=1) %}",
    "{% set q = s[::-1] %}",
    "{% set q = s < s ~ 'a' %}",
    "{% set q = s is lower %}",
    "{% set q = s.split('y') %}",
    "{% set q = s | trim('x') %}",
    "{% set q = s | b64encode %}",
    "{% for b in l %}{% endfor %}",
    "{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}",
    "{% set q = l | reverse %}",
    "{% set q = rows | selectattr('id') | list %}",
    "{% set q = rows | groupby('id') %}",
    "{% set q = range(10000) %}",
    "{% set q = 'a' in ['b', s ~ a] %}",
    "{% set q = l == l %}",
    "{% set q = '%1000d' % a %}",
    "{% set q = d | urlencode %}",
    "{% set q = [l, l] | join %}",
    "{% set q %}{{ s }}{% endset %}",
    "{% set q = rows | map(attribute='id') | list %}",
    "{% set q = texts | join %}",
)
"""What is asked for in each of many iterations."""


def templates() -> list[str]:
    doubled = "{% set a = [0, 0] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}"
    looped = ("{% for a in range(200000) %}" + body + "{% endfor %}" for body in LOOPED)
    return ["{{ " + expression + " }}" for expression in BOUNDED] + [*looped, doubled]
