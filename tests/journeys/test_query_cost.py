"""A query that takes too many steps, over HTTP."""

import json

import pytest

from tests.journeys.conftest import OpenGateway
from tests.journeys.failure import refused

COSTLY = {
    "where": {"where": json.dumps({"$or": [{"name": {"$text": f"x{n}"}} for n in range(50)]})},
    "order": {"order": ",".join(["state", "-name"] * 8)},
    "count": {"where": '{"name":{"$not":{"$text":"x"}}}', "count": "true"},
}


@pytest.mark.parametrize("parameters", COSTLY.values(), ids=list(COSTLY))
def test_a_query_over_its_budget_is_refused(
    open_gateway: OpenGateway, parameters: dict[str, str]
) -> None:
    """A query with too many steps gets 400 and says what to reduce; plain lists are answered."""
    api = open_gateway({"api.max_query_steps": 20})

    answer = api.get("Cities", params=parameters)
    plain = api.get("Cities", params={"limit": "2"})

    assert refused(answer) == (400, 4006)
    assert "20 steps on the 10 rows" in answer.json()["message"]
    assert "fewer conditions or order terms" in answer.json()["message"]
    assert plain.status_code == 200


def test_a_query_within_its_budget_is_answered(open_gateway: OpenGateway) -> None:
    """With the default budget, costly queries on a small worksheet are answered."""
    api = open_gateway()

    answers = [api.get("Cities", params=parameters) for parameters in COSTLY.values()]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
