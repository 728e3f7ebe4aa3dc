"""The filters a template may use, by name, and the well-known ones it may not, with the reason."""

from collections.abc import Callable
from typing import TypeAlias

from noetl.expressions import data_filters, list_filters, text_filters
from noetl.expressions.runtime import Frame

FilterFunction: TypeAlias = Callable[..., object]


def default(frame: Frame, value: object, default_value: object = "", boolean: object = False) -> object:
    """The value, or the other one where the value is false. Undefined is the compiler's work."""
    return default_value if boolean and not value else value


FILTERS: dict[str, FilterFunction] = {
    "abs": data_filters.absolute,
    "b64decode": data_filters.b64decode,
    "b64encode": data_filters.b64encode,
    "batch": list_filters.batch,
    "capitalize": text_filters.capitalize,
    "center": text_filters.center,
    "count": list_filters.length,
    "d": default,
    "default": default,
    "dictsort": list_filters.dictsort,
    "e": text_filters.escape,
    "escape": text_filters.escape,
    "first": list_filters.first,
    "float": data_filters.float_,
    "format": text_filters.format_,
    "fromjson": data_filters.fromjson,
    "groupby": list_filters.groupby,
    "indent": text_filters.indent,
    "int": data_filters.int_,
    "items": list_filters.items,
    "join": list_filters.join,
    "last": list_filters.last,
    "length": list_filters.length,
    "list": list_filters.list_,
    "lower": text_filters.lower,
    "max": list_filters.max_,
    "min": list_filters.min_,
    "replace": text_filters.replace,
    "reverse": list_filters.reverse,
    "round": data_filters.round_,
    "slice": list_filters.slice_,
    "sort": list_filters.sort,
    "split": text_filters.split,
    "string": text_filters.string,
    "sum": list_filters.sum_,
    "title": text_filters.title,
    "tojson": data_filters.tojson,
    "trim": text_filters.trim,
    "truncate": text_filters.truncate,
    "unique": list_filters.unique,
    "upper": text_filters.upper,
    "urlencode": text_filters.urlencode,
    "wordcount": text_filters.wordcount,
}

DEFAULTS = frozenset(("d", "default"))
EMPTY_IS_UNDEFINED = frozenset(("first", "last", "max", "min"))
"""Filters that give undefined, not an error, for an empty list."""

EACH_FILTERS = frozenset(("map", "select", "reject", "selectattr", "rejectattr"))
"""Filters that apply another filter or a test to each element; the compiler resolves its name."""

_NO_HTML = "Templates make plain text, not HTML."
_NO_REGEX = "Regular expressions can take unbounded time. Use `replace`, `split`, `in` or a python task."
_NO_CLOCK = "Templates have no clock, so that a run can be repeated. Use `output.meta.ts` or a python task."
REFUSED_FILTERS = {
    "attr": "Templates see keys, not Python attributes. Write `x.name` or `x['name']`.",
    "filesizeformat": "Write the arithmetic: `(n / 1000) | round(1)`.",
    "forceescape": _NO_HTML,
    "pprint": "Use `tojson(indent=2)`.",
    "random": "Templates have no randomness, so that a run can be repeated. Choose in a python task.",
    "regex_findall": _NO_REGEX,
    "regex_replace": _NO_REGEX,
    "regex_search": _NO_REGEX,
    "safe": _NO_HTML,
    "shuffle": "Templates have no randomness, so that a run can be repeated. Shuffle in a python task.",
    "strftime": _NO_CLOCK,
    "striptags": _NO_HTML,
    "to_datetime": _NO_CLOCK,
    "urlize": _NO_HTML,
    "wordwrap": "Use `truncate` or `indent`, or lay the text out in a python task.",
    "xmlattr": _NO_HTML,
}
