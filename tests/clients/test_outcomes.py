"""Tests of the comparison of results."""

import pytest

from tests.clients.outcomes import ANY, differences


@pytest.mark.parametrize(
    ("expected", "told", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, 0),
        ({"a": 1}, {"a": 2}, 1),
        ({"a": 1}, None, 1),
        ({"a": ANY}, {"a": 0}, 0),
        ({"a": ANY}, {}, 1),
        ([{"a": 1}], [{"a": 1}, {"a": 1}], 1),
        ([{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 2}], 1),
    ],
    ids=["more", "another", "nothing", "any", "not any", "longer", "inside"],
)
def test_differences_are_found(expected: object, told: object, found: int) -> None:
    """Other values, missing members and other lengths are differences; added members are not."""
    assert len(differences(expected, told)) == found
