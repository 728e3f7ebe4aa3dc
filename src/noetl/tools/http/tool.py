"""One HTTP request a run. Whatever happens is an output, and `output.http` is always there."""

import asyncio
from collections.abc import Mapping

import aiohttp
import msgspec

from noetl.engine.output import Output, failed
from noetl.ports import Console, EventLog, ResultStore, ToolCall, Unavailable
from noetl.supply import rendering
from noetl.tools.http.addresses import AddressPolicy
from noetl.tools.http.answer import NotJson, beginning_of, body_of
from noetl.tools.http.exchange import BadRedirect, Connections, as_text, headers_of
from noetl.tools.http.failures import failure_of
from noetl.tools.http.inflating import TooLarge, Unreadable
from noetl.tools.http.knobs import Knobs, knobs_of
from noetl.tools.http.request import BadInput, Request, request_of

RETRYABLE = frozenset({408, 425, 429})
REQUEST_IDS = (
    "x-request-id", "request-id", "x-amzn-requestid", "x-amz-request-id", "x-correlation-id", "x-ms-request-id",
    "x-github-request-id", "cf-ray", "x-trace-id",
)  # fmt: skip
"""Headers by which servers name a request, the commonest first."""

EXPECTED = (
    BadInput, BadRedirect, NotJson, TooLarge, rendering.TooLarge, Unreadable, Unavailable, aiohttp.ClientError, OSError,
)  # fmt: skip
"""All that may go wrong with a request. Anything else is a bug."""

NO_ANSWER: Mapping[str, object] = {"status": None, "headers": {}, "request_id": None, "url": None}


class Http:
    def __init__(self, results: ResultStore, log: EventLog, policy: AddressPolicy) -> None:
        self._results = results
        self._connections = Connections(policy, results, log)

    async def run(self, call: ToolCall, console: Console) -> Output:  # noqa: ARG002
        try:
            request = request_of(call)
        except BadInput as error:
            return _with_block(failed("input", str(error)), NO_ANSWER)
        return await self._within_time(call, request, knobs_of(call.spec))

    async def close(self) -> None:
        await self._connections.close()

    async def _within_time(self, call: ToolCall, request: Request, knobs: Knobs) -> Output:
        seen = dict(NO_ANSWER) | {"url": str(request.url)}
        try:
            async with asyncio.timeout(knobs.total_s):
                output = await self._answered(call, request, knobs, seen)
        except EXPECTED as error:
            if isinstance(error, BadRedirect):
                seen.update(_head(error.response))
            output = failure_of(error, request, knobs, call.secrets)
        return _with_block(output, seen)

    async def _answered(self, call: ToolCall, request: Request, knobs: Knobs, seen: dict[str, object]) -> Output:
        """What is known of the answer is noted in `seen`, so that it is there though the body breaks off."""
        async with self._connections.answer(request, knobs) as response:
            seen.update(_head(response))
            if response.status >= 400:
                return await _refused(response, request, call.secrets)
            body = await body_of(response, call, knobs, self._results)
            return Output(data=body.data, ref=body.ref)


def _head(response: aiohttp.ClientResponse) -> Mapping[str, object]:
    headers = headers_of(response)
    request_id = next((headers[name] for name in REQUEST_IDS if name in headers), None)
    return {"status": response.status, "headers": headers, "request_id": request_id, "url": str(response.url)}


async def _refused(response: aiohttp.ClientResponse, request: Request, secrets: frozenset[str]) -> Output:
    data, beginning = await beginning_of(response, secrets)
    status = response.status
    said = f"{status} {as_text(response.reason or '')}".strip()
    output = failed(
        "http_status",
        f"{request.method} {response.url} answered {said}",
        retryable=status in RETRYABLE or status >= 500,
        details={"status": status, "body": beginning},
    )
    return msgspec.structs.replace(output, data=data)


def _with_block(output: Output, seen: Mapping[str, object]) -> Output:
    return msgspec.structs.replace(output, blocks={"http": seen})
