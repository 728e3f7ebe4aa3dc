"""The methods a template may call: pure ones of text, lists and mappings. Nothing else of Python is reachable."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from noetl.expressions.list_filters import pairs_of
from noetl.expressions.operations import equal
from noetl.expressions.runtime import SCALARS, TEXT_SHIFT, Fault, Frame, charge, elements, kind_of
from noetl.expressions.text_filters import join as join_texts
from noetl.expressions.text_filters import padded, require_int, require_text, separator, split
from noetl.expressions.text_filters import replace as replace_text

MethodFunction: TypeAlias = Callable[..., object]


def _words(frame: Frame, value: object) -> str:
    words = require_text(value)
    charge(frame, (len(words) >> TEXT_SHIFT) + 1)
    return words


def _plain(method: Callable[[str], object]) -> MethodFunction:
    """A method without arguments, whose result is no longer than a small multiple of the text."""

    def call(frame: Frame, value: object) -> object:
        return method(_words(frame, value))

    return call


def _fill(character: object) -> str:
    if len(require_text(character)) != 1:
        raise Fault("the fill character is one character")
    return require_text(character)


def center(frame: Frame, value: object, width: object, fillchar: object = " ") -> str:
    return padded(frame, _words(frame, value), width).center(require_int(width), _fill(fillchar))


def ljust(frame: Frame, value: object, width: object, fillchar: object = " ") -> str:
    return padded(frame, _words(frame, value), width).ljust(require_int(width), _fill(fillchar))


def rjust(frame: Frame, value: object, width: object, fillchar: object = " ") -> str:
    return padded(frame, _words(frame, value), width).rjust(require_int(width), _fill(fillchar))


def zfill(frame: Frame, value: object, width: object) -> str:
    return padded(frame, _words(frame, value), width).zfill(require_int(width))


def strip(frame: Frame, value: object, chars: object = None) -> str:
    return _words(frame, value).strip(_optional(chars))


def lstrip(frame: Frame, value: object, chars: object = None) -> str:
    return _words(frame, value).lstrip(_optional(chars))


def rstrip(frame: Frame, value: object, chars: object = None) -> str:
    return _words(frame, value).rstrip(_optional(chars))


def _optional(chars: object) -> str | None:
    return None if chars is None else require_text(chars)


def startswith(frame: Frame, value: object, prefix: object) -> bool:
    return _words(frame, value).startswith(_affixes(frame, prefix))


def endswith(frame: Frame, value: object, suffix: object) -> bool:
    return _words(frame, value).endswith(_affixes(frame, suffix))


def _affixes(frame: Frame, affix: object) -> str | tuple[str, ...]:
    if isinstance(affix, (list, tuple)):
        charge(frame, len(affix))
        return tuple(require_text(item) for item in affix)
    return require_text(affix)


def removeprefix(frame: Frame, value: object, prefix: object) -> str:
    return _words(frame, value).removeprefix(require_text(prefix))


def removesuffix(frame: Frame, value: object, suffix: object) -> str:
    return _words(frame, value).removesuffix(require_text(suffix))


def find(frame: Frame, value: object, sub: object) -> int:
    return _words(frame, value).find(require_text(sub))


def rfind(frame: Frame, value: object, sub: object) -> int:
    return _words(frame, value).rfind(require_text(sub))


def index(frame: Frame, value: object, item: object) -> int:
    if isinstance(value, str):
        position = find(frame, value, item)
    else:
        matches = (place for place, other in enumerate(elements(frame, value)) if equal(frame, item, other))
        position = next(matches, -1)
    if position < 0:
        raise Fault(f"{kind_of(value)} does not hold what index() looks for")
    return position


def count(frame: Frame, value: object, item: object) -> int:
    if isinstance(value, str):
        return _words(frame, value).count(require_text(item))
    return sum(equal(frame, item, other) for other in elements(frame, value))


def replace(frame: Frame, value: object, old: object, new: object, count: object = -1) -> str:
    return replace_text(frame, require_text(value), require_text(old), require_text(new), count)


def join(frame: Frame, value: object, iterable: object) -> str:
    parts = [require_text(item) for item in elements(frame, iterable)]
    return join_texts(frame, parts, require_text(value))


def rsplit(frame: Frame, value: object, sep: object = None, maxsplit: object = -1) -> list[object]:
    words = require_text(value)
    charge(frame, (len(words) >> 1) + 1)
    return list(words.rsplit(separator(sep), require_int(maxsplit)))


def splitlines(frame: Frame, value: object, keepends: object = False) -> list[object]:
    words = require_text(value)
    charge(frame, (len(words) >> 1) + 1)
    return list(words.splitlines(bool(keepends)))


def partition(frame: Frame, value: object, sep: object) -> list[object]:
    return list(_words(frame, value).partition(separator(require_text(sep)) or ""))


def rpartition(frame: Frame, value: object, sep: object) -> list[object]:
    return list(_words(frame, value).rpartition(separator(require_text(sep)) or ""))


def get(frame: Frame, value: object, key: object, default: object = None) -> object:
    mapping = _mapping(value)
    return mapping[key] if type(key) in SCALARS and key in mapping else default


def keys(frame: Frame, value: object) -> list[object]:
    charge(frame, len(_mapping(value)))
    return list(_mapping(value))


def values(frame: Frame, value: object) -> list[object]:
    charge(frame, len(_mapping(value)))
    return list(_mapping(value).values())


def items(frame: Frame, value: object) -> list[object]:
    return list(pairs_of(frame, value))


def _mapping(value: object) -> Mapping[object, object]:
    if isinstance(value, Mapping):
        return value
    raise Fault(f"expected a mapping, found {kind_of(value)}")


METHODS: dict[str, MethodFunction] = {
    "capitalize": _plain(str.capitalize),
    "casefold": _plain(str.casefold),
    "center": center,
    "count": count,
    "endswith": endswith,
    "find": find,
    "get": get,
    "index": index,
    "isalnum": _plain(str.isalnum),
    "isalpha": _plain(str.isalpha),
    "isdecimal": _plain(str.isdecimal),
    "isdigit": _plain(str.isdigit),
    "islower": _plain(str.islower),
    "isnumeric": _plain(str.isnumeric),
    "isspace": _plain(str.isspace),
    "istitle": _plain(str.istitle),
    "isupper": _plain(str.isupper),
    "items": items,
    "join": join,
    "keys": keys,
    "ljust": ljust,
    "lower": _plain(str.lower),
    "lstrip": lstrip,
    "partition": partition,
    "removeprefix": removeprefix,
    "removesuffix": removesuffix,
    "replace": replace,
    "rfind": rfind,
    "rjust": rjust,
    "rpartition": rpartition,
    "rsplit": rsplit,
    "rstrip": rstrip,
    "split": split,
    "splitlines": splitlines,
    "startswith": startswith,
    "strip": strip,
    "swapcase": _plain(str.swapcase),
    "title": _plain(str.title),
    "upper": _plain(str.upper),
    "values": values,
    "zfill": zfill,
}

_UNCHANGED = "Values do not change in a template. Build a new one: `list + [item]`, `dict(mapping, key=value)`."
REFUSED_METHODS = {
    **dict.fromkeys(
        ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "sort", "update"),
        _UNCHANGED,
    ),
    "copy": "Values do not change in a template, so a copy is never needed.",
    "encode": "Templates hold text, not bytes. Use `b64encode`.",
    "format": "Use `~` to join, or the filter: `'%s of %s' | format(a, b)`.",
    "format_map": "Use the filter: `'%(a)s' | format(a=1)`.",
    "reverse": "Use the filter: `list | reverse`.",
}
