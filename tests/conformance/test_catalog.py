"""Playbooks by digest, by path and version, and the newest of a path."""

from noetl.ports import Registered
from tests.conformance.homes import Home


def playbook(path: str = "p", version: str = "1", digest: str = "d1", model: bytes = b"{}") -> Registered:
    return Registered(path, version, digest, model, f"{path}.yaml", b'{"x": 1}')


async def test_what_was_registered_is_found_by_digest_and_by_path(home: Home) -> None:
    async with home.catalog() as catalog:
        await catalog.register(playbook())
        assert await catalog.by_digest("d1") == playbook()
        assert await catalog.by_path("p", "1") == playbook()
        assert await catalog.by_path("p", None) == playbook()


async def test_what_was_not_registered_is_not_found(home: Home) -> None:
    async with home.catalog() as catalog:
        await catalog.register(playbook())
        assert await catalog.by_digest("d2") is None
        assert await catalog.by_path("p", "2") is None
        assert await catalog.by_path("q", None) is None


async def test_the_version_that_was_registered_last_is_the_newest(home: Home) -> None:
    async with home.catalog() as catalog:
        first, second = playbook(), playbook(version="2", digest="d2")
        await catalog.register(first)
        await catalog.register(second)
        assert await catalog.by_path("p", None) == second
        await catalog.register(first)
        assert await catalog.by_path("p", None) == first
        assert await catalog.by_path("p", "2") == second


async def test_a_version_that_is_registered_again_with_other_text_keeps_the_old_text_under_its_digest(
    home: Home,
) -> None:
    async with home.catalog() as catalog:
        await catalog.register(playbook())
        await catalog.register(playbook(digest="d2", model=b"[]"))
        assert await catalog.by_path("p", "1") == playbook(digest="d2", model=b"[]")
        assert await catalog.by_digest("d1") == playbook()


async def test_the_catalog_is_there_when_it_is_opened_again(home: Home) -> None:
    async with home.catalog() as catalog:
        await catalog.register(playbook())
    async with home.catalog() as catalog:
        assert await catalog.by_path("p", None) == playbook()
