"""Tool kinds, one file or folder each, and the list of them. A tool is imported and made when it is first used."""

from collections.abc import Callable, Iterator, Mapping

from noetl.engine.output import Output, failed
from noetl.ports import Console, EventLog, ResultStore, Tool, ToolCall
from noetl.tools.http.addresses import EMBEDDED, AddressPolicy
from noetl.tools.plugin import BrokenPlugin, Parts, installed, made


def make_tools(
    results: ResultStore, log: EventLog, environment: Mapping[str, str], policy: AddressPolicy = EMBEDDED
) -> "Toolbox":
    return Toolbox(Parts(results, log, environment), policy)


class Toolbox(Mapping[str, Tool]):
    """The tools of a worker by kind: those of this package, and those that installed packages add."""

    def __init__(self, parts: Parts, policy: AddressPolicy) -> None:
        self._parts = parts
        self._policy = policy
        self._made: dict[str, Tool] = {}

    def __getitem__(self, kind: str) -> Tool:
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*BUILT_IN, *installed()]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    async def close(self) -> None:
        """Ends what the tools keep between runs."""
        while self._made:
            _, tool = self._made.popitem()
            await tool.close()

    def _make(self, kind: str) -> Tool:
        make = BUILT_IN.get(kind)
        if make is not None:
            return make(self._parts, self._policy)
        try:
            tool = made(kind, self._parts)
        except BrokenPlugin as broken:
            return _Broken(str(broken))
        if tool is None:
            raise KeyError(kind)
        return tool


class _Broken:
    """Stands for a plugin that cannot be loaded, and says so."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        return failed("input", self._reason)

    async def close(self) -> None:
        return


def _noop(parts: Parts, policy: AddressPolicy) -> Tool:  # noqa: ARG001
    from noetl.tools.noop import Noop  # noqa: PLC0415

    return Noop()


def _http(parts: Parts, policy: AddressPolicy) -> Tool:
    from noetl.tools.http.tool import Http  # noqa: PLC0415

    return Http(parts.results, parts.log, policy)


def _python(parts: Parts, policy: AddressPolicy) -> Tool:  # noqa: ARG001
    from noetl.tools.python import Python  # noqa: PLC0415

    return Python(parts.environment)


def _script(parts: Parts, policy: AddressPolicy) -> Tool:  # noqa: ARG001
    from noetl.tools.script import Script  # noqa: PLC0415

    return Script(parts.environment)


def _resolve(parts: Parts, policy: AddressPolicy) -> Tool:  # noqa: ARG001
    from noetl.tools.resolve import Resolve  # noqa: PLC0415

    return Resolve(parts.results, parts.log)


BUILT_IN: Mapping[str, Callable[[Parts, AddressPolicy], Tool]] = {
    "http": _http,
    "noop": _noop,
    "python": _python,
    "script": _script,
    "resolve": _resolve,
}
