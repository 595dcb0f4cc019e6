"""List of the gateway's error classes."""

from collections.abc import Iterator

from gateway.errors import GatewayError


def concrete_errors(root: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    """Yield all error classes that have a code."""
    for error in root.__subclasses__():
        if hasattr(error, "code"):
            yield error
        yield from concrete_errors(error)
