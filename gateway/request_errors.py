"""What is wrong with a request: its head, and the fields that its parameters name."""

from collections.abc import Sequence

from gateway.errors import BadRequest, InvalidQuery, TooLarge


class InvalidRequest(BadRequest):
    """It is no request of HTTP that can be read in one way only."""

    code, name = 4000, "InvalidRequest"


class UriTooLong(TooLarge):
    code, name, status = 4140, "UriTooLong", 414


class HeadersTooLarge(TooLarge):
    code, name, status = 4310, "HeadersTooLarge", 431


class QueryTooCostly(BadRequest):
    """Answering would take more steps than a query may take."""

    code, name = 4006, "QueryTooCostly"


class UnknownField(InvalidQuery):
    """`parameter` has `names` that are no fields of the worksheet, or hidden from the caller."""

    def __init__(self, message: str, *, parameter: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.names = tuple(names)
