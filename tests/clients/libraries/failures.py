"""Cases of lost, truncated, replaced and late answers: requests, waits and errors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.clients.libraries.case import (
    CLOSED,
    CLOSED_BY_NAME,
    TYPESCRIPT,
    URL,
    Case,
    call,
    case,
    fails,
    tagged,
)
from tests.clients.libraries.reads import CITIES_LISTED, answered
from tests.clients.libraries.writes import AUSTIN, AUSTIN_CELLS, CREATE, LOST
from tests.clients.middlebox import Fault
from tests.clients.outcomes import ANY

ONCE: Mapping[str, Any] = {"retry": {"tries": 1}}
READ = case("get", call("get", 2), tagged(2, CITIES_LISTED[0]["fields"]))


def refusal(name: str, code: int, status: int, **members: object) -> Mapping[str, object]:
    """Return the body of an error of the gateway."""
    return {
        "type": "SheetsonError",
        "name": name,
        "code": code,
        "message": "",
        "status": status,
        "requestId": "x",
        **members,
    }


def busy(seconds: int | str, status: int = 503) -> Fault:
    """Return an error answer of a proxy with `Retry-After`."""
    return Fault(status=status, headers={"Retry-After": str(seconds)})


UNDER_WAY = replace(
    answered(refusal("IdempotencyInProgress", 4090, 409, retryable=True, outcome="unknown"), 409),
    headers={"Retry-After": "1"},
)
LIMITED = answered(refusal("RateLimited", 4290, 429, retryable=True, outcome="not_applied"), 429)
FAULTS: Mapping[str, Fault] = {
    "the answer is lost": LOST,
    "the answer is cut": Fault(kept_bytes=10),
    "the answer is cut before its body": Fault(kept_bytes=0),
    "the connection breaks": Fault(),
    "a proxy's 502 after the write": Fault(is_forwarded=True, status=502),
    "a proxy's 502 before the write": Fault(status=502),
    "a proxy's 503": busy(3),
    "a proxy's 504 after the write": Fault(is_forwarded=True, status=504),
    "a proxy's 429": replace(busy(3, 429), text="slow down"),
    "a proxy's 500 in JSON": Fault(is_forwarded=True, status=500, text='{"message": "oops"}'),
}


def read(name: str, expected: object = None, **members: Any) -> Case:
    """Return a case that reads a row; without an expectation the read succeeds."""
    steps = READ.steps if expected is None else [(call("get", 2), expected)]
    return case(name, steps=steps, **members)


def create(name: str, expected: object = None, **members: Any) -> Case:
    """Return a case that creates a row; without an expectation the create succeeds."""
    steps = CREATE.steps if expected is None else [(call("create", AUSTIN), expected)]
    changes = AUSTIN_CELLS if expected is None else {}
    return Case(**{"name": name, "steps": steps, "changes": changes, **members})


_REPEATED: Sequence[Case] = [
    *[
        create(f"a row is created once, although twice {name}", faults=[fault] * 2, requests=3)
        for name, fault in FAULTS.items()
    ],
    *[
        read(f"a read is repeated after {name}", faults=[fault], requests=2)
        for name, fault in FAULTS.items()
    ],
    read(
        "a wait follows Retry-After, and grows without this header",
        faults=[Fault(), busy(7, 429), Fault()],
        waits=[0.5, 7, 2],
    ),
    create(
        "answers 4090 while the first request runs do not count as tries",
        client={"retry": {"tries": 2}},
        faults=[LOST, *[UNDER_WAY] * 9],
        waits=[0.5, *[1.0] * 9],
    ),
    *[
        create(
            f"waits for a first request end with {tries} tries and the total time",
            fails(code=4090, outcome="unknown"),
            client={"retry": {"tries": tries, "total_seconds": 5}},
            faults=[UNDER_WAY] * 9,
            requests=requests,
        )
        for tries, requests in ((1, 1), (2, 6))
    ],
    *[
        read(
            f"a Retry-After of {seconds} s",
            fails(code=0, retryAfterSeconds=int(seconds)),
            client={"retry": {"tries": 2, "total_seconds": 9999}},
            faults=[busy(seconds)] * 2,
            requests=requests,
        )
        for seconds, requests in (("60", 2), ("61", 1), ("3600", 1), ("1" * 10, 1))
    ],
    create(
        "the error of the last request says that the row might exist",
        fails(kind="ConnectionFailed", outcome="unknown", mayBeApplied=True, idempotencyKey=ANY),
        client={"retry": {"tries": 3}},
        faults=[Fault()] * 9,
        requests=3,
    ),
    read(
        "no request starts after the total time",
        fails(code=0, status=503),
        client={"retry": {"tries": 9, "total_seconds": 50}},
        faults=[busy(20)] * 9,
        waits=[20, 20],
    ),
    create(
        "a timeout counts as a broken connection",
        client={"timeout_seconds": 0.5},
        faults=[Fault(is_forwarded=True, is_held=True)],
    ),
    *[
        read(
            f"a timeout of {seconds} s does not end at once",  # longer than 2**31 - 1 ms
            senders=TYPESCRIPT,
            client={"timeout_seconds": seconds, **ONCE},
        )
        for seconds in (3e6, 1e306)
    ],
    *[
        case(f"{code} is not repeated", asked, fails(code=code), requests=1)
        for asked, code in (
            (call("create", {"town": "x"}), 104),
            (call("get", 99), 103),
            (call("list", where={"town": "x"}), 4002),
            (call("update", 2, {"name": "x"}, if_match='"x"'), 4120),
        )
    ],
    *[
        create(
            f"{status} of another server",
            fails(code=0, status=status),
            client={"retry": {"tries": 2}},
            faults=[Fault(status=status, text="?")] * 2,
            requests=requests,
        )
        for requests, statuses in (
            (1, (200, 301, 400, 403, 404, 501)),
            (2, (408, 429, 500, 502, 503, 504)),
        )
        for status in statuses
    ],
    *[
        create(
            f"{code} of the gateway, {members}, to a write",
            fails(code=code, outcome=members["outcome"]),
            client={"retry": {"tries": 2}},
            faults=[answered(refusal("x", code, 500, **members), 500)] * 2,
            requests=requests,
        )
        for code, members, requests in (
            (5030, {"outcome": "not_applied", "retryable": True}, 2),
            (5041, {"outcome": "unknown"}, 2),
            (5000, {"outcome": "unknown"}, 2),
            (4091, {"outcome": "applied"}, 1),
        )
    ],
    read(
        "an internal error of a read is final",
        fails(code=5000),
        faults=[answered(refusal("x", 5000, 500), 500)],
        requests=1,
    ),
    read(
        "a short Retry-After does not shorten the growing wait",
        faults=[*[Fault()] * 3, busy(1)],
        waits=[0.5, 1, 2, 4],
    ),
    read(
        "a retryable answer is repeated",
        google=[{"call": "*", "times": 99, "status": 503}],
        requests=2,
    ),
]
_CUT_HEADERS = {"Content-Type": "application/json; charset=utf-8", "Location": "/v2/sheets/T/12"}
_CUT: Sequence[Case] = [  # a proxy truncated the body and passed it on as complete
    *[
        create(
            f"a success with the JSON {text!r} counts as a lost answer to a write",
            faults=[
                Fault(is_forwarded=True, status=201, headers=_CUT_HEADERS, text=text),
            ],
            requests=2,
        )
        for text in ("", '{"rowIndex": 1')
    ],
    read(
        "a success with cut JSON counts as a lost answer to a read",
        faults=[Fault(status=200, headers=_CUT_HEADERS, text='{"rowIndex": 2, "na')],
        requests=2,
    ),
    create(
        "a success whose JSON stays cut leaves the outcome unknown",
        fails("the body ends too early", kind="ConnectionFailed", outcome="unknown"),
        client=ONCE,
        faults=[Fault(status=201, headers=_CUT_HEADERS, text="{")],
    ),
    create(
        "a success of another server is not called a redirect",
        fails("Check the base URL", code=0, status=201, outcome="unknown"),
        client=ONCE,
        faults=[Fault(status=201, headers={"Location": "/x"})],
    ),
]
_OTHERS: Sequence[tuple[str, Fault, str]] = [
    ("a page", Fault(status=502), "Bad gateway"),
    ("nothing", Fault(status=502, text=""), "The body begins: "),
    ("half of JSON", Fault(status=403, text="["), "not from a sheets-gateway"),
    ("deep JSON", Fault(status=403, text="[" * 100_000), "not from a sheets-gateway"),
    ("200 with a page", Fault(status=200), "Bad gateway"),
    ("200 with other JSON", Fault(status=200, text='{"ok": true}'), "ok"),
    (
        "a redirect",
        Fault(status=308, headers={"Location": "https://example.org/"}),
        "redirects to https://example.org/",
    ),
    (
        "a redirect to the same",  # a followed redirect would get an answer of the gateway
        Fault(status=302, headers={"Location": "/v2/sheets/Cities/2"}),
        "redirects to /v2/sheets/Cities/2",
    ),
]
_ODD_ERRORS: Sequence[tuple[Mapping[str, object], int, str]] = [
    ({"existing": {"name": "x"}}, 4120, "not_applied"),
    ({"existing": [1]}, 4120, "not_applied"),
    ({"rowIndex": "x"}, 4120, "not_applied"),
    ({"code": None}, 0, "not_applied"),
    ({"code": "x"}, 0, "not_applied"),
    ({"errors": None}, 4120, "not_applied"),
    ({"errors": ["x", None]}, 4120, "not_applied"),
    ({"errors": 1}, 4120, "not_applied"),
    ({"outcome": "perhaps"}, 4120, "unknown"),
    ({"outcome": None}, 4120, "unknown"),
    ({"outcome": []}, 4120, "unknown"),
    ({"message": None, "requestId": None}, 4120, "not_applied"),
]
_ODD_SUCCESSES = [
    (call("create", AUSTIN), "null"),
    (call("create", AUSTIN), '{"rowIndex": null}'),
    (call("create", [AUSTIN]), '{"results": [null]}'),
    (call("update_many", [{"rowIndex": 2, "name": "x"}]), '{"results": ["x"]}'),
    (call("upsert", AUSTIN, on="name"), '{"results": [null]}'),
    (call("upsert", AUSTIN, on="name"), '{"results": []}'),
    (call("upsert", [AUSTIN], on="name"), '{"results": [null]}'),
    (call("update_where", {"name": "x"}, {"name": "y"}), '{"results": [null], "count": 1}'),
    (call("delete_where", {"name": "x"}), '{"results": ["x"], "count": 1}'),
]
_ERRORS: Sequence[Case] = [
    case(
        "an error has code, name, message, status, outcome, request ID and pointers",
        call("create", [{"name": "a"}, {"nmae": "b"}]),
        fails(
            'its fields are "name"',
            kind="SheetsError",
            code=104,
            name="InvalidBody",
            status=400,
            outcome="not_applied",
            retryable=False,
            requestId=ANY,
            errors=[{"pointer": "#/1/nmae", "detail": ANY}],
        ),
    ),
    case(
        "a failed read has no outcome and no key",
        call("get", 99),
        fails(code=103, outcome=None, idempotencyKey=None),
    ),
    *[
        case(
            f"{name} is reported as another server's answer to {asked.method}",
            asked,
            fails(
                words,
                kind="SheetsError",
                status=fault.status,
                code=0,
                name="NotFromGateway",
                outcome=outcome,
            ),
            client=ONCE,
            faults=[fault],
            requests=1,
        )
        for name, fault, words in _OTHERS
        for asked, outcome in ((call("get", 2), None), (call("create", AUSTIN), "unknown"))
    ],
    case(
        "the message about another server's page has URL, status and excerpt",
        call("get", 2),
        fails(
            f"The answer from {URL}/v2/sheets/Cities/2 is not from a sheets-gateway: status 200. "
            "Check the base URL. The body begins: '<html> <title>Sign in</title>'",
            f"The answer from {URL}/v2/sheets/Cities/2 is not from a sheets-gateway: status 200. "
            'Check the base URL. The body begins: "<html> <title>Sign in</title>"',
        ),
        client=ONCE,
        faults=[Fault(status=200, text="<html>\n<title>Sign in</title>")],
    ),
    create(
        "a later error does not settle the outcome of a request whose answer was lost",
        fails(code=4290, outcome="unknown", mayBeApplied=True),
        changes=AUSTIN_CELLS,
        client={"retry": {"tries": 2}},
        faults=[LOST, LIMITED],
    ),
    case(
        "without a connection the outcome of a write is not_applied",
        call("get", 2),
        fails("at try 5", kind="ConnectionFailed", outcome=None, mayBeApplied=False),
        call("create", AUSTIN),
        fails("at try 5", kind="ConnectionFailed", outcome="not_applied", mayBeApplied=False),
        client={"base_url": CLOSED},
    ),
    *[
        case(
            f"a gateway that is down at {url} is named in the error, without the query",
            client={"base_url": url, **ONCE},
            steps=[
                (asked, fails(*words))
                for method, asked in (
                    ("GET", call("list", where={"name": "x"})),
                    ("POST", call("create", {"name": "x"})),
                )
                for words in (
                    (f"No answer to {method} {url}/v2/sheets/Cities at try 1: ",),
                    ("refused|All connection attempts failed", "ECONNREFUSED"),
                )
            ],
        )
        for url in (CLOSED, CLOSED_BY_NAME)
    ],
    case(
        "members of an error with an unexpected type count as absent",
        client=ONCE,
        faults=[
            answered(
                {
                    **refusal(
                        "PreconditionFailed", 4120, 412, retryable=False, outcome="not_applied"
                    ),
                    **odd,
                },
                412,
            )
            for odd, _, _ in _ODD_ERRORS
        ],
        steps=[
            (
                call("create", AUSTIN),
                fails(
                    kind="SheetsError",
                    status=412,
                    code=code,
                    name="PreconditionFailed",
                    outcome=outcome,
                    message="",
                    existing=None,
                    rowIndex=None,
                    errors=[],
                ),
            )
            for _, code, outcome in _ODD_ERRORS
        ],
        requests=len(_ODD_ERRORS),
    ),
    case(
        "a success without the API's members leaves the outcome unknown",
        client=ONCE,
        faults=[Fault(status=200, text=text) for _, text in _ODD_SUCCESSES],
        steps=[
            (asked, fails(name="NotFromGateway", outcome="unknown")) for asked, _ in _ODD_SUCCESSES
        ],
    ),
]

FAILURES: Sequence[Case] = [*_REPEATED, *_CUT, *_ERRORS]
