"""Findings of `check`, and texts about Google's errors, with a template for each cause.

Rules:
- A text has the cause, then the solution. A text quotes only the status and known reasons of
  Google's messages, so it never quotes a cell.
- Values of proxy variables are not shown, because they can contain a password.
"""

import os
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, get_args
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from gateway import errors
from gateway.access.grant_check import LONGEST_NAME
from gateway.google.credentials import ACCOUNTS_PAGE, DOWNLOAD, VARIABLE
from gateway.google.token import TokenFailure, TokenUnavailable
from gateway.google.translation import UNREADABLE, GoogleRefusal
from gateway.table import quoting
from gateway.telemetry.redaction import unquoted

E = TypeVar("E", bound=BaseException)

LIBRARY_PAGE = "https://console.cloud.google.com/apis/library/sheets.googleapis.com"
UNAUTHENTICATED = 401
FIRST_FAILURE = 500
TOLERATED_SECONDS = 30.0
"""Maximum difference of the clocks without a warning. Google accepts about 5 minutes."""
PROXY_SCHEMES = ("https", "http", "all")
SYNCHRONISE = (
    "Synchronise this machine's clock: run `sudo timedatectl set-ntp true`, or use chrony or ntpd; "
    "a container uses its host's clock"
)

_UNITS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))
_DEEPEST = 10
"""Maximum number of errors in a chain of causes that `chain` yields."""
_LET_OUT = (
    "Allow HTTPS (port 443) from this machine to it, or set HTTPS_PROXY to the network's proxy."
)
_LATE = f"{{host}} does not answer in time: a firewall may drop the packets. {_LET_OUT}"
# The first match decides, so subclasses come before their base classes.
_UNREACHABLE: Sequence[tuple[type[BaseException], str]] = (
    (
        ssl.SSLCertVerificationError,
        "{host} shows a certificate that this machine does not trust ({reason}). If a proxy or "
        "virus scanner opens TLS here, set SSL_CERT_FILE to a file with its CA certificate; "
        "otherwise install the CA certificates (package ca-certificates) and check the machine's "
        "clock.",
    ),
    (
        ssl.SSLError,
        "TLS with {host} fails ({reason}): the server does not use TLS, or a firewall interferes. "
        "Allow HTTPS (port 443) from this machine to it, and check google.endpoint.",
    ),
    (httpx2.ProxyError, "the proxy refused a connection to {host}. Allow this host in the proxy."),
    (
        socket.gaierror,
        "the name {host} is not found (DNS). Check this machine's network and name servers "
        "(/etc/resolv.conf).",
    ),
    (
        ConnectionRefusedError,
        "{host} refuses connections: nothing listens there, or a firewall blocks them. "
        f"{_LET_OUT} If it is an emulator, start it.",
    ),
    (TimeoutError, _LATE),
    (httpx2.TimeoutException, _LATE),
    (BaseException, f"{{host}} cannot be reached ({{reason}}). {_LET_OUT}"),
)

_UNREADABLE_VARIABLE = (
    f"google.credentials is not set, and the file that {VARIABLE} names cannot be used "
    f"({{words}}). Correct the variable, or set google.credentials to a key file: {DOWNLOAD}."
)
_NO_TOKEN: Mapping[TokenFailure, str] = {
    TokenFailure.NO_CREDENTIALS: (
        "google.credentials is not set, and this machine has no Application Default Credentials. "
        f"Set google.credentials to a key file: {DOWNLOAD}."
    ),
    TokenFailure.UNREADABLE: (
        "the file of the Application Default Credentials cannot be read. Let the user of the "
        f"gateway read it, or set google.credentials to a key file: {DOWNLOAD}."
    ),
    TokenFailure.FOREIGN: (
        "the token endpoint is {words}, which is neither Google's nor on this machine, so nothing "
        "was sent there. Correct {place}, or set google.allow_insecure_endpoint if this is "
        "intended."
    ),
    TokenFailure.CLOCK: (
        "this machine's clock is off{offset}, so Google refuses its signatures ({words}). "
        f"{SYNCHRONISE}."
    ),
    TokenFailure.KEY: (
        "Google does not know this key of {who} ({words}): it was deleted, or the file was "
        "changed. Create another: {new_key}."
    ),
    TokenFailure.ACCOUNT: (
        f"{{who}} was deleted or disabled ({{words}}). Enable it at {ACCOUNTS_PAGE}; if it no "
        "longer exists, create another there, share the spreadsheets with its address, and "
        "{new_key}."
    ),
    TokenFailure.SESSION: (
        "the sign-in of the Application Default Credentials has expired ({words}). Run `gcloud "
        "auth application-default login`, or better, set google.credentials to a key file, which "
        f"does not expire: {DOWNLOAD}."
    ),
    TokenFailure.REFUSED: (
        f"Google refuses {{who}} ({{words}}). Check it at {ACCOUNTS_PAGE}; if it is enabled there, "
        "try another key: {new_key}."
    ),
    TokenFailure.FAILED: (
        "Google's token endpoint itself has a problem ({words}). Run check again in a few minutes."
    ),
    TokenFailure.INVALID_ANSWER: (
        "the answer of the token endpoint is not from Google: perhaps from a sign-in page, proxy "
        "or firewall of the network. Let this machine reach oauth2.googleapis.com directly; if the "
        "key file was changed, its token_uri may be wrong."
    ),
    TokenFailure.BUSY: "another check is still waiting for a token. Run check again.",
}

_STRANGER = (
    "{host} answers {answer}, unlike the Sheets API: perhaps a proxy, firewall or sign-in page of "
    "the network. Let this machine reach it directly, and check google.endpoint."
)
_REFUSED: Mapping[type[errors.GatewayError], str] = {
    errors.SpreadsheetNotFound: (
        "Google does not know this ID: it is mistyped, or the spreadsheet was deleted. Copy the ID "
        "from the spreadsheet's URL, between /d/ and /edit."
    ),
    errors.SpreadsheetNotShared: (
        "it is not shared with {who}. Open it, press Share, and add this address as Editor (as "
        "Viewer if the gateway only reads)."
    ),
    errors.UnsupportedDocument: (
        "it is not a Google Sheet but, for example, an Office file (.xlsx). Open it in Google "
        "Sheets, choose File > Save as Google Sheets, copy the ID from the new file's URL, and "
        "share the new file with {who}."
    ),
    errors.UpstreamTimeout: (
        "{host} did not answer in time. Run check again; if this persists, check the network, or "
        "raise google.read_timeout_seconds."
    ),
}
_NOT_SHARED_WITH_DEFAULT = (
    "it is not shared with {who}. Open it, press Share, and add this account as Editor."
)
_BROKEN = (
    "the connection to {host} broke. Run check again; if this persists, a firewall or proxy "
    "interferes: let this machine reach it directly."
)
_FAILED = (
    "{host} answers HTTP {status}: Google itself has a problem. Run check again in a few minutes."
)
_UNKNOWN = "{host} answers HTTP {status}. Check google.endpoint and the spreadsheet ID."
_DISABLED = (
    "the Google Sheets API is not enabled in the project {project}. Enable it at "
    f"{LIBRARY_PAGE}{{query}}, wait a few minutes and run check again."
)
_REVOKED = (
    "Google issued a token for {who}, but Sheets refuses it (401): the account or its key was "
    f"probably just disabled or deleted. Check {ACCOUNTS_PAGE}, wait a few minutes and run check "
    "again; if google.endpoint or the key's token_uri was changed, make sure that they belong "
    "together."
)
_BAD_ACCOUNT = f"Google refuses {{who}} ({{reasons}}). Check the account at {ACCOUNTS_PAGE}."
# Reasons in google/api/error_reason.proto.
_NO_PROJECT = (
    "the quota project of {who} does not exist, or the account may not use it (role Service Usage "
    "Consumer). Correct the quota project of the credentials."
)
_BY_REASON: Mapping[str, str] = {
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": (
        "the sign-in of {who} does not include spreadsheets. Run `gcloud auth application-default "
        "login --scopes=https://www.googleapis.com/auth/spreadsheets,"
        "https://www.googleapis.com/auth/cloud-platform`, or set google.credentials to a key file."
    ),
    "ACCOUNT_STATE_INVALID": (
        f"{{who}} was disabled or deleted. Enable it at {ACCOUNTS_PAGE}, or use another."
    ),
    "CONSUMER_INVALID": _NO_PROJECT,
    "CONSUMER_SUSPENDED": (
        "Google has suspended the project of {who}. See its notices in the Google Cloud console, "
        "or use an account of another project."
    ),
    "USER_PROJECT_DENIED": _NO_PROJECT,
}


MOST_NAMED = 10
"""Maximum number of names in a finding."""

Level = Literal["ok", "note", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """A line in the output of `check`: a cause, then a solution.

    With the level `problem`, the command fails. A `note` explains how the gateway reads the
    spreadsheet, and has no solution. The text ends without a full stop, because users copy a
    command or URL at its end.
    """

    level: Level
    text: str


def _finding(level: Level, text: str) -> Finding:
    """Make a finding. Escapes invisible characters, because the text can quote a server."""
    return Finding(level, quoting.printable(text.removesuffix(".")))


ok, note, warning, problem = (partial(_finding, level) for level in get_args(Level))


quoted = partial(quoting.quoted, longest=LONGEST_NAME)


def listed(names: Sequence[str]) -> str:
    """Join names with commas and "and". Ten names are shown, then the number of the others."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


@dataclass(frozen=True, kw_only=True)
class CheckContext:
    """Account, endpoint and key file, for messages about a failure.

    `account` is the e-mail address of a service account, or None for another type of account.
    `project` is the ID of its Google Cloud project, or None if unknown. `key_file` is None for
    Application Default Credentials.
    """

    account: str | None
    project: str | None
    key_file: Path | None
    endpoint: str

    @property
    def who(self) -> str:
        return self.account or "the account of the Application Default Credentials"

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc


def refusal_words(error: errors.GatewayError, context: CheckContext) -> str:
    """Return the cause of an error of Google, and a solution."""
    no_token = find_cause(error, TokenUnavailable)
    if no_token is not None:
        return sign_in_words(no_token, context)
    refusal = find_cause(error, GoogleRefusal)
    kind, answer, template = type(error), "", _REFUSED.get(type(error))
    if refusal is not None and refusal.is_page and refusal.status < FIRST_FAILURE:
        template, answer = _STRANGER, f"HTTP {refusal.status} and a page"
    elif refusal is None and find_cause(error, UNREADABLE) is not None:
        template, answer = _STRANGER, "an answer that is not JSON of the Sheets API"
    elif kind is errors.UpstreamUnreachable:
        return unreachable_words(context.host, error)
    elif kind is errors.SpreadsheetNotShared and context.account is None:
        template = _NOT_SHARED_WITH_DEFAULT
    elif kind in (errors.UpstreamError, errors.UpstreamRefusal) and refusal is None:
        template = _BROKEN
    elif kind in (errors.UpstreamError, errors.UpstreamRefusal) and refusal is not None:
        template = _FAILED if refusal.status >= FIRST_FAILURE else _UNKNOWN
    elif kind is errors.UpstreamAuth and refusal is not None:
        return _account_words(refusal, context)
    if template is None:
        return error.message
    status = f"{refusal.status} {refusal.name}".rstrip() if refusal else ""
    return template.format(who=context.who, host=context.host, answer=answer, status=status)


def _account_words(refusal: GoogleRefusal, context: CheckContext) -> str:
    """Return the reason why the Sheets API refuses an account with a token, and a solution."""
    if refusal.disabled_in is not None:
        project = refusal.disabled_in or context.project
        query = f"?project={project}" if project else ""
        return _DISABLED.format(project=project or f"of {context.who}", query=query)
    known = sorted(refusal.reasons & _BY_REASON.keys())
    if known:
        template = _BY_REASON[known[0]]
    else:
        template = _REVOKED if refusal.status == UNAUTHENTICATED else _BAD_ACCOUNT
    reasons = ", ".join(sorted(refusal.reasons)) or f"HTTP {refusal.status}"
    return template.format(who=context.who, reasons=reasons)


def sign_in_words(error: TokenUnavailable, context: CheckContext) -> str:
    """Return the reason why Google issued no access token, and a solution."""
    if error.failure is TokenFailure.UNREACHABLE:
        host = asked_host(error) or "Google's token endpoint"
        return f"no token available: {unreachable_words(host, error)}"
    template = _NO_TOKEN[error.failure]
    if error.failure is TokenFailure.NO_CREDENTIALS and os.environ.get(VARIABLE):
        template = _UNREADABLE_VARIABLE
    file, seconds = context.key_file, error.clock_offset_seconds or 0.0
    use = f"replace {file} with it" if file else "set google.credentials to it"
    return template.format(
        who=context.who,
        words=error.google_words,
        place=file or "the Application Default Credentials",
        new_key=f"{DOWNLOAD}, and {use}",
        offset=f": {clock_words(seconds)} Google's" if abs(seconds) > TOLERATED_SECONDS else "",
    )


def clock_words(offset_seconds: float) -> str:
    """Return a text such as "about 62 minutes behind", for a negative offset of this clock."""
    amount, side = abs(offset_seconds), "ahead of" if offset_seconds > 0 else "behind"
    found = (each for each in _UNITS if amount >= 2 * each[0])
    unit_seconds, name = next(found, (1.0, "seconds"))
    return f"about {amount / unit_seconds:.0f} {name} " + side


def unreachable_words(host: str, error: BaseException) -> str:
    """Return the reason why `host` cannot be reached, and a solution."""
    text = next(
        template.format(host=host, reason=_reason(cause))
        for kind, template in _UNREACHABLE
        if (cause := find_cause(error, kind))
    )
    proxies = getproxies()
    found = [name for name in PROXY_SCHEMES if proxies.get(name)]
    if found and not proxy_bypass(host):
        names = " and ".join(f"{name.upper()}_PROXY" for name in found)
        text += f" Requests go through the proxy of {names}: check its address."
    return text


def _reason(cause: BaseException) -> str:
    """Return the reason of an error as OpenSSL or the operating system reports it."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return getattr(cause, "verify_message", "") or "certificate verify failed"
    if isinstance(cause, ssl.SSLError):
        return getattr(cause, "reason", None) or "the connection broke"
    *_, innermost = chain(cause)
    if isinstance(innermost, OSError) and innermost.strerror:
        return innermost.strerror
    return unquoted(str(innermost))[:120] or type(innermost).__name__


def asked_host(error: BaseException) -> str | None:
    """Return the host of the failed request in the causes of an error, or None if unknown."""
    failed = find_cause(error, httpx2.RequestError)
    try:
        return None if failed is None else failed.request.url.netloc.decode("ascii", "replace")
    except RuntimeError:  # the error has no request
        return None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes, from the outermost to the innermost."""
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        # httpcore2 passes the cause of its errors as their argument.
        inner = error.args[0] if error.args else None
        error = error.__cause__ or (inner if isinstance(inner, BaseException) else None)


def find_cause(error: BaseException, kind: type[E] | tuple[type[E], ...]) -> E | None:
    """Return the outermost error of a type in the chain of causes, or None."""
    return next((each for each in chain(error) if isinstance(each, kind)), None)
