"""Listening sockets of the commands; problems are explained to the operator."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.server.sockets import bind, bind_shared, free_port, inherited
from gateway.settings.model import ConfigError

_CANNOT_LISTEN = {
    errno.EADDRINUSE: "another program uses the port. Stop it, or choose another port with PORT_BY",
    errno.EACCES: "ports below 1024 require privileges. Choose another port with PORT_BY",
    errno.EADDRNOTAVAIL: "this machine does not have this address. 127.0.0.1 is the loopback "
    "address, 0.0.0.0 means all addresses",
}
"""Explanation and advice by the error of `bind`."""


def listening_at(
    host: str, port: int, *, port_by: str = "--port", is_shared: bool = False
) -> socket.socket:
    """Open a listening socket, by `bind` or `bind_shared`. Raises ConfigError with an explanation.

    `port_by` is the option or setting that chooses the port.
    """
    with _explained(host, port, port_by):
        return bind_shared(host, port) if is_shared else bind(host, port)


def free_port_at(host: str, port: int) -> int:
    """As `free_port`. Raises ConfigError with an explanation."""
    with _explained(host, port, "--port"):
        return free_port(host, port)


def inherited_at(fd: int) -> socket.socket:
    """A listening socket opened by the parent process. Raises ConfigError if there is none."""
    try:
        return inherited(fd)
    except OSError as error:
        raise ConfigError(
            [f"--fd {fd}: no listening socket was inherited under this number: {error.strerror}"]
        ) from error


@contextmanager
def _explained(host: str, port: int, port_by: str) -> Iterator[None]:
    """Raise ConfigError with an explanation for errors of `bind`."""
    try:
        yield
        return
    except OSError as error:
        words = _CANNOT_LISTEN.get(error.errno or 0, error.strerror or "")
        reason = words.replace("PORT_BY", port_by)
    except OverflowError:
        reason = "a port is a number from 0 to 65535"
    except (TypeError, UnicodeError):  # names that IDNA cannot encode
        reason = "invalid host name"
    raise ConfigError([f"cannot listen on {host}:{port}: {reason}"])
