"""Splitting of a raw query string into known parameters and credentials."""

import pytest
from msgspec.structs import replace

from gateway.web.operations import OPERATIONS
from gateway.web.parameters import Sifted, asking_of, sift
from gateway.web.signature import ANY, DESCRIPTION, Signature

LIST = OPERATIONS["list"]
OTHERS = "count=true&no-cache=true&keys=a&skip=1"


@pytest.mark.parametrize(
    ("text", "asked", "credentials"),
    [
        pytest.param("", "", "", id="empty"),
        pytest.param("limit=1&order=-a", "limit=1&order=-a", "", id="known"),
        pytest.param("_=1&limit=1&cb=%20&utm", "limit=1", "", id="unknown"),
        pytest.param("_=1", "", "", id="nothing known"),
        pytest.param(
            "apiKey=k&limit=1&spreadsheetId=s", "limit=1", "apiKey=k&spreadsheetId=s", id="both"
        ),
        pytest.param("l%69mit=%31", "limit=%31", "", id="encoded name"),
        pytest.param("%61piKey=k", "", "%61piKey=k", id="encoded name of a credential"),
        pytest.param("where[a]=1&where%5Ba%5D=1", "where[a]=1&where%5Ba%5D=1", "", id="brackets"),
        pytest.param("wherever=1&where=&where", "where=&where", "", id="where"),
        pytest.param("limit=1&&limit=1", "limit=1&limit=1", "", id="twice"),
        pytest.param("on_conflict=&max-affected", "", "", id="other operations, empty"),
        pytest.param(
            "nocache=1&noCache=2&no_cache&t=3&limits=4&where4", "", "", id="cache busters"
        ),
        pytest.param("limit=1;order=a", "limit=1;order=a", "", id="semicolon"),
        pytest.param("%ff=1&%=1&%zz=1&\xff=1", "", "", id="broken names"),
        pytest.param("=limit&==", "", "", id="no name"),
        pytest.param(f"{OTHERS}&x=1", OTHERS, "", id="all the others"),
    ],
)
def test_known_parameters_are_split_from_credentials(
    text: str, asked: str, credentials: str
) -> None:
    """Read parameters and credentials are separated undecoded; unknown parameters are dropped."""
    sifted = sift(text.encode("latin-1"), LIST)

    assert replace(sifted, unknown=()) == Sifted(
        asked.encode("latin-1"), credentials.encode("latin-1")
    )


def test_known_parameters_are_decoded() -> None:
    """Known parameters are decoded as UTF-8, with `+` as a blank; repeated names give a list."""
    parameters = asking_of(sift(b"keys=%C3%A4+b&x=1&keys=&order").asked).parameters

    assert parameters == {"keys": ["ä b", ""], "order": [""]}
    assert asking_of(b"").parameters == {}


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("where%3D%7B%22a%22%3A1%7D%26limit%3D5", {"where": ['{"a":1}'], "limit": ["5"]}),
        ("where%3D%7B%22a%22%3A1%7D=", {"where": ['{"a":1}']}),
        ("limit=2&order%3D-a", {"limit": ["2"], "order": ["-a"]}),
        ("where%3d%7B%22a%22%3A%22x%26y%2B1%25%22%7D", {"where": ['{"a":"x&y+1%"}']}),
        ("where%3D%257B%2522a%2522%253A1%257D%26skip%3D1", {"where": ['{"a":1}'], "skip": ["1"]}),
        ("keys%3Dna%C3%AFve", {"keys": ["naïve"]}),
        ("where%255Ba%255D=x%2526y", {"where[a]": ["x&y"]}),
        ("where%255ba%255d%3Dx%26limit%3D1", {"where[a]": ["x"], "limit": ["1"]}),
        (
            "order%3Da%26where[b]%3Dy%26z%26limit%3D1",
            {"order": ["a"], "where[b]": ["y&z"], "limit": ["1"]},
        ),
        ("where%255Ba%255D=Los+Angeles", {"where[a]": ["Los Angeles"]}),
        ("where%255Ba%255D=A%26order%3Dx", {"where[a]": ["A&order=x"]}),
        ("where%255Ba%255D=100%25+A", {"where[a]": ["100% A"]}),
        ("order%3Dname%26limit%3D1%26_%3D17", {"order": ["name"], "limit": ["1"]}),
        ("order%3Da%26where%5Ba%5D%3Dx", {"order": ["a"], "where[a]": ["x"]}),
        ("other%3D1", {}),
    ],
)
def test_a_completely_encoded_query_is_decoded(text: str, parameters: object) -> None:
    """A query that was percent-encoded with its `=` and `&` is split into its parameters."""
    sifted = sift(text.encode(), LIST)

    assert asking_of(sifted.asked).parameters == parameters
    assert sifted.is_odd is bool(parameters)


def test_credentials_in_an_encoded_query() -> None:
    """Credentials in a completely percent-encoded query are separated from other parameters."""
    sifted = sift(b"apiKey%3Dk%26spreadsheetId%3Ds%26limit%3D1")

    assert sifted == Sifted(b"limit=1", b"apiKey=k&spreadsheetId=s", is_odd=True)


@pytest.mark.parametrize("operation", [LIST, ANY, DESCRIPTION], ids=["list", "any", "description"])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        *(("max_affected=1", "max-affected"), ("MAX-AFFECTED=1", "max-affected")),
        *(("maxAffected", "max-affected"), ("maxaffected[]=1", "max-affected")),
        *(("max-affected+=1", "max-affected"), ("%20max-affected=1", "max-affected")),
        *(("max%20affected=1", "max-affected"), ("m%61x_affected=", "max-affected")),
        *(("Where={", "where"), ("_where=", "where"), ("WHERE[a]=1", "where")),
        *(("Where%255Ba%255D=1", "where"), ("Where%3D%7B%7D", "where")),
        *(("limit%3D1%26Order%3Da", "order"), ("x=1&Limit=1", "limit"), ("-skip=1", "skip")),
        *(("KEYS=a", "keys"), ("Count=true", "count"), ("No-Cache=true", "no-cache")),
        *(("on-conflict=a", "on_conflict"), ("onConflict[0]=a", "on_conflict")),
        *(("api_key=k", "apiKey"), ("apikey=k", "apiKey"), ("spreadsheet-id=s", "spreadsheetId")),
    ],
)
def test_a_misspelt_parameter_is_found(text: str, right: str, operation: Signature) -> None:
    """Capitals, blanks, `_` and `-` in a name lead to a refusal that does not quote the value."""
    said = sift(text.encode(), operation).refusal

    assert said.endswith(f": send {right} instead.")
    assert "=k" not in said


@pytest.mark.parametrize("name", ["max-affected[]", "limit[0]", "skip[]", "max-affected%5B%5D"])
def test_limits_with_brackets_are_refused(name: str) -> None:
    """`limit`, `skip` and `max-affected` with brackets are refused instead of ignored."""
    assert sift(f"{name}=1".encode()).refusal
