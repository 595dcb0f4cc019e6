"""A worksheet with columns hidden from some keys, a copy without these columns, and requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant

ROWS = [
    ("Ann", "hidden1", "100", "red", "2020-01-01", "first", "9"),
    ("Bob", "hidden2", "70", "blue", "2021-06-30", "", "8"),
    ("Cid", "", "", "", "", "", ""),
    ("", "hidden3", "70", "", "", "", "7"),
    ("Dee", "hidden4", "1e3", "red", "'007", "50%", "6"),
]
WORKBOOK = {
    "whole": {
        "Staff": "name, salary,salary,team ,,note,secret\n"
        + "".join(",".join([*row[:4], "beside", *row[5:]]) + "\n" for row in ROWS),
        "Other": "else,secret\nx,y\n",
    },
    "twin": {
        "Staff": "name,team ,note\n"
        + "".join(",".join([row[0], row[3], row[5]]) + "\n" for row in ROWS),
        "Other": "\n,y\n",
    },
}
SOME = frozenset({"name", "team", "note", "Name", "rowIndex"})
NAMES = ["name", "team", "team ", "note", "rowIndex"]
HIDDEN_NAMES = ["salary", " salary", "salary ", "secret", "beside"]
UNKNOWN = ["nope", "Team", "", "__proto__"]

KEYS: Mapping[str, KeyRequest] = {
    "all": KeyRequest(name="all", grants=Grants(spreadsheets=frozenset({"whole", "twin"}))),
    "twin": KeyRequest(name="twin", grants=Grants(spreadsheets=frozenset({"twin"}))),
    "some": KeyRequest(
        name="some", grants=Grants(spreadsheets=frozenset({"whole"}), columns=ColumnGrant(SOME))
    ),
    "team": KeyRequest(
        name="team",
        grants=Grants(
            spreadsheets=frozenset({"whole"}),
            columns=ColumnGrant(frozenset({"name", "team ", "note"}), frozenset({"name", "note"})),
        ),
    ),
    "writes name": KeyRequest(
        name="writes name",
        grants=Grants(
            spreadsheets=frozenset({"whole"}), columns=ColumnGrant(None, frozenset({"name"}))
        ),
    ),
    "none": KeyRequest(
        name="none",
        grants=Grants(spreadsheets=frozenset({"whole"}), columns=ColumnGrant(frozenset({"wages"}))),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request, and what Google makes of the write in it."""

    method: str = "GET"
    path: str = "Staff"
    options: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Mapping[str, Any]] = ()


def listing(**parameters: str) -> Ask:
    return Ask(options={"params": parameters})


def create(body: object, *faults: Mapping[str, Any], key: str | None = None) -> Ask:
    headers = {} if key is None else {"Idempotency-Key": key}
    return Ask(method="POST", options={"json": body, "headers": headers}, faults=faults)


def update(row: int, body: object, *faults: Mapping[str, Any], if_match: str | None = None) -> Ask:
    headers = {} if if_match is None else {"If-Match": if_match}
    return Ask(
        method="PATCH",
        path=f"Staff/{row}",
        options={"json": body, "headers": headers},
        faults=faults,
    )


READS: Mapping[str, Ask] = {
    "everything": listing(),
    "page": listing(limit="2", skip="1"),
    "count": listing(count="true", limit="1"),
    "fresh": listing(**{"no-cache": "true"}),
    "row": Ask(path="Staff/2"),
    "row whose seen cells are blank": Ask(path="Staff/5"),
    "header": Ask(path="Staff/1"),
    "no row": Ask(path="Staff/7"),
    "search": listing(where='{"team":"red"}', order="-name"),
    "search counted": listing(where='{"name":{"$exists":true}}', count="true"),
    "search by trimmed name": listing(where='{" note ":{"$text":"FIRST"}}'),
    "search by number": listing(where='{"rowIndex":{"$gt":3}}', order="-rowIndex"),
    **{f"row with keys {n!r}": Ask(path="Staff/2", options={"params": {"keys": n}})
       for n in [*HIDDEN_NAMES, "nope", "name,salary,team", '["salary"]']},
    **{f"list with keys {n!r}": listing(keys=n) for n in [*HIDDEN_NAMES, "nope", "salary,note"]},
    **{f"order by {n!r}": listing(order=n)
       for n in [*HIDDEN_NAMES, "nope", "-salary", "name,salary", "team,-secret"]},
    **{f"where {n!r}": listing(where=f'{{"{n}":"100"}}') for n in [*HIDDEN_NAMES, *UNKNOWN]},
    "where deep": listing(where='{"$or":[{"name":"Ann"},{"$not":{"salary":{"$gt":1}}}]}'),
    **{f"export as {form}": listing(format=form) for form in ("csv", "ndjson", "json")},
    "export typed": listing(format="csv", values="typed"),
    "export sorted": listing(format="csv", order="team,-name", limit="2"),
    "export searched": listing(format="ndjson", where='{"$not":{"salary":{"$gt":1}}}'),
    "HEAD of an export": Ask(method="HEAD", path="Staff?format=csv"),
    **{f"export of {n!r}": listing(format="csv", keys=n) for n in [*HIDDEN_NAMES, "salary,note"]},
    "where in brackets": Ask(path="Staff?where[salary][$gte]=1"),
}  # fmt: skip
LOST = {"call": "*", "match": "majorDimension", "apply": True, "status": 503}
DROPPED = {"call": "*", "match": "majorDimension", "apply": True, "drop": True}
WRITES: Mapping[str, Ask] = {
    "create": create({"name": "Eve", "team": "red"}),
    "create a list": create([{"name": "Fay"}, {"note": "x", "team ": "y"}]),
    "create under a hidden name": create({"name": "x", "salary": 1}),
    "create under a hidden name with a blank": create({"name": "x", " salary": 1}),
    "create under hidden names only": create({"secret": 1, "salary": 2}),
    "create a list with a hidden name": create([{"name": "x"}, {"name": "y", "secret": 1}]),
    "create under an unknown name": create({"name": "x", "nope": 1}),
    "create one column twice": create({"team": "x", " team": "y"}),
    "create with an answer lost": create({"name": "Gus"}, LOST, key="a"),
    "create again": create({"name": "Gus"}, key="a"),
    "create with a connection dropped": create({"name": "Hal"}, DROPPED),
    "update": update(3, {"note": "y", "name": "Bob"}),
    "update to what it is": update(3, {"name": "Bob"}),
    "update a hidden cell": update(3, {"salary": 1}),
    "update a hidden and a seen cell": update(3, {" salary": 1, "name": "x"}),
    "update the column beside": update(3, {"beside": 1, "": 2}),
    "update with an answer lost": update(3, {"note": "z"}, LOST),
    "update if it is another": update(2, {"note": "w"}, if_match='"other"'),
    "update another if it is any": update(99, {"note": "w"}, if_match="*"),
    "update if it is any": update(2, {"note": "w"}, if_match="*"),
}
WITHHELD = [
    create({"name": "x", "team": "y"}),
    create([{"name": "x"}, {"team": "y"}]),
    create({"team": "y", "salary": 1}),
    update(2, {"team": "y"}),
    update(2, {"team": "red"}),
    update(2, {"name": "x", "team": None}),
    update(2, {"team": "y"}, if_match='"other"'),
    update(2, {"team ": "y"}),
]


def random_query(random: Random) -> Ask:
    """A list request with fields of all sorts."""

    def name() -> str:
        return random.choice(random.choice([NAMES, NAMES, HIDDEN_NAMES, UNKNOWN[:2]]))

    operators = ["$eq", "$ne", "$lt", "$gte", "$text"]
    operands = ["100", "70", "red", "hidden1", "", "Ann"]
    conditions = [
        f'{{"{name()}":{{"{random.choice(operators)}":"{random.choice(operands)}"}}}}'
        for _ in range(random.choice([1, 1, 2]))
    ]
    parameters = {
        "where": f'{{"{random.choice(["$and", "$or"])}":[{",".join(conditions)}]}}',
        "order": random.choice(["", "-"]) + name(),
        "keys": f"{name()},{name()}",
        "count": "true",
        "limit": "3",
        "values": random.choice(["typed", "displayed"]),
    }
    chosen = random.sample(sorted(parameters), random.randint(1, 5))
    return listing(**{each: parameters[each] for each in chosen})
