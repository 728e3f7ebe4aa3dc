"""What comes back: JSON, text, bytes and stored data, errors by status, and limits on size."""

import asyncio
import base64
import gzip
import zlib
from hashlib import sha256

import pytest
from aiohttp import web

from noetl.engine.output import Status
from tests.tools.serving import Handler, block, client, raw_site, said, site


def answer(body: bytes, content_type: str | None = None, status: int = 200, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = web.StreamResponse(status=status, headers=named)
        if content_type is None:
            response.headers["Content-Type"] = ""
        else:
            response.headers["Content-Type"] = content_type
        return await _sent(response, body, _)

    return handle


async def _sent(response: web.StreamResponse, body: bytes, request: web.Request) -> web.StreamResponse:
    await response.prepare(request)
    await response.write(body)
    return response


@pytest.mark.parametrize(
    ("body", "content_type", "data"),
    [
        (b'{"a": [1, null]}', "application/json", {"a": [1, None]}),
        (b'{"$noetl": "ref"}', "application/problem+json; charset=utf-8", {"$noetl": "ref"}),
        (b" ", "application/json", None),
        ("grün".encode(), "text/plain", "grün"),
        ("grün".encode("latin-1"), "text/html", "grün"),
        ("grün".encode("utf-16"), 'text/plain; charset="utf-16"', "grün"),
        (b"x", "text/plain; charset=nonsense", "x"),
        (b"<a/>", "application/atom+xml", "<a/>"),
        (b"a: 1", "application/yaml", "a: 1"),
        (b"", "text/plain", None),
        (b"plain", None, "plain"),
    ],
)
async def test_the_content_type_says_how_an_answer_is_read(body: bytes, content_type: str, data: object) -> None:
    async with client() as http, site({"/": answer(body, content_type)}) as server:
        output = await http.get(server.url)
    assert (output.status, output.data, output.ref) == (Status.OK, data, None)


async def test_the_author_says_how_an_answer_is_read() -> None:
    async with client() as http, site({"/": answer(b"[1]", "text/plain")}) as server:
        outputs = [await http.get(server.url, response=form) for form in ("auto", "json", "text", "bytes", "stored")]
    assert [output.data for output in outputs] == ["[1]", [1], "[1]", "WzFd", None]
    assert [output.ref is not None for output in outputs] == [False, False, False, True, True]


async def test_the_block_tells_status_headers_request_id_and_address() -> None:
    routes = {"/a": answer(b"{}", "application/json", X_Request_Id="r1", Retry_After="7", Set_Cookie="a=1")}
    async with client() as http, site(routes) as server:
        seen = block(await http.get(f"{server.url}/a#part", params={"q": "x y", "many": [1, True], "none": None}))
    assert (seen["status"], seen["request_id"]) == (200, "r1")
    assert seen["url"] == f"{server.url}/a?q=x+y&many=1&many=true"
    headers = seen["headers"]
    assert isinstance(headers, dict)
    assert (headers["retry-after"], headers["content-type"]) == ("7", "application/json")


@pytest.mark.parametrize("content_type", ["application/octet-stream", "image/png", None])
async def test_bytes_are_stored_and_small_ones_are_given_as_base64_too(content_type: str | None) -> None:
    body = b"\x89PNG\xff\x00"
    async with client() as http, site({"/": answer(body, content_type)}) as server:
        output = await http.get(server.url)
        assert output.ref is not None
        assert await http.results.get(str(output.ref.locator["sha256"])) == body
    assert output.data == base64.b64encode(body).decode()
    assert output.ref.meta.content_type == (content_type or "application/octet-stream")
    assert (output.ref.meta.bytes, output.ref.meta.sha256) == (len(body), sha256(body).hexdigest())


async def test_stored_bytes_say_how_long_they_are_kept() -> None:
    async with client() as http, site({"/": answer(b"x", "application/zip")}) as server:
        outputs = [await http.get(server.url, spec=spec) for spec in ({}, {"result": {"ttl": "24h"}})]
    assert [output.ref.meta.ttl if output.ref is not None else "" for output in outputs] == [None, "24h"]


async def test_large_bytes_are_in_the_store_alone() -> None:
    body = bytes(range(256)) * 4096
    async with client() as http, site({"/": answer(body, "application/zip")}) as server:
        output = await http.get(server.url)
        assert output.ref is not None
        assert await http.results.get(str(output.ref.meta.sha256)) == body
    assert output.data is None


async def test_nothing_is_read_of_an_answer_to_head() -> None:
    async def handle(_: web.Request) -> web.Response:
        return web.json_response({})

    async with client() as http, site({"/": handle}) as server:
        output = await http.get(server.url, method="HEAD")
    assert (output.status, output.data) == (Status.OK, None)


async def test_an_answer_that_is_nested_too_deeply_is_an_error() -> None:
    body = b"[" * 100_000 + b"]" * 100_000
    async with client() as http, site({"/": answer(body, "application/json")}) as server:
        kind, retryable, message = said(await http.get(server.url))
    assert (kind, retryable) == ("response", False)
    assert "nested deeper than 100 levels" in message


@pytest.mark.parametrize("response", ["auto", "json"])
async def test_an_answer_that_should_be_json_and_is_not_is_an_error(response: str) -> None:
    async with client() as http, site({"/": answer(b"<html>", "application/json")}) as server:
        output = await http.get(server.url, response=response)
    kind, retryable, message = said(output)
    assert (kind, retryable) == ("response", False)
    assert "is not JSON" in message
    assert "`response: text` takes it as it is" in message
    assert output.error is not None
    assert output.error.details == {"body": "<html>"}
    assert block(output)["status"] == 200


# ------------------------------------------------------------------------------ errors by status


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (408, True), (425, True), (429, True), (500, True), (503, True)],
)
async def test_a_status_of_400_or_more_is_an_error(status: int, retryable: bool) -> None:
    async with client() as http, site({"/": answer(b'{"why": "no"}', "application/json", status)}) as server:
        output = await http.get(server.url)
    assert said(output)[:2] == ("http_status", retryable)
    assert f"GET {server.url} answered {status} " in said(output)[2]
    assert (output.data, block(output)["status"]) == ({"why": "no"}, status)
    assert output.error is not None
    assert output.error.details == {"status": status, "body": '{"why": "no"}'}


@pytest.mark.parametrize(
    ("body", "content_type", "data", "beginning"),
    [
        (b"no " * 1000, "text/plain", "no " * 1000, ("no " * 1000)[:2000]),
        (b"not json", "application/json", "not json", "not json"),
        (b"", "application/json", None, ""),
        (b"\xff\x00", "image/png", None, ""),
        (b"\xff\x00", None, None, ""),
        (b"plain", None, "plain", "plain"),
    ],
)
async def test_the_body_of_an_error_is_shown(body: bytes, content_type: str, data: object, beginning: str) -> None:
    async with client() as http, site({"/": answer(body, content_type, 500)}) as server:
        output = await http.get(server.url, response="stored")
    assert output.data == data
    assert output.error is not None
    assert output.error.details == {"status": 500, "body": beginning}


async def test_the_body_of_an_error_is_cut_where_it_is_large() -> None:
    body = gzip.compress(b"x" * 3_000_000)
    async with client() as http, site({"/": answer(body, "text/plain", 500, Content_Encoding="gzip")}) as server:
        output = await http.get(server.url)
    assert isinstance(output.data, str)
    assert 900_000 < len(output.data) <= 1024 * 1024


# ------------------------------------------------------------------------------ compression and size


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"[1, 2]", mtime=0)),
        ("X-GZip", gzip.compress(b"[1,", mtime=0) + gzip.compress(b"2]", mtime=0) + b"\0\0"),
        ("deflate", zlib.compress(b"[1, 2]")),
        ("deflate", raw_deflate(b"[1, 2]")),
        ("identity", b"[1, 2]"),
    ],
)
async def test_a_compressed_answer_is_inflated(encoding: str, packed: bytes) -> None:
    async with client() as http, site({"/": answer(packed, "application/json", Content_Encoding=encoding)}) as server:
        output = await http.get(server.url)
    assert output.data == [1, 2]


@pytest.mark.parametrize(
    ("encoding", "packed", "retryable", "message"),
    [
        ("gzip", b"not gzip at all", False, "the answer is not gzip, as it says"),
        ("gzip", gzip.compress(b"[1, 2]", mtime=0)[:-4], True, "the answer breaks off in the middle of its gzip"),
        ("br", b"\x0b", False, "the answer is encoded as 'br', where gzip or deflate was asked for"),
    ],
)
async def test_an_answer_that_cannot_be_inflated_is_an_error(
    encoding: str, packed: bytes, retryable: bool, message: str
) -> None:
    async with client() as http, site({"/": answer(packed, "application/json", Content_Encoding=encoding)}) as server:
        output = await http.get(server.url)
    assert said(output)[:2] == ("response", retryable)
    assert message in said(output)[2]


async def test_an_answer_over_the_limit_is_refused() -> None:
    async with client() as http, site({"/": answer(b"x" * 101, "text/plain", Content_Length="101")}) as server:
        output = await http.get(server.url, spec={"response_bytes_max": 100})
    assert said(output)[:2] == ("budget_exceeded", False)
    assert "the answer has 101 bytes, and 100 are allowed; `spec.response_bytes_max`" in said(output)[2]


@pytest.mark.parametrize("response", ["text", "stored"])
async def test_a_compressed_answer_is_counted_as_it_inflates(response: str) -> None:
    bomb = gzip.compress(b"x" * 1_000_000)
    async with client() as http, site({"/": answer(bomb, "text/plain", Content_Encoding="gzip")}) as server:
        output = await http.get(server.url, response=response, spec={"response_bytes_max": 10_000})
    assert said(output)[0] == "budget_exceeded"
    assert "the answer is larger than 10000 bytes" in said(output)[2]
    assert output.ref is None


async def test_an_answer_that_inflates_beyond_measure_is_refused_below_the_limit() -> None:
    bomb = gzip.compress(bytes(40_000_000))
    async with client() as http, site({"/": answer(bomb, "text/plain", Content_Encoding="gzip")}) as server:
        output = await http.get(server.url)
    assert "the answer inflates to more than 250 times what came" in said(output)[2]


@pytest.mark.parametrize(
    ("head", "kind", "message"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf", "connect", "breaks off"),
        (b"", "connect", "the server closed the connection without an answer"),
        (b"this is not HTTP\r\n\r\n", "response", "the server does not answer in HTTP: Bad status line"),
    ],
)
async def test_a_broken_answer_may_be_tried_again(head: bytes, kind: str, message: str) -> None:
    async with client() as http, raw_site(head) as url:
        output = await http.get(url)
    assert said(output)[:2] == (kind, True)
    assert message in said(output)[2]


async def test_a_secret_that_the_server_sends_back_is_not_stored() -> None:
    async def slowly(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
        await response.prepare(request)
        for piece in (b"it is s3cr", b"et-t0k", b"en!"):
            await response.write(piece)
            await asyncio.sleep(0)
        return response

    async with client() as http, site({"/": slowly}) as server:
        output = await http.get(server.url, secrets=frozenset({"s3cret-t0ken"}))
        assert output.ref is not None
        assert await http.results.get(str(output.ref.meta.sha256)) == b"it is ***!"
