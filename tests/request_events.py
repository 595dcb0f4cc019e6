"""Requests of tests as log events."""

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.telemetry.events import RequestEvent, begin_event, end_event


@contextmanager
def during(event: RequestEvent) -> Iterator[None]:
    """Run the block as part of this request."""
    token = begin_event(event)
    try:
        yield
    finally:
        end_event(token)
