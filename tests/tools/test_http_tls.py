"""Certificates: checked, trusted by a file, or not checked where the author says so."""

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest
from aiohttp import web

from noetl.engine.output import Status
from tests.tools.serving import client, said, site


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody knows; its key stands beside it."""
    place = tmp_path_factory.mktemp("tls") / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", str(place.with_suffix(".key")), "-out", str(place), "-days", "2", "-subj", "/CN=test",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return place


def served_with(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


async def fine(_: web.Request) -> web.Response:
    return web.json_response({"ok": True})


async def test_an_unknown_certificate_is_refused_and_the_message_says_what_to_do(certificate: Path) -> None:
    async with client() as http, site({"/": fine}, context=served_with(certificate)) as server:
        output = await http.get(server.url)
    assert said(output)[:2] == ("certificate", False)
    assert "the server's certificate is not trusted" in said(output)[2]
    assert "`spec.ca_file`" in said(output)[2]
    assert server.seen == []


@pytest.mark.parametrize("knob", ["ca_file", "verify_tls"])
async def test_a_certificate_is_trusted_by_a_file_or_by_not_looking(certificate: Path, knob: str) -> None:
    spec = {knob: str(certificate) if knob == "ca_file" else False}
    async with client() as http, site({"/": fine}, context=served_with(certificate)) as server:
        outputs = [await http.get(server.url, spec=spec) for _ in range(2)]
        refused = await http.get(server.url)
    assert [output.status for output in outputs] == [Status.OK, Status.OK]
    assert len(server.peers) == 1
    assert said(refused)[0] == "certificate"


async def test_a_name_that_the_certificate_does_not_have_is_refused(certificate: Path) -> None:
    async with client() as http, site({"/": fine}, context=served_with(certificate)) as server:
        output = await http.get(server.url.replace("127.0.0.1", "localhost"), spec={"ca_file": str(certificate)})
    assert said(output)[:2] == ("certificate", False)


async def test_what_is_not_tls_is_a_connect_error() -> None:
    async with client() as http, site({"/": fine}) as server:
        output = await http.get(server.url.replace("http:", "https:"))
    assert said(output)[:2] == ("connect", True)
    assert said(output)[2].endswith(": the server does not speak TLS there; is it http:// and not https://?")


ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
"""How a server says in TLS that it cannot agree with us on anything."""


@pytest.mark.parametrize(("answer", "reason"), [(ALERT, "alert handshake failure"), (b"", "the server closed the con")])
async def test_why_there_is_no_tls_is_said_in_words(answer: bytes, reason: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with client() as http, server:
        output = await http.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    assert said(output)[:2] == ("connect", True)
    assert reason in said(output)[2]
