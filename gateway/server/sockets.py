"""Listening sockets: opened here, or inherited from a parent process."""

import errno
import os
import socket

_BACKLOG = 2048
_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)


def bind(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free one. Raises OSError if the address is taken."""
    return socket.create_server((host, port), family=_family(host), backlog=_BACKLOG)


def bind_shared(host: str, port: int) -> socket.socket:
    """One of several sockets at an address. Raises OSError if the address is taken.

    The kernel spreads connections over those of them that listen; this one does not yet.
    """
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
    """The port, or a free one for 0. Raises OSError if the address is taken, even if shared."""
    with socket.socket(_family(host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        found: int = probe.getsockname()[1]
    return found


def inherited(descriptor: int) -> socket.socket:
    """A listening socket opened by the parent process. Raises OSError if it cannot be used."""
    listening = socket.socket(fileno=descriptor)
    fault = _socket_problem(listening)
    if fault:
        listening.detach()
        raise OSError(errno.EINVAL, fault)
    listening.set_inheritable(False)
    return listening


def base_url(listening: socket.socket) -> str:
    """The URL for clients; `unix:PATH` for a socket in the file system."""
    if listening.family == socket.AF_UNIX:
        return f"unix:{os.fsdecode(listening.getsockname())}"
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _socket_problem(given: socket.socket) -> str:
    if given.type != socket.SOCK_STREAM or given.family not in _FAMILIES:
        return "it is not a TCP or Unix stream socket"
    if not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "it is a socket, but it is not listening"
    return ""


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
