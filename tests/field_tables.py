"""The tables of docs/tools.md that say what a task of a kind takes, made from the kinds' own specs.

`python -m tests.field_tables` writes them anew. A table stands between `<!-- fields: python -->` and `<!-- end -->`.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import assert_never

from noetl.playbook import shape
from noetl.playbook.kinds import KEYCHAIN_KINDS, KINDS, Kind
from noetl.playbook.shape import Field, Type

PAGE = Path(__file__).resolve().parent.parent / "docs/tools.md"
TABLE = re.compile(r"<!-- fields: (?P<name>[a-z_ ]+) -->\n.*?<!-- end -->", re.DOTALL)


def written(page: str) -> str:
    """The page with its tables as they should be."""
    return TABLE.sub(lambda found: f"<!-- fields: {found['name']} -->\n{table(found['name'])}<!-- end -->", page)


def table(name: str) -> str:
    rows = _kind_rows(_kinds()[name]) if name in _kinds() else _keychain_rows(name.split()[1:])
    return "".join(("| field | takes | meaning |\n", "|---|---|---|\n", *rows))


def _kinds() -> Mapping[str, Kind]:
    return {kind.name: kind for kind in KINDS}


def _kind_rows(kind: Kind) -> Iterable[str]:
    for field in kind.fields.values():
        yield _row(f"`{field.name}`", field, never_template=field.name in kind.texts)
    for field in kind.knobs.values():
        if not field.inert:
            yield _row(f"`spec.{field.name}`", field)


def _keychain_rows(names: Iterable[str]) -> Iterable[str]:
    kinds = {kind.name: kind for kind in KEYCHAIN_KINDS}
    for name in names:
        for field in kinds[name].fields.values():
            yield _row(f"`{field.name}` of `{name}`", field)


def _row(title: str, field: Field, *, never_template: bool = False) -> str:
    taken = f"{_taken(field.type)}{', never a template' if never_template else ''}"
    meaning = f"**Required.** {field.doc}" if field.required else field.doc
    return f"| {title} | {taken} | {meaning} |\n"


def _taken(what: Type) -> str:
    match what:
        case shape.Text() | shape.Name() | shape.Guard():
            return "text"
        case shape.Flag():
            return "true or false"
        case shape.Number():
            return "whole number" if what.integer else "number"
        case shape.Choice():
            return ", ".join(f"`{option}`" for option in what.options)
        case shape.Value():
            return "anything"
        case shape.Values() | shape.Table() | shape.Nested() | shape.Assignments():
            return "mapping"
        case shape.Listing() | shape.Pipeline():
            return "list"
        case shape.Either():
            return " or ".join(_taken(option) for option in what.options)
        case _:
            assert_never(what)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
