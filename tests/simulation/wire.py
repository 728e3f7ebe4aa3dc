"""The ports as they look from another actor: every call goes over the network."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import cast

from noetl.ports import Catalog, ControlPlane, Credentials, ResultStore, Store, Unavailable
from tests.simulation.network import Carriage, Network


def control_plane_at(network: Network, servers: Sequence[str], *, timeout_s: float) -> ControlPlane:
    """What a worker has of its servers. A poll waits on purpose, so it is given that much more time."""
    return cast(ControlPlane, _Distant(network, servers, Carriage.MESSAGES, timeout_s))


def store_at(network: Network, host: str, *, timeout_s: float) -> Store:
    return cast(Store, _Distant(network, (host,), Carriage.SESSION, timeout_s))


def catalog_at(network: Network, host: str, *, timeout_s: float) -> Catalog:
    return cast(Catalog, _Distant(network, (host,), Carriage.SESSION, timeout_s))


def results_at(network: Network, host: str, *, timeout_s: float) -> ResultStore:
    return cast(ResultStore, _Distant(network, (host,), Carriage.SESSION, timeout_s))


def credentials_at(network: Network, host: str, *, timeout_s: float) -> Credentials:
    return cast(Credentials, _Distant(network, (host,), Carriage.SESSION, timeout_s))


class _Distant:
    """Whatever is called on it is called at a target that offers it. It keeps to one target until a call fails."""

    def __init__(self, network: Network, targets: Sequence[str], carriage: Carriage, timeout_s: float) -> None:
        self._network = network
        self._targets = targets
        self._target = network.choose(targets)
        self._carriage = carriage
        self._timeout_s = timeout_s

    def __getattr__(self, method: str) -> Callable[..., Awaitable[object]]:
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._ask, method)

    async def poll(self, ask: object, wait_s: float) -> object:
        return await self._ask("poll", ask, wait_s, patience_s=wait_s)

    async def _ask(self, method: str, *arguments: object, patience_s: float = 0.0) -> object:
        timeout_s = self._timeout_s + patience_s
        try:
            return await self._network.call(
                self._target, method, arguments, carriage=self._carriage, timeout_s=timeout_s
            )
        except Unavailable:
            self._target = self._network.choose(self._targets)
            raise
