"""OAuth token endpoint: exchanges a signed assertion of a service account for a bearer token.

Errors follow RFC 6749 with Google's texts: 400 with `error` and `error_description`. Faults can use
other statuses.
"""

import base64
import binascii
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from sheets_emulator.http.credentials import ServiceAccount

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"  # from google-auth, for any token URI
LIFETIME_SECONDS = 3600.0
CLOCK_SKEW_SECONDS = 300.0
SCOPES = ("https://www.googleapis.com/auth/spreadsheets", "https://www.googleapis.com/auth/drive")
SHORT_LIVED = (
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
    "Check your iat and exp values in the JWT claim."
)

FAILURES = {  # error code and description, by HTTP status
    400: ("invalid_grant", "Invalid JWT Signature."),
    401: ("invalid_client", "The OAuth client was not found."),
    403: ("access_denied", "Account restricted."),
    429: ("rate_limit_exceeded", "Rate limit exceeded."),
    500: ("internal_failure", "Internal error encountered."),
    503: ("internal_failure", "The service is currently unavailable."),
}


class GrantError(Exception):
    """Error of a token request. `error` is a code of RFC 6749. The message is the description."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error

    def body(self) -> dict[str, str]:
        return {"error": self.error, "error_description": str(self)}


def failure(status: int) -> GrantError:
    """Return the token endpoint's error for an HTTP status of 400 or more."""
    return GrantError(*FAILURES.get(status, FAILURES[500 if status >= 500 else 400]))


class Header(msgspec.Struct, frozen=True):
    """The header of an assertion."""

    alg: str


class Claims(msgspec.Struct, frozen=True):
    """Claims of an assertion. Times are seconds since 1970.

    `sub` is the user for whom the account acts, by domain-wide delegation.
    """

    iss: str
    aud: str
    iat: float
    exp: float
    scope: str = ""
    sub: str = ""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Rights of a token. `expires_at` is in seconds since 1970.

    `account` is the e-mail address for access checks: the service account `issuer`, or the user for
    whom it acts.
    """

    account: str
    issuer: str
    project: str
    expires_at: float


@dataclass(kw_only=True)
class Tokens:
    """Issuer and verifier of tokens. `accounts` has the service accounts by e-mail address.

    `now` returns seconds since 1970. `grants` has the rights by token. Accounts in `revoked` get no
    tokens.
    """

    accounts: Mapping[str, ServiceAccount]
    now: Callable[[], float]
    audiences: set[str] = field(default_factory=lambda: {GOOGLE_AUDIENCE})
    grants: dict[str, Grant] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)

    def issue(self, body: bytes) -> dict[str, object]:
        """Return the answer of a token request.

        Its members are `access_token`, `expires_in` (seconds) and `token_type`. Raises GrantError
        if the request is refused.
        """
        form = parse_qs(body.decode("utf-8", "replace"))
        grant_type = form.get("grant_type", [""])[0]
        if grant_type != GRANT_TYPE:
            raise GrantError("unsupported_grant_type", f"Invalid grant_type: {grant_type}")
        claims = self._verified(form.get("assertion", [""])[0])
        self._require_valid(claims)
        return self._granted(claims)

    def revoke(self, email: str) -> None:
        """Revoke the key of an account and all its tokens."""
        self.revoked.add(email)
        self.grants = {
            token: grant for token, grant in self.grants.items() if grant.issuer != email
        }

    def grant_of(self, authorization: str | None) -> Grant | None:
        """Return the rights of an `Authorization` header, or None without a valid token."""
        scheme, _, token = (authorization or "").partition(" ")
        grant = self.grants.get(token.strip())
        if scheme.lower() != "bearer" or grant is None or grant.expires_at <= self.now():
            return None
        return grant

    def _granted(self, claims: Claims) -> dict[str, object]:
        moment = self.now()
        self.grants = {
            token: grant for token, grant in self.grants.items() if grant.expires_at > moment
        }
        token = f"ya29.{secrets.token_urlsafe(32)}"
        self.grants[token] = Grant(
            account=claims.sub or claims.iss,
            issuer=claims.iss,
            project=self.accounts[claims.iss].project,
            expires_at=moment + LIFETIME_SECONDS,
        )
        return {
            "access_token": token,
            "expires_in": int(LIFETIME_SECONDS),
            "token_type": "Bearer",
        }

    def _verified(self, assertion: str) -> Claims:
        """Return the claims of a signed assertion.

        Raises GrantError for a wrong or revoked account.
        """
        head, _, rest = assertion.partition(".")
        payload, _, signature = rest.partition(".")
        try:
            header = msgspec.json.decode(_unpadded(head), type=Header)
            claims = msgspec.json.decode(_unpadded(payload), type=Claims)
            signed = _unpadded(signature)
        except (binascii.Error, msgspec.DecodeError, ValueError) as error:
            raise GrantError("invalid_grant", "Invalid JWT: Failed to parse.") from error
        account = self.accounts.get(claims.iss)
        if account is None:
            raise GrantError("invalid_grant", "Invalid grant: account not found")
        key = account.private_key.public_key()
        try:
            key.verify(signed, f"{head}.{payload}".encode(), PKCS1v15(), SHA256())
        except InvalidSignature as error:
            raise failure(400) from error
        if claims.iss in self.revoked:
            raise failure(400)
        if header.alg != "RS256":
            raise GrantError("invalid_grant", "Invalid JWT: the algorithm must be RS256.")
        return claims

    def _require_valid(self, claims: Claims) -> None:
        moment = self.now()
        is_timely = claims.iat <= moment + CLOCK_SKEW_SECONDS and claims.exp > moment
        if not is_timely or claims.exp - claims.iat > LIFETIME_SECONDS:
            raise GrantError("invalid_grant", SHORT_LIVED)
        if claims.aud not in self.audiences:
            raise GrantError("invalid_grant", "Invalid JWT: Failed audience check.")
        if not set(claims.scope.split()) & set(SCOPES):
            raise GrantError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")


def _unpadded(text: str) -> bytes:
    """Decode base64url without padding."""
    return base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
