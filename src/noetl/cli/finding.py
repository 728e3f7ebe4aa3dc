"""Executions by what people call them: an id, the unique beginning of one, or `@latest`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from noetl.cli.console import Stopped
from noetl.cli.presence import NOBODY, Present
from noetl.engine.worklist import is_within
from noetl.errors import is_one_edit
from noetl.ports import Store, Summary

LATEST = "@latest"
PAGE = 500
SHOWN_MAX = 5
AFTER_ALL = "~"
"""Sorts after every letter of an id, and so after all ids with the same beginning."""


async def find_execution(store: Store, given: str) -> Summary:
    exact = await store.summary(given)
    if exact is not None:
        return exact
    if given == LATEST:
        latest = await store.recent("", 1)
        if not latest:
            raise Stopped("noetl: there is no execution in this project yet\n  = start one: noetl run playbook.yaml")
        return latest[0]
    if "." in given:
        return await _below(store, given)
    near = await store.recent(f"{given}{AFTER_ALL}", SHOWN_MAX + 1)
    found = [each.execution_id for each in near if each.execution_id.startswith(given)]
    if len(found) == 1:
        return near[0]
    if not found:
        meant = f"; did you mean {LATEST}?" if is_like_latest(given) else ""
        raise Stopped(f'noetl: no execution begins with "{given}"{meant}\n  = see: noetl executions')
    count = str(len(found)) if len(found) <= SHOWN_MAX else f"more than {SHOWN_MAX}"
    names = ", ".join(found[:SHOWN_MAX])
    raise Stopped(f'noetl: {count} executions begin with "{given}": {names}\n  = write more of the id')


async def _below(store: Store, given: str) -> Summary:
    """One that another started: its name follows that of the other, which may be shortened."""
    root, _, rest = given.partition(".")
    name = f"{(await find_execution(store, root)).execution_id}.{rest}"
    found = await store.summary(name)
    if found is None:
        raise Stopped(f'noetl: there is no execution "{name}"\n  = see: noetl executions --of {root}')
    return found


def is_like_latest(given: str) -> bool:
    word = given.lstrip("@").lower()
    return word in {"last", "newest", "recent", "head"} or is_one_edit(word, LATEST[1:])


async def interrupted(store: Store, path: str, there: Present = NOBODY) -> Summary | None:
    """The last run of a playbook that has not ended, and on which no living process works.

    One that is `there` may work on it and hold no lease while it waits.
    """
    live = [each async for each in _live(store)]
    for each in reversed(live):
        if each.path == path and each.parent is None and await is_interrupted(store, each, there):
            return each
    return None


async def is_interrupted(store: Store, summary: Summary, there: Present = NOBODY) -> bool:
    """Whether an execution has not ended and no living process works on it, nor on the one that began it all."""
    if summary.has_ended:
        return False
    root = await _root(store, summary)
    if root.execution_id in there.executions:
        return False
    return not [
        each
        async for each in live_within(store, root.execution_id)
        if await _has_holder(store, each.execution_id, there)
    ]


async def _root(store: Store, summary: Summary) -> Summary:
    while summary.parent is not None:
        above = await store.summary(summary.parent.execution_id)
        if above is None:
            break
        summary = above
    return summary


async def _has_holder(store: Store, execution_id: str, there: Present) -> bool:
    _, rows = await store.rows(execution_id)
    return any(not there.is_gone(lease.worker) for work in rows.work.values() for lease in work.leases)


async def live_within(store: Store, root: str) -> AsyncIterator[Summary]:
    """An execution and those below it, as far as they have not ended."""
    own = await store.summary(root)
    if own is not None and not own.has_ended:
        yield own
    async for each in _live(store, root):
        if not each.execution_id.startswith(root):
            return
        if is_within(each.execution_id, root):
            yield each


async def _live(store: Store, after: str = "") -> AsyncIterator[Summary]:
    """By id, beginning after that one."""
    while page := await store.live(after, PAGE):
        for each in page:
            yield each
        after = page[-1].execution_id
