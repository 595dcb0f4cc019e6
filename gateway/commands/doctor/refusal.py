"""Reasons why the Sheets API refuses a call, and solutions."""

from collections.abc import Callable, Mapping

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.reach import find_cause, unreachable_words
from gateway.commands.doctor.sign_in import sign_in_words
from gateway.errors import (
    GatewayError,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UnsupportedDocument,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
)
from gateway.google.credentials import ACCOUNTS_PAGE
from gateway.google.token import TokenUnavailable
from gateway.google.translation import UNREADABLE, GoogleRefusal

LIBRARY_PAGE = "https://console.cloud.google.com/apis/library/sheets.googleapis.com"
UNAUTHENTICATED = 401
FIRST_FAILURE = 500


def refusal_words(error: GatewayError, context: CheckContext) -> str:
    """Explain an error from its causes, and what to do; never quotes a cell."""
    no_token = find_cause(error, TokenUnavailable)
    if no_token is not None:
        return sign_in_words(no_token, context)
    refusal = find_cause(error, GoogleRefusal)
    if refusal is not None and refusal.is_page and refusal.status < FIRST_FAILURE:
        return _stranger(f"HTTP {refusal.status} and a page", context)
    if refusal is None and find_cause(error, UNREADABLE) is not None:
        return _stranger("something that is not JSON of Sheets", context)
    words = _WORDS.get(type(error))
    return words(error, context) if words else error.message


def _stranger(answered: str, context: CheckContext) -> str:
    return (
        f"{context.sheets_host} answers {answered}, unlike the Sheets API: perhaps a proxy, "
        "firewall or sign-in page of the network. Let this machine reach it directly, and check "
        "google.endpoint."
    )


def _bad_account(error: GatewayError, context: CheckContext) -> str:
    refusal = find_cause(error, GoogleRefusal)
    if refusal is None:
        return error.message
    if refusal.disabled_in is not None:
        return _disabled(refusal.disabled_in or context.project or "", context)
    for reason in sorted(refusal.reasons & _BY_REASON.keys()):
        return _BY_REASON[reason](context)
    if refusal.status == UNAUTHENTICATED:
        return (
            f"Google issued a token for {context.who}, but Sheets refuses it (401): the account "
            f"or its key was probably just disabled or deleted. Check {ACCOUNTS_PAGE}, wait a few "
            "minutes and run check again; if google.endpoint or the key's token_uri was changed, "
            "make sure that they belong together."
        )
    reasons = ", ".join(sorted(refusal.reasons)) or f"HTTP {refusal.status}"
    return f"Google refuses {context.who} ({reasons}). Check the account at {ACCOUNTS_PAGE}."


def _disabled(project: str, context: CheckContext) -> str:
    where, query = (f"the project {project}", f"?project={project}") if project else ("", "")
    return (
        f"the Google Sheets API is not enabled in {where or f'the project of {context.who}'}. "
        f"Enable it at {LIBRARY_PAGE}{query}, wait a few minutes and run check again."
    )


def _no_scope(context: CheckContext) -> str:
    return (
        f"the sign-in of {context.who} does not include spreadsheets. Run gcloud auth "
        "application-default login with --scopes=https://www.googleapis.com/auth/spreadsheets,"
        "https://www.googleapis.com/auth/cloud-platform, or set google.credentials to a key file."
    )


def _suspended(context: CheckContext) -> str:
    return (
        f"Google has suspended the project of {context.who}. See its notices in the Google Cloud "
        "console, or use an account of another project."
    )


def _no_project(context: CheckContext) -> str:
    return (
        f"the quota project of {context.who} does not exist, or the account may not "
        "use it (role Service Usage Consumer). Correct the quota project of the credentials."
    )


def _no_account(context: CheckContext) -> str:
    return f"{context.who} was disabled or deleted. Enable it at {ACCOUNTS_PAGE}, or use another."


# Reasons in google/api/error_reason.proto.
_BY_REASON: Mapping[str, Callable[[CheckContext], str]] = {
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": _no_scope,
    "ACCOUNT_STATE_INVALID": _no_account,
    "CONSUMER_INVALID": _no_project,
    "CONSUMER_SUSPENDED": _suspended,
    "USER_PROJECT_DENIED": _no_project,
}


def _not_shared(_error: GatewayError, context: CheckContext) -> str:
    if context.account is None:
        return (
            f"it is not shared with {context.who}. Open it, press Share, and add this account as "
            "Editor."
        )
    return (
        f"it is not shared with {context.account}. Open it, press Share, and add this address as "
        "Editor (as Viewer if the gateway only reads)."
    )


def _not_found(_error: GatewayError, _context: CheckContext) -> str:
    return (
        "Google does not know this ID: it is mistyped, or the spreadsheet was deleted. Copy the ID "
        "from the spreadsheet's URL, between /d/ and /edit."
    )


def _unsupported(_error: GatewayError, context: CheckContext) -> str:
    return (
        "it is not a Google Sheet but, for example, an Office file (.xlsx). Open it in Google "
        "Sheets, choose File > Save as Google Sheets, copy the ID from the new file's URL, and "
        f"share the new file with {context.who}."
    )


def _unreachable(error: GatewayError, context: CheckContext) -> str:
    return unreachable_words(context.sheets_host, error)


def _late(_error: GatewayError, context: CheckContext) -> str:
    return (
        f"{context.sheets_host} did not answer in time. Run check again; if this persists, check "
        "the network, or raise google.read_timeout_seconds."
    )


def _failed(error: GatewayError, context: CheckContext) -> str:
    # Only the status: Google's message may quote a cell.
    refusal = find_cause(error, GoogleRefusal)
    if refusal is None:
        return (
            f"the connection to {context.sheets_host} broke. Run check again; if this persists, a "
            "firewall or proxy interferes: let this machine reach it directly."
        )
    answered = f"{context.sheets_host} answers HTTP {refusal.status} {refusal.name}".rstrip()
    if refusal.status >= FIRST_FAILURE:
        return f"{answered}: Google itself has a problem. Run check again in a few minutes."
    return f"{answered}. Check google.endpoint and the spreadsheet ID."


_WORDS: Mapping[type[GatewayError], Callable[[GatewayError, CheckContext], str]] = {
    SpreadsheetNotFound: _not_found,
    SpreadsheetNotShared: _not_shared,
    UnsupportedDocument: _unsupported,
    UpstreamAuth: _bad_account,
    UpstreamError: _failed,
    UpstreamRefusal: _failed,
    UpstreamTimeout: _late,
    UpstreamUnreachable: _unreachable,
}
