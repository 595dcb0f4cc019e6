"""Parsing of the `Prefer` header."""

from collections.abc import Mapping, Sequence

import pytest

from gateway.errors import InvalidRequest
from gateway.web.head import Head
from gateway.web.prefer import preferences, preferred_max_affected, preferred_resolution
from tests.cpu_time import least_seconds


def head(*values: str) -> Head:
    return Head({b"prefer": [value.encode("latin-1") for value in values]}, 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], {}),
        ([""], {}),
        ([" , ;,"], {}),
        (["max-affected=3"], {"max-affected": ["3"]}),
        (["handling=strict, Max-Affected = 3"], {"handling": ["strict"], "max-affected": ["3"]}),
        (['max-affected="3"; x="a,b=c" ;y, b'], {"max-affected": ["3"], "b": [""]}),
        (["a=1;x=3;;"], {"a": ["1"]}),
        (["a=1", "a=2,b=3"], {"a": ["1", "2"], "b": ["3"]}),
        ([r'a="x\"y", b=2'], {"a": ['x"y'], "b": ["2"]}),
    ],
)
def test_preferences_are_a_list(
    values: Sequence[str], expected: Mapping[str, Sequence[str]]
) -> None:
    """Names ignore case, parameters are dropped, and each header line is parsed separately."""
    found = dict(preferences(head(*values)))
    found.pop("", None)

    assert found == expected


@pytest.mark.parametrize(
    "value",
    [
        *(
            "=1, a",
            '"max-affected=3"',
            'a="x, max-affected=3',
            "max affected=3",
            "max-affected=3 4",
        ),
        *("max-affected=3=4", 'max-affected=3"4"', 'max-affected="3', "<max-affected=3>", "a b"),
        *("max-affected\x00=3", "[a], max-affected=3"),
    ],
)
def test_a_malformed_prefer_header_is_an_error(value: str) -> None:
    """A malformed `Prefer` gets 400, because later preferences would be ignored."""
    with pytest.raises(InvalidRequest, match="is malformed"):
        preferences(head(value))


@pytest.mark.parametrize("before", ["", ",", "a,", "a;", "a=", "a ", "a=b"])
def test_a_long_run_of_blanks(before: str) -> None:
    """15,000 blanks in `Prefer` are parsed in linear time."""

    def parse() -> None:
        with pytest.raises(InvalidRequest, match="is malformed"):
            preferences(head(f'{before}{" " * 15_000}["'))

    assert least_seconds(parse) < 0.2


@pytest.mark.parametrize(
    "value",
    [
        *(
            "max_affected=1",
            "maxAffected=1",
            "MAXAFFECTED=1",
            "a;x=1, Max_Affected",
            "a; max_affected",
        ),
        *("re_solution=ignore-duplicates", "-resolution=x"),
    ],
)
def test_a_misspelt_preference(value: str) -> None:
    """A misspelled preference gets 400, because ignoring it would write more rows or merge rows."""
    with pytest.raises(InvalidRequest, match=r": send (max-affected|resolution) instead"):
        preferences(head("a=1", value))


@pytest.mark.parametrize("value", ["return=minimal; max-affected=3", ";Resolution=x"])
def test_a_semicolon_for_a_comma(value: str) -> None:
    """A preference after a semicolon gets 400, because it would be an ignored parameter."""
    with pytest.raises(InvalidRequest, match="Write a comma instead"):
        preferences(head(value))


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (["max-affected=100, max-affected=1"], 1),
        (["max-affected=1, Max-Affected=100"], 1),
        (["max-affected=7", "a", "MAX-AFFECTED=0"], 0),
        (['max-affected="5";x=1', "max-affected=50"], 5),
        (["max-affected=007"], 7),
    ],
)
def test_the_smallest_number_of_rows_counts(values: Sequence[str], number: int) -> None:
    """The smallest `max-affected` of all header lines is used."""
    assert preferred_max_affected(head(*values)) == number


def test_the_first_resolution_counts() -> None:
    """If `Prefer` has two resolutions, the first resolution is used."""
    values = ["resolution=ignore-duplicates", "resolution=merge-duplicates"]

    assert preferred_resolution(head(*values)) == "ignore-duplicates"


@pytest.mark.parametrize(
    "value",
    [
        *(
            "max-affected",
            "max-affected=",
            "max-affected=-1",
            "max-affected=1.5",
            "max-affected=abc",
        ),
        *("max-affected=1, max-affected=x", "max-affected=1x", 'max-affected="1 "'),
    ],
)
def test_max_affected_must_be_a_whole_number(value: str) -> None:
    """An invalid `max-affected` gets 400, because ignoring the limit would change more rows."""
    with pytest.raises(InvalidRequest, match="whole number"):
        preferred_max_affected(head(value))


def test_an_unknown_resolution() -> None:
    """An unknown `resolution` gets 400, because ignoring it would overwrite rows."""
    with pytest.raises(InvalidRequest, match="merge-duplicates or ignore-duplicates"):
        preferred_resolution(head("resolution=ignore"))


def test_missing_preferences_are_none() -> None:
    """Without `max-affected` or `resolution` in `Prefer`, the preference is None."""
    assert preferred_max_affected(head("respond-async")) is None
    assert preferred_resolution(head("max-affected=x")) is None
