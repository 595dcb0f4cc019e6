"""Query strings, sifted before they are decoded."""

import pytest

from gateway.web.query_string import Sifted, decoded, sift

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
        pytest.param("l%69mit=%31", "l%69mit=%31", "", id="encoded name"),
        pytest.param("%61piKey=k", "", "%61piKey=k", id="encoded name of a credential"),
        pytest.param("limit+=1&+limit=1", "", "", id="blank in a name"),
        pytest.param("where[a]=1&where%5Ba%5D=1", "where[a]=1&where%5Ba%5D=1", "", id="brackets"),
        pytest.param("wherever=1&where=&where", "where=&where", "", id="where"),
        pytest.param("limit=1&&limit=1", "limit=1&limit=1", "", id="twice"),
        pytest.param("LIMIT=1&apikey=k", "", "", id="capitals"),
        pytest.param("limit=1;order=a", "limit=1;order=a", "", id="semicolon"),
        pytest.param("%ff=1&%=1&%zz=1&\xff=1", "", "", id="broken names"),
        pytest.param("=limit&==", "", "", id="no name"),
        pytest.param(f"{OTHERS}&x=1", OTHERS, "", id="all the others"),
    ],
)
def test_known_parameters_are_kept_as_they_came(text: str, asked: str, credentials: str) -> None:
    """Those of reads and those of credentials, apart; everything else ends here."""
    sifted = sift(text.encode("latin-1"))

    assert sifted == Sifted(asked.encode("latin-1"), credentials.encode("latin-1"))


def test_what_is_left_is_decoded_as_a_whole_query_string_is() -> None:
    """Values in UTF-8, `+` for a blank, repeated names, and empty values."""
    parameters = decoded(sift(b"keys=%C3%A4+b&x=1&keys=&order").asked)

    assert parameters == {"keys": ["ä b", ""], "order": [""]}
    assert decoded(b"") == {}
