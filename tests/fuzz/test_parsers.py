"""Parser properties with a few cases each."""

from random import Random

import pytest

from tests.fuzz.parsers import PROPERTIES, broken

CASES = 400


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_holds(name: str) -> None:
    """Each property of the parsers holds for 400 random inputs."""
    for number in range(CASES):
        PROPERTIES[name](Random(number))  # noqa: S311


def test_cases_are_shared_among_all_properties() -> None:
    """`broken` distributes its cases among all properties and finds no failure."""
    assert [*broken(500, seed=2)] == []
