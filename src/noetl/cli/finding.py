"""Executions by what people call them: an id, the unique beginning of one, or `@latest`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from noetl.cli.console import Stopped
from noetl.cli.embedded import is_gone
from noetl.ports import Store, Summary

LATEST = "@latest"
PAGE = 500
SHOWN_MAX = 5


async def find_execution(store: Store, given: str) -> Summary:
    exact = await store.summary(given)
    if exact is not None:
        return exact
    if given == LATEST:
        latest = await store.recent("", 1)
        if not latest:
            raise Stopped("noetl: there is no execution in this project yet\n  = start one: noetl run playbook.yaml")
        return latest[0]
    found = [each async for each in _all(store) if each.execution_id.startswith(given)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Stopped(f'noetl: no execution begins with "{given}"\n  = see: noetl executions')
    names = ", ".join(each.execution_id for each in found[:SHOWN_MAX])
    raise Stopped(f'noetl: {len(found)} executions begin with "{given}": {names}\n  = write more of the id')


async def interrupted(store: Store, path: str) -> Summary | None:
    """The last run of a playbook that has not ended and that no living process works on."""
    async for each in _all(store):
        if each.path == path and not each.has_ended:
            _, rows = await store.rows(each.execution_id)
            holders = [lease.worker for work in rows.work.values() for lease in work.leases]
            if all(map(is_gone, holders)):
                return each
    return None


async def _all(store: Store) -> AsyncIterator[Summary]:
    before = ""
    while page := await store.recent(before, PAGE):
        for each in page:
            yield each
        before = page[-1].execution_id
