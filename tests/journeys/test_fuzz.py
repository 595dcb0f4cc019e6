"""Any request gets an answer of the contract, never an internal error."""

import json
from typing import Any
from urllib.parse import quote_from_bytes

import httpx2
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.raw import RawAnswer, send_raw

few = hypothesis_settings(
    max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just("$gte")
)
NAMES = st.one_of(
    st.sampled_from(["name", "population", "rowIndex", "$or", "$and", "$not", "$in", "$gt"]),
    st.text(max_size=8),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)
SEGMENTS = st.one_of(st.binary(max_size=12).map(quote_from_bytes), st.just("Cities"))


def is_of_the_contract(answer: httpx2.Response | RawAnswer) -> bool:
    """True if this is a success, or an error for which the client can do something."""
    return answer.status_code < 400 or refused(answer)[0] < 500


@few
@given(where=ANYTHING, order=st.text(max_size=12), keys=st.text(max_size=12))
def test_any_query_is_answered(reading_api: Api, where: Any, order: str, keys: str) -> None:
    """Filters, orders and field names of every sort."""
    parameters = {"where": json.dumps(where), "order": order, "keys": keys}
    encoded = "&".join(
        f"{name}={quote_from_bytes(text.encode('utf-8', 'surrogatepass'))}"
        for name, text in parameters.items()
    )

    answer = send_raw(reading_api, "GET", f"/v2/sheets/Mixed?{encoded}")

    assert is_of_the_contract(answer)


@few
@given(segments=st.lists(SEGMENTS, min_size=1, max_size=3), method=st.sampled_from(["GET", "PUT"]))
def test_any_path_is_answered(reading_api: Api, segments: list[str], method: str) -> None:
    """Worksheet names and rows of every sort."""
    answer = send_raw(reading_api, method, f"/v2/sheets/{'/'.join(segments)}", body=b"{}")

    assert is_of_the_contract(answer)


@few
@given(body=st.one_of(ANYTHING.map(json.dumps), st.text(max_size=40)))
def test_any_body_is_answered(reading_api: Api, body: str) -> None:
    """JSON of every sort, and other text."""
    content = body.encode("utf-8", "surrogatepass")

    answer = reading_api.send(
        "PUT", "Cities/2", content=content, headers={"Content-Type": "application/json"}
    )

    assert is_of_the_contract(answer)


@few
@given(key=st.binary(max_size=30), spreadsheet=st.binary(max_size=30))
def test_any_credentials_are_answered(reading_api: Api, key: bytes, spreadsheet: bytes) -> None:
    """Keys and ids of every sort, where a query may carry any bytes."""
    query = f"apiKey={quote_from_bytes(key)}&spreadsheetId={quote_from_bytes(spreadsheet)}"

    answer = send_raw(reading_api, "GET", f"/v2/sheets/Cities?{query}", headers=[])

    assert refused(answer)[0] in (400, 401)
