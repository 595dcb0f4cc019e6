"""Every case of the client libraries, sent with each library to the real gateway."""

from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest

from tests.clients.libraries.case import SENDERS, Case, Stage, call, complaints, with_its_senders
from tests.clients.libraries.conftest import SenderOf, StageOf
from tests.clients.libraries.failures import FAILURES
from tests.clients.libraries.mistakes import MISTAKES
from tests.clients.libraries.reads import READS
from tests.clients.libraries.senders import Call, Sender, Waits
from tests.clients.libraries.writes import WRITES

CASES = [*READS, *WRITES, *FAILURES, *MISTAKES]
of_each_sender = pytest.mark.parametrize("sender", SENDERS)


@with_its_senders(CASES)
def test_a_case(case: Case, sender: str, sender_of: SenderOf, stage_of: StageOf) -> None:
    """Answers, errors, cells, requests and waits of a case are as expected."""
    assert complaints(case, sender_of(sender), stage_of(case.settings)) == []


def answers(sheet: str, asked: Sequence[Call], sender: Sender, stage: Stage) -> list[Any]:
    """Return the answers to these calls of a client with typed values."""
    api = stage.api
    options = {"base_url": api.url, "api_key": api.keys["paid"], "spreadsheet_id": "demo"}
    sender.open({**options, "values": "typed"}, Waits())
    return [sender.outcome(sheet, {}, each)["value"] for each in asked]


@of_each_sender
def test_worksheets_are_listed(sender: str, sender_of: SenderOf, stage_of: StageOf) -> None:
    """Worksheets are in tab order with the key's fields and rights; `rows` is set after a read."""
    stage = stage_of({})
    _, found = answers("Cities", [call("list"), call("worksheets")], sender_of(sender), stage)
    cities = next(each for each in found["sheets"] if each["name"] == "Cities")

    assert found["spreadsheet"] == {
        "id": "demo",
        "title": "demo",
        "locale": "en_US",
        "timeZone": "Etc/GMT",
    }
    assert [each["name"] for each in found["sheets"]] == [*stage.api.emulator.everything()]
    assert (cities["rows"], cities["may"]) == (10, ["read", "create", "update", "delete"])
    assert cities["fields"] == [
        *({"name": name, "type": "text"} for name in ("name", "state", "country")),
        {"name": "population", "type": "number"},
    ]


@of_each_sender
def test_a_schema_describes_typed_rows(sender: str, sender_of: SenderOf, stage_of: StageOf) -> None:
    """A schema's fields are in column order, and all typed rows conform to the schema."""
    asked = [call("schema"), call("list")]
    schema, page = answers("Orders", asked, sender_of(sender), stage_of({}))
    due = schema["properties"]["due"]

    assert (schema["title"], schema["type"]) == ("Orders", "object")
    assert [*schema["properties"]] == ["item", "price", "due", "total", "note"]
    assert (due["type"], due["format"]) == (["string", "null"], "date")
    assert schema["properties"]["total"]["readOnly"] is True
    for row in page["rows"]:
        jsonschema.validate(row["fields"], schema)
