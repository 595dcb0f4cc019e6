"""A few cases of each property of what reads requests."""

from random import Random

import pytest

from tests.fuzz.parsers import PROPERTIES, broken

CASES = 400


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_holds(name: str) -> None:
    """For any input there is a value, or an error for the client."""
    for number in range(CASES):
        PROPERTIES[name](Random(number))  # noqa: S311


def test_all_properties_are_tried() -> None:
    """Cases are shared among them, and none is broken."""
    assert [*broken(500, seed=2)] == []
