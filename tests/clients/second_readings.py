"""Requests that are answered with lenient decoding."""

from collections.abc import Sequence
from typing import Any

from tests.clients.case import USUAL, Case, sent

TEXAS = ["Houston", "San Antonio", "Dallas"]
LARGEST = ["New York", "Los Angeles", "Chicago"]
AUSTIN = b'{"name": "Austin", "state": "Texas", "population": 961855}'
AUSTIN_CELLS = {"Cities!12.1": "Austin", "Cities!12.2": "Texas", "Cities!12.4": 961855}
AUSTIN_ANSWER = {"rowIndex": 12, "name": "Austin", "state": "Texas", "population": "961855"}


def listing(name: str, query: str, names: Sequence[str], sheet: str = "Cities") -> Case:
    """Return a list that needs the lenient decoding of its line."""
    line = name.partition(": ")[0]
    return sent(name, f"{sheet}?{query}", names=names, reading=line)


def plainly(name: str, query: str, names: Sequence[str], sheet: str = "Cities") -> Case:
    """Return a list that looks encoded twice, but is answered without lenient decoding."""
    return sent(name, f"{sheet}?{query}", names=names)


def created(client: str, headers: Sequence[tuple[str, str]], body: bytes = AUSTIN) -> Case:
    """Return a create with a JSON body whose Content-Type is missing or different."""
    return sent(
        f"json-as-text: {client}",
        "POST Cities",
        headers=(*USUAL, *headers),
        body=body,
        reading="json-as-text",
        status=201,
        answer=AUSTIN_ANSWER,
        changes=AUSTIN_CELLS,
    )


def upserted(name: str, target: str, body: bytes, **members: Any) -> Case:
    """Return an upsert whose `on_conflict` needs lenient decoding."""
    return sent(name, f"POST {target}", body=body, reading=name.partition(": ")[0], **members)


_TWICE = [
    upserted(
        "on_conflict-twice: a blank encoded twice",
        "Totals?on_conflict=total%2520sales",
        b'{"total sales": "30", "name": "z"}',
        answer={"results": [{"rowIndex": 2, "created": False, "name": "z", "total sales": "30"}]},
        changes={"Totals!2.1": "z"},
    ),
    upserted(
        "on_conflict-brackets: jQuery's data",
        "Cities?on_conflict%5B%5D=name",
        b'{"name": "Chicago", "state": "IL"}',
        answer={"results": [{"rowIndex": 4, "created": False, "name": "Chicago", "state": "IL"}]},
        changes={"Cities!4.2": "IL"},
    ),
    listing(
        "where-twice: the docs' JavaScript",  # encodeURIComponent, then URLSearchParams.append
        "where=%257B%2522state%2522%253A%2522Texas%2522%257D",
        TEXAS,
    ),
    listing(
        "where-twice: the docs' JavaScript with an operator and a blank",
        "where=%257B%2522population%2522%253A%2520%257B%2522%2524gte%2522%253A%25202500000%257D%257D",
        LARGEST,
    ),
    listing(
        "where-twice: a per cent sign in the value",  # {"note":"100%"}
        "where=%257B%2522note%2522%253A%2522100%2525%2522%257D",
        ["c"],
        "Text",
    ),
    plainly(
        "where-twice: a value that is really spelled so",  # {"note":"100%25"} once
        "where=%7B%22note%22%3A%22100%2525%22%7D",
        ["b"],
        "Text",
    ),
    listing(
        "order-twice: the docs' JavaScript", "order=total%2520sales", ["b", "c", "a"], "Totals"
    ),
    listing(
        "order-twice: descending, two names",
        "order=-total%2520sales%252Cname",
        ["a", "c", "b"],
        "Totals",
    ),
    plainly(
        "order-twice: a name that is really spelled so", "order=x%252Cy", ["0", "1"], "Escaped"
    ),
    sent(
        "keys-twice: the docs' JavaScript",
        "Totals/2?keys=total%2520sales",
        reading="keys-twice",
        answer={"rowIndex": 2, "total sales": "30"},
    ),
    sent(
        "keys-twice: a comma encoded twice",
        "Totals?keys=x%252Cy&limit=1",
        reading="keys-twice",
        answer={"results": [{"rowIndex": 2, "x": "1", "y": "4"}], "hasNextPage": True},
    ),
    sent(
        "keys-twice: a name that is really spelled so",
        "Escaped/2?keys=x%252Cy",
        answer={"rowIndex": 2, "x%2Cy": "1"},
    ),
    listing(
        "worksheet-twice: an HTTP client that encodes once more", "", ["a", "b"], "My%2520Sheet"
    ),
    plainly("worksheet-twice: a name that is really spelled so", "", ["escaped"], "Real%2520Sheet"),
    sent(
        "worksheet-twice: a create",
        "POST My%2520Sheet",
        body=b'{"name": "c"}',
        reading="worksheet-twice",
        status=201,
        answer={"rowIndex": 4, "name": "c"},
        changes={"My Sheet!4.1": "c"},
    ),
    listing("worksheet-plus: PHP's urlencode", "", ["a", "b"], "My+Sheet"),
    plainly("worksheet-plus: a name that is really spelled so", "", ["plus"], "a+b"),
    sent(
        "worksheet-plus: an update",
        "PUT My+Sheet/2",
        body=b'{"amount": 7}',
        reading="worksheet-plus",
        answer={"rowIndex": 2, "amount": "7"},
        changes={"My Sheet!2.2": 7},
    ),
    listing("worksheet-nfc: a keyboard", "", ["decomposed"], "Gr%C3%B6%C3%9Fe"),
    plainly("worksheet-nfc: the name of the tab", "", ["decomposed"], "Gro%CC%88%C3%9Fe"),
    plainly("worksheet-nfc: one of two names that look alike", "", ["composed"], "M%C3%BCll"),
    plainly("worksheet-nfc: the other one", "", ["twin"], "Mu%CC%88ll"),
]

_GRANTED = [
    sent(
        f"{line}: a key for this worksheet alone",
        f"{name}",
        key="my-sheet",
        names=["a", "b"],
        reading=line,
    )
    for line, name in (("worksheet-twice", "My%2520Sheet"), ("worksheet-plus", "My+Sheet"))
]

_FOLDED = [
    listing(
        "query-in-name: the docs' JavaScript",  # fetch(`…?${encodeURIComponent('where={…}')}`)
        "where%3D%7B%22state%22%3A%22Texas%22%7D",
        TEXAS,
    ),
    listing(
        "query-in-name: with a second parameter",
        "where%3D%7B%22state%22%3A%22Texas%22%7D%26limit%3D2",
        TEXAS[:2],
    ),
    listing("query-in-name: order", "order%3D-population%26limit%3D3", LARGEST),
]

_SPELLINGS = [
    listing(
        "where-quotes: Python's str of a dict", "where=%7B%27state%27%3A+%27Texas%27%7D", TEXAS
    ),
    listing(
        "where-quotes: an apostrophe in the value",  # {'note': "it's"}
        "where=%7B%27note%27%3A+%22it%27s%22%7D",
        ["a"],
        "Text",
    ),
    listing("where-quotes: True of Python", "where=%7B%27done%27%3A+True%7D", ["a"], "Tasks"),
    listing("where-quotes: None of Python", "where=%7B%22done%22%3A+None%7D", ["c"], "Tasks"),
    plainly(
        "where-quotes: quotes inside JSON stay what they are",
        "where=%7B%22note%22%3A%22it%27s%22%7D",
        ["a"],
        "Text",
    ),
    listing("where-brackets: jQuery", "where%5Bstate%5D=Texas", TEXAS),
    listing("where-brackets: brackets as they are", "where[state]=Texas", TEXAS),
    listing("where-brackets: qs", "where%5Bpopulation%5D%5B%24gte%5D=2500000", LARGEST),
    listing(
        "where-brackets: jQuery's list",
        "where%5Bname%5D%5B%24in%5D%5B%5D=Dallas&where%5Bname%5D%5B%24in%5D%5B%5D=Houston",
        ["Houston", "Dallas"],
    ),
    listing(
        "where-brackets: PHP's http_build_query",
        "where%5B%24or%5D%5B0%5D%5Bname%5D=Dallas&where%5B%24or%5D%5B1%5D%5Bname%5D=Phoenix",
        ["Phoenix", "Dallas"],
    ),
    sent(
        "keys-brackets: jQuery and axios",
        "Cities/2?keys%5B%5D=name&keys%5B%5D=country",
        reading="keys-brackets",
        answer={"rowIndex": 2, "name": "New York", "country": "USA"},
    ),
    sent(
        "keys-brackets: PHP's http_build_query",
        "Cities/2?keys[0]=name&keys[1]=country",
        reading="keys-brackets",
        answer={"rowIndex": 2, "name": "New York", "country": "USA"},
    ),
    listing("order-brackets: jQuery and axios", "order%5B%5D=-population&limit=3", LARGEST),
    listing(
        "order-brackets: two names",
        "order[]=state&order[]=-population&limit=3",
        ["Phoenix", "Los Angeles", "San Diego"],
    ),
]

_BODIES = [
    created("fetch with a string", [("Content-Type", "text/plain;charset=UTF-8")]),
    created("no content type", []),
    created("curl -d", [("Content-Type", "application/x-www-form-urlencoded")]),
    created("another type", [("Content-Type", "application/octet-stream")]),
    created("blanks around", [("Content-Type", "text/plain")], b"\r\n " + AUSTIN + b"\n"),
    sent(
        "json-as-text: a list of rows",
        "POST My%20Sheet",
        headers=(*USUAL, ("Content-Type", "text/plain")),
        body=b'[{"name": "c"}, {"name": "d"}]',
        reading="json-as-text",
        status=201,
        answer={"results": [{"rowIndex": 4, "name": "c"}, {"rowIndex": 5, "name": "d"}]},
        changes={"My Sheet!4.1": "c", "My Sheet!5.1": "d"},
    ),
    sent(
        "json-as-text: an update",
        "PATCH Cities/3",
        headers=(*USUAL, ("Content-Type", "text/plain")),
        body=b'{"population": 4000000}',
        reading="json-as-text",
        answer={"rowIndex": 3, "population": "4000000"},
        changes={"Cities!3.4": 4000000},
    ),
    sent(
        "json-as-text: a charset beside the type is plain JSON",
        "PUT Cities/3",
        headers=(*USUAL, ("Content-Type", "application/json; charset=utf-8")),
        body=b'{"population": 4000000}',
        answer={"rowIndex": 3, "population": "4000000"},
        changes={"Cities!3.4": 4000000},
    ),
]

_SEVERAL = [
    sent(
        "several: worksheet and where",
        "My%2520Sheet?where=%257B%2522amount%2522%253A2%257D",
        names=["b"],
        reading="worksheet-twice,where-twice",
    ),
    sent(
        "several: where and order",
        "Totals?where[x][$gte]=2&order=-total%2520sales",
        names=["c", "b"],
        reading="where-brackets,order-twice",
    ),
    sent(
        "several: worksheet and body",
        "POST My+Sheet",
        headers=(*USUAL, ("Content-Type", "text/plain")),
        body=b'{"name": "c"}',
        status=201,
        answer={"rowIndex": 4, "name": "c"},
        reading="json-as-text,worksheet-plus",
        changes={"My Sheet!4.1": "c"},
    ),
]

SECOND_READINGS: Sequence[Case] = [*_TWICE, *_GRANTED, *_FOLDED, *_SPELLINGS, *_BODIES, *_SEVERAL]
