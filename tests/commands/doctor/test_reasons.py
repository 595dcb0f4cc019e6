"""Why a host cannot be reached, read off the errors that its client ends with."""

import socket
import ssl

import httpcore2
import httpx2
import pytest

from gateway.commands.doctor.reasons import asked_host, unreachable_words

HOST = "sheets.googleapis.com"


def failed(cause: Exception) -> httpx2.ConnectError:
    """As httpx2 raises it: httpcore2 in between has what the system said as its argument."""
    error = httpx2.ConnectError(str(cause))
    error.__cause__ = httpcore2.ConnectError(cause)
    return error


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.verify_message = "certificate has expired"
    return error


CAUSES: dict[str, tuple[Exception, str, str]] = {
    "certificate": (
        failed(untrusted()),
        "a certificate that this machine does not trust (certificate has expired)",
        "set SSL_CERT_FILE",
    ),
    "TLS": (failed(ssl.SSLError(1, "x")), "TLS with sheets.googleapis.com fails", "port 443"),
    "name": (
        failed(socket.gaierror(-2, "Name or service not known")),
        "the name sheets.googleapis.com is not found (DNS)",
        "/etc/resolv.conf",
    ),
    "refused": (failed(ConnectionRefusedError(111, "x")), "refuses connections", "HTTPS_PROXY"),
    "unanswered": (failed(TimeoutError("x")), "does not answer in time", "HTTPS_PROXY"),
    "late": (httpx2.ReadTimeout("x"), "does not answer in time", "HTTPS_PROXY"),
    "proxy": (httpx2.ProxyError("407"), "the proxy refused", "Allow this host in the proxy"),
    "network": (
        failed(OSError(101, "Network is unreachable")),
        "cannot be reached (Network is unreachable)",
        "port 443",
    ),
    "other": (httpx2.ReadError('it broke "secret'), "cannot be reached (it broke )", "port 443"),
    "nameless": (httpx2.ReadError(""), "cannot be reached (ReadError)", "port 443"),
}


@pytest.mark.parametrize(("error", "cause", "mend"), CAUSES.values(), ids=CAUSES)
def test_a_cause_and_its_mend(error: Exception, cause: str, mend: str) -> None:
    """The system's original error decides; the words contain the host's name."""
    words = unreachable_words(HOST, error)

    assert HOST in words
    assert cause in words
    assert mend in words
    assert "secret" not in words


def test_the_host_that_was_asked() -> None:
    """It is read off the request, where there was one."""
    asked = httpx2.ConnectError("x", request=httpx2.Request("POST", "https://example.org:1/token"))

    assert asked_host(asked) == "example.org:1"
    assert asked_host(httpx2.PoolTimeout("nothing was sent")) is None
    assert asked_host(ValueError("x")) is None
