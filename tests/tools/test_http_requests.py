"""What is sent: method, address, headers, login and body; and where it may go."""

import asyncio
import base64
import socket
from hashlib import sha256
from pathlib import Path

import pytest
from aiohttp import web
from multidict import MultiDict

from noetl.engine.output import Status
from noetl.engine.reference import External, Reference, ReferenceMeta, encode_value
from noetl.engine.size import Blob
from noetl.supply.rendering import HELD_BYTES_MAX
from noetl.tools.http.addresses import SERVED, AddressPolicy
from tests.tools.serving import Client, Handler, block, client, said, site


async def fine(_: web.Request) -> web.Response:
    return web.json_response({"ok": True})


async def test_get_is_what_is_done_by_default() -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url)
    (request,) = server.seen
    assert (request.method, request.headers["Accept"]) == ("GET", "*/*")
    assert request.headers["User-Agent"].startswith("noetl/")
    assert request.headers["Accept-Encoding"] == "gzip, deflate"
    assert "Content-Type" not in request.headers


async def test_the_idempotency_key_is_that_of_the_visit_in_its_execution() -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url, method="post")
        await http.get(server.url, method="post", headers={"idempotency-key": "mine"})
    assert [request.headers.getall("Idempotency-Key") for request in server.seen] == [["x1.load#1.post/1"], ["mine"]]


async def test_headers_may_be_numbers_and_lists_and_null() -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url, headers={"X-N": 1, "X-Many": ["a", "b"], "X-None": None, "accept": "text/csv"})
    headers = server.seen[0].headers
    assert (headers["X-N"], headers.getall("X-Many"), headers.getall("Accept")) == ("1", ["a", "b"], ["text/csv"])
    assert "X-None" not in headers


@pytest.mark.parametrize("params", [{"b": "2 &3"}, "?b=2+%263", "b=2%20%263"])
async def test_params_are_added_to_those_of_the_address(params: object) -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(f"{server.url}/?a=1", params=params)
    assert list(server.seen[0].query.items()) == [("a", "1"), ("b", "2 &3")]


@pytest.mark.parametrize(
    ("fields", "body", "content_type"),
    [
        ({"json": {"a": "ü"}}, '{"a":"ü"}'.encode(), "application/json"),
        ({"json": []}, b"[]", "application/json"),
        ({"data": {"a": [1, 2], "b": "x y"}}, b"a=1&a=2&b=x+y", "application/x-www-form-urlencoded"),
        ({"form": {"a": "&"}}, b"a=%26", "application/x-www-form-urlencoded"),
        ({"data": "plain ü"}, "plain ü".encode(), "text/plain; charset=utf-8"),
        ({"body": "<a/>", "headers": {"content-type": "text/xml"}}, b"<a/>", "text/xml"),
        ({"body": {"base64": "/wA="}}, b"\xff\x00", None),
        ({"body": {"a": 1}}, b'{"a":1}', "application/json"),
        ({"body": 12}, b"12", "text/plain; charset=utf-8"),
    ],
)
async def test_a_body_is_sent_as_its_field_says(fields: dict[str, object], body: bytes, content_type: str) -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url, method="POST", **fields)
    assert server.bodies == [body]
    assert server.seen[0].headers.get("Content-Type") == content_type
    assert server.seen[0].headers["Content-Length"] == str(len(body))


async def test_stored_data_is_sent_with_its_size_and_type() -> None:
    ref = Reference("blob", {"sha256": "s"}, meta=ReferenceMeta("image/png", 300_000, "s"))
    async with client() as http, site({"/": fine}) as server:
        await http.results.put([Blob("s", b"x" * 300_000)])
        await http.get(server.url, method="PUT", body=ref)
    assert (len(server.bodies[0]), server.seen[0].headers["Content-Type"]) == (300_000, "image/png")
    assert server.seen[0].headers["Content-Length"] == "300000"


@pytest.mark.parametrize(
    ("value", "body", "content_type"),
    [
        (["in", "parts"], b'["in","parts",["part"]]', "application/json"),
        ([{"$noetl": "mine"}], b'[{"$noetl":"mine"},["part"]]', "application/json"),
        ("text", b"text", "text/plain; charset=utf-8"),
        ([1, 2], b"[1,2]", "application/json"),
    ],
)
async def test_a_reference_to_a_value_sends_the_value(value: object, body: bytes, content_type: str) -> None:
    async with client() as http, site({"/": fine}) as server:
        part = await kept(http, ["part"])
        whole = [*value, External(part)] if isinstance(value, list) and b"part" in body else value
        await http.get(server.url, method="POST", body=await kept(http, whole))
    assert server.bodies == [body]
    assert server.seen[0].headers["Content-Type"] == content_type


async def test_a_value_that_is_too_large_to_be_put_together_is_not_sent() -> None:
    part = External(Reference("blob", {"sha256": "p"}, meta=ReferenceMeta(bytes=HELD_BYTES_MAX + 1)))
    async with client() as http, site({"/": fine}) as server:
        output = await http.get(server.url, method="POST", body=await kept(http, [part]))
    assert (said(output)[:2], server.seen) == (("budget_exceeded", False), [])
    assert "take parts of it with `kind: resolve` and `range`" in said(output)[2]


async def kept(http: Client, value: object) -> Reference:
    data = encode_value(value)
    name = sha256(data).hexdigest()
    await http.results.put([Blob(name, data)])
    return Reference("blob", {"sha256": name}, meta=ReferenceMeta(bytes=len(data), sha256=name))


async def test_stored_data_that_is_gone_is_not_sent() -> None:
    async with client() as http, site({"/": fine}) as server:
        output = await http.get(server.url, method="PUT", body=Reference("blob", {"sha256": "s"}))
    assert said(output)[:2] == ("reference_not_available", True)
    assert server.seen == []


async def test_files_are_sent_as_a_multipart_form(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2")
    got: list[tuple[str, str | None, str | None, bytes]] = []

    async def take(request: web.Request) -> web.Response:
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                got.append((name, value.filename, value.content_type, value.file.read()))
            else:
                got.append((name, None, None, str(value).encode()))
        return web.Response()

    files: dict[str, object] = {
        "plain": "text",
        "named": {"content": "a,b", "filename": "a.csv", "content_type": "text/csv"},
        "bytes": {"base64": "/wA="},
        "disk": {"path": str(tmp_path / "rows.csv")},
        "stored": [{"ref": Reference("blob", {"sha256": "s"}, meta=ReferenceMeta("image/png", 3, "s"))}],
    }
    async with client() as http, site({"/": take}) as server:
        await http.results.put([Blob("s", b"png")])
        files["value"] = {"ref": await kept(http, ["a", External(await kept(http, "b"))])}
        files["typed"] = {"ref": await kept(http, "1,2"), "content_type": "text/csv"}
        output = await http.get(server.url, method="POST", form={"note": "hi"}, files=files)
    assert output.status is Status.OK
    assert got == [
        ("note", None, None, b"hi"),
        ("plain", "plain", "text/plain; charset=utf-8", b"text"),
        ("named", "a.csv", "text/csv", b"a,b"),
        ("bytes", "bytes", "application/octet-stream", b"\xff\x00"),
        ("disk", "rows.csv", "application/octet-stream", b"1,2"),
        ("stored", "stored", "image/png", b"png"),
        ("value", "value", "application/json", b'["a","b"]'),
        ("typed", "typed", "text/csv", b"1,2"),
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": 1}, "`url` must be text, and is a number"),
        ({"url": "ftp://x"}, "`url` must begin with http:// or https:// and name a host, and is 'ftp://x'"),
        ({"url": "/path"}, "`url` must begin with http://"),
        ({"url": Reference("blob", {})}, "`url` must be text, and is a reference"),
        ({"url": "http://[x"}, "`url` is not an address, by its host or its port: 'http://[x'"),
        ({"url": "http://127.0.0.1:99999/"}, "`url` is not an address, by its host or its port: 'http://127.0.0.1:99"),
        ({"url": "http://127.0.0.1:abc/"}, "`url` is not an address"),
        ({"url": "http://x:-1/"}, "`url` is not an address"),
        ({"url": "http://x:80:80/"}, "`url` is not an address"),
        ({"url": "http://xn--/"}, "`url` is not an address"),
        ({"method": " "}, "`method` must be one word such as GET or POST, and is ''"),
        ({"method": "GET /"}, "`method` must be one word such as GET or POST, and is 'GET /'"),
        ({"headers": "x"}, "`headers` must be a mapping, and is text"),
        ({"headers": {"a b": "x"}}, "a header cannot be named 'a b'"),
        ({"headers": {"a": "x\r\nb: y"}}, "header `a` must be one line"),
        ({"headers": {"a": {}}}, "`headers.a` must be text or a number, and is a mapping"),
        ({"params": 1}, "`params` must be a mapping or text, and is a number"),
        ({"json": 1, "data": 2}, "a request has one body, and this one has several: json, data"),
        ({"json": 1, "files": {}}, "a request has one body, and this one has several: json, files"),
        ({"form": "x"}, "`form` must be a mapping, and is text"),
        ({"form": "x", "files": {}}, "`form` must be a mapping, and is text"),
        ({"files": "x"}, "`files` must be a mapping, and is text"),
        ({"files": {"a": {"content": "x", "path": "y"}}}, "`files.a` needs one of `content`, `base64`, `ref` and"),
        ({"files": {"a": {"path": "/nowhere"}}}, "`files.a.path` must name a file, and '/nowhere' is none"),
        ({"files": {"a": {"ref": {}}}}, "`files.a.ref` must be a reference such as `output.ref`, and is a mapping"),
        (
            {"body": "x", "headers": {"Transfer-Encoding": "chunked"}},
            "header `Transfer-Encoding` follows from the body",
        ),
        ({"files": {"a": {"base64": "?"}}}, "`files.a.base64` is not base64"),
        ({"files": {"a": {"base64": "é"}}}, "`files.a.base64` is not base64"),
        ({"body": {"base64": "é"}}, "`body.base64` is not base64"),
        ({"files": {"a": {"content": "x", "content_type": "a\r\nb: c"}}}, "`files.a.content_type` must be one line"),
        ({"body": Reference("relational", {})}, "`body` can send stored data only"),
        ({"spec": {"ca_file": "/nowhere"}}, "`spec.ca_file` must name a file with certificates"),
        ({"credential": {"x": 1, "y": 2}, "auth": "c"}, "credential 'c' has x, y"),
        ({"credential": 5, "auth": "c"}, "credential 'c' has a number"),
        ({"credential": None, "auth": "c"}, "credential 'c' has null"),
        ({"credential": "", "auth": "c"}, "credential 'c' cannot be sent: it is empty"),
        ({"credential": {"token": None}, "auth": "c"}, "its `token` must be text, and is null"),
        ({"credential": {"token": {"a": 1}}, "auth": "c"}, "its `token` must be text, and is a mapping"),
        ({"credential": {"token": " "}, "auth": "c"}, "credential 'c' cannot be sent: it is empty"),
        (
            {"credential": {"username": "a", "password": None}, "auth": "c"},
            "its `password` must be text, and is null",
        ),
        ({"credential": {"username": True, "password": "b"}, "auth": "c"}, "its `username` must be text, and is"),
        ({"credential": {"header": "", "value": "v"}, "auth": "c"}, "it has line ends or odd signs in it"),
        ({"credential": {"header": "Content-Length", "value": "5"}}, "header `Content-Length` follows from the body"),
        ({"credential": "a\nb", "auth": "c"}, "credential 'c' cannot be sent: it has line ends or odd signs in it"),
    ],
)
async def test_a_field_that_is_not_what_it_must_be_is_named(fields: dict[str, object], message: str) -> None:
    async with client() as http:
        output = await http.get(**({"url": "http://127.0.0.1:9/"} | fields))  # type: ignore[arg-type]
    kind, retryable, said_message = said(output)
    assert (kind, retryable) == ("input", False)
    assert message in said_message
    assert block(output)["status"] is None


# ------------------------------------------------------------------------------ logins


@pytest.mark.parametrize(
    ("credential", "header", "value"),
    [
        ("t0ken", "Authorization", "Bearer t0ken"),
        ({"token": "t0ken"}, "Authorization", "Bearer t0ken"),
        (
            {"username": "joe", "password": "ü:"},
            "Authorization",
            f"Basic {base64.b64encode('joe:ü:'.encode()).decode()}",
        ),
        ({"header": "X-Api-Key", "value": "k"}, "X-Api-Key", "k"),
    ],
)
async def test_a_credential_becomes_a_header(credential: object, header: str, value: str) -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url, credential=credential)
    assert server.seen[0].headers[header] == value


async def test_the_authors_own_header_wins_over_the_credential() -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url, credential="t0ken", headers={"authorization": "mine"})
    assert server.seen[0].headers.getall("Authorization") == ["mine"]


async def test_a_login_in_the_address_is_sent_and_not_shown() -> None:
    async with client() as http, site({"/": fine}) as server:
        output = await http.get(server.url.replace("://", "://joe:s3cret@"))
    assert server.seen[0].headers["Authorization"] == f"Basic {base64.b64encode(b'joe:s3cret').decode()}"
    assert block(output)["url"] == server.url


# ------------------------------------------------------------------------------ redirects


def to(location: str, status: int = 302) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": location})

    return handle


@pytest.mark.parametrize(
    ("method", "status", "after", "body"),
    [
        ("POST", 301, "GET", b""),
        ("POST", 302, "GET", b""),
        ("PUT", 302, "PUT", b"{}"),
        ("PUT", 303, "GET", b""),
        ("HEAD", 303, "HEAD", b""),
        ("POST", 307, "POST", b"{}"),
        ("POST", 308, "POST", b"{}"),
    ],
)
async def test_a_redirect_keeps_or_changes_the_method(method: str, status: int, after: str, body: bytes) -> None:
    async with client() as http, site({"/a": to("b?x=1", status), "/b": fine}) as server:
        fields: dict[str, object] = {"json": {}} if method != "HEAD" else {}
        output = await http.get(f"{server.url}/a", method=method, **fields)
    assert (server.seen[1].method, server.bodies[1]) == (after, body)
    assert ("Content-Type" in server.seen[1].headers) == bool(body)
    assert block(output)["url"] == f"{server.url}/b?x=1"


async def test_logins_cookies_and_secrets_do_not_follow_to_another_origin() -> None:
    given = {"headers": {"Cookie": "a=1", "X-Mine": "hush-hush", "X-Plain": "p"}, "secrets": frozenset({"hush-hush"})}
    key = {"header": "X-Api-Key", "value": "k"}
    async with client() as http, site({"/": fine}) as other:
        routes = {"/a": to("/b"), "/b": to(other.url.replace("://", "://joe:pw@"))}
        async with site(routes) as server:
            await http.get(f"{server.url}/a", credential=key, **given)
            await http.get(f"{server.url}/a", credential="t0ken", **given)
    own, last = [request.headers for request in server.seen], [request.headers for request in other.seen]
    assert all({"Cookie", "X-Mine", "X-Plain"} <= set(each) for each in own)
    assert (own[1]["X-Api-Key"], own[3]["Authorization"]) == ("k", "Bearer t0ken")
    for headers in last:
        assert headers["X-Plain"] == "p"
        assert not {"Cookie", "X-Mine", "X-Api-Key", "Authorization"} & set(headers)


async def test_redirects_are_bounded() -> None:
    async with client() as http, site({"/": to("/")}) as server:
        output = await http.get(server.url, spec={"redirects_max": 3})
    assert len(server.seen) == 4
    assert said(output)[:2] == ("http_status", False)
    assert "redirected more than 3 times" in said(output)[2]


async def test_redirects_are_not_followed_where_the_author_says_so() -> None:
    async with client() as http, site({"/": to("/b")}) as server:
        output = await http.get(server.url, spec={"follow_redirects": False})
    assert (output.status, block(output)["status"]) == (Status.OK, 302)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://[x", "gopher://x/", "http://x:99999/"])
async def test_a_redirect_leads_to_http_only(location: str) -> None:
    async with client() as http, site({"/": to(location)}) as server:
        output = await http.get(server.url)
    assert said(output)[:2] == ("response", False)
    assert block(output)["status"] == 302
    assert "which is not an http or https address" in said(output)[2]


# ------------------------------------------------------------------------------ addresses


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1"])
async def test_a_server_s_worker_reaches_no_private_address_however_it_is_written(host: str) -> None:
    async with client(SERVED) as http, site({"/": fine}) as server:
        output = await http.get(server.url.replace("127.0.0.1", host))
    assert server.seen == []
    assert said(output)[:2] == ("address_refused", False)
    assert "is a loopback or private address, which this worker may not reach" in said(output)[2]


async def test_an_address_written_as_one_number_is_no_address() -> None:
    async with client(SERVED) as http, site({"/": fine}) as server:
        output = await http.get(server.url.replace("127.0.0.1", "2130706433"))
    assert server.seen == []
    assert said(output)[0] == "input"


@pytest.mark.parametrize("address", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"])
async def test_metadata_is_refused_in_any_run_and_after_any_redirect(address: str) -> None:
    async with client() as http, site({"/": to(f"http://{address}/latest/meta-data")}) as server:
        output = await http.get(server.url)
    assert said(output)[:2] == ("address_refused", False)
    assert "is a link-local or cloud-metadata address, which is always refused" in said(output)[2]


async def test_a_redirect_into_a_private_network_is_refused() -> None:
    allowed = AddressPolicy(allows_private=False, allowed=("127.0.0.1/32",))
    async with (
        client(allowed) as http,
        site({"/": fine}, host="127.0.0.2") as inner,
        site({"/": to(inner.url)}) as server,
    ):
        output = await http.get(server.url)
    assert len(server.seen) == 1
    assert inner.seen == []
    assert "127.0.0.2 is a loopback or private address" in said(output)[2]


# ------------------------------------------------------------------------------ connections


async def test_connections_are_used_again_by_later_runs() -> None:
    async with client() as http, site({"/": fine}) as server:
        for _ in range(5):
            await http.get(server.url)
    assert len(server.seen) == 5
    assert len(server.peers) == 1


async def test_no_server_is_a_connect_error_and_the_block_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with client() as http:
        output = await http.get(f"http://127.0.0.1:{port}/x")
    assert said(output)[:2] == ("connect", True)
    assert block(output) == {"status": None, "headers": {}, "request_id": None, "url": f"http://127.0.0.1:{port}/x"}


async def test_a_name_that_does_not_exist_is_a_connect_error() -> None:
    async with client() as http:
        output = await http.get("http://nowhere.invalid/")
    assert said(output)[:2] == ("connect", True)


async def waits(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    return web.Response()


async def drips(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain", "X-Request-Id": "slow"})
    await response.prepare(request)
    await response.write(b"x")
    await asyncio.Event().wait()
    return response


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"timeout": 0.1}, "not done within 0.1 s (`spec.timeout`)"),
        ({"timeout": {"total": 0.1}}, "not done within 0.1 s"),
        ({"timeout": {"read": 0.1}}, "nothing came for 0.1 s (`spec.timeout.read`)"),
    ],
)
async def test_time_that_is_used_up_is_an_error(spec: dict[str, object], message: str) -> None:
    async with client() as http, site({"/waits": waits, "/drips": drips}) as server:
        outputs = [await http.get(f"{server.url}/{path}", spec=spec) for path in ("waits", "drips")]
    assert [said(output)[:2] for output in outputs] == [("timeout", True)] * 2
    assert all(message in said(output)[2] for output in outputs)
    assert [block(output)["request_id"] for output in outputs] == [None, "slow"]


async def test_a_connection_that_takes_long_is_an_error() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        async with client() as http:
            output = await http.get(f"http://127.0.0.1:{port}", spec={"timeout": {"connect": 0.1, "read": 5}})
        for each in waiting:
            each.close()
    assert said(output)[:2] == ("timeout", True)
    assert "no connection within 0.1 s (`spec.timeout.connect`)" in said(output)[2]


async def test_a_run_that_is_cancelled_leaves_no_connection_behind() -> None:
    gone = asyncio.Event()

    async def watch(request: web.Request) -> web.Response:
        transport = request.transport
        while transport is not None and not transport.is_closing():
            await asyncio.sleep(0.01)
        gone.set()
        return web.Response()

    async with client() as http, site({"/": watch}) as server:
        run = asyncio.create_task(http.get(server.url))
        while not server.seen:
            await asyncio.sleep(0.01)
        run.cancel()
        await asyncio.wait({run})
        await asyncio.wait_for(gone.wait(), 5)
    assert run.cancelled()


async def test_proxies_of_the_environment_are_not_used() -> None:
    async with client() as http, site({"/": fine}) as server:
        await http.get(server.url)
        assert http.tool._connections._session is not None
        assert http.tool._connections._session.trust_env is False
    assert MultiDict(server.seen[0].headers).get("Proxy-Connection") is None
