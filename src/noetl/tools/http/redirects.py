"""Where a redirect leads, and what goes along: method and body by the standard, secrets to the same origin only."""

import msgspec

from noetl.tools.http.request import BadInput, Request, as_written, url_of

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OF_A_BODY = frozenset({"content-type", "content-length", "content-encoding", "content-language"})


def redirected(request: Request, status: int, location: str) -> Request:
    """The request to make next; `BadInput` where we do not go."""
    try:
        url = url_of(str(request.url.join(as_written(location)))).with_user(None)
    except (BadInput, ValueError) as error:
        raise BadInput(f"the server redirects to {location!r}, which is not an http or https address") from error
    moved = msgspec.structs.replace(request, url=url)
    is_elsewhere = url.origin() != request.url.origin()
    if _becomes_get(request.method, status):
        moved = _without(msgspec.structs.replace(moved, method="GET", body=None), _OF_A_BODY)
    if is_elsewhere and moved.body is not None and request.has_private_body:
        raise BadInput(f"the server redirects to {url.origin()}, which may not see the secret that is in the body")
    return _without(moved, request.private) if is_elsewhere else moved


def _becomes_get(method: str, status: int) -> bool:
    return (status == 303 and method not in ("GET", "HEAD")) or (status in (301, 302) and method == "POST")


def _without(request: Request, names: frozenset[str]) -> Request:
    kept = tuple((name, value) for name, value in request.headers if name.lower() not in names)
    return msgspec.structs.replace(request, headers=kept)
