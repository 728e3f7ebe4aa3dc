"""A request as the author means it: checked fields in, one frozen record out."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import msgspec
from yarl import URL

from noetl import __version__
from noetl.engine.reference import Reference, word_of
from noetl.ports import ToolCall
from noetl.tools.http.inflating import ENCODINGS

FORM = "application/x-www-form-urlencoded"
_BODIES = ("json", "data", "form", "body")
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Headers that say where a body ends."""

_ENCODED = re.compile(r"(?:[A-Za-z0-9:/?#\[\]@!$&'()*+,;=._~-]|%[0-9A-Fa-f]{2})*")
_DOTS = re.compile(r"/\.{1,2}(?:[/?#]|$)")

Pairs = tuple[tuple[str, str], ...]


class BadInput(Exception):
    """A field is missing, or is not what it must be."""


class Content(msgspec.Struct, frozen=True):
    """A body: bytes, what a reference stands for, or a file. A reference has a content type of its own."""

    data: bytes | Reference | Path
    content_type: str | None = None


class Part(msgspec.Struct, frozen=True):
    """A field of a multipart form."""

    name: str
    content: Content
    filename: str | None = None


class Multipart(msgspec.Struct, frozen=True):
    parts: Sequence[Part]


class Request(msgspec.Struct, frozen=True):
    """`private` are the headers, in lower case, that no other origin may see; nor may it see a body with a secret."""

    method: str
    url: URL
    headers: Pairs
    body: Content | Multipart | None = None
    private: frozenset[str] = frozenset()
    has_private_body: bool = False


def request_of(call: ToolCall) -> Request:
    """The request of a task run, or `BadInput`."""
    fields = call.fields
    url = url_of(fields.get("url"))
    own = tuple(_headers(fields.get("headers")))
    auth = _auth_of(call) or _login_of(url)
    headers = _completed(call, own, auth)
    private = frozenset({"authorization", "cookie", "proxy-authorization", "host"} | {name.lower() for name, _ in auth})
    secret = {name.lower() for name, value in own if any(text and text in value for text in call.secrets)}
    url = _with_params(url.with_user(None), fields.get("params"))
    body = _body(fields)
    return Request(_method(fields.get("method")), url, headers, body, private | secret, _holds(body, call.secrets))


def _holds(body: Content | Multipart | None, secrets: frozenset[str]) -> bool:
    """Whether a secret is in what the author wrote into the body. Stored data was rid of secrets before."""
    if isinstance(body, Multipart):
        return any(_holds(part.content, secrets) for part in body.parts)
    if body is None or not isinstance(body.data, bytes):
        return False
    return any(text and text.encode("utf-8", "surrogatepass") in body.data for text in secrets)


def url_of(value: object) -> URL:
    if not isinstance(value, str):
        raise BadInput(f"`url` must be text, and is {word_of(value)}")
    try:
        url = as_written(value.strip())
        is_of_web = url.scheme in ("http", "https") and url.port is not None and bool(url.host)
    except ValueError as error:  # its words may show a part of a secret, which nobody would know as one
        raise BadInput(f"`url` is not an address, by its host or its port: {value!r}") from error
    if not is_of_web:
        raise BadInput(f"`url` must begin with http:// or https:// and name a host, and is {value!r}")
    return url.with_fragment(None)


def as_written(text: str) -> URL:
    """An address that is encoded already stays as it is, since it may be signed; any other is encoded."""
    is_encoded = _ENCODED.fullmatch(text) is not None and _DOTS.search(text) is None
    return URL(text, encoded=is_encoded)


def _method(value: object) -> str:
    method = str(value or "GET").strip()
    if not method or not _TOKEN.issuperset(method):
        raise BadInput(f"`method` must be one word such as GET or POST, and is {method!r}")
    return method.upper()


def _with_params(url: URL, params: object) -> URL:
    if params is None:
        return url
    if isinstance(params, str):
        pairs = parse_qsl(params.removeprefix("?"), keep_blank_values=True)
    elif isinstance(params, Mapping):
        pairs = list(_pairs(params, "params"))
    else:
        raise BadInput(f"`params` must be a mapping or text, and is {word_of(params)}")
    return url.extend_query(pairs)


def _pairs(values: Mapping[str, object], field: str) -> Iterator[tuple[str, str]]:
    """A list gives the name once for each element; null leaves it out."""
    for name, value in values.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None:
                yield str(name), _text(each, f"{field}.{name}")


def _text(value: object, field: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise BadInput(f"`{field}` must be text or a number, and is {word_of(value)}")


def _headers(value: object) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise BadInput(f"`headers` must be a mapping, and is {word_of(value)}")
    for name, text in _pairs(value, "headers"):
        if not name or not _TOKEN.issuperset(name):
            raise BadInput(f"a header cannot be named {name!r}")
        if not _is_line(text):
            raise BadInput(f"header `{name}` must be one line")
        if name.lower() == "transfer-encoding":
            raise BadInput(f"header `{name}` follows from the body; leave it out")
        if name.lower() != "content-length":  # the body has a length of its own, whatever is said here
            yield name, text


def _is_line(text: str) -> bool:
    return not any(char in text for char in "\r\n\0")


def _completed(call: ToolCall, own: Pairs, auth: Pairs) -> Pairs:
    """The author's own headers win over all that we add."""
    known = {name.lower() for name, _ in own}
    added = {
        "User-Agent": f"noetl/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": ", ".join(ENCODINGS),
        "Idempotency-Key": call.idempotency_key,
        **dict(auth),
    }
    return (*own, *((name, value) for name, value in added.items() if name.lower() not in known))


def _auth_of(call: ToolCall) -> Pairs:
    """One value is a bearer token; of fields, those say which way it is that are there."""
    credential = call.credential
    if credential is None and call.auth is None:
        return ()
    if isinstance(credential, str):
        return _one_line(call, "Authorization", credential, "Bearer ")
    fields = credential if isinstance(credential, Mapping) else {}
    if "username" in fields and "password" in fields:
        return _basic(_field(call, fields, "username"), _field(call, fields, "password"))
    if "token" in fields:
        return _one_line(call, "Authorization", _field(call, fields, "token"), "Bearer ")
    if "header" in fields and "value" in fields:
        return _one_line(call, _field(call, fields, "header"), _field(call, fields, "value"))
    found = ", ".join(sorted(map(str, fields))) or word_of(credential)
    expected = "one value, `token`, `username` and `password`, or `header` and `value`"
    raise BadInput(f"`auth` needs {expected}; credential {call.auth!r} has {found}")


def _field(call: ToolCall, fields: Mapping[str, object], name: str) -> str:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadInput(f"credential {call.auth!r} cannot be sent: its `{name}` must be text, and is {word_of(value)}")
    return str(value)


def _one_line(call: ToolCall, name: str, value: str, scheme: str = "") -> Pairs:
    if not value.strip():
        raise BadInput(f"credential {call.auth!r} cannot be sent: it is empty")
    if not name or not _TOKEN.issuperset(name) or not _is_line(value):
        raise BadInput(f"credential {call.auth!r} cannot be sent: it has line ends or odd signs in it")
    if name.lower() in _FRAMING:
        raise BadInput(f"credential {call.auth!r} cannot be sent: header `{name}` follows from the body")
    return ((name, f"{scheme}{value}"),)


def _login_of(url: URL) -> Pairs:
    """The name and password that stand in the address itself."""
    return _basic(url.user or "", url.password or "") if url.user or url.password else ()


def _basic(username: str, password: str) -> Pairs:
    return (("Authorization", f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"),)


# ------------------------------------------------------------------------------ bodies


def _body(fields: Mapping[str, object]) -> Content | Multipart | None:
    given = [name for name in _BODIES if fields.get(name) is not None]
    files = fields.get("files")
    if len(given) > 1 or (files is not None and given not in ([], ["form"])):
        both = ", ".join([*given, *(["files"] if files is not None else [])])
        raise BadInput(f"a request has one body, and this one has several: {both}")
    if files is not None:
        return Multipart([*_form_parts(fields.get("form")), *_file_parts(files)])
    return _content(given[0], fields[given[0]]) if given else None


def _content(field: str, value: object) -> Content:
    if field == "json":
        return _json(value)
    if field == "form" or (field == "data" and isinstance(value, Mapping)):
        return _form(field, value)
    if isinstance(value, Mapping | list) and not _is_bytes(value):
        return _json(value)
    return _raw(field, value)


def _json(value: object) -> Content:
    return Content(msgspec.json.encode(value), "application/json")


def _form(field: str, value: object) -> Content:
    if not isinstance(value, Mapping):
        raise BadInput(f"`{field}` must be a mapping, and is {word_of(value)}")
    return Content(urlencode(list(_pairs(value, field))).encode(), FORM)


def _raw(field: str, value: object) -> Content:
    """Text, stored data, or bytes written as `{base64: …}`."""
    if isinstance(value, Reference):
        return _referred(field, value)
    if isinstance(value, Mapping):
        return Content(_bytes(f"{field}.base64", value["base64"]))
    return Content(_text(value, field).encode("utf-8", "surrogatepass"), "text/plain; charset=utf-8")


def _is_bytes(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"base64"}


def _bytes(field: str, value: object) -> bytes:
    try:
        return b64decode(str(value), validate=True)
    except ValueError as error:
        raise BadInput(f"`{field}` is not base64: {error}") from error


def _referred(field: str, value: Reference) -> Content:
    if value.type != "blob":
        raise BadInput(f"`{field}` can send stored data only; fetch what this {value.type} reference means first")
    return Content(value)


def _form_parts(form: object) -> Iterator[Part]:
    if form is not None and not isinstance(form, Mapping):
        raise BadInput(f"`form` must be a mapping, and is {word_of(form)}")
    for name, text in _pairs(form or {}, "form"):
        yield Part(name, Content(text.encode()))


def _file_parts(files: object) -> Iterator[Part]:
    if not isinstance(files, Mapping):
        raise BadInput(f"`files` must be a mapping, and is {word_of(files)}")
    for name, value in files.items():
        for each in value if isinstance(value, list) else [value]:
            yield _file_part(str(name), each)


def _file_part(name: str, value: object) -> Part:
    """Text or stored data, or a mapping with one of `content`, `base64`, `ref` and `path`, and what it is called."""
    field = f"files.{name}"
    if not isinstance(value, Mapping):
        return Part(name, _raw(field, value), name)
    source = [word for word in ("content", "base64", "ref", "path") if value.get(word) is not None]
    if len(source) != 1:
        raise BadInput(f"`{field}` needs one of `content`, `base64`, `ref` and `path`, and has {len(source)} of them")
    content = _file_content(field, source[0], value[source[0]])
    filename = value.get("filename") or (content.data.name if isinstance(content.data, Path) else name)
    kind = value.get("content_type") or content.content_type
    if kind is not None and not _is_line(str(kind)):
        raise BadInput(f"`{field}.content_type` must be one line")
    return Part(name, Content(content.data, str(kind) if kind is not None else None), str(filename))


def _file_content(field: str, source: str, value: object) -> Content:
    if source == "path":
        path = Path(str(value))
        if not path.is_file():
            raise BadInput(f"`{field}.path` must name a file, and {str(path)!r} is none")
        return Content(path, "application/octet-stream")
    if source == "base64":
        return Content(_bytes(f"{field}.base64", value), "application/octet-stream")
    if source == "content" and isinstance(value, Mapping | list):
        return _json(value)
    if source == "ref" and not isinstance(value, Reference):
        raise BadInput(f"`{field}.ref` must be a reference such as `output.ref`, and is {word_of(value)}")
    return _raw(f"{field}.{source}", value)
