"""The parts of uvicorn and httptools that the edge builds on are as they were when it was written.

A failure here is no fault of uvicorn's: read what changed in the part that is named, mend
`gateway/server` where it matters, and write the new digest down.
"""

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

# What is overridden, and what our own code calls, reads or sets.
TOUCHED: dict[Callable[..., Any], str] = {
    HttpToolsProtocol.__init__: "905b91f2d5cf",
    HttpToolsProtocol.connection_made: "b4322d5141d7",
    HttpToolsProtocol.connection_lost: "d6565d9c5462",
    HttpToolsProtocol.eof_received: "3e342065324e",
    HttpToolsProtocol.data_received: "b4f9892d120d",
    HttpToolsProtocol.on_message_begin: "afa5b0b05b0e",
    HttpToolsProtocol.on_url: "17e60da75ce9",
    HttpToolsProtocol.on_header: "ad40beaab858",
    HttpToolsProtocol.on_headers_complete: "09d867a0c132",
    HttpToolsProtocol.on_body: "9492092df825",
    HttpToolsProtocol.on_message_complete: "656de52940d2",
    HttpToolsProtocol.on_response_complete: "f6ae4a31a9a6",
    HttpToolsProtocol.pause_writing: "627fa9f41c25",
    HttpToolsProtocol.resume_writing: "df8c93a5cae4",
    HttpToolsProtocol.shutdown: "4c59c260b3d5",
    HttpToolsProtocol._start_asgi_task: "dcc5a31fb6b7",
    HttpToolsProtocol._should_upgrade: "710678c0f234",
    RequestResponseCycle.__init__: "80caf3b699f3",
    RequestResponseCycle.run_asgi: "058c651daf80",
    RequestResponseCycle.receive: "7e707359ab74",
    RequestResponseCycle.send: "a5e03b3eaa3d",
    FlowControl: "1bc7a53c826e",
    ServerState: "e20e7531686f",
    uvicorn.Server.startup: "f5f2d2819485",
    uvicorn.Server.main_loop: "cf516f50eedb",
    uvicorn.Server.shutdown: "75d082d1a8d4",
    uvicorn.Server._wait_tasks_to_complete: "3f6acf0903bf",
    uvicorn.Server.capture_signals: "f14aa8674efa",
    uvicorn.Server.handle_exit: "97d620adb18b",
    uvicorn.Config.load: "9e8e1207f69c",
}


def digest(part: Callable[..., Any]) -> str:
    """Digest of the source without indentation."""
    return hashlib.sha256(" ".join(inspect.getsource(part).split()).encode()).hexdigest()[:12]


@pytest.mark.parametrize("part", TOUCHED, ids=lambda part: part.__qualname__)
def test_a_part_that_is_built_on_has_not_changed(part: Callable[..., Any]) -> None:
    """Its code is the one that the edge was written for."""
    assert digest(part) == TOUCHED[part], f"{part.__qualname__} changed in {uvicorn.__version__}"


@pytest.mark.parametrize(
    "name",
    ["feed_data", "get_method", "get_http_version", "should_upgrade", "should_keep_alive"],
)
def test_the_parser_has_what_is_called(name: str) -> None:
    """Each method of the parser that the edge calls is there."""
    assert callable(getattr(httptools.HttpRequestParser, name))
