"""The executions below another one."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from noetl.cli.live.words import short_id
from noetl.ports import Store, Summary

PAGE = 500
READ_MAX = 10_000
"""Children that are looked through for those that failed."""

SHOWN_MAX = 10
_ORDER = {"failed": 0, "cancelled": 1, "running": 2}
_NUMBERS = re.compile("([0-9]+)")


class Children(msgspec.Struct, frozen=True):
    """The first to be told of, failed ones first, and how many there are; `is_cut` where there are more than that."""

    shown: Sequence[Summary] = ()
    count: int = 0
    failed: int = 0
    is_cut: bool = False


async def below(store: Store, execution_id: str) -> AsyncIterator[Summary]:
    after = ""
    while page := await store.below(execution_id, after, PAGE):
        for each in page:
            yield each
        after = page[-1].execution_id


async def in_order(store: Store, execution_id: str, *, failed_first: bool = False) -> AsyncIterator[Summary]:
    """Those below as people count, [2] before [10]. Of very many, those behind the first come as they are stored."""
    found: list[Summary] = []
    all_below = below(store, execution_id)
    async for each in all_below:
        found.append(each)
        if len(found) == READ_MAX:
            break
    found.sort(key=lambda each: (_ORDER.get(each.status, 3) if failed_first else 0, counted(each.execution_id)))
    for each in found:
        yield each
    async for each in all_below:
        yield each


def counted(execution_id: str) -> list[str | int]:
    """What ids are sorted by, so that the numbers in them count: texts and numbers take turns."""
    return [int(part) if part.isdecimal() else part for part in _NUMBERS.split(execution_id)]


async def children_of(store: Store, execution_id: str) -> Children:
    found: list[Summary] = []
    async for each in below(store, execution_id):
        if len(found) == READ_MAX:
            return _children(found, is_cut=True)
        found.append(each)
    return _children(found, is_cut=False)


def _children(found: Sequence[Summary], *, is_cut: bool) -> Children:
    told = sorted(found, key=lambda each: (_ORDER.get(each.status, 3), each.started_at, counted(each.execution_id)))
    failed = sum(each.status == "failed" for each in found)
    return Children(told[:SHOWN_MAX], len(found), failed, is_cut)


def name_below(each: str, execution_id: str) -> str:
    """The part of an id that the execution above it does not have."""
    return each.removeprefix(f"{execution_id}.")


def short_name(execution_id: str) -> str:
    """As short as verbs take it; the whole name below another execution belongs to it."""
    root, dot, rest = execution_id.partition(".")
    return f"{short_id(root)}{dot}{rest}"


def told(children: Children, execution_id: str, *, is_interrupted: bool) -> Iterator[str]:
    if not children.count:
        return
    at_least = "more than " if children.is_cut else ""
    failed = f", {children.failed} failed" if children.failed else ""
    yield f"  below it: {at_least}{children.count} {'execution' if children.count == 1 else 'executions'}{failed}"
    for each in children.shown:
        status = "interrupted" if is_interrupted and not each.has_ended else each.status
        yield f"    {status:<9}  {each.path}  {shlex.quote(short_name(each.execution_id))}"
    if children.count > len(children.shown):
        more = children.count - len(children.shown)
        yield f"    … {more} more; see: noetl executions --of {shlex.quote(short_name(execution_id))}"
