"""What the line of a request says of how it was read."""

from gateway.telemetry.events import RequestEvent, current_event, note_reading, request_event


def test_readings_are_noted_in_their_order() -> None:
    """Several are parted by commas; a worksheet that was meant takes the place of the other."""
    event = RequestEvent(request_id="r1", method="GET", path="/v2", worksheet="a%20b")

    with request_event(event):
        note_reading("query-in-name")
        note_reading("worksheet-twice", worksheet="a b")

    assert event.reading == "query-in-name,worksheet-twice"
    assert event.worksheet == "a b"


def test_a_reading_outside_a_request_is_nobodys() -> None:
    """Parsers may be used without one."""
    note_reading("where-quotes")

    assert current_event() is None
