"""Why the Sheets API refuses a call, and what to do."""

from collections.abc import Callable, Mapping

from gateway.commands.doctor.causes import first
from gateway.commands.doctor.reach import unreachable_words
from gateway.commands.doctor.scene import Scene
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


def refusal_words(error: GatewayError, scene: Scene) -> str:
    """What is wrong and what to do, by what is behind the error; without any cell."""
    no_token = first(error, TokenUnavailable)
    if no_token is not None:
        return sign_in_words(no_token, scene)
    refusal = first(error, GoogleRefusal)
    if refusal is not None and refusal.is_page and refusal.status < FIRST_FAILURE:
        return _stranger(f"HTTP {refusal.status} and a page", scene)
    if refusal is None and first(error, UNREADABLE) is not None:
        return _stranger("something that is not JSON of Sheets", scene)
    words = _WORDS.get(type(error))
    return words(error, scene) if words else error.message


def _stranger(answered: str, scene: Scene) -> str:
    return (
        f"{scene.sheets_host} answers {answered}, as the Sheets API does not: a proxy, firewall or "
        "sign-in page of the network, perhaps. Let this machine reach it directly, and look at "
        "google.endpoint."
    )


def _bad_account(error: GatewayError, scene: Scene) -> str:
    refusal = first(error, GoogleRefusal)
    if refusal is None:
        return error.message
    if refusal.disabled_in is not None:
        return _disabled(refusal.disabled_in or scene.project or "", scene)
    for reason in sorted(refusal.reasons & _BY_REASON.keys()):
        return _BY_REASON[reason](scene)
    if refusal.status == UNAUTHENTICATED:
        return (
            f"Google gave a token for {scene.who}, but Sheets does not take it (401): the account "
            f"or its key was disabled or deleted a moment ago. Look at {ACCOUNTS_PAGE}, wait a few "
            "minutes and run check again; if google.endpoint or the key's token_uri was changed, "
            "see that they belong together."
        )
    reasons = ", ".join(sorted(refusal.reasons)) or f"HTTP {refusal.status}"
    return f"Google refuses {scene.who} ({reasons}). Look at the account at {ACCOUNTS_PAGE}."


def _disabled(project: str, scene: Scene) -> str:
    where, query = (f"the project {project}", f"?project={project}") if project else ("", "")
    return (
        f"the Google Sheets API is not enabled in {where or f'the project of {scene.who}'}. Enable "
        f"it at {LIBRARY_PAGE}{query}, wait a few minutes and run check again."
    )


def _no_scope(scene: Scene) -> str:
    return (
        f"the sign-in of {scene.who} is not for spreadsheets. Run gcloud auth application-default "
        "login with --scopes=https://www.googleapis.com/auth/spreadsheets,"
        "https://www.googleapis.com/auth/cloud-platform, or set google.credentials to a key file."
    )


def _suspended(scene: Scene) -> str:
    return (
        f"Google has suspended the project of {scene.who}. See its notices in the Google Cloud "
        "console, or use an account of another project."
    )


def _no_project(scene: Scene) -> str:
    return (
        f"the project that is charged for the calls of {scene.who} is gone, or the account may not "
        "use it (role Service Usage Consumer). Correct the quota project of the credentials."
    )


def _no_account(scene: Scene) -> str:
    return f"{scene.who} was disabled or deleted. Enable it at {ACCOUNTS_PAGE}, or use another."


# Reasons of google/api/error_reason.proto.
_BY_REASON: Mapping[str, Callable[[Scene], str]] = {
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": _no_scope,
    "ACCOUNT_STATE_INVALID": _no_account,
    "CONSUMER_INVALID": _no_project,
    "CONSUMER_SUSPENDED": _suspended,
    "USER_PROJECT_DENIED": _no_project,
}


def _not_shared(_error: GatewayError, scene: Scene) -> str:
    if scene.account is None:
        return (
            f"it is not shared with {scene.who}. Open it, press Share, and add that account as "
            "Editor."
        )
    return (
        f"it is not shared with {scene.account}. Open it, press Share, and add this address as "
        "Editor (as Viewer, if nothing is to be written)."
    )


def _not_found(_error: GatewayError, _scene: Scene) -> str:
    return (
        "Google knows none of this id: it is mistyped, or the spreadsheet was deleted. Take the id "
        "from the spreadsheet's URL, between /d/ and /edit."
    )


def _unsupported(_error: GatewayError, scene: Scene) -> str:
    return (
        "it is no Google Sheet, but an Office file (.xlsx), for example. Open it in Google Sheets, "
        "choose File > Save as Google Sheets, take the id from the new file's URL, and share that "
        f"one with {scene.who}."
    )


def _unreachable(error: GatewayError, scene: Scene) -> str:
    return unreachable_words(scene.sheets_host, error)


def _late(_error: GatewayError, scene: Scene) -> str:
    return (
        f"{scene.sheets_host} did not answer in time. Run check again; if it stays so, look at the "
        "network, or raise google.read_timeout_seconds."
    )


def _failed(error: GatewayError, scene: Scene) -> str:
    # Google's own words may quote a cell: its status alone.
    refusal = first(error, GoogleRefusal)
    if refusal is None:
        return (
            f"the connection to {scene.sheets_host} broke. Run check again; if it stays so, a "
            "firewall or proxy is in between: let this machine reach it directly."
        )
    answered = f"{scene.sheets_host} answers HTTP {refusal.status} {refusal.body.status}".rstrip()
    if refusal.status >= FIRST_FAILURE:
        return f"{answered}: Google is in trouble itself. That passes: run check again in a while."
    return f"{answered}. Look at google.endpoint, and at the id of the spreadsheet."


_WORDS: Mapping[type[GatewayError], Callable[[GatewayError, Scene], str]] = {
    SpreadsheetNotFound: _not_found,
    SpreadsheetNotShared: _not_shared,
    UnsupportedDocument: _unsupported,
    UpstreamAuth: _bad_account,
    UpstreamError: _failed,
    UpstreamRefusal: _failed,
    UpstreamTimeout: _late,
    UpstreamUnreachable: _unreachable,
}
