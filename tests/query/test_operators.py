"""Test that a new operator of `where` is one entry in the table of operators."""

import json
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[2]
PLANTED = """
import json
from gateway.query import operators

operators.OPERATORS["$unlike"] = operators.Operator(
    "$unlike",
    operators.OperandShape(is_list=True, python_type=str, json_type="string", noun="a string"),
    lambda field, operands: field.equal(operands),
    "unlike all of these",
    is_negated=True,
)

from gateway.errors import InvalidQuery
from gateway.query.query import Query
from gateway.query.query import parse_where
from tests.query.sheet import evaluate, make_sheet, text_cell
from tests.web.openapi.worksheets import document

table = make_sheet({"name": [text_cell(text) for text in "abc"]})
where = parse_where({"name": {"$unlike": ["a", "c"]}})
refusals = []
for operand in ("a", [1]):
    try:
        parse_where({"name": {"$unlike": operand}})
    except InvalidQuery as refusal:
        refusals.append(refusal.message)
schemas = document()["components"]["schemas"]
print(json.dumps([
    list(evaluate(table, Query(where=where)).rows),
    refusals,
    schemas["Operations"]["properties"]["$unlike"],
    "`$unlike`" in schemas["Where"]["description"],
]))
"""


def test_a_new_operator_is_one_entry() -> None:
    """A new entry in OPERATORS is parsed, validated, evaluated and documented (in a
    separate process).
    """
    ran = subprocess.run(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-c", PLANTED], cwd=TOP, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [
        [3],
        [
            "where.name.$unlike takes a list of values, not a string.",
            "where.name.$unlike[0] takes a string, not a number.",
        ],
        {
            "type": "array",
            "items": {"type": "string"},
            "description": "unlike all of these",
        },
        True,
    ]
