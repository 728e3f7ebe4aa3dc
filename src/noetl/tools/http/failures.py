"""What went wrong with a request, as authors read it: the kind, whether trying again may help, and what to do."""

import errno
import os
import ssl

import aiohttp

from noetl.engine.output import Output, failed
from noetl.engine.secrets import MASK, masked
from noetl.ports import Unavailable
from noetl.supply import rendering
from noetl.tools.http.answer import NotJson
from noetl.tools.http.exchange import TooManyRedirects, as_text
from noetl.tools.http.inflating import BrokenOff, TooLarge
from noetl.tools.http.knobs import Knobs
from noetl.tools.http.request import BadInput, Request

NOT_HTTP_CHARS_MAX = 300
"""How much is shown of what should be HTTP and is not."""

NOT_OF_TLS = frozenset({"WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
"""How versions of OpenSSL call what comes from a server that does not speak TLS."""

NO_TLS = "the server does not speak TLS there; is it http:// and not https://?"


def failure_of(error: Exception, request: Request, knobs: Knobs, secrets: frozenset[str]) -> Output:
    what = f"{request.method} {request.url}"
    match error:
        case TimeoutError():
            return failed("timeout", f"{what}: {_waited(error, knobs)}", retryable=True)
        case aiohttp.InvalidURL() | BadInput():
            return failed("input", f"{what}: {error}")
        case Unavailable():
            return failed("reference_not_available", f"{what}: {error}", retryable=True)
        case aiohttp.ClientError() | OSError():
            return _of_the_connection(error, request, secrets)
        case _:
            return _of_the_answer(error, what)


def _of_the_answer(error: Exception, what: str) -> Output:
    match error:
        case TooManyRedirects():
            return failed("http_status", f"{what}: {error}")
        case TooLarge() | rendering.TooLarge():
            return failed("budget_exceeded", f"{what}: {error}")
        case NotJson():
            return failed("response", f"{what}: {error}", details={"body": error.beginning})
        case _:
            return failed("response", f"{what}: {error}", retryable=isinstance(error, BrokenOff))


def _of_the_connection(error: aiohttp.ClientError | OSError, request: Request, secrets: frozenset[str]) -> Output:
    what = f"{request.method} {request.url}"
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = f"the server's certificate is not trusted: {error.certificate_error}"
            hint = "name its authority with `spec.ca_file`, or switch the check off with `spec.verify_tls: false`"
            return failed("certificate", f"{what}: {why}; {hint}")
        case aiohttp.ClientConnectorError(os_error=OSError(errno=errno.EACCES)):
            return failed("address_refused", f"{what}: {error.os_error.strerror}")
        case aiohttp.ClientResponseError():
            said = str(masked(as_text(" ".join(error.message.split())), secrets))[:NOT_HTTP_CHARS_MAX]
            return failed("response", f"{what}: the server does not answer in HTTP: {said}", retryable=True)
        case aiohttp.ClientPayloadError():
            return failed("connect", f"{what}: the answer breaks off: {error}", retryable=True)
        case aiohttp.ServerDisconnectedError():
            return failed("connect", f"{what}: the server closed the connection without an answer", retryable=True)
        case aiohttp.ClientConnectorDNSError():
            why = f"the name {_host(error, request, secrets)} cannot be looked up: {error.os_error.strerror}"
            return failed("connect", f"{what}: {why}", retryable=True)
        case aiohttp.ClientConnectorError():
            why = f"no connection to {_host(error, request, secrets)} port {error.port}: {_reason(error.os_error)}"
            return failed("connect", f"{what}: {why}", retryable=True)
        case _:
            return failed("connect", f"{what}: {error}", retryable=True)


def _host(error: aiohttp.ClientConnectorError, request: Request, secrets: frozenset[str]) -> str:
    """As it may be shown: a secret that goes on after the host is known as one in the whole address only."""
    is_own = error.host == request.url.raw_host
    return MASK if is_own and error.host not in str(masked(str(request.url), secrets)) else error.host


def _reason(error: OSError) -> str:
    """`Connection refused`, say; asyncio puts words of its own before the system's. TLS has numbers of its own."""
    if isinstance(error, ssl.SSLError):
        return NO_TLS if error.reason in NOT_OF_TLS else str(error.reason or error).replace("_", " ").lower()
    known = errno.errorcode.get(error.errno or 0)
    return os.strerror(error.errno) if known and error.errno else str(error) or "the server closed the connection"


def _waited(error: TimeoutError, knobs: Knobs) -> str:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {knobs.connect_s:g} s (`spec.timeout.connect`)"
        case aiohttp.SocketTimeoutError():
            return f"nothing came for {knobs.read_s:g} s (`spec.timeout.read`)"
        case _:
            return f"not done within {knobs.total_s:g} s (`spec.timeout`)"
