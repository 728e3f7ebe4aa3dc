"""What went wrong with a request, as authors read it: the kind, whether trying again may help, and what to do."""

import errno

import aiohttp

from noetl.engine.output import Output, failed
from noetl.ports import Unavailable
from noetl.tools.http.answer import NotJson
from noetl.tools.http.exchange import TooManyRedirects
from noetl.tools.http.inflating import TooLarge, Unreadable
from noetl.tools.http.knobs import Knobs
from noetl.tools.http.request import BadInput, Request


def failure_of(error: Exception, request: Request, knobs: Knobs) -> Output:
    """One arm for each way in which a request fails."""
    what = f"{request.method} {request.url}"
    match error:
        case TimeoutError():
            return failed("timeout", f"{what}: {_waited(error, knobs)}", retryable=True)
        case aiohttp.ClientConnectorCertificateError():
            why = f"the server's certificate is not trusted: {error.certificate_error}"
            hint = "name its authority with `spec.ca_file`, or switch the check off with `spec.verify_tls: false`"
            return failed("certificate", f"{what}: {why}; {hint}")
        case aiohttp.ClientConnectorError(os_error=OSError(errno=errno.EACCES)):
            return failed("address_refused", f"{what}: {error.os_error.strerror}")
        case aiohttp.InvalidURL() | BadInput():
            return failed("input", f"{what}: {error}")
        case TooManyRedirects():
            return failed("http_status", f"{what}: {error}")
        case TooLarge():
            return failed("budget_exceeded", f"{what}: {error}")
        case NotJson():
            return failed("response", f"{what}: {error}", details={"body": error.beginning})
        case Unreadable():
            return failed("response", f"{what}: {error}", retryable=True)
        case Unavailable():
            return failed("reference_not_available", f"{what}: {error}", retryable=True)
        case aiohttp.ClientPayloadError():
            return failed("connect", f"{what}: the answer breaks off: {error}", retryable=True)
        case aiohttp.ServerDisconnectedError():
            return failed("connect", f"{what}: the server closed the connection without an answer", retryable=True)
        case _:
            return failed("connect", f"{what}: {error}", retryable=True)


def _waited(error: TimeoutError, knobs: Knobs) -> str:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {knobs.connect_s:g} s (`spec.timeout.connect`)"
        case aiohttp.SocketTimeoutError():
            return f"nothing came for {knobs.read_s:g} s (`spec.timeout.read`)"
        case _:
            return f"not done within {knobs.total_s:g} s (`spec.timeout`)"
