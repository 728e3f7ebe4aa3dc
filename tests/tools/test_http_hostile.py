"""Servers that are odd, sloppy or hostile: what can be read is read, and all else is said in plain words."""

import json
import socket

import pytest
from aiohttp import web

from noetl.engine.output import Status
from noetl.engine.secrets import masked, texts_of
from tests.tools.serving import Handler, block, client, raw_site, said, site


def raw(body: bytes, *head: bytes, status: bytes = b"200 OK") -> bytes:
    lines = (b"HTTP/1.1 " + status, *head, b"Content-Length: %d" % len(body), b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


JSON = b"Content-Type: application/json"


@pytest.mark.parametrize(("value", "text"), [(b"\xe9t\xe9", "été"), ("été".encode(), "été"), (b"\xff", "ÿ")])
async def test_headers_that_are_not_ascii_are_text(value: bytes, text: str) -> None:
    async with client() as http, raw_site(raw(b"[1]", JSON, b"X-Request-Id: " + value)) as url:
        output = await http.get(url)
    assert (output.data, block(output)["request_id"]) == ([1], text)


async def test_a_reason_that_is_not_ascii_is_text() -> None:
    async with client() as http, raw_site(raw(b"", status=b"404 Introuvable, d\xe9sol\xe9")) as url:
        output = await http.get(url)
    assert "answered 404 Introuvable, désolé" in said(output)[2]
    assert json.dumps(said(output)).isascii()


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        (b"", b'\xef\xbb\xbf{"a": "\xc3\xa9"}'),
        (b"; charset=utf-8", b'\xef\xbb\xbf{"a": "\xc3\xa9"}'),
        (b"; charset=iso-8859-1", b'{"a": "\xe9"}'),
        (b'; charset="UTF-16"', '{"a": "é"}'.encode("utf-16")),
    ],
)
async def test_json_is_read_in_the_charset_that_the_server_names(charset: bytes, body: bytes) -> None:
    async with client() as http, raw_site(raw(body, JSON + charset)) as url:
        outputs = [await http.get(url)]
    async with client() as http, raw_site(raw(body, JSON + charset, status=b"500 No")) as url:
        outputs.append(await http.get(url))
    assert [output.data for output in outputs] == [{"a": "é"}] * 2


async def test_a_mark_of_the_byte_order_is_no_part_of_a_text() -> None:
    async with client() as http, raw_site(raw(b"\xef\xbb\xbfid,name\n", b"Content-Type: text/csv")) as url:
        output = await http.get(url)
    assert output.data == "id,name\n"


@pytest.mark.parametrize("content_type", [b"text/plain; charset=\xe9", b"text/plain; charset=idna"])
async def test_a_charset_that_is_none_is_passed_over(content_type: bytes) -> None:
    async with client() as http, raw_site(raw(b"\xe9t\xe9", b"Content-Type: " + content_type)) as url:
        output = await http.get(url)
    assert output.data == "été"


@pytest.mark.parametrize("form", ["auto", "stored"])
async def test_the_type_of_stored_data_is_text_in_any_case(form: str) -> None:
    async with client() as http, raw_site(raw(b"\0", b"Content-Type: image/\xe9")) as url:
        output = await http.get(url, response=form)
    assert output.ref is not None
    assert output.ref.meta.content_type == "image/é"


async def test_a_header_may_be_long() -> None:
    async with client() as http, raw_site(raw(b"[1]", JSON, b"Content-Security-Policy: " + b"a" * 30_000)) as url:
        output = await http.get(url)
    assert output.data == [1]


@pytest.mark.parametrize("head", [b"X-Long: " + b"a" * 200_000, b"Content-Length: -1", b"Transfer-Encoding: chunked"])
async def test_what_is_not_http_is_said_to_be_so(head: bytes) -> None:
    async with client() as http, raw_site(raw(b"zz\r\n", JSON, head)) as url:
        output = await http.get(url)
    kind, retryable, message = said(output)
    assert (kind, retryable) == ("response", True)
    assert "the server does not answer in HTTP: " in message
    assert len(message) < 500
    assert "\n" not in message


async def test_a_refused_connection_is_said_in_plain_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with client() as http:
            output = await http.get(f"http://127.0.0.1:{port}/")
    message = f"GET http://127.0.0.1:{port}/: no connection to 127.0.0.1 port {port}: Connection refused"
    assert said(output) == ("connect", True, message)


async def test_a_name_that_does_not_exist_is_said_in_plain_words() -> None:
    async with client() as http:
        output = await http.get("http://nowhere.invalid/")
    assert said(output)[:2] == ("connect", True)
    assert "the name nowhere.invalid cannot be looked up: " in said(output)[2]


# ------------------------------------------------------------------------------ redirects


def to(location: str) -> Handler:
    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    return redirect


async def test_no_redirect_is_followed_where_none_is_allowed() -> None:
    async with client() as http, site({"/": to("/b")}) as server:
        output = await http.get(server.url, spec={"redirects_max": 0})
    assert len(server.seen) == 1
    assert said(output)[:2] == ("http_status", False)
    assert (block(output)["status"], block(output)["url"]) == (302, server.url)


async def test_a_host_of_the_author_s_own_stays_with_its_origin() -> None:
    async with client() as http, site({"/": whole}) as other, site({"/": to(f"{other.url}/")}) as server:
        await http.get(server.url, headers={"Host": "shop.example.com"})
    assert server.seen[0].headers["Host"] == "shop.example.com"
    assert other.seen[0].headers["Host"] == other.url.removeprefix("http://")


def keep(location: str) -> Handler:
    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": location})

    return redirect


@pytest.mark.parametrize(
    "body",
    [
        {"json": {"key": 's3cret "key"'}},
        {"form": {"key": 's3cret "key"'}},
        {"files": {"f": {"content": 's3cret "key"'}}},
    ],
)
async def test_a_body_with_a_secret_stays_with_its_origin(body: dict[str, object]) -> None:
    secrets = frozenset(texts_of('s3cret "key"'))
    async with client() as http, site({"/": whole}) as other, site({"/": keep(f"{other.url}/"), "/b": whole}) as server:
        output = await http.get(server.url, method="POST", secrets=secrets, **body)
        plain = await http.get(server.url, method="POST", secrets=frozenset({"another"}), **body)
    assert said(output)[:2] == ("response", False)
    assert "which may not see the secret that is in the body" in said(output)[2]
    assert (plain.status, len(other.seen)) == (Status.OK, 1)


async def test_a_body_with_a_secret_follows_a_redirect_of_its_own_origin() -> None:
    async with client() as http, site({"/": keep("/b"), "/b": whole}) as server:
        output = await http.get(server.url, method="POST", body="s3cret-key", secrets=frozenset({"s3cret-key"}))
    assert (output.data, server.bodies) == ("/b", [b"s3cret-key", b"s3cret-key"])


SIGNED = "/files/a%2Fb%20c?key=x%2Fy%2Bz+1&sign=%3d%3D&empty"


async def whole(request: web.Request) -> web.Response:
    return web.json_response(request.raw_path)


async def test_an_address_that_is_encoded_already_is_sent_as_it_was_written() -> None:
    async with client() as http, site({"/files/{name}": whole, "/": to(SIGNED)}) as server:
        outputs = [await http.get(server.url + SIGNED), await http.get(server.url)]
    assert [output.data for output in outputs] == [SIGNED, SIGNED]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/files/é ü?q=a b", "/files/%C3%A9%20%C3%BC?q=a+b"),
        ("/files/100%?q=5%", "/files/100%25?q=5%25"),
        ("/x/../files/./a", "/files/a"),
    ],
)
async def test_any_other_address_is_encoded(written: str, sent: str) -> None:
    async with client() as http, site({"/files/{name}": whole}) as server:
        output = await http.get(server.url + written)
    assert output.data == sent


# ------------------------------------------------------------------------------ what is sent


@pytest.mark.parametrize(("body", "length"), [({"body": "abc"}, "3"), ({}, "0")])
async def test_the_length_is_that_of_the_body_whatever_a_header_says(body: dict[str, object], length: str) -> None:
    async with client() as http, site({"/": whole}) as server:
        await http.get(server.url, method="POST", headers={"content-length": 1}, **body)
    assert server.seen[0].headers.getall("Content-Length") == [length]


async def test_the_names_of_files_and_fields_may_be_of_any_language() -> None:
    async def parts(request: web.Request) -> web.Response:
        form = await request.post()
        files = [part for part in form.values() if isinstance(part, web.FileField)]
        return web.json_response([list(form), [(part.filename, part.content_type) for part in files]])

    files = {"größe": {"content": {"a": [1]}, "filename": 'naïve "x".json'}, "list": {"content": [1, 2]}}
    async with client() as http, site({"/": parts}) as server:
        output = await http.get(server.url, method="POST", form={"ключ": "1"}, files=files)
    sent = [["naïve %22x%22.json", "application/json"], ["list", "application/json"]]
    assert output.data == [["ключ", "größe", "list"], sent]


# ------------------------------------------------------------------------------ secrets where a text is cut

SECRET = "s3cret-" + "0123456789" * 4


def telling(text: str, status: int, content_type: str) -> Handler:
    async def tell(_: web.Request) -> web.Response:
        return web.Response(text=text, status=status, content_type=content_type)

    return tell


@pytest.mark.parametrize("status", [500, 200])
async def test_no_half_of_a_secret_is_left_where_an_error_is_cut(status: int) -> None:
    text = "x" * 1_980 + SECRET + "y"
    async with client() as http, site({"/": telling(text, status, "application/json")}) as server:
        output = await http.get(server.url, secrets=frozenset({SECRET}))
    assert output.error is not None
    assert isinstance(output.error.details, dict)
    assert output.error.details["body"] == "x" * 1_980 + "***y"


async def test_the_beginning_of_a_large_error_is_kept_without_half_a_secret_at_its_end() -> None:
    text = "-" + SECRET * 40_000
    async with client() as http, site({"/": telling(text, 500, "text/plain")}) as server:
        output = await http.get(server.url, secrets=frozenset({SECRET}))
    assert output.status is Status.ERROR
    assert set(str(output.data)) == {"-", "*"}
    assert len(str(output.data)) > 10_000


@pytest.mark.parametrize(
    "fields", [{"url": "{}/x"}, {"method": "{} x"}, {"headers": {"{} x": "y"}}, {"url": "http://{}:x"}]
)
async def test_a_field_that_holds_a_long_secret_is_told_without_any_of_it(fields: dict[str, object]) -> None:
    secret = "eyJhbGci" * 80
    given = json.loads(json.dumps({"url": "http://127.0.0.1:9/"} | fields).replace("{}", secret))
    async with client() as http:
        output = await http.get(**given)
    message = str(masked(said(output)[2], frozenset({secret})))
    assert "***" in message
    assert "eyJhb" not in message


async def test_a_redirect_to_a_long_secret_is_told_without_any_of_it() -> None:
    secret = "eyJhbGci" * 80
    async with client() as http, site({"/": to(f"ftp://x/{secret}")}) as server:
        output = await http.get(server.url)
    message = str(masked(said(output)[2], frozenset({secret})))
    assert "redirects to 'ftp://x/***', which is not an http" in message


async def test_an_error_that_is_cut_in_the_middle_of_a_character_is_read_in_its_charset() -> None:
    text = "pässwörd ü" + "€" * 500_000
    async with client() as http, site({"/": telling(text, 500, "text/plain")}) as server:
        output = await http.get(server.url, secrets=frozenset({"pässwörd"}))
    assert str(output.data).startswith("*** ü€€")


@pytest.mark.parametrize("port", [":9", ""])
async def test_a_host_that_a_secret_begins_with_is_not_shown(port: str) -> None:
    secret = f"zq9-topsecret.invalid{port}/+value=A"
    async with client() as http:
        output = await http.get(f"http://{secret}", secrets=frozenset({secret}))
    message = str(masked(said(output)[2], frozenset({secret})))
    assert message.startswith("GET http://***: the name *** cannot be looked up: ")
