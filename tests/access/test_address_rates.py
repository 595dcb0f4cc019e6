"""Tests of `AddressRates`, the limit of invalid keys per client address."""

import pytest

from gateway.access.address_rates import AddressRates, network_of
from tests.clock import ManualClock


@pytest.fixture
def failures(clock: ManualClock) -> AddressRates:
    """A limit without failures."""
    return AddressRates(20, clock)


def test_twenty_at_once_then_one_in_three_seconds(
    failures: AddressRates, clock: ManualClock
) -> None:
    """An address can fail 20 times at once, and then once in 3 seconds."""
    waits = [failures.count("192.0.2.1") for _ in range(21)]
    clock.advance(3.0)
    waits += [failures.count("192.0.2.1") for _ in range(2)]

    assert waits == [0.0] * 20 + [3.0, 0.0, 3.0]


def test_each_address_has_its_own_limit(failures: AddressRates) -> None:
    """Failures of one address do not reduce the limit of another address."""
    for _ in range(100):
        failures.count("192.0.2.1")

    assert failures.count("192.0.2.2") == 0.0


def test_zero_means_no_limit(clock: ManualClock) -> None:
    """A limit of 0 a minute allows any number of failures."""
    failures = AddressRates(0, clock)

    assert {failures.count("a") for _ in range(100)} == {0.0}


def test_the_number_of_addresses_is_limited(clock: ManualClock) -> None:
    """Beyond the maximum number of addresses, the address with the oldest failure is removed."""
    failures = AddressRates(1, clock, max_kept=2)
    for address in ("a", "b", "a", "c"):
        failures.count(address)

    assert failures.count("a") > 0
    assert failures.count("b") == 0.0


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("fe80::1%eth0", "fe80::"),
        ("::1", "::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
        ("unix:", "unix:"),
        ("a:b", "a:b"),
    ],
)
def test_network_of_an_address(address: str, network: str) -> None:
    """All IPv6 addresses of one /64 count as one address."""
    assert network_of(address) == network
