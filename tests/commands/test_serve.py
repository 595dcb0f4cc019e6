"""Error messages for addresses that cannot listen."""

import socket

import pytest

from gateway.server.sockets import bind
from gateway.settings.model import ConfigError


def refusal(host: str, port: int, port_by: str) -> str:
    """Return the error message for an address that cannot be used."""
    with pytest.raises(ConfigError) as error:
        bind(host, port, port_by=port_by)
    (problem,) = error.value.problems
    return problem


@pytest.mark.parametrize("port_by", ["--port", "metrics.listen"])
def test_a_port_that_is_taken(port_by: str) -> None:
    """If another program uses the port, the message says so and names the option for
    another port.
    """
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        problem = refusal("127.0.0.1", port, port_by)

    assert problem == (
        f"cannot listen on 127.0.0.1:{port}: another program uses the port. Stop it, or "
        f"choose another port with {port_by}"
    )


def test_an_address_of_another_machine() -> None:
    """An address of another machine gives an error that lists this machine's addresses."""
    problem = refusal("192.0.2.1", 0, "--port")

    assert "this machine does not have this address. 127.0.0.1 is the loopback address" in problem
