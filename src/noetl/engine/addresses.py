"""What of a secret that is an address stands by itself where the address is used, and is to be hidden there too.

Whoever sends a request takes the login and the fragment off, writes the rest in a way of its own, and may be sent on
to another place with the same query. What is no secret by its looks, such as `services` or a date, is left in the open.
"""

import re
from collections.abc import Iterator

import msgspec

PART_CHARS_MIN = 8
"""A shorter part of a path or a query is among ordinary data too often."""

SURE_CHARS_MIN = 24
"""So long a part is a secret whatever it looks like."""


class Address(msgspec.Struct, frozen=True):
    """`login` is as it stands before the host, `path` begins with a slash where it is not empty."""

    login: str
    host: str
    path: str
    query: str


def address_of(text: str) -> Address | None:
    """Of the web, of a database, of anything else that is written in this way; None where a text is no address."""
    scheme, mark, rest = text.strip().partition("://")
    if not mark or not scheme.replace("+", "").replace(":", "").isalnum() or len(rest.splitlines()) != 1:
        return None
    front, _, query = rest.partition("#")[0].partition("?")
    authority, slash, path = front.partition("/")
    login, _, host = authority.rpartition("@")
    return Address(login, host, slash + path, query)


def login_of(address: Address) -> str:
    """As it is sent: a name and a password, either of which may be empty."""
    name, _, password = address.login.partition(":")
    return f"{_meant(name)}:{_meant(password)}"


def parts_of(address: Address) -> Iterator[str]:
    """The parts that are secret, each as it is written and as it is meant."""
    for part in dict.fromkeys(_parts(address)):
        yield part
        if "%" in part:
            yield _meant(part)


def _parts(address: Address) -> Iterator[str]:
    if len(address.path) > 1 or address.query:
        rest = f"{address.path}?{address.query}" if address.query else address.path
        yield from (f"{address.host}{rest}", f"{address.host.lower()}{rest}")
    name, _, password = address.login.partition(":")
    yield password or name
    if len(address.query) >= PART_CHARS_MIN:
        yield address.query
    pairs = (pair.partition("=") for pair in address.query.split("&"))
    yield from filter(_is_telling, (name, *address.path.split("/"), *(value or name for name, _, value in pairs)))


def _is_telling(part: str) -> bool:
    """Not one that is all words, or all digits as a date is."""
    has = (any(map(str.islower, part)), any(map(str.isupper, part)), any(map(str.isdigit, part)))
    return len(part) >= SURE_CHARS_MIN or (len(part) >= PART_CHARS_MIN and sum(has) > 1)


def _meant(part: str) -> str:
    """Without percent signs. What these do not make text of stays a sign for it, as in what others show."""
    data = re.sub(rb"%([0-9A-Fa-f]{2})", _byte, part.encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "replace")


def _byte(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode())
