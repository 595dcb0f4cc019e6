"""The errors that can be raised."""

from collections.abc import Iterator

import gateway.limit_errors  # a class is in the tree once its module is imported
import gateway.request_errors
import gateway.write_errors  # noqa: F401
from gateway.errors import GatewayError


def concrete_errors(root: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    """All classes of the tree that have a code."""
    for error in root.__subclasses__():
        if hasattr(error, "code"):
            yield error
        yield from concrete_errors(error)
