"""Listening sockets: opened by this process, or inherited from its parent process.

ConfigError explains a problem to the operator.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.settings.model import ConfigError

_BACKLOG = 2048
_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)


_CANNOT_LISTEN = {
    errno.EADDRINUSE: "another program uses the port. Stop it, or choose another port with PORT_BY",
    errno.EACCES: "ports below 1024 require privileges. Choose another port with PORT_BY",
    errno.EADDRNOTAVAIL: "this machine does not have this address. 127.0.0.1 is the loopback "
    "address, 0.0.0.0 means all addresses",
}
"""Explanation and advice by `errno`. PORT_BY is replaced by the option or setting of the port."""


def bind(
    host: str, port: int, *, port_by: str = "--port", is_shared: bool = False
) -> socket.socket:
    """Open a listening socket. Port 0 takes a free port. Raises ConfigError with an explanation.

    `port_by` is the name of the option or setting for the port. An `is_shared` socket does not
    listen yet, and other processes can open `is_shared` sockets with the same address.
    """
    with _explained(host, port, port_by):
        if not is_shared:
            return socket.create_server((host, port), family=_family(host), backlog=_BACKLOG)
        shared = socket.socket(_family(host))
        try:
            shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            shared.bind((host, port))
        except BaseException:
            shared.close()
            raise
        return shared


def free_port(host: str, port: int) -> int:
    """Return `port`, or a free port for 0. Raises ConfigError if another socket uses the port."""
    with _explained(host, port, "--port"), socket.socket(_family(host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        found: int = probe.getsockname()[1]
        return found


def inherited(fd: int) -> socket.socket:
    """Return the inherited socket `fd`. Raises ConfigError if it is not a listening socket."""
    try:
        listening = socket.socket(fileno=fd)
        fault = ""
        if listening.type != socket.SOCK_STREAM or listening.family not in _FAMILIES:
            fault = "it is not a TCP or Unix stream socket"
        elif not listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            fault = "it is a socket, but it is not listening"
        if fault:
            listening.detach()
            raise OSError(errno.EINVAL, fault)
    except OSError as error:
        raise ConfigError(
            f"--fd {fd}: no listening socket was inherited under this number: {error.strerror}. "
            "Without systemd, use --port"
        ) from error
    listening.set_inheritable(False)
    return listening


def base_url(listening: socket.socket) -> str:
    """Return the URL for clients, or `unix:PATH` for a Unix socket."""
    if listening.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(listening.getsockname())}"
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@contextmanager
def _explained(host: str, port: int, port_by: str) -> Iterator[None]:
    """Translate errors of a socket into ConfigError with an explanation."""
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
    raise ConfigError(f"cannot listen on {host}:{port}: {reason}")
