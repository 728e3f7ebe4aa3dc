import pytest

from noetl.tools.http.addresses import EMBEDDED, SERVED, AddressPolicy, AddressRefused, refusal, socket_maker

ALWAYS_REFUSED = [
    "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "fd00:ec2::254", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601", "224.0.0.1", "ff02::1", "::ffff:100.100.100.200",
]  # fmt: skip
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "255.255.255.255",
]  # fmt: skip
PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", ALWAYS_REFUSED)
def test_link_local_metadata_and_group_addresses_are_refused_whatever_is_allowed(address: str) -> None:
    everything = AddressPolicy(allows_private=True, allowed=("0.0.0.0/0", "::/0"))
    assert all(refusal(policy, address) for policy in (EMBEDDED, SERVED, everything))


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_for_embedded_runs(address: str) -> None:
    assert refusal(EMBEDDED, address) is None
    assert "may not reach" in (refusal(SERVED, address) or "")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_for_all(address: str) -> None:
    assert refusal(EMBEDDED, address) is None
    assert refusal(SERVED, address) is None


def test_settings_may_allow_a_private_network() -> None:
    policy = AddressPolicy(allows_private=False, allowed=("10.1.0.0/16", "fc00::/7"))
    assert [refusal(policy, each) is None for each in ("10.1.2.3", "10.2.2.3", "fc00::1")] == [True, False, True]


def test_a_socket_is_made_only_for_an_address_that_may_be_reached() -> None:
    make = socket_maker(SERVED)
    make((2, 1, 6, "", ("8.8.8.8", 80))).close()
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1 is a loopback or private address"):
        make((2, 1, 6, "", ("127.0.0.1", 80)))
