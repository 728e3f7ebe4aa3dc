"""The secrets of a run that is to go on or to run again, asked for before it does: without one, it would only fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

from noetl.cli.console import INVALID, Console, Stopped
from noetl.cli.embedded import Local
from noetl.cli.finding import live_within
from noetl.cli.live.words import short_id
from noetl.cli.reading import loader_of
from noetl.playbook.model import KeychainEntry
from noetl.playbook.rules.needs import CREDENTIAL_NOT_HERE
from noetl.ports import Registered, Summary, Unavailable
from noetl.storage.keychain import LocalKeychain
from noetl.supply.programs import made_ready


class _Lack(NamedTuple):
    file: str
    reason: str
    hint: str


async def refuse_without_secrets(local: Local, root: str, environment: Mapping[str, str], console: Console) -> None:
    """Tells all secrets that are missing for an execution and those below it, and ends the program if there are any."""
    lacks = [lack async for lack in _lacks(local, root, environment)]
    _refuse(lacks, console, verb="run", then=f"noetl run --resume {short_id(root)}")


async def refuse_rerun_without_secrets(
    local: Local,
    playbook: Registered,
    workload: Mapping[str, object],
    environment: Mapping[str, str],
    console: Console,
    *,
    then: str,
) -> None:
    """The same for a playbook that is to run again, of which nothing is recorded yet."""
    lacks = [lack async for lack in _of_playbook(playbook, workload, LocalKeychain(environment, local.catalog.locate))]
    _refuse(lacks, console, verb="rerun", then=then)


def _refuse(found: Sequence[_Lack], console: Console, *, verb: str, then: str) -> None:
    lacks = dict.fromkeys(found)
    for lack in lacks:
        where = f"{lack.file}: " if lack.file else ""
        console.say(f"{where}error: {lack.reason} [{CREDENTIAL_NOT_HERE.code}]\n  = {lack.hint}")
    if lacks:
        secrets = "1 secret is" if len(lacks) == 1 else f"{len(lacks)} secrets are"
        raise Stopped(f"noetl {verb}: {secrets} missing, see above; nothing was run\n  = then: {then}", INVALID)


async def _lacks(local: Local, root: str, environment: Mapping[str, str]) -> AsyncIterator[_Lack]:
    """Of executions of one playbook the first speaks for all."""
    keychain = LocalKeychain(environment, local.catalog.locate)
    known: set[str] = set()
    async for each in live_within(local.store, root):
        if each.digest not in known:
            known.add(each.digest)
            async for lack in _of_one(local, each, keychain):
                yield lack


async def _of_one(local: Local, summary: Summary, keychain: LocalKeychain) -> AsyncIterator[_Lack]:
    playbook = await local.catalog.by_digest(summary.digest)
    if playbook is None or not made_ready(playbook).playbook.keychain:
        return
    state = (await loader_of(local, local.store).load(summary.execution_id)).state
    async for lack in _of_playbook(playbook, state.workload, keychain):
        yield lack


async def _of_playbook(
    playbook: Registered, workload: Mapping[str, object], keychain: LocalKeychain
) -> AsyncIterator[_Lack]:
    for entry in made_ready(playbook).playbook.keychain:
        try:
            await keychain.value(entry, workload)
        except Unavailable as missing:
            yield _Lack(playbook.file, str(missing), _how_to_give(entry))


def _how_to_give(entry: KeychainEntry) -> str:
    if entry.kind == "env":
        return f"set it: export {entry.fields.get('var')}=…"
    return "write the secret to that file, readable by you alone (chmod 600)"
