"""Which addresses may be connected to. Asked when a socket is made, so that no name, redirect or rebinding gets by."""

import errno
import ipaddress
import socket
from collections.abc import Callable

import msgspec

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]


class AddressPolicy(msgspec.Struct, frozen=True):
    """`allows_private`: loopback and private ranges may be reached. `allowed` are networks that may be in any case.

    Link-local addresses and those of cloud metadata services are refused whatever stands here.
    """

    allows_private: bool
    allowed: tuple[str, ...] = ()


EMBEDDED = AddressPolicy(allows_private=True)
"""For runs on a person's own machine."""

SERVED = AddressPolicy(allows_private=False)
"""For the workers of a server, unless its settings allow more."""

METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
)
"""Metadata services that are not link-local: Alibaba, Azure, Oracle, AWS, Google."""

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefused(OSError):
    """A connection that the policy does not allow."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EACCES, message)


def refusal(policy: AddressPolicy, text: str) -> str | None:
    """Why an address may not be connected to; None where it may."""
    address = _inner(ipaddress.ip_address(text.partition("%")[0]))
    if address.is_link_local or address in METADATA:
        return f"{text} is a link-local or cloud-metadata address, which is always refused"
    if address.is_multicast or (address.is_reserved and not address.is_private):
        return f"{text} is not the address of one machine"
    if policy.allows_private or (address.is_global and not address.is_private):
        return None
    if any(address in network for network in map(ipaddress.ip_network, policy.allowed)):
        return None
    return f"{text} is a loopback or private address, which this worker may not reach; its settings can allow it"


def socket_maker(policy: AddressPolicy) -> Callable[[AddressInfo], socket.socket]:
    """Makes the socket for an address that was looked up, or raises `AddressRefused`."""

    def make(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        reason = refusal(policy, str(address[0]))
        if reason is not None:
            raise AddressRefused(reason)
        return socket.socket(family, kind, protocol)

    return make


def _inner(address: Address) -> Address:
    """The IPv4 address that one of IPv6 stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)
