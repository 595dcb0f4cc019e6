"""Account, endpoint and files for messages about a failure."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gateway.google.credentials import DOWNLOAD


@dataclass(frozen=True, kw_only=True)
class CheckContext:
    """`account` is the service account's e-mail address; None for other accounts."""

    account: str | None
    project: str | None
    key_file: Path | None
    endpoint: str

    @property
    def who(self) -> str:
        return self.account or "the account of the Application Default Credentials"

    @property
    def sheets_host(self) -> str:
        return urlsplit(self.endpoint).netloc

    @property
    def new_key(self) -> str:
        """Advice for getting another key, without a full stop."""
        place = (
            f"replace {self.key_file} with it" if self.key_file else "set google.credentials to it"
        )
        return f"{DOWNLOAD}, and {place}"
