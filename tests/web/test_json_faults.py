"""Messages about texts that are not JSON, in bodies and in `where`."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.web.json_faults import BODY, WHERE, explain
from tests.cpu_time import least_seconds

FAULTS: Mapping[str, str] = {
    "": 'The body is not JSON: it is empty. Send JSON, such as {"name": "Ann"}.',
    " \r\n\t": 'it contains only whitespace. Send JSON, such as {"name": "Ann"}.',
    "[object Object]": "[object Object]: the script sent an object without JSON.stringify",
    "[object FormData]": "Send JSON.stringify of the object",
    "--b\r\nContent-Disposition: form-data; name=x\r\n\r\ny\r\n--b--\r\n": "multipart/form-data",
    "name=x&state=y": "it is a form, such as name=Ann. Send it with Content-Type: application/x-",
    "<p>": "it is HTML or XML. Send JSON",
    '{\0"\0a\0"\0:\0001\0}\0': "it is UTF-16. Encode it as UTF-8",
    '{"a":"x\ny"}': "line 1, column 8: a string contains a raw line break. Write it as \\n.",
    '{"a":"x\ry"}': "raw line break. Write it as \\r.",
    '{"a":"x\ty"}': "a raw tab. Write it as \\t.",
    '{"a":"\x1b"}': "a control character. Write it as \\u001b.",
    '{"a":"x': "the string that begins here has no closing quote. Send the whole body",
    '{"a":"x”}': "a string ends with a curly quote",
    '{"a":"x” }': "a string ends with a curly quote",
    '{"a":"a “word” is': "no closing quote",
    '{"a":"C:\\data"}': "a backslash does not begin a JSON escape. Write",
    '{"a":"\\u12"}': "a backslash does not begin a JSON escape",
    "{“name”:“x”}": 'column 2: a curly quote is not allowed here. Write the straight quote ".',
    '{"name":‘x’}': "a curly quote is not allowed here",
    "{'name':1}": 'a single quote or backtick is not allowed here. Write the double quote ".',
    '{"name":`x`}': "a single quote or backtick is not allowed here",
    '{"a":1,}': "a comma is not allowed before a closing bracket. Remove it.",
    "[1,]": "a comma is not allowed before a closing bracket",
    '{"a":1': "the text ends before its last closing bracket",
    "{": "the text ends before its last closing bracket",
    '{"a":1}\n{"a":2}': "another value follows the first. Send several rows as one list",
    '{"a":1}}': "there is text after the end of the JSON. Remove it.",
    '{"a":1 /* b */}': "a comment is not allowed here. Remove it.",
    '{"a":1;"b":2}': "a semicolon is not allowed here. Write a comma.",
    '{"a":True}': "True is not JSON. Write true.",
    '{"a":None}': "None is not JSON. Write null.",
    '{"a":undefined}': "undefined is not JSON. Write null.",
    '{"a":Ann}': "a text needs quotes",
    "{name:1}": "a name needs quotes",
    '{"a":}': "a value is missing. Write null for an empty value.",
    "{,}": "a name is missing",
    '{"a"}': "a colon is missing",
    '{"a" 1}': "a colon is missing",
    '{"a":1,5}': "a digit follows a comma. Write a decimal number with a point",
    '{"a":1,5 }': "a digit follows a comma",
    '{1:"a"}': "a name needs quotes",
    '{"name":"x",1:"a"}': "a name needs quotes",
    '{"a":1,5 :2}': "a name needs quotes",
    '{"a":1.}': "this number has two decimal points, or no digit after its point",
    '{"a":1.2.3}': "no digit after its point. Write 1.0 for 1., and write a text in",
    "\0": "line 1, column 1: the invisible character U+0000 is not allowed here. Remove it.",
    '\0{\0"\0a\0"\0:\0001\0}': "it is UTF-16. Encode it as UTF-8",
    '{"a":007}': "a number begins with 0. Send it as a string",
    '{"a":+5}': "a number with + is not allowed here. Remove the +.",
    '{"a":.5}': "without a digit before the decimal point is not allowed here. Write 0.5 for .5.",
    '{"a":"x"y"}': "a comma is missing here, or a backslash before a quote inside the previous",
    '{"a":1 "b":2}': "a comma is missing",
    '[{"a":1}': "the text ends before its last closing bracket",
    '{"a":[1}': "the closing bracket does not match",
    '{\xa0"a":1}': "the invisible character U+00A0 is not allowed here. Remove it.",
    '{\u200b"a":1}': "the invisible character U+200B is not allowed here",
}


def fault_of(text: str) -> json.JSONDecodeError:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.JSONDecoder().decode(text)
    return caught.value


@pytest.mark.parametrize(("text", "said"), FAULTS.items(), ids=map(repr, FAULTS))
def test_fault_of_a_body(text: str, said: str) -> None:
    """The message about an invalid body says what is wrong, at which position, and the remedy."""
    message = explain(BODY, text, fault_of(text))

    assert said in message
    assert message.startswith("The body is not JSON")
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a":"x', "where is not JSON at offset 5: the string that begins here has no closing"),
        ('{"a":"x', "percent-encoded: write & as %26"),
        (
            "state=Texas",
            'it is a form, such as name=Ann. Send JSON, such as {"state":"California"}',
        ),
        ("{“a”:1}", "offset 1: a curly quote"),
        ("[object Object]", "Send JSON.stringify of the object"),
    ],
)
def test_fault_of_where(text: str, said: str) -> None:
    """The message about an invalid `where` has the position and an example of a filter."""
    assert said in explain(WHERE, text, fault_of(text))


@given(text=st.text(st.sampled_from(" \n\t[]{},:\"0123.-+eE\\utrfalsn\x00é“'=<#"), max_size=12))
def test_every_invalid_text_has_a_complete_message(text: str) -> None:
    """For any invalid text, the message begins with "The body is not JSON" and is a sentence."""
    try:
        json.JSONDecoder().decode(text)
    except json.JSONDecodeError as error:
        message = explain(BODY, text, error)

        assert message.startswith("The body is not JSON")
        assert message.endswith(".")


@pytest.mark.parametrize(
    "text", ["--" * 500_000, " " * 1_000_000, "x" * 1_000_000, '{"a":"' + "x" * 1_000_000]
)
def test_long_texts_are_explained_quickly(text: str) -> None:
    """The message about an invalid text of 1 MB is short and takes less than 0.1 s."""
    error = fault_of(text)

    assert len(explain(BODY, text, error)) < 300
    assert least_seconds(lambda: explain(BODY, text, error)) < 0.1
