"""Playbooks made ready, one for each digest."""

import asyncio

from noetl.ports import Registered
from noetl.storage.memory import MemoryCatalog
from noetl.supply.programs import PROGRAMS_MAX, Programs, Ready, made_ready
from tests.runtime import chain, registered


def test_a_program_is_made_once_and_knows_where_its_parts_stand() -> None:
    async def test() -> None:
        catalog, playbook = MemoryCatalog(), registered(chain("a"))
        await catalog.register(playbook)
        programs = Programs(catalog.by_digest)
        first = await programs.get(playbook.digest)
        assert first is not None
        assert first is await programs.get(playbook.digest)
        assert first.places.file == "playbook.yaml"
        assert await programs.get("unknown") is None

    asyncio.run(test())


def test_who_shares_what_is_ready_does_not_ask_again() -> None:
    async def test() -> None:
        catalog, empty, playbook = MemoryCatalog(), MemoryCatalog(), registered(chain("a"))
        await catalog.register(playbook)
        ready = Ready()
        made = await Programs(catalog.by_digest, ready).get(playbook.digest)
        assert made is not None
        assert await Programs(empty.by_digest, ready).get(playbook.digest) is made

    asyncio.run(test())


def test_no_more_programs_are_kept_than_may_be_and_the_oldest_goes() -> None:
    playbook = registered(chain("a"))
    asked: list[str] = []

    async def find(digest: str) -> Registered | None:
        asked.append(digest)
        return playbook

    async def test() -> None:
        programs = Programs(find)
        for number in range(PROGRAMS_MAX + 1):
            await programs.get(str(number))
            await programs.get("0")
        await programs.get("1")
        await programs.get("0")
        assert asked.count("0") == 1
        assert asked.count("1") == 2

    asyncio.run(test())


def test_made_ready_reads_the_canonical_model() -> None:
    assert list(made_ready(registered(chain("a", "b"))).steps) == ["a", "b"]
