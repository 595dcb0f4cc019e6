"""What is wrong with a request before it is looked into: the part of the error tree of heads."""

from gateway.errors import BadRequest, TooLarge


class InvalidRequest(BadRequest):
    """It is no request of HTTP that can be read in one way only."""

    code, name = 4000, "InvalidRequest"


class UriTooLong(TooLarge):
    code, name, status = 4140, "UriTooLong", 414


class HeadersTooLarge(TooLarge):
    code, name, status = 4310, "HeadersTooLarge", 431
