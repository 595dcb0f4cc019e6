"""Preferences of requests."""

from collections.abc import Sequence

import pytest

from gateway.errors import InvalidRequest
from gateway.web.head import Head
from gateway.web.prefer import preferences, preferred_max_affected, preferred_resolution


def head(*values: str) -> Head:
    return Head({b"prefer": [value.encode("latin-1") for value in values]}, 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], {}),
        ([""], {}),
        ([" , ,"], {}),
        (["max-affected=3"], {"max-affected": "3"}),
        (["handling=strict, Max-Affected = 3"], {"handling": "strict", "max-affected": "3"}),
        (['max-affected="3"; x="a,b=c", b'], {"max-affected": "3", "b": ""}),
        (["a=1;max-affected=3"], {"a": "1"}),
        (["a=1", "a=2,b=3"], {"a": "1", "b": "3"}),
        ([r'a="x\"y", b=2'], {"a": 'x"y', "b": "2"}),
        (["=1, a"], {"a": ""}),
        (['"max-affected=3", a'], {"a": ""}),
        (['a="x, max-affected=3'], {"a": ""}),
    ],
)
def test_preferences_are_a_list(values: Sequence[str], expected: dict[str, str]) -> None:
    """Names have no case, parameters are cut, and the first of several values counts."""
    assert preferences(head(*values)) == expected


@pytest.mark.parametrize(
    "value", ["max-affected", "max-affected=", "max-affected=-1", "max-affected=1.5"]
)
def test_a_number_of_rows_that_is_none(value: str) -> None:
    """It is refused: ignored, it would allow more rows than were meant."""
    with pytest.raises(InvalidRequest, match="whole number"):
        preferred_max_affected(head(value))


def test_an_unknown_resolution() -> None:
    """It is refused: ignored, it would merge."""
    with pytest.raises(InvalidRequest, match="merge-duplicates or ignore-duplicates"):
        preferred_resolution(head("resolution=ignore"))


def test_a_preference_that_is_not_there() -> None:
    assert preferred_max_affected(head("respond-async")) is None
    assert preferred_resolution(head("max-affected=x")) is None
