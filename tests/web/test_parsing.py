"""Parsing of bodies: in the event loop or in a thread, in turn by key; the JSON parser."""

import asyncio
import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidBody
from gateway.table.record import MAX_PROBLEMS
from gateway.web.parsing import MAX_FIELDS, MAX_ROWS, MOST_BYTES, NEAR, Pairs, Parsing, decode_json


async def test_long_bodies_are_parsed_in_a_thread() -> None:
    """A body longer than `MOST_BYTES` is parsed in a thread, a shorter body in the event loop."""
    parsing = Parsing()
    short = await parsing.run("k", MOST_BYTES, threading.get_ident)
    long = await parsing.run("k", MOST_BYTES + 1, threading.get_ident)

    assert short == threading.get_ident() != long


async def test_keys_take_turns() -> None:
    """The thread takes one body of each key in turn, so no key waits for all bodies of another."""
    parsing, gate, order = Parsing(), threading.Event(), list[str]()

    def work(name: str) -> None:
        gate.wait(10.0)
        order.append(name)

    def sent(key_id: str, name: str) -> asyncio.Task[None]:
        return asyncio.create_task(parsing.beside(key_id, partial(work, name)))

    tasks = [sent("a", f"a{number}") for number in range(5)]
    tasks += [sent("b", "b0"), sent("c", "c0"), sent("b", "b1")]
    for _ in range(20):
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)

    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"]


async def test_the_queue_continues_after_failures() -> None:
    """After a failed or cancelled parse, the next body in the queue is parsed."""
    parsing = Parsing()
    failing: Callable[[], None] = partial(_fail, "damaged")
    failed = await asyncio.gather(
        *(parsing.beside("k", failing) for _ in range(3)), return_exceptions=True
    )
    leaving = asyncio.create_task(parsing.beside("k", lambda: None))
    await asyncio.sleep(0)
    leaving.cancel()

    assert [str(error) for error in failed] == ["damaged"] * 3
    assert await asyncio.wait_for(parsing.beside("k", lambda: 1), 10.0) == 1


def _fail(text: str) -> None:
    raise ValueError(text)


LONG = "x" * (NEAR + 1)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**16), 10**16) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def plain(value: object) -> Any:
    """Convert each `Pairs` in a value to a dict, as `json.loads` returns objects."""
    if isinstance(value, Pairs):
        return {name: plain(each) for name, each in value}
    return [plain(each) for each in value] if isinstance(value, list) else value


@given(value=VALUES, indent=st.sampled_from([None, 0, 3]), is_ascii=st.booleans())
def test_json_is_parsed_as_by_the_standard_library(
    value: object, indent: int | None, is_ascii: bool
) -> None:
    """Any JSON value, in any layout, is parsed to the value that `json.loads` returns."""
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)

    assert json.dumps(plain(decode_json(text))) == json.dumps(json.loads(text))


@given(text=st.text(st.sampled_from(' \n\t[]{},:"0123456789.-+eE\\utrfalsn\x00é'), max_size=30))
def test_invalid_json_is_rejected_as_by_the_standard_library(text: str) -> None:
    """A short or long text raises InvalidBody exactly if `json.loads` rejects the text."""
    long = f'{{"long":"{LONG}","rest":'
    for whole in (text, f"{long}{text}}}", f"[{long}{text}}}]"):
        try:
            expected = json.loads(whole, parse_int=lambda digits: int(digits[:18]))
        except json.JSONDecodeError:
            with pytest.raises(InvalidBody, match="not JSON"):
                decode_json(whole)
        else:
            assert json.dumps(plain(decode_json(whole))) == json.dumps(expected)


@pytest.mark.parametrize("size", [0, NEAR - 20, NEAR - 2, NEAR - 1, NEAR, NEAR + 1, 50_000])
def test_long_objects_are_parsed_like_short_ones(size: int) -> None:
    """A long object keeps repeated members in order and allows blanks, like a short object."""
    text = f' [ {{ "a" : 1 , "b" : "{"x" * size}" , "a" : [ ] , "é" : -0.5e3 }} , {{ }} , 5 ] '

    assert decode_json(text) == [
        Pairs([("a", 1), ("b", "x" * size), ("a", []), ("é", -500.0)]),
        Pairs(),
        5,
    ]
    assert all(isinstance(each, Pairs) for each in decode_json(text)[:2])  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "line", "column", "detail"),
    [
        pytest.param(f'{{"a":"{LONG}"', 1, NEAR + 9, "ends before", id="cut off"),
        pytest.param(f'{{"a":"{LONG}"\n', 2, 1, "ends before", id="in another line"),
        pytest.param(f'{{"a":"{LONG}",\n}}', 2, 1, "comma is not allowed", id="trailing comma"),
        pytest.param(f'{{"a":"{LONG}",\n"b"}}', 2, 4, "colon is missing", id="no value"),
        pytest.param(f'{{"a":"{LONG}",\n"b":}}', 2, 5, "value is missing", id="an empty value"),
        pytest.param(f'{{"a":"{LONG}",\nb:1}}', 2, 1, "name needs quotes", id="no quotes"),
        pytest.param(f'{{"a":"{LONG}"}}\nx', 2, 1, "text after the end", id="something behind"),
        pytest.param(f'[{{"a":"{LONG}"}}\n{{}}]', 2, 1, "comma is missing", id="no comma"),
        pytest.param(f'{{"a":"{LONG}\n', 1, NEAR + 8, "raw line break", id="no end"),
    ],
)
def test_errors_of_long_bodies_have_line_and_column(
    text: str, line: int, column: int, detail: str
) -> None:
    """The message about an invalid long body has the line and column of the error."""
    with pytest.raises(InvalidBody, match=f"line {line}, column {column}: .*{detail}"):
        decode_json(text)


@pytest.mark.parametrize(
    ("start", "unit", "taken"),
    [
        pytest.param("{", '"":"' + "x" * 10 + '",', MAX_FIELDS + 1, id="members"),
        pytest.param("[", "{},", MAX_ROWS + 1, id="rows"),
        pytest.param("[", "0,", MAX_ROWS + 1, id="elements"),
    ],
)
def test_parsing_stops_after_too_many_rows_or_fields(start: str, unit: str, taken: int) -> None:
    """Parsing stops at the first row or field over the limit and ignores the remaining text."""
    decoded = decode_json(start + unit * 2000 + "\0 no JSON")

    assert isinstance(decoded, list)
    assert len(decoded) == taken


@pytest.mark.parametrize("fault", ['{"a":[]}', '{"a":1,"b":{}}', "0", "[]"])
def test_parsing_stops_after_many_problems(fault: str) -> None:
    """Parsing of a long body stops at `MAX_PROBLEMS` problems; short bodies are always parsed."""
    long = f'[{{"a":1}},{f"{fault}," * 30}{{"b":"{LONG}"}}, no JSON'

    assert len(decode_json(long)) == 1 + MAX_PROBLEMS  # type: ignore[arg-type]
    with pytest.raises(InvalidBody, match="not JSON"):
        decode_json(f"[{f'{fault},' * 30} no JSON")


@pytest.mark.parametrize("nested", ["[0,", '{"b":0,', "[[],", '{"b":{},'])
def test_parsing_stops_at_a_long_nested_value(nested: str) -> None:
    """A long list or object in a field becomes an empty list, and parsing stops after it."""
    text = f'{{"a":1,"b":{nested}{"0," * NEAR}no JSON'

    assert decode_json(text) == Pairs([("a", 1), ("b", [])])
    assert decode_json(f"[{text}") == [Pairs([("a", 1), ("b", [])])]
