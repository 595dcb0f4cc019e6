"""One connection with requests of many clients, as proxies use it."""

import random

from tests.journeys.conftest import Api
from tests.server.wire import WireAnswer, exchange

REQUESTS = 60
"""The maximum number of requests that wait on one connection."""
ROW = b'{"name":"x"}'

# The key, the spreadsheet and the path of a request, and what comes of it.
SORTS = {
    "granted": ("paid", "demo", "GET", "Cities/2", (200, "New York")),
    "other tenant": ("two", "other", "GET", "Cities/2", (200, "Elsewhere")),
    "not granted": ("paid", "other", "GET", "Cities/2", (404, 101)),
    "worksheet not granted": ("cities", "demo", "GET", "New", (403, 4032)),
    "write": ("read-only", "demo", "PUT", "Cities/2", (405, 4050)),
    "query": ("free", "demo", "GET", "Cities?order=name", (403, 4034)),
    "revoked": ("revoked", "demo", "GET", "Cities/2", (401, 4011)),
    "no key": (None, "demo", "GET", "Cities/2", (401, 4010)),
    "no body": ("paid", "demo", "POST", "Cities", (400, 104)),
}


def request(api: Api, sort: str, *lines: str) -> bytes:
    """The bytes of a request of this sort."""
    key, spreadsheet, method, path, _ = SORTS[sort]
    head = [f"{method} /v2/sheets/{path} HTTP/1.1", "Host: gateway", *lines]
    head.append(f"X-Spreadsheet-Id: {spreadsheet}")
    head += [f"Authorization: Bearer {api.keys[key]}"] if key else []
    body = ROW if method == "PUT" else b""
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def ending(answer: WireAnswer) -> tuple[int, object]:
    return answer.status, answer.json.get("code", answer.json.get("name"))


def test_requests_of_many_keys_on_one_connection(shared_api: Api) -> None:
    """Pipelined requests get the answers for their own key and spreadsheet, in order."""
    chance = random.Random(6)  # noqa: S311 - the same requests in each run
    sorts = [chance.choice([*SORTS]) for _ in range(REQUESTS)]
    sent = [request(shared_api, sort, f"X-Request-Id: n{n}") for n, sort in enumerate(sorts)]
    last = request(shared_api, "granted", "Connection: close")

    for parts in ([b"".join(sent) + last], [*sent, last]):
        answers = exchange(shared_api.url, *parts)

        assert [ending(answer) for answer in answers[:-1]] == [SORTS[sort][4] for sort in sorts]
        assert [answer.headers["x-request-id"] for answer in answers[:-1]] == [
            f"n{n}" for n in range(REQUESTS)
        ]
