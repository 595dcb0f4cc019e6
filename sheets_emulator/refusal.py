"""Errors of the Sheets API with Google's texts and structure.

The texts are from recorded or reported answers. Clients classify errors by `code` and `status`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

STATUS_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
MESSAGES = {  # Google's texts, except the text of 413
    400: "Request contains an invalid argument.",
    401: (
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
        "cookie or other valid authentication credential. See "
        "https://developers.google.com/identity/sign-in/web/devconsole-project."
    ),
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    409: "The operation was aborted.",
    413: "The request is larger than the limit of 32 MB.",
    500: "Internal error encountered.",
    503: "The service is currently unavailable.",
    504: "Deadline expired before operation could complete.",
}
CHALLENGE = 'Bearer realm="https://accounts.google.com/", error="invalid_token"'
PROTECTED = (
    "You are trying to edit a protected cell or object. Please contact the spreadsheet owner to "
    "remove protection if you need to edit."
)
CELL_TOO_LONG = "Your input contains more than the maximum of 50000 characters in a single cell."
WORKBOOK_FULL = (
    "This action would increase the number of cells in the workbook above the limit of "
    "10000000 cells."
)
SERVICE = "sheets.googleapis.com"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
HELP = "type.googleapis.com/google.rpc.Help"
LIMITS: Mapping[str, tuple[str, str]] = {  # end of the limit's name, and its unit, by scope
    "user": (" per user", "1/min/{project}/{user}"),
    "project": ("", "1/min/{project}"),
}
HIGHER_QUOTA: Mapping[str, object] = {
    "@type": HELP,
    "links": [
        {
            "description": "Request a higher quota limit.",
            "url": "https://cloud.google.com/docs/quotas/help/request_increase",
        }
    ],
}
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Refusal(Exception):
    """Error answer with an HTTP status. `details` are Google's typed details."""

    def __init__(
        self,
        *,
        code: int,
        message: str,
        details: Sequence[Mapping[str, object]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers

    def body(self) -> Mapping[str, object]:
        error: dict[str, object] = {
            "code": self.code,
            "message": self.message,
            "status": STATUS_WORDS.get(self.code, "UNKNOWN"),
        }
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


def of_code(code: int) -> Refusal:
    """Return the error of an HTTP status with Google's usual text and without details."""
    headers = {"WWW-Authenticate": CHALLENGE} if code == 401 else NO_HEADERS
    return Refusal(
        code=code, message=MESSAGES.get(code, "The request has failed."), headers=headers
    )


def invalid(message: str) -> Refusal:
    """Return a 400 that names no field."""
    return Refusal(code=400, message=message)


def invalid_field(field_path: str, description: str, *, message: str | None = None) -> Refusal:
    """Return a 400 for one field. By default the message is the description."""
    return invalid_fields([(field_path, description)], message=message)


def invalid_fields(violations: Sequence[tuple[str, str]], *, message: str | None = None) -> Refusal:
    """Return a 400 for several fields. `violations` are (field, description), in Google's order."""
    details = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [
            {**({"field": path} if path else {}), "description": description}
            for path, description in violations
        ],
    }
    descriptions = "\n".join(description for _, description in violations)
    return Refusal(code=400, message=message or descriptions, details=[details])


def unimplemented(what: str) -> Refusal:
    """Return a 501 for a feature that Google supports and the emulator does not."""
    return Refusal(code=501, message=f"The emulator does not implement {what}.")


def prefixed(prefix: str, refusal: Refusal) -> Refusal:
    """Return the error with a position, such as `Invalid requests[0]: `, before its message."""
    return Refusal(
        code=refusal.code,
        message=f"{prefix}{refusal.message}",
        details=refusal.details,
        headers=refusal.headers,
    )


def quota_exceeded(kind: str, limit: int, *, scope: str, project_number: str) -> Refusal:
    """Return the 429 of an exceeded limit per minute, without Retry-After, as from Google.

    `kind` is "read" or "write", `scope` is "user" or "project". Google's errors of writes have
    fewer details than errors of reads (recorded from Google).
    """
    name = kind.capitalize()
    suffix, unit = LIMITS[scope]
    message = (
        f"Quota exceeded for quota metric '{name} requests' and limit '{name} requests per minute"
        f"{suffix}' of service '{SERVICE}' for consumer 'project_number:{project_number}'."
    )
    metadata = {
        "service": SERVICE,
        "consumer": f"projects/{project_number}",
        "quota_metric": f"{SERVICE}/{kind}_requests",
        "quota_limit": f"{name}RequestsPerMinutePer{scope.capitalize()}",
    }
    if kind == "read":
        metadata["quota_limit_value"] = str(limit)
        metadata["quota_unit"] = unit
        metadata["quota_location"] = "global"
    info = {
        "@type": ERROR_INFO,
        "reason": "RATE_LIMIT_EXCEEDED",
        "domain": "googleapis.com",
        "metadata": metadata,
    }
    details = [info, HIGHER_QUOTA] if kind == "read" else [info]
    return Refusal(code=429, message=message, details=details)


def service_disabled(project_number: str) -> Refusal:
    """Return the 403 of a project that does not use the Sheets API."""
    url = f"https://console.developers.google.com/apis/api/{SERVICE}/overview?project={project_number}"
    message = (
        f"Google Sheets API has not been used in project {project_number} before or it is "
        f"disabled. Enable it by visiting {url} then retry. If you enabled this API recently, wait "
        "a few minutes for the action to propagate to our systems and retry."
    )
    info: Mapping[str, object] = {
        "@type": ERROR_INFO,
        "reason": "SERVICE_DISABLED",
        "domain": "googleapis.com",
        "metadata": {
            "serviceTitle": "Google Sheets API",
            "consumer": f"projects/{project_number}",
            "activationUrl": url,
            "containerInfo": project_number,
            "service": SERVICE,
        },
    }
    localized = {
        "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
        "locale": "en-US",
        "message": message,
    }
    links = [{"description": "Google developers console API activation", "url": url}]
    return Refusal(
        code=403, message=message, details=[info, localized, {"@type": HELP, "links": links}]
    )
