"""How deep data may be nested: as deep as expressions look into it. All that works on data goes down level by level."""

from noetl.expressions.runtime import DATA_DEPTH_MAX

TOO_DEEP = f"nested deeper than {DATA_DEPTH_MAX} levels"


def is_too_deep(value: object, data: bytes) -> bool:
    """`data` is the value as JSON. What begins few lists and mappings in all cannot nest many."""
    return data.count(b"[") + data.count(b"{") > DATA_DEPTH_MAX and _goes_on(value)


def _goes_on(value: object) -> bool:
    """Whether there is a level below the last one. It looks at a whole level at once, since it must not recurse."""
    level = [value]
    for _ in range(DATA_DEPTH_MAX):
        level = [
            item
            for part in level
            for item in (part.values() if type(part) is dict else part if type(part) is list else ())
            if type(item) in (dict, list)
        ]
        if not level:
            return False
    return True
