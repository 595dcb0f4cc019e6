"""Parameters of reads: everything that is refused, with its message, and what is ignored."""

import gc
import json
import tracemalloc
from collections.abc import Mapping, Sequence
from string import ascii_letters
from urllib.parse import quote

import pytest

from gateway.query.query import MAX_CONDITIONS, MAX_DEPTH
from gateway.web.parameters import MAX_WHERE_BYTES
from gateway.web.rows import LONGEST_KEPT_KEY
from gateway.worksheets.answers import Encoded
from tests.surfaces.stage import FIELDS, Surface

ALLOWED = "allowed: $eq, $ne, $lt, $lte, $gt, $gte, $in, $nin, $text, $exists"


def nested(depth: int) -> object:
    """Return a `where` of so many nested objects."""
    where: object = {"name": 1}
    for _ in range(depth - 1):
        where = {"$not": where}
    return where


def nested_in_field(depth: int) -> object:
    """Return the same nesting with `$not` as the operator of a field."""
    criterion: object = {"$eq": 1}
    for _ in range(depth - 1):
        criterion = {"$not": criterion}
    return {"name": criterion}


def query_of(name: str, value: str) -> str:
    """Return a parameter with as little encoding as needed, because a URL is limited to 8 KiB."""
    return f"{name}={quote(value, safe='[]{}:,$')}"


NO_JSON: Mapping[str, str] = {
    "state=California": "it is a form",
    "{": "offset 1",
    "}": "offset 0",
    "{]": "not JSON",
    '{"name"': "offset 7",
    '{"name":}': "offset 8",
    '{"name":"x"': "offset 11",
    '{"name":"x"}}': "offset 12",
    '{"name":"x",}': "not JSON",
    '{"a":1} x': "offset 8",
    '"{}"x': "offset 4",
    " ": "only whitespace",
    '{"\ufeffa":': "not JSON",
    '{"name":"a\nb"}': "a raw line break. Write it as \\n",
    '{"name":"a': "no closing quote. Send the whole value percent-encoded: write & as %26",
    "{“name”:“x”}": "a curly quote is not allowed here",
    "[object Object]": "Send JSON.stringify of the object",
    "[" * 4097: "exceeds the limit|too deep",  # Python 3.13 reads deeper lists
    '{"a":' * 800: "not JSON|too deep",
    "[" * 2000 + "]" * 2000: "too deep|JSON object",
    '{"$not":' * 400 + "1" + "}" * 400: "deep",
    '{"a":' + "[" * 4000 + "}": "not JSON|too deep",
}
NO_OBJECT: Mapping[str, str] = {
    "[]": "where must be a JSON object, not a list",
    '[{"name":"x"}]': "where must be a JSON object, not a list",
    '"x"': "where must be a JSON object, not a string",
    '"{}"': "where must be a JSON object, not a string",
    '"{\\"name\\":\\"x\\"}"': "it is JSON encoded twice. Encode it once",
    "null": "where must be a JSON object, not null",
    "true": "where must be a JSON object, not a boolean",
    "5": "where must be a JSON object, not a number",
}
NO_CONDITION: Mapping[str, str] = {
    '{"name":[]}': "where.name takes one value, not a list",
    '{"name":{}}': f"where.name has no operator; {ALLOWED}",
    '{"name":{"$in":"[Draft]"}}': "takes a list of values, not a string.",
    '{"name":{"$in":"[\\"Draft\\"]"}}': "it is JSON encoded twice. Encode it once",
    '{"name":{"b":1}}': f"where.name.b is not an operator; {ALLOWED}",
    '{"name":{"":1}}': "where.name. is not an operator",
    '{"name":{"eq":"x"}}': f"where.name.eq is not an operator; {ALLOWED}",
    '{"name":{"$regex":"x"}}': f"where.name.$regex is not an operator; {ALLOWED}",
    '{"name":{"$GTE":1}}': "where.name.$GTE is not an operator",
    '{"name":{"$gte":1,"$nope":2}}': "where.name.$nope is not an operator",
    '{"name":{"$or":[1]}}': "where.name.$or is not an operator",
    '{"$foo":{"name":1}}': "where.$foo.name is not an operator",
    '{"$nor":[{"name":1}]}': "where.$nor is not an operator; allowed: $and",
    '{"$and":{"name":1}}': "where.$and takes a list of at least",
    '{"$and":null}': "where.$and takes a list of at least",
    '{"$and":[1]}': "where.$and[0] must be a JSON object",
    '{"$or":[]}': "where.$or takes a list of at least",
    '{"$or":1}': "where.$or takes a list of at least",
    '{"$or":[{},"name"]}': "where.$or[1] must be a JSON object",
    '{"$not":[{"name":1}]}': "where.$not must be a JSON object",
    '{"$not":1}': "where.$not must be a JSON object",
    '{"name":{"$not":"x"}}': "where.name.$not takes an object",
    '{"name":{"$not":{}}}': "where.name.$not has no operator",
    '{"name":{"$gt":[1]}}': "where.name.$gt takes one value, not a list",
    '{"name":{"$eq":["x"]}}': "where.name.$eq takes one value, not a list",
    '{"name":{"$eq":{}}}': "where.name.$eq takes one value, not an obj",
    '{"name":{"$in":"x"}}': "where.name.$in takes a list of values",
    '{"name":{"$in":{}}}': "where.name.$in takes a list of values",
    '{"name":{"$nin":null}}': "where.name.$nin takes a list of values",
    '{"name":["a"]}': 'not a list. Did you mean {"$in": […]}?',
    '{"name":{"$ne":["a"]}}': 'not a list. Did you mean {"$nin": […]}?',
    '{"name":{"gt":1}}': "$not. Did you mean $gt (greater)?",
    '{"name":{"$contains":"a"}}': "Did you mean $text (contains this text",
    '{"name":{"$startsWith":"a"}}': "Did you mean $text (",
    '{"name":{"$gTe":1}}': "Did you mean $gte (",
    '{"name":{"not_in":[1]}}': "Did you mean $nin (",
    '{"name":{">=":1}}': "Did you mean $gte (",
    '{"name":{"$between":[1,2]}}': "Did you mean $gte and $lte?",
    '{"name":{"$isNull":true}}': "Did you mean $exists (",
    '{"name":{"NOT":{"$eq":1}}}': "Did you mean $not?",
    '{"or":[{"name":"x"}]}': "where.or takes one value, not a list of objects. Did you mean $or?",
    '{"$nor":[{"name":"x"}]}': "Did you mean $not?",
    '{"name":{"$in":[1,[2]]}}': "where.name.$in[1] takes one value",
    '{"name":{"$in":[{"$eq":1}]}}': "where.name.$in[0] takes one value",
    '{"name":{"$text":1}}': "where.name.$text takes a string",
    '{"name":{"$text":null}}': "where.name.$text takes a string",
    '{"name":{"$exists":1}}': "where.name.$exists takes true or",
    '{"name":{"$exists":"true"}}': "where.name.$exists takes true or",
    '{"name":"a","name":"b"}': "has a name twice",
    '{"name":{"$gt":"a","$gt":"b"}}': "has a name twice",
    '{"population":NaN}': "NaN",
    '{"population":{"$gt":-Infinity}}': "-Infinity",
    '{"population":1e999}': "where.population is not a finite number",
    '{"population":{"$lt":-1e999}}': "where.population.$lt is not a finite",
    '{"population":{"$in":[1e999]}}': "where.population.$in[0] is not a finite",
    '{"population":' + "9" * 400 + "}": "where.population is not a finite",
    '{"population":' + "9" * 4000 + "}": "where.population is not a finite",
    '{"population":-' + "9" * 7000 + "}": "where.population is not a finite|exceeds the limit",
    json.dumps(nested(MAX_DEPTH + 1)): "where is nested deeper than 8",
    json.dumps(nested_in_field(MAX_DEPTH + 1)): "where is nested deeper than 8",
    json.dumps({"$or": [{"name": "x"}] * (MAX_CONDITIONS + 1)}): "more than 50 conditions",
    '{"a":"%20' + "x" * MAX_WHERE_BYTES + '"}': "limit of 4096 bytes",
    '{"a":"' + "x" * MAX_WHERE_BYTES: "limit of 4096 bytes",
    '{"a%20b":1,"a%20b":2}': "has a name twice",
    '{"a%20b":NaN}': "NaN",
}
NO_COUNT = [
    *("-1", "-0", "--1", "+5", "1.5", "1.0", "1e2", "abc", "0x10", "1_000", "１２", "٣", "NaN"),
    *(" ", "1,5", "1 2", "\0", "true", "null"),
]
NO_ORDER = ["-", ",", "name,", ",name", "name,,state", "name,-", " ", "- "]
NO_FLAG = ["1", "0", "yes", "truefalse", "null", " ", "\u0130"]
MEANT_OTHERWISE: Mapping[str, str] = {
    "where=%257B%2522a": "not JSON at offset",
    "where=%2541": "not JSON at offset",
    "where={'a':": "not JSON at offset",
    "where={}&where[a]=1": "with and without brackets",
    "where[name][]=a&where[name][]=b": "Did you mean $in (equal to one of these)?",
    "keys=a&keys[]=b": "with and without brackets",
    f"where[a]={'x' * MAX_WHERE_BYTES}": "limit of 4096",
    **{
        f"{name}=1&{name}=2": f"{name} appears more than once"
        for name in ("limit", "skip", "order", "keys", "where", "count")
    },
}

REFUSED: Sequence[tuple[str, str]] = [
    *(
        (query_of("where", where), said)
        for table in (NO_JSON, NO_OBJECT, NO_CONDITION)
        for where, said in table.items()
    ),
    *(
        (query_of(name, text), f"{name} must be a whole number")
        for name in ("limit", "skip")
        for text in NO_COUNT
    ),
    *((query_of("count", text), "count must be true or false") for text in NO_FLAG),
    *((quote(query, safe="=&%[]{}'"), said) for query, said in MEANT_OTHERWISE.items()),
]


@pytest.mark.parametrize(("query", "said"), REFUSED, ids=lambda text: text[:40])
def test_parameter_that_is_refused(surface: Surface, query: str, said: str) -> None:
    """The error names the position and the problem without a call.

    No filter is dropped silently.
    """
    code, answer = surface.refused("GET", f"Cities?{query}")

    assert code == (400, 4002)
    assert any(each in answer.json()["message"] for each in said.split("|"))


@pytest.mark.parametrize("text", NO_ORDER)
def test_an_order_without_a_name(surface: Surface, text: str) -> None:
    """An order without a name is rejected once the header is known, as any text can be a name."""
    code, answer = surface.refused("GET", f"Cities?{query_of('order', text)}", reads=1)

    assert code == (400, 4002)
    assert "order has a term without a field" in answer.json()["message"]


@pytest.mark.parametrize("length", [3_000, 8_000, 20_000])
def test_long_url(surface: Surface, length: int) -> None:
    """A filter can have 4 KiB, a URL 8 KiB."""
    where = '{"name":"' + "x" * length + '"}'
    status = {3_000: 200, 8_000: 400, 20_000: 414}[length]

    answer = surface.send("GET", f"Cities?where={where}")

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("parameter", "value", "named"),
    [
        *(
            ("order", term, field)
            for term, field in (
                *(("nope", "nope"), ("--name", "-name"), ("name,nope", "nope"), ("NAME", "NAME")),
                *(("name desc", "name desc"), ("name-", "name-"), ("1", "1")),
            )
        ),
        *(
            ("keys", names, field)
            for names, field in (
                *(("nope", "nope"), ("nope,NAME", "nope"), ("[", "["), ("[1]", "[1]")),
                *(('["nope"]', "nope"), ('["name",1]', '["name"'), ("\ufffd", "\ufffd")),
            )
        ),
        ("where", '{"nope":1}', "nope"),
        ("where", '{"NAME":"x"}', "NAME"),
        ("where", '{"__proto__":1}', "__proto__"),
        ("where", '{"name":"x","nope":1}', "nope"),
        ("where", '{"$or":[{"name":"x"},{"nope":{"$exists":false}}]}', "nope"),
        ("where", '{"$not":{"nope":1}}', "nope"),
        ("where", '{"$nor":1}', "$nor"),
        ("where", '{"":1}', ""),
    ],
)
def test_field_that_is_no_header(surface: Surface, parameter: str, value: str, named: str) -> None:
    """The error names the unknown field and lists the fields of the worksheet.

    It costs one read.
    """
    code, answer = surface.refused("GET", f"Cities?{query_of(parameter, value)}", reads=1)

    assert code == (400, 4002)
    assert f'"{named}"' in answer.json()["message"]
    assert FIELDS in answer.json()["message"]


@pytest.mark.parametrize(
    "query",
    [
        *("limit=", "skip=&limit=&where=&order=&keys=&count=", "limit=007", "limit=" + "9" * 5000),
        *("limit=1000000000", "skip=" + "9" * 30, "skip=00", "limit=5&limit=5", "where={}"),
        *("keys=,,,", "keys=[]", "keys=rowIndex", "keys=nope,name", "&&&", "=", "?", ";", "a=b=c"),
        *("%ff=%ff", "%00", "[]=1", "x[]=1", "callback=x", "__proto__[x]=1", "no-cache=1"),
        *("nope=1", "limits=x", "id=7", "page=", "sort", "state=", "state", "state[eq]=", "q="),
        *("_=1", "_ts=1", "ts=1", "t=1", "v=1", "cb=1", "nocache=1", "noCache=1", "no_cache=1"),
        *("utm_source=x", "max-affected=", "on_conflict="),
    ],
    ids=lambda query: query[:30],
)
def test_parameter_that_is_ignored(surface: Surface, query: str) -> None:
    """Empty parameters, cache busters and other unknown words are ignored."""
    answer = surface.send("GET", f"Cities?{query}")

    assert answer.status_code == 200
    assert set(answer.json()) == {"results", "hasNextPage"}
    assert all("rowIndex" in record for record in answer.json()["results"])


@pytest.mark.parametrize("path", ["Cities?limit=0&", "Cities/2?"])
def test_long_lists_of_names_take_no_memory(surface: Surface, path: str) -> None:
    """Answers to queries of 7 KB are not cached, because the parsed query is 30 times as large."""
    names = ",".join(f"{first}{second}" for first in ascii_letters for second in ascii_letters)
    surface.send("GET", f"{path}keys=name,{names[:6_000]}")
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(30):
            surface.send("GET", f"{path}keys=name,x{number},{names[:6_000]}")
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken < 1_000_000


def test_long_spellings_of_one_query_take_no_memory(surface: Surface) -> None:
    """Links of a cached answer are kept for short queries only."""
    path = "Cities?where=%7B%22population%22:%7B%22$gt%22:1%7D"
    for blanks in (0, 3_800, 3_801):
        answer = surface.send("GET", f"{path}{'+' * blanks}%7D&limit=1")
        assert answer.status_code == 200
    cached = [each.links for each in gc.get_objects() if isinstance(each, Encoded)]

    assert 0 < max(len(key) for links in cached for key in links) <= LONGEST_KEPT_KEY


def test_where_after_a_byte_order_mark(surface: Surface) -> None:
    """A byte order mark before a `where` is ignored."""
    query = query_of("where", '\ufeff{"name":"Chicago"}')

    answer = surface.send("GET", f"Cities?{query}")

    assert [row["name"] for row in answer.json()["results"]] == ["Chicago"]


@pytest.mark.parametrize(
    ("parameter", "value", "hint"),
    [
        ("order", "population desc", "Did you mean order=-population?"),
        ("order", "population DESC", "Did you mean order=-population?"),
        ("order", "-population  desc", "Did you mean order=-population?"),
        ("order", "state,population asc", "Did you mean order=population?"),
        ("order", "population:desc", "Did you mean order=-population?"),
        ("order", "population.desc", "Did you mean order=-population?"),
        ("order", "population.desc.nullslast", "Did you mean order=-population?"),
        ("order", "population DESC NULLS LAST", "Did you mean order=-population?"),
        ("order", "population=asc", "Did you mean order=population?"),
        ("order", "+population", "Did you mean order=population?"),
        ("order", "rowIndex descending", "Did you mean order=-rowIndex?"),
        ("order", "population,desc", "For descending order write - before a field."),
        ("where", '{"$gt":5}', 'Operators stand inside a field, as in {"FIELD":{"$gt":1}}.'),
        ("order", "nope desc", ""),
    ],
)
def test_suggestion_for_a_field(surface: Surface, parameter: str, value: str, hint: str) -> None:
    """The error suggests the field that the client might mean, if it exists."""
    code, answer = surface.refused("GET", f"Cities?{query_of(parameter, value)}", reads=1)

    assert code == (400, 4002)
    assert answer.json()["message"].endswith(f"{FIELDS}.{hint and ' '}{hint}")


def test_field_called_as_a_direction(surface: Surface) -> None:
    """A field named like a direction of `order` is found."""
    surface.sheets.add("Sorted", [["n", "n desc"], ["1", "b"], ["2", "a"]])

    answer = surface.send("GET", "Sorted?order=n%20desc")

    assert [row["n"] for row in answer.json()["results"]] == ["2", "1"]
