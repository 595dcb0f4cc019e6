"""Account, endpoint and files that messages about a failure name."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gateway.google.credentials import DOWNLOAD


@dataclass(frozen=True, kw_only=True)
class Scene:
    """`account` is the address of the service account, None for other accounts."""

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
        """What to do for another key, without a stop."""
        place = (
            f"put it in the place of {self.key_file}" if self.key_file else "set them up with it"
        )
        return f"{DOWNLOAD}, and {place}"
